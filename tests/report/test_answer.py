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


def test_a_hundred_strategies_do_not_give_a_hundred_names() -> None:
    names = [f"model_{n:03}" for n in range(100)]

    text = told(grid(names, caps=(1, 1000)))

    assert len(set(re.findall(r"model_\d+", text))) <= 8
    assert len(text) < 3000


def test_memory_alone_is_answered_by_its_slopes() -> None:
    found = answer([*memory_rows("a", 1000), *memory_rows("b", 26_000), *memory_rows("client", 90_000, stack="own")])

    assert found[0] == "One more fetch in flight takes 26.0 kB of user memory with b, 1.00 kB with a: 26x."
    assert found[-1].startswith("Medians over 2 rounds on one machine; a difference counts only where the intervals")
    assert found[1].startswith("3 of 3 strategies held 2,000 fetches in flight at once")


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
    costs = {
        units.duration(cost["median"], words.digits(Spread(cost["median"], cost["low"], cost["high"], cost["rounds"])))
        for cell in summary["cells"]
        if (cost := cell["cpu_per_page_ns"]) and cost["valid"]
    }
    red = summary["trials"]["planned"] - summary["trials"]["valid"]

    stated = re.findall(r"([\d.]+ µs) with", text)
    assert len(stated) == 2
    assert set(stated) <= costs
    assert f"{red} of {summary['trials']['planned']} trials" in text or not red
    [(size, name)] = re.findall(r"takes ([\d.]+ kB) with (\w+)", text)
    layers = {one["subject"]: one["slopes"] for one in summary["layers"] if one["group"].endswith("in flight")}
    cost_bytes = layers[name]["all layers"]["per_fetch"]
    assert size in {units.size(cost_bytes, 2), units.size(cost_bytes, 3)}
