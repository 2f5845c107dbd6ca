"""Runs on a terminal: tables and bars within its width, harmless names, colour where it is wanted."""

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight.bench.rows.files import Row
from inflight.bench.show import html
from inflight.bench.show.answer import MAX_MODELS
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import WIDTH, print_summary, summary_table
from inflight.bench.show.table import Group, Section, Table
from inflight.bench.show.terminal import text, wants_colour, wants_live
from tests.made_rows import crawl_row, grid

HOSTILE = "$x^{2}$<b>&[red]`|\x1b[31m\n"
ONE = [crawl_row("other", invalid=True), *grid()]


class Terminal(io.StringIO):
    """A text file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def lines(section: Section, width: int) -> list[str]:
    return text(section, width).plain.splitlines()


def of_run(rows: list[Row]) -> str:
    return summary_table(Studies(rows)).plain


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_hundred_strategies_fit(width: int) -> None:
    rows = [crawl_row(f"strategy_number_{n:03}", pages_per_s=1000 + n) for n in range(100)]
    table = summary_table(Studies(rows), width).plain.splitlines()

    assert sum(line.startswith("strategy_number_") for line in table) == 200 + MAX_MODELS + 1, "the finding names one"
    assert max(map(len, table)) <= width


@pytest.mark.ci
@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1, max_size=60))
def test_no_name_breaks_the_table(name: str) -> None:
    found = of_run([*grid([name], rounds=1), crawl_row(name, invalid=True)]).splitlines()

    assert all(line.isprintable() for line in found)
    assert max(map(len, found)) <= WIDTH


def test_a_name_is_no_markup() -> None:
    assert "$x^{2}$<b>&[red]`|?[31m" in of_run([crawl_row(HOSTILE)])


FIGURES = Table("", ("name", *"abcdef"), (("callbacks", *["1,234,567 ±8 %"] * 6), Group("others"), ("b", *"123456")))


def test_figures_stand_below_each_other_and_break_before_their_interval() -> None:
    whole, broken, split = (lines(Section("", (FIGURES,)), width) for width in (120, 80, 60))

    assert "callbacks  1,234,567 ±8 %  1,234,567 ±8 %" in whole[2]
    assert whole[4:] == ["others", "b" + "".join(f"{n:>{16 if n > 1 else 24}}" for n in range(1, 7))]
    assert [line.split() for line in broken[2:4]] == [["callbacks", *["1,234,567"] * 6], [*["±8", "%"] * 6]]
    assert [line.split()[0] for line in split if line.startswith("name")] == ["name"] * 2, "two grids"
    assert max(map(len, split)) <= 60


def test_names_that_differ_at_their_ends_are_whole() -> None:
    ends = ("3.14.0a3", "3.14.0a3t")
    table = Table("", ("name", *"abcd"), tuple((f"native_asyncio {end}", *["1,234,567 ±8"] * 4) for end in ends))

    found = lines(Section("", (table,)), 70)

    assert [line.strip() for line in found if "3.14" in line] == list(ends)


def test_only_a_terminal_has_colour_and_no_color_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    file, terminal, without = io.StringIO(), Terminal(), Terminal()
    print_summary(Studies(ONE), file)
    print_summary(Studies(ONE), terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    print_summary(Studies(ONE), without)

    assert file.getvalue() == of_run(ONE) + "\n"
    assert re.search(r"\x1b\[2;31m *[\d,]+( µs)?✗", terminal.getvalue()), "an invalid figure is dim and red"
    assert "31m" not in without.getvalue()


@pytest.mark.parametrize(
    ("term", "no_color", "coloured", "redrawn"),
    [
        ("xterm", None, True, True),
        ("xterm", "1", False, True),
        ("dumb", None, False, False),
        ("unknown", None, True, False),
        ("", None, True, False),
    ],
)
def test_what_a_terminal_can_show(
    monkeypatch: pytest.MonkeyPatch, term: str, no_color: str | None, coloured: bool, redrawn: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("NO_COLOR", no_color or "")

    assert (wants_colour(Terminal()), wants_live(Terminal())) == (coloured, redrawn)
    assert not wants_colour(io.StringIO())
    assert not wants_live(io.StringIO())


def test_a_name_on_a_page_breaks_between_its_parts_and_a_figure_does_not() -> None:
    found = Table("", ("rate", "x"), (("thread_pool (cores=2)", "1_000"), ("32,000/s", "a=b")))

    shown = str(html.table(found))

    assert "thread_<wbr>pool (cores=<wbr>2)" in shown
    assert all(f">{text}<" in shown for text in ("1_000", "32,000/s", "a=b"))
