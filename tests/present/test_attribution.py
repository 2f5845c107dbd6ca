"""Where the bytes go: printed block by block, look by look, and nothing made up for what is unknown."""

from typing import Any

from bench.core.rows import Row
from bench.studies.probes.show import attribution_lines
from tests.made_rows import bare_row, crawl_row


def look(block: str, name: str, *, red: bool = False, **found: Any) -> Row:
    arguments = {"block": block, "look": name}
    return bare_row("probe", "attribution", {"probe": "attribution", "arguments": arguments}, found, red=red)


PYTHON = look("thread", "python", n=1000, python=[["a.py:1 x = 1", 760], ["all else", 40]])
OUTSIDE = look("thread", "outside", n=1000, mappings=[["thread stacks", 12_800]], kernel=None)


def test_each_look_has_its_pieces_and_their_sum_python_first() -> None:
    assert list(attribution_lines([OUTSIDE, PYTHON])) == [
        "where the bytes of one thread go",
        "  allocated by Python, by line (tracemalloc), mean of 1,000",
        "        760 B  a.py:1 x = 1",
        "         40 B  all else",
        "        800 B  together",
        "  in memory, by kind of mapping (smaps), mean of 1,000",
        "      12.8 kB  thread stacks",
        "      12.8 kB  together",
        "  page tables, and stacks in the kernel, mean of 1,000",
        "      unknown  this system does not tell, or not to this user",
        "  objects of the kernel, by slab cache (slabinfo; both ends of a connection), mean of 1,000",
        "      unknown  this system does not tell, or not to this user",
        "",
    ]


def test_other_rows_and_red_ones_are_not_told() -> None:
    red = look("thread", "python", red=True, n=1000, python=[["all else", 1]])

    assert list(attribution_lines([crawl_row(), red])) == []


def test_a_hostile_line_of_source_cannot_reach_the_terminal() -> None:
    (_, _, line, *_) = attribution_lines([look("thread", "python", n=1, python=[["\x1b[31mred\n", 5]])])

    assert "\x1b" not in line
    assert "\n" not in line
