"""The answer of a run: each sentence is recomputed from the rows, in whatever way models differ."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from inflight.bench import units
from inflight.bench.rows.files import Row
from inflight.bench.show.answer import PAIR, WIDTH, RunAnswer, answer_of
from inflight.bench.show.studies import Studies
from tests.made_counts import counts_row
from tests.made_memory_rows import c10k_run, held_row, limit_row, memory_run
from tests.made_rows import arm_row, block_rows, edited
from tests.show.drawn import drawn, texts

THREADS, ASYNCIO = PAIR
HEAD = "Threads (thread_pool) against asyncio (native_asyncio)."
CHEAP = {"callbacks": 20_000, THREADS: 30_000, ASYNCIO: 44_000}
DEAR = {"callbacks": 20_000, THREADS: 44_000, ASYNCIO: 30_000}
ALIKE = {"callbacks": 20_000, THREADS: 30_000, ASYNCIO: 30_900}


def answered(rows: Sequence[Row]) -> RunAnswer:
    return answer_of(Studies(rows))


def sentence(rows: Sequence[Row], first: str = THREADS) -> str:
    """Return what is said of one model against another; empty if nothing is."""
    return "".join(pair.sentence for pair in answered(rows).pairs if pair.first == first)


def mean_log(rows: Sequence[Row], strategy: str, figure: str, latency: str) -> float:
    values = [
        math.log(getattr(row.measured, figure))
        for row in rows
        if (row.kind, row.strategy) == ("arm", strategy) and row.workload.latency == latency and row.valid
    ]
    return sum(values) / len(values)


def ratio(rows: Sequence[Row], figure: str, dear: str, cheap: str, latency: str = "0", digits: int = 2) -> str:
    """Recompute the ratio of two models from their rows, as it is printed."""
    change = mean_log(rows, dear, figure, latency) - mean_log(rows, cheap, figure, latency)
    return units.number(math.exp(change), digits)


def held(costs: Mapping[str, int]) -> list[Row]:
    """Make fetches in flight at five sizes; a sixth of each is page tables, kernel stacks and slab."""
    return [
        held_row(strategy, n, (each - 3 * (each // 6), *[each // 6] * 3), jitter=100 * (n % 7))
        for strategy, each in costs.items()
        for n in (400, 700, 1200, 1600, 2000)
    ]


def slow(costs: Mapping[str, int] = CHEAP) -> list[Row]:
    return block_rows(costs, latency="50ms", blocks=3)


@pytest.mark.parametrize(
    ("costs", "winner", "loser"),
    [(CHEAP, "threads", "asyncio"), (DEAR, "asyncio", "threads")],
    ids=["threads", "asyncio"],
)
def test_the_cheaper_model_is_named_with_what_the_other_one_costs(
    costs: dict[str, int], winner: str, loser: str
) -> None:
    rows = block_rows(costs)
    dear, cheap = sorted(PAIR, key=lambda name: -costs[name])
    expected = ratio(rows, "cpu_per_page_ns", dear, cheap)

    assert f"Fast sites: {winner}; {expected}x the CPU time with {loser} (next run " in sentence(rows)


def test_the_range_of_the_next_run_is_that_of_the_json() -> None:
    answer = answered(block_rows(CHEAP))
    fast = answer.as_json()["pairs"][0]["clauses"]["fast"]["figures"]
    low, high = (units.number(fast[end], 2) for end in ("next_low", "next_high"))

    assert fast["answer"] == "differs"
    assert f"(next run {low} to {high})" in answer.pairs[0].sentence


def test_no_certain_difference_has_its_ratio() -> None:
    rows = block_rows(ALIKE)
    expected = ratio(rows, "cpu_per_page_ns", ASYNCIO, THREADS)

    assert f"Fast sites: no certain difference; {expected}x the CPU time with asyncio (next run " in sentence(rows)


def test_models_that_wait_alike_are_both_named_with_their_pages() -> None:
    rows = slow()
    rate = units.rate(math.exp(mean_log(rows, ASYNCIO, "pages_per_s", "50ms")), 3)

    assert f"Slow sites: either; both fetch {rate}." in sentence(rows)


def test_a_model_that_waits_less_at_a_time_is_named_with_its_share() -> None:
    rows = slow({"callbacks": 20_000, THREADS: 20_000, ASYNCIO: 1_000_000})
    expected = ratio(rows, "pages_per_s", ASYNCIO, THREADS, "50ms", 3)

    assert f"Slow sites: threads; {expected}x the pages/s with asyncio (next run " in sentence(rows)


def test_memory_is_compared_by_slopes() -> None:
    rows = held({THREADS: 60_000, ASYNCIO: 15_000})

    assert sentence(rows) == f"{HEAD} Memory: asyncio; 4.0x as much with threads (60 kB against 15 kB)."


def test_memory_within_the_noise_of_its_slopes_is_no_difference() -> None:
    rows = held({THREADS: 15_010, ASYNCIO: 15_000})

    assert "Memory: no certain difference; 15 kB against 15 kB." in sentence(rows)


@pytest.mark.parametrize("rows", [block_rows(CHEAP), slow()], ids=["fast", "slow"])
def test_what_was_not_measured_has_no_clause(rows: list[Row]) -> None:
    text = sentence(rows)

    assert text.count(":") == 1
    assert ("Slow" in text) == (rows[0].workload.latency == "50ms")


def test_an_invalid_model_is_named_and_has_no_ratio() -> None:
    rows = [edited(row, checks=[{"name": "answer correct", "verdict": "failed", "detail": "a page is missing"}])
            if row.strategy == ASYNCIO else row for row in block_rows(CHEAP)]  # fmt: skip

    assert sentence(rows) == f"{HEAD} Fast sites: no valid trial of asyncio."


@pytest.mark.parametrize("names", [("callbacks", THREADS), ("callbacks", "generators"), ("callbacks",)])
def test_without_both_there_is_no_such_sentence(names: tuple[str, ...]) -> None:
    answer = answered(block_rows({name: 20_000 + 10_000 * place for place, name in enumerate(names)}))

    assert not any("against" in sentence for sentence in answer.sentences)
    assert answer.sentences
    assert list(answer.models) == list(names)


def test_of_one_block_the_ratio_is_said_and_that_its_certainty_is_unknown() -> None:
    rows = block_rows(CHEAP, blocks=1)
    expected = ratio(rows, "cpu_per_page_ns", ASYNCIO, THREADS)

    assert f"Fast sites: {expected}x the CPU time with asyncio; how certain that is is unknown" in sentence(rows)


def test_a_noisy_run_says_the_ratio_and_that_it_is_noisy() -> None:
    rows = block_rows(CHEAP, others=0.5)
    expected = ratio(rows, "cpu_per_page_ns", ASYNCIO, THREADS)

    assert f"Fast sites: in this noisy run {expected}x the CPU time with asyncio." in sentence(rows)
    assert "(next run" not in sentence(rows)


def test_what_is_not_counted_is_named_with_its_reason_and_has_no_limits() -> None:
    failed = [arm_row("broken", number=number, status="failed", reason="no route") for number in (1, 2)]
    answer = answered([*block_rows(CHEAP), *failed, limit_row("descriptors", found=None, predicted=9)])

    assert "Not counted, for example: broken, failed: no route." in " ".join(answer.sentences)
    assert "broken" not in at_once_of([*block_rows(CHEAP), *failed, limit_row("descriptors", found=None, predicted=9)])


def test_a_model_that_jumps_has_a_range_and_no_winner() -> None:
    rows = block_rows(CHEAP)
    for place, row in enumerate(rows):
        if row.strategy == ASYNCIO and row.round % 2:
            windows = [{"cycle": n, "begin_ns": 10**9 * (n + 1), "wall_ns": 2 * 10**7, "cpu_ns": 10**7, "pages": 50}
                       for n in range(3)]  # fmt: skip
            rows[place] = edited(row, measured={"cpu_per_page_ns": 200_000, "windows": windows})

    assert "Fast sites: unstable; " in sentence(rows)
    assert "in the blocks of this run" in sentence(rows)


def test_a_client_that_a_user_names_is_set_against_the_nearest_model() -> None:
    costs = {**CHEAP, "my_client": 90_000}
    rows = block_rows(costs) + slow(costs)
    expected = ratio(rows, "cpu_per_page_ns", "my_client", ASYNCIO)

    text = sentence(rows, "my_client")
    assert text.startswith(f"my_client against native_asyncio. Fast sites: native_asyncio; {expected}x the CPU time ")
    assert "Slow sites: either; both fetch" in text


def test_a_client_with_a_thread_for_each_fetch_is_set_against_threads() -> None:
    rows = block_rows({**CHEAP, "my_threads": 90_000})
    rows = [edited(row, measured={"peak_threads": 101}) if "threads" in row.strategy else row for row in rows]

    assert sentence(rows, "my_threads").startswith("my_threads against thread_pool.")


def test_every_figure_of_the_screen_is_in_the_json() -> None:
    rows = [*block_rows(CHEAP), *slow(), *held({THREADS: 60_000, ASYNCIO: 15_000, "callbacks": 9000}), limit_row()]
    rows += counted(ASYNCIO, "callbacks")
    answer = answered(rows)
    values = json.loads(json.dumps(answer.as_json()))
    known = {units.number(number, digits) for number in numbers(values) for digits in (1, 2, 3, 5)}
    known |= {units.percent(number).removesuffix(" %") for number in numbers(values) if 0 <= number < 1}
    known |= {units.number(number / 1000, 2) for number in numbers(values)}

    shown = [text for line in answer.table.cells for text in line[1:]] + list(answer.sentences)
    figures = [figure for text in shown for figure in re.findall(r"\d[\d,.]*\d|\d", text)]
    assert figures
    assert [figure for figure in figures if figure not in known] == []


def numbers(value: Any) -> list[float]:
    """Return all numbers in JSON values, those in its texts left out."""
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


# Counts


CALLS = "asyncio makes 83 Python calls and 10 system calls per page, callbacks 18 and 3."


def counted(*names: str) -> list[Row]:
    figures = {ASYNCIO: (83.0, 10.0), "callbacks": (18.0, 3.0), "my_client": (208.25, 7.0)}
    return [counts_row(name, {"x.py:f": figures[name][0]}, {"read": figures[name][1]}, more=None) for name in names]


def test_calls_say_why_if_both_were_counted() -> None:
    assert CALLS in answered(counted(ASYNCIO, "callbacks")).sentences
    assert CALLS in answered([*block_rows(CHEAP), *counted(ASYNCIO, "callbacks")]).sentences


@pytest.mark.parametrize(
    "rows",
    [
        [],
        counted(ASYNCIO),
        counted("callbacks"),
        [*counted("callbacks"), counts_row(ASYNCIO, status="failed", reason="no route")],
        [*counted("callbacks"), counts_row(ASYNCIO, lacks={"calls": "no hook"})],
        [*counted("callbacks"), counts_row(ASYNCIO, lacks={"system calls": "ptrace is refused"})],
        [counts_row(name, lacks={"calls": "no hook", "system calls": "ptrace is refused"}) for name in CHEAP],
    ],
)
def test_calls_are_not_named_if_either_was_not_counted(rows: list[Row]) -> None:
    answer = answered([*block_rows(CHEAP), *rows])

    assert not any("calls" in sentence for sentence in answer.sentences)
    assert "counts" not in answer.figures


def test_a_client_that_a_user_names_stands_in_the_same_sentence() -> None:
    answer = answered([*block_rows({**CHEAP, "my_client": 90_000}), *counted(ASYNCIO, "callbacks", "my_client")])

    sentence = "asyncio makes 83 Python calls and 10 system calls per page, my_client 208.25 and 7, callbacks 18 and 3."
    assert sentence in answer.sentences
    assert answer.figures["counts"]["my_client"] == {"python_calls_per_page": 208.25, "system_calls_per_page": 7}


# How many at once


def test_the_lowest_of_the_limits_that_a_model_needs_stops_it() -> None:
    rows = [*block_rows(CHEAP), *held({"callbacks": 10_000, THREADS: 60_000, ASYNCIO: 15_000})]
    rows = [edited(row, measured={"peak_threads": row.workload.in_flight + 1}) if row.strategy == THREADS else row
            for row in rows]  # fmt: skip
    limits = {"descriptors": 500_000, "ports": 28_232, "memory": 300_000_000, "threads": 8000}
    rows += [limit_row(name, found=None, predicted=most, predicted_by=f"limit of {name}", stopped_by="predicted")
             for name, most in limits.items()]  # fmt: skip

    assert at_once_of(rows) == {"callbacks": "28,232 ports", THREADS: "4,999 memory", ASYNCIO: "19,999 memory"}
    assert "A process can start about 8,000 threads (limit of threads)." in answered(rows).sentences
    fewer = [row for row in rows if getattr(row.workload, "resource", "") != "memory"]
    assert at_once_of(fewer)[THREADS] == "8,000 threads"


def at_once_of(rows: Sequence[Row]) -> dict[str, str]:
    (column,) = (column for column in answered(rows).columns if column.name == "at_once")
    return {model: entry.text for model, entry in column.entries.items()}


def test_where_no_limit_is_known_the_cell_says_so() -> None:
    unknown = limit_row("descriptors", found=None, predicted=None, predicted_by=None, stopped_by="predicted")

    assert set(at_once_of([*block_rows(CHEAP), unknown]).values()) == {"not known"}


# The screen


@pytest.mark.parametrize("others", [0.1, 0.5], ids=["quiet", "noisy"])
def test_the_screen_has_at_most_25_lines_of_80_columns(others: float) -> None:
    own = {"aiohttp_client": 150_000}
    models = {**CHEAP, "generators": 25_000}
    rows = [*block_rows(models, others=others), *slow(models), *block_rows(own), *counted(ASYNCIO, "callbacks")]
    rows += [*held({"callbacks": 9000, "generators": 10_000, THREADS: 60_000, ASYNCIO: 15_000}), limit_row()]
    rows += [limit_row("descriptors", found=None, predicted=19_990, stopped_by="predicted")]

    lines = answered(rows).lines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) <= 25 - len(["page", "all figures"])


@pytest.mark.parametrize("rows", [[], memory_run(1), c10k_run(1), [limit_row()], [held_row("callbacks", 100)]])
def test_any_run_has_an_answer(rows: list[Row]) -> None:
    answer = answered(rows)

    assert json.loads(json.dumps(answer.as_json(), allow_nan=False))["sentences"] == answer.sentences
    assert all(len(line) <= WIDTH for line in answer.lines())


def test_the_picture_of_how_many_at_once_ends_bars_at_its_edge_and_labels_its_lines() -> None:
    limits = {"descriptors": 19_990, "ports": 28_232, "memory": 300_000_000_000, "threads": 22_400}
    rows = [*block_rows(CHEAP), *held({"callbacks": 10_000, THREADS: 60_000, ASYNCIO: 15_000})]
    rows = [edited(row, measured={"peak_threads": 101}) if row.strategy == THREADS and row.kind == "arm" else row
            for row in rows]  # fmt: skip
    rows += [limit_row(name, found=None, predicted=most, stopped_by="predicted") for name, most in limits.items()]

    figure = drawn(rows)["at_once"]
    said = texts(figure)
    assert all(text in said for text in ("10,000 (C10K)", "19,990 descriptors", "28,232 ports", "22,400 threads"))
    assert "20,000,000 memory" in said
    (axes,) = figure.axes
    bars = [bar.get_width() for container in axes.containers for bar in container]
    assert sorted(bars) == [22_400.0, *[axes.get_xlim()[1]] * 2]
