"""What a page does: edge cases of the table of counts; its text is stored (``tests/show/test_outputs.py``)."""

from collections.abc import Sequence

import pytest

from inflight.bench.rows.files import Row
from inflight.bench.show import html
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import as_markdown, sections_of, summary_table
from inflight.bench.show.table import Section
from inflight.bench.show.words import SENTENCES
from tests.show.cases import ALL, CALLBACKS, FAST, of
from tests.show.drawn import HOSTILE
from tests.varied import varied


def shown(rows: Sequence[Row]) -> Section:
    (section,) = (section for section in sections_of(Studies(rows)) if SENTENCES["counts"] in section.notes)
    return section


@pytest.mark.parametrize(
    ("totals", "repeats"),
    [
        ([5400, 5400], "equal"),
        ([5400], "not repeated"),
        ([5400, 5454], "differ by 1 %"),
        ([5400, 5401], "differ by 0.02 %"),
    ],
)
def test_the_last_column_says_how_far_repeats_are_equal(totals: list[int], repeats: str) -> None:
    change = {"totals": {"python_calls": totals}, "repeats_equal": len(set(totals)) == 1 if totals[1:] else None}
    (table,) = shown(of("counts", CALLBACKS, (ALL, change))).tables

    assert table.cells[0][-1] == repeats


@pytest.mark.parametrize(("total", "repeats"), [(5400, "equal"), (5100, "differ by 6 %")])
def test_rounds_are_repeats(total: int, repeats: str) -> None:
    first = of("counts", CALLBACKS, (ALL, {"totals": {"python_calls": [5400]}, "repeats_equal": None}))
    second = varied(first, (ALL, {"totals": {"python_calls": [total]}, "round": 2, "trial": "again"}))

    (table,) = shown([*first, *second]).tables
    assert table.cells[0][-1] == repeats


def test_the_cpu_time_is_of_the_same_use_of_connections_and_names_its_work() -> None:
    timed = of("quick", f"({FAST}) and {CALLBACKS}", (ALL, {"workload.cpu": "1ms", "workload.cpu_ns": 1_000_000}))
    counted = of("counts", CALLBACKS)
    apart = varied(counted, (ALL, {"workload.connection": "per-fetch"}))

    (beside,), (without,) = shown([*timed, *counted]).tables, shown([*timed, *apart]).tables
    assert beside.heads[4] == "CPU time per page, 1 ms CPU work, 0 ms, 100 in flight"
    assert without.heads[4:] == ("repeats",)


def test_more_strategies_and_files_than_fit_are_in_further_tables_or_counted() -> None:
    (row,) = of("counts", CALLBACKS)
    many = [varied([row], (ALL, {"name": f"s{n}"}))[0] for n in range(8)]
    files = varied([row], (ALL, {"python_calls": {f"{n}.py:f": 1.0 for n in range(99)}}))
    (table,) = shown(files).details[0].tables

    assert [len(each.heads) - 1 for each in shown(many).details[0].tables] == [6, 2]
    assert (len(table.lines), table.notes) == (60, ("The first 60 of 100 lines.",))


def test_names_that_a_stranger_wrote_do_no_harm() -> None:
    names = {"python_calls": {HOSTILE: 1.0}, "system_calls": {HOSTILE: 1.0}, "lacks": {"bytecodes": HOSTILE}}
    rows = of("counts", CALLBACKS, (ALL, names))

    page = str(html.section(shown(rows)))
    assert "<b>" not in page
    assert "\x1b" not in page + summary_table(Studies(rows)).plain + as_markdown(Studies(rows))
