"""Bars of plain text: one scale, whole lines, within the width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.present import section
from inflight.bench.present.section import Section
from inflight.bench.present.text_bars import MOST_BARS, Bar, Bars, drawn


def test_bars_share_a_scale_that_starts_at_zero() -> None:
    chart = Bars("What is shown", (Bar("long", 100, "100"), Bar("short", 25, "25"), Bar("none", 0, "0")))

    title, *lines = drawn(chart, 80).splitlines()

    assert title == "What is shown"
    assert [line.count("█") for line in lines] == [48, 12, 0]
    assert [line.split()[-1] for line in lines] == ["100", "25", "0"]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@given(st.lists(st.tuples(st.text("abc_", min_size=1, max_size=12), st.floats(0, 1e9)), min_size=1, max_size=30))
def test_no_line_is_wider_than_the_terminal(width: int, values: list[tuple[str, float]]) -> None:
    chart = Bars("title", tuple(Bar(name, value, f"{value:,.0f}") for name, value in values))

    lines = drawn(chart, width).splitlines()

    assert max(map(len, lines)) <= width
    assert len(lines) == 1 + min(len(values), MOST_BARS) + (len(values) > MOST_BARS)


def test_a_section_shows_its_bars_in_a_terminal_only() -> None:
    one = Section("The finding", bars=Bars("What is shown", (Bar("a", 1, "1 page"),)))

    assert "█  1 page" in section.text(one, 80).plain
    assert "█" not in section.markdown(one)
