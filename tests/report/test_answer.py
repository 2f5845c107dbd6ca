"""The answer in sentences: what it may say of which rows, and what it must never say."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.core import rows as stored
from bench.core import units
from bench.core.figures import Spread
from bench.core.records import changed
from bench.core.rows import Row
from bench.present import words
from bench.report.answer import MOST, answer
from bench.report.terminal import summary_json
from tests.made_blocks import flat, series
from tests.made_rows import MS, bare_row, crawl_row, grid, memory_row, memory_rows
from tools.document.stored import newest

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def rounds(strategy: str, rates: Sequence[float], **given: Any) -> list[Row]:
    """Make a cell of so many rounds."""
    return [crawl_row(strategy, number=n, pages_per_s=rate, **given) for n, rate in enumerate(rates, 1)]


def with_work(rows: Sequence[Row], cpu: str, cpu_ns: int) -> list[Row]:
    """Let rows be of a workload whose pages have CPU work."""
    return [
        changed(row, workload=row.workload | {"id": f"{row.workload['id']}/cpu={cpu}", "cpu": cpu, "cpu_ns": cpu_ns})
        for row in rows
    ]


def told(rows: Sequence[Row]) -> str:
    return " ".join(answer(rows))


def test_it_says_what_more_in_flight_bring_where_there_is_waiting_and_where_there_is_none() -> None:
    first = answer(grid())[0]

    assert first.startswith("At 50 ms of added latency, 1,000 in flight bring callbacks 1,000x the pages/s of 1; at no")
    assert first.endswith("at no added latency, about 1x.")


def test_models_that_differ_by_little_fetch_alike_up_to_the_number_from_which_they_do_not() -> None:
    alike = [row for cap in (1, 10) for name in ("a", "b") for row in rounds(name, (cap, cap), in_flight=cap)]
    apart = [*rounds("a", (900, 910), in_flight=100), *rounds("b", (500, 510), in_flight=100)]

    assert "with up to 10 in flight the models fetch alike (within 0 %); with 100 in flight a fetches" in told(
        [*alike, *apart]
    )
    assert "a fetches 905 pages/s, b 505: 1.8x" in told([*alike, *apart])


def test_a_difference_is_claimed_only_where_chance_does_not_explain_it() -> None:
    text = told([*rounds("a", (900, 1400)), *rounds("b", (500, 950))])

    assert "a fetches 1,200 pages/s, b 720, which chance may explain" in text
    assert not re.search(r"\dx", text)


def test_of_one_round_no_difference_is_claimed() -> None:
    text = told([crawl_row("a", pages_per_s=9000), crawl_row("b", pages_per_s=3000)])

    assert "one round: whether they differ is not known" in text
    assert "One round on one machine" in text
    assert "3.0x" not in text


def test_those_that_the_rounds_do_not_tell_from_the_fastest_are_named_with_it() -> None:
    found = [*rounds("a", (1000, 1100)), *rounds("b", (1050, 950)), *rounds("c", (100, 110))]

    assert "a fetches most, 1,000 pages/s (the rounds do not tell it from b), and c least, 100: 10x" in told(found)


def test_red_rows_never_count_and_are_counted() -> None:
    found = [*rounds("a", (900, 910)), *rounds("b", (500, 510)), *rounds("fast", (90_000, 91_000), red=True)]

    text = told(found)

    assert "fast" not in text
    assert "91" not in text
    assert '2 of 6 trials are red and count for nothing (most often failed "server had room")' in text


def test_trials_that_were_never_started_are_counted_by_themselves() -> None:
    skipped = crawl_row("c", status="skipped", reason="aiohttp is not installed")

    assert "none of 5 trials is red, and 1 never started" in told(
        [*rounds("a", (900, 910)), *rounds("b", (5, 6)), skipped]
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (crawl_row(red=True), 'failed "server had room" (3 times, such as: 80% of its core, limit 70%)'),
        (crawl_row(status="skipped", reason="no aiohttp"), "skipped (3 times, such as: no aiohttp)"),
        (memory_row(status="timeout", reason="too slow"), "timeout (3 times, such as: too slow)"),
    ],
)
def test_without_a_valid_row_there_is_one_sentence_that_says_why(row: Row, reason: str) -> None:
    [sentence] = answer([changed(row, round=n) for n in (1, 2, 3)])

    assert sentence.startswith(
        "No valid trial among 3: nothing here supports a conclusion; the most frequent reason is "
    )
    assert sentence.endswith(f"{reason}.")


def test_without_any_row_there_is_one_sentence() -> None:
    assert answer([]) == ["No trial has been run: there is nothing to show."]


def test_one_strategy_is_compared_with_nothing() -> None:
    text = told(grid(["callbacks"]))

    assert "callbacks 1,000x" in text
    assert "alike" not in text
    assert "a page takes 20.2 µs of CPU time;" not in text
    assert "callbacks fetches 50,800 pages/s" in text


def test_a_hundred_strategies_do_not_give_a_hundred_names() -> None:
    names = [f"model_{n:03}" for n in range(100)]

    text = told(grid(names, caps=(1, 1000)))

    assert len(set(re.findall(r"model_\d+", text))) <= 8
    assert len(text) < 3000


def test_clients_with_a_stack_of_their_own_are_named_apart_and_are_no_model() -> None:
    found = [*rounds("a", (900, 910)), *rounds("b", (500, 510)), *rounds("client", (90_000, 91_000), stack="own")]

    [sentence] = [sentence for sentence in answer(found) if "client" in sentence]

    assert sentence == (
        "Clients with an HTTP stack of their own are compared apart: at no added latency with 100 in flight, client "
        "fetches 90,500 pages/s; a page takes 50.0 µs of CPU time."
    )


def test_clients_alone_are_compared_with_each_other_and_are_not_called_models() -> None:
    found = [*rounds("a", (900, 910), stack="own"), *rounds("b", (890, 900), stack="own")]

    assert "the clients fetch alike" in told(found)
    assert "model" not in told(found)


def test_a_strategy_that_keeps_one_in_flight_is_told_as_such() -> None:
    found = [*grid(["a", "b"]), *rounds("one_by_one", (19.8, 19.9), latency="50ms", in_flight=1)]

    assert "one_by_one was tried with 1 in flight only: 19.9 pages/s there" in answer(found)[0]


def test_a_crawl_with_fewer_pages_than_may_be_in_flight_says_nothing_of_that_number() -> None:
    found = [*rounds("a", (900, 910), in_flight=1000, pages=10), *rounds("b", (90, 91), in_flight=1000, pages=10)]

    assert answer(found)[0] == "Nothing here can be compared."


def test_cpu_work_takes_the_gain_away_where_the_rounds_say_so() -> None:
    without = [row for cap, rate in ((1, 20), (1000, 16_000)) for row in rounds("a", (rate, rate), in_flight=cap)]
    heavy = [row for cap, rate in ((1, 16), (1000, 96)) for row in rounds("a", (rate, rate), in_flight=cap)]

    text = told([*without, *with_work(heavy, "10ms", 10 * MS)])

    assert (
        "The more CPU work a page takes, the less more in flight bring: at no added latency, 1,000 in flight instead "
        "of 1 bring a 800x the pages/s without CPU work and 6.0x with 10 ms." in text
    )


def test_of_many_amounts_of_cpu_work_four_are_told() -> None:
    one = [row for cap, rate in ((1, 20), (1000, 16_000)) for row in rounds("a", (rate, rate), in_flight=cap)]

    text = told([row for work in range(9) for row in (with_work(one, f"{work}ms", work * MS) if work else one)])

    assert re.findall(r"800x( the pages/s)? (without CPU work|with \d ms)", text) == [
        (" the pages/s", "without CPU work"), ("", "with 3 ms"), ("", "with 5 ms"), ("", "with 8 ms"),
    ]  # fmt: skip
    assert "The more CPU work" not in text


def test_a_gain_that_single_rounds_contradict_is_told_with_that() -> None:
    text = told([*rounds("a", (100, 900), in_flight=1), *rounds("a", (800, 1500), in_flight=10)])

    assert "10 in flight bring a 2.3x (which chance may explain) the pages/s of 1" in text


@pytest.mark.parametrize(
    ("caps", "ends"),
    [
        ((1, 10, 100, 1000, 3000), "; the core of b, the first of them, is full from about 290 in flight on."),
        ((1000, 3000), "; with 3,000 in flight the core of b and a is full."),
    ],
)
def test_the_number_from_which_a_core_is_full_is_told_where_the_model_fits(caps: tuple[int, ...], ends: str) -> None:
    cpu_ns = {"a": 100_000, "b": 170_000}
    found = [
        crawl_row(
            name,
            latency="50ms",
            in_flight=cap,
            number=number,
            pages_per_s=min(cap / 50.1e6, 1 / own) * 1e9 * (1 + number / 1000),
            cpu_per_page_ns=own,
        )
        for name, own in cpu_ns.items()
        for cap in caps
        for number in (1, 2, 3)
    ]

    assert [sentence for sentence in answer(found) if sentence.endswith(ends)]


def test_cpu_work_makes_models_alike_where_the_rounds_say_so() -> None:
    without = [*rounds("a", (900, 910)), *rounds("b", (450, 455))]
    heavy = with_work([*rounds("a", (99, 101)), *rounds("b", (98, 100))], "10ms", 10 * MS)

    assert (
        "With 100 in flight the fastest model is ahead of the slowest by 2.0x without CPU work and nothing that the "
        "rounds show with 10 ms." in told([*without, *heavy])
    )


def test_cells_of_different_cpu_work_are_never_compared_as_models() -> None:
    found = [*rounds("a", (900, 910)), *with_work(rounds("b", (450, 455)), "1ms", MS)]

    assert "b " not in told(found)
    assert "2.0x" not in told(found)


def test_where_every_crawl_has_cpu_work_the_sentences_say_so() -> None:
    found = with_work([*rounds("a", (900, 910)), *rounds("b", (450, 455))], "2ms", 2 * MS)

    assert answer(found)[0].startswith("At no added latency and 2 ms of CPU work a page, with 100 in flight")


def test_memory_alone_is_answered_by_its_slopes() -> None:
    found = answer([*memory_rows("a", 1000), *memory_rows("b", 26_000), *memory_rows("client", 90_000, stack="own")])

    assert found[0] == "One more fetch in flight takes 1.00 ±0.00 kB of user memory with a, 26.0 ±0.0 kB with b: 26x."
    assert found[-1].startswith("Medians over 2 rounds on one machine; a difference counts only where the intervals")
    assert len(found) == 2


def test_limits_are_answered_by_what_binds() -> None:
    measured = {"found": 32_441, "bound_by": "kernel.pid_max", "stopped_by": "failure"}
    ports = {"found": 28_232, "bound_by": "net.ipv4.ip_local_port_range", "stopped_by": "failure"}
    found = [
        bare_row("limit", "threads", {"resource": "threads", "through_shared": False}, measured),
        bare_row("limit", "ports", {"resource": "ports", "through_shared": False}, ports),
    ]

    assert answer(found)[0] == (
        "Limits of this machine for a process: 32,441 threads, then no more: kernel.pid_max is what binds; reached "
        "besides: ports 28,232 (net.ipv4.ip_local_port_range)."
    )


def test_a_comparison_is_answered_by_their_changes_with_intervals() -> None:
    found = flat(series(12, 0.2))

    first, *_, last = answer(found)

    assert first.startswith("Over 12 blocks, generators (B) against callbacks (A): CPU per page +22.")
    assert "95 % interval" in first
    assert last.startswith("Blocks on one machine")


def test_probes_alone_point_to_their_table() -> None:
    found = [bare_row("probe", "spin", {"probe": "spin", "arguments": {"how": "spin"}}, {"cpu_ns": 5})]

    assert answer(found)[0].startswith("The figures of spin are in the table of probes")


def test_hostile_names_and_reasons_cannot_move_a_cursor_or_fill_the_page() -> None:
    hostile = "\x1b[31m\n" + "x" * 500
    found = [*rounds(hostile, (900, 910)), *rounds("b", (500, 510))]

    for text in (told(found), told([crawl_row(hostile, status="failed", reason=hostile)])):
        assert text.isprintable()
        assert "x" * 130 not in text


def test_there_are_never_more_than_six_sentences_and_each_is_whole() -> None:
    found = [
        *grid(["a", "b"]),
        *grid(["client"], stack="own"),
        *with_work(grid(["a", "b"]), "1ms", MS),
        bare_row("limit", "threads", {"resource": "threads", "through_shared": False}, {"found": 3}),
        *flat(series(12, 0.2)),
    ]

    sentences = answer(found)

    assert len(sentences) == MOST
    assert all(one[0].isupper() and one.endswith(".") and not one.endswith("..") for one in sentences)


@pytest.mark.parametrize("run", sorted(path.parent for path in REFERENCE.glob("*/rows.jsonl")), ids=lambda p: p.name)
def test_every_reference_run_has_an_answer(run: Path) -> None:
    sentences = answer(stored.read(run))

    assert 2 <= len(sentences) <= MOST
    assert "Nothing here" not in sentences[0]


def test_what_it_says_of_the_reference_run_is_in_the_summary() -> None:
    found = newest(REFERENCE, "quick").rows
    text, summary = told(found), summary_json(found)
    rates = {
        units.number(rate["median"], words.digits(Spread(rate["median"], rate["low"], rate["high"], rate["rounds"])))
        for cell in summary["cells"]
        if (rate := cell["pages_per_s"]) and rate["valid"]
    }
    red = summary["trials"]["planned"] - summary["trials"]["valid"]

    stated = re.findall(r"([\d,.]*\d) pages/s", text)
    assert len(stated) > 2
    assert set(stated) <= rates
    assert f"{red} of {summary['trials']['planned']} trials" in text or not red
    [costs] = re.findall(r"costs ([\d.]+ kB) with (\w+)", text)
    layers = {one["subject"]: one["slopes"] for one in summary["layers"] if one["group"].endswith("in flight")}
    cost_bytes = layers[costs[1]]["all layers"]["per_fetch"]
    assert costs[0] in {units.size(cost_bytes, 2), units.size(cost_bytes, 3)}
