"""What a page does: the table of counts, its notes and details, and what other outputs have of them."""

import json
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows.files import Row
from inflight.bench.show import html
from inflight.bench.show.progress import trial_line
from inflight.bench.show.results import Results, csv
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import as_markdown, sections_of, summary_table
from inflight.bench.show.table import Section, Table
from inflight.bench.show.words import SENTENCES
from tests.made_counts import PAGES, counts_row
from tests.made_rows import MACHINE, arm_row, block_rows, edited
from tests.show.drawn import HOSTILE

ASYNCIO = {"asyncio/streams.py:StreamReader.read": 2.0, "asyncio/streams.py:StreamWriter.drain": 1.5, "x.py:f": 80.0}
CHILDREN = "the strategy has child processes"
HEADS = ("", "Python calls", "C calls", "system calls")


def shown(rows: Sequence[Row]) -> Section:
    (section,) = (section for section in sections_of(Studies(rows)) if SENTENCES["counts"] in section.notes)
    return section


def table(rows: Sequence[Row]) -> Table:
    (found,) = shown(rows).tables
    return found


def details(rows: Sequence[Row]) -> dict[str, list[tuple[str, ...]]]:
    """Return the lines of each detail, the heads first."""
    return {
        detail.summary: [line for each in detail.tables for line in (each.heads, *each.cells)]
        for detail in shown(rows).details
    }


def test_counts_stand_beside_the_cpu_time_of_the_same_run() -> None:
    rows = [*block_rows({"callbacks": 20_000, "generators": 24_000}), *map(counts_row, ("callbacks", "generators"))]
    found = table([*rows, counts_row("native_asyncio", ASYNCIO, c_calls=63.1)])

    assert found.title == "What a page does"
    assert found.heads == (*HEADS, "CPU time per page, 0 ms, 100 in flight", "repeats")
    assert found.cells == [
        ("callbacks", "18", "33", "3", "21 µs", "equal"),
        ("generators", "18", "33", "3", "25 µs", "equal"),
        ("native_asyncio", "83.5", "63.1", "3", "-", "equal"),
    ]


def test_without_a_timed_crawl_there_is_no_column_for_it() -> None:
    assert table([counts_row()]).heads == (*HEADS, "repeats")


def test_the_cpu_time_is_of_the_same_use_of_connections_and_names_its_work() -> None:
    apart = edited(counts_row(), workload={"connection": "per-fetch"})
    rows = [arm_row("callbacks", work="1ms", number=number) for number in (1, 2)]

    (beside,), (without,) = shown([*rows, counts_row()]).tables, shown([*rows, apart]).tables
    assert beside.heads[4] == "CPU time per page, 1 ms CPU work, 0 ms, 100 in flight"
    assert beside.cells[0][4] == "50 µs"
    assert without.heads[4:] == ("repeats",)


@pytest.mark.parametrize(
    ("rows", "repeats"),
    [
        ([counts_row(more=0)], "equal"),
        ([counts_row(more=None)], "not repeated"),
        ([counts_row(more=9)], "differ by 1 %"),
        ([counts_row(more=1)], "differ by 0.1 %"),
        ([counts_row(more=None, number=n) for n in (1, 2)], "equal"),
        ([counts_row(more=None), counts_row("callbacks", {"x.py:f": 17.0}, more=None, number=2)], "differ by 6 %"),
    ],
)
def test_the_last_column_says_how_far_repeats_are_equal(rows: list[Row], repeats: str) -> None:
    (line,) = table(rows).cells

    assert line[-1] == repeats


def test_bytecodes_have_a_column_where_they_were_counted() -> None:
    found = table([counts_row(bytecodes=698.0)])

    assert found.heads[4:] == ("bytecodes", "repeats")
    assert found.cells[0][4] == "698"


def test_what_could_not_be_counted_has_its_reason_below_the_table() -> None:
    refused = {"system calls": "ptrace is refused"}
    rows = [
        counts_row(lacks=refused),
        counts_row("generators", lacks=refused),
        counts_row("process_pool", lacks={"calls": CHILDREN}),
        counts_row("nothing", lacks={"calls": CHILDREN, "system calls": "ptrace is refused"}),
    ]
    found = table(rows)

    assert [line[1:] for line in found.cells if line[0] == "process_pool"] == [("-", "-", "3", "equal")]
    assert [line[1:] for line in found.cells if line[0] == "nothing"] == [("-", "-", "-", "-")]
    assert set(found.notes) == {
        "Not counted: system calls of callbacks, generators, nothing: ptrace is refused.",
        f"Not counted: calls of nothing, process_pool: {CHILDREN}.",
    }


def test_a_failed_trial_is_marked_and_has_no_counts() -> None:
    found = table([counts_row(), counts_row("broken", status="failed", reason="no route")])

    assert ("broken ✗", "-", "-", "-", "-") in found.cells


def test_the_limits_of_counts_are_said_wherever_they_are_shown() -> None:
    studies = Studies([counts_row()])
    page = unescape(re.sub(r"<[^>]*>", " ", html.section(shown([counts_row()]))))

    for text in (summary_table(studies).plain, as_markdown(studies, MACHINE).replace("\\", ""), page):
        assert SENTENCES["counts"] in re.sub(r"\s+", " ", text)
    assert "Trials in no other table" not in summary_table(studies).plain


def test_calls_are_added_up_by_file_and_the_most_frequent_come_first() -> None:
    found = details([counts_row(), counts_row("native_asyncio", ASYNCIO, c_calls=63)])

    assert found["Calls by module"] == [
        ("", "callbacks", "native_asyncio"),
        ("x.py", "", "80"),
        ("all C functions", "33", "63"),
        ("strategies/x.py", "18", ""),
        ("asyncio/streams.py", "", "3.5"),
    ]
    assert found["System calls"][1] == ("sendto", "1", "1")


def test_counts_that_depend_on_time_have_their_range_and_stand_apart() -> None:
    timed: dict[str, Any] = {"futex_calls": [0, 0], "switches": [PAGES, 2 * PAGES], "page_faults": [78, 79]}
    found = details([counts_row(**timed)])

    assert found["Counts that depend on time"] == [
        ("", "callbacks"), ("context switches", "1 to 2"), ("page faults", "0.26"), ("futex calls", "0"),
    ]  # fmt: skip
    assert not {"futex_calls", "switches", "page_faults"} & set(Studies([counts_row(**timed)]).as_json()["counts"][0])


def test_more_strategies_than_fit_beside_each_other_have_a_table_more() -> None:
    detail = next(each for each in shown([counts_row(f"s{n}") for n in range(8)]).details)

    assert [len(each.heads) - 1 for each in detail.tables] == [6, 2]


def test_of_very_many_files_it_is_said_how_many_are_left_out() -> None:
    (found,) = shown([counts_row("callbacks", {f"{n}.py:f": 1.0 for n in range(99)})]).details[0].tables

    assert len(found.lines) == 60
    assert found.notes == ("The first 60 of 100 lines.",)


def test_names_that_a_stranger_wrote_do_no_harm() -> None:
    rows = [counts_row("callbacks", {HOSTILE: 1.0}, {HOSTILE: 1.0}, lacks={"bytecodes": HOSTILE})]

    page = str(html.section(shown(rows)))
    assert "<b>" not in page
    assert "\x1b" not in page + summary_table(Studies(rows)).plain + as_markdown(Studies(rows), MACHINE)


def test_json_csv_and_the_frame_have_the_figures() -> None:
    rows = [*block_rows({"callbacks": 20_000}), counts_row(bytecodes=698.0, more=1)]
    results = Results(Path("made"), rows, {})

    (line,) = json.loads(json.dumps(results.summary(), allow_nan=False))["counts"]
    assert line["line"] == "callbacks"
    assert line["python_calls_per_page"] == pytest.approx(18 + 0.5 / PAGES)
    assert line["repeats"] == "differ by 0.1 %"
    assert 20_000 < line["cpu_per_page_ns"] < 22_000
    frame = results.frame
    counted = frame[frame["kind"] == "counts"].set_index("figure")["value"]
    assert counted["system_calls_per_page"] == pytest.approx(3 + 0.5 / PAGES)
    assert counted["repeats_equal"] == 0
    assert "cpu_per_page_ns" not in counted
    assert "bytecodes_per_page" in csv(Studies(rows).trials).splitlines()[0]


def test_the_line_of_a_trial_has_its_calls() -> None:
    line = " ".join(trial_line(1, 2, counts_row(), colour=False).split())

    assert line == "1/2 callbacks counts, 1 ms latency, 1 in flight 18 Python calls 3 system calls ok"
