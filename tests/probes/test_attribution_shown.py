"""Where the bytes go: a table for each block, with unknown values shown as unknown."""

from typing import Any

from inflight.bench.present.table import Group
from inflight.bench.rows.files import Row
from inflight.bench.studies.probes.show import sections, tables
from tests.made_rows import bare_row, crawl_row


def look(what: str, name: str, *, invalid: bool = False, **found: Any) -> Row:
    arguments = {"idle": what, "look": name}
    return bare_row("probe", "attribution", {"probe": "attribution", "arguments": arguments}, found, invalid=invalid)


PYTHON = look("thread", "python", n=1000, python=[["a.py:1 x = 1", 760], ["all else", 40]])
OUTSIDE = look("thread", "outside", n=1000, mappings=[["thread stacks", 12_800]], kernel=None)


def test_each_look_has_its_pieces_and_their_sum_python_first() -> None:
    (table,) = tables([OUTSIDE, PYTHON])

    assert table.title == "Where the bytes of one thread go"
    assert table.lines == (
        Group("allocated by Python, by line (tracemalloc), mean of 1,000"),
        ("a.py:1 x = 1", "760 B"),
        ("all else", "40 B"),
        ("together", "800 B"),
        Group("in memory, by kind of mapping (smaps), mean of 1,000"),
        ("thread stacks", "12.8 kB"),
        ("together", "12.8 kB"),
        Group("page tables, and stacks in the kernel, mean of 1,000"),
        ("not readable on this system, or by this user", "unknown"),
        Group("objects of the kernel, by slab cache (slabinfo; both ends of a connection), mean of 1,000"),
        ("not readable on this system, or by this user", "unknown"),
    )


def test_invalid_rows_have_no_pieces_and_other_rows_no_section() -> None:
    invalid = look("thread", "python", invalid=True, n=1000, python=[["all else", 1]])

    assert [table.title for table in tables([crawl_row(), invalid])] == ["Probes"]
    assert sections([crawl_row()]) == []


def test_a_hostile_line_of_source_is_made_harmless() -> None:
    (table,) = tables([look("thread", "python", n=1, python=[["\x1b[31mred\n", 5]])])

    assert table.cells[0] == ("?[31mred", "5 B")
