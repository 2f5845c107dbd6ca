"""The marks that plots are made of: what is drawn is what was given, and red trials are no part of a line."""

from typing import Any

import pytest

from bench.present import marks, name_looks, page
from bench.present.marks import Bar, Fill, Point

LOOK = name_looks.look("callbacks")


@pytest.fixture
def sheet() -> Any:
    with page.settings():
        yield page.sheet("Title", "Notes.", "Footer.")


def test_a_line_goes_through_the_valid_points_only(sheet: Any) -> None:
    axes: Any = marks.panels(sheet, 1)[0]

    label = marks.series(axes, "callbacks", [Point(1, 10, 9, 12), Point(2, 20), Point(3, 5, red=True)], LOOK)

    line, red = axes.lines[0], axes.lines[-1]
    assert list(line.get_xdata()) == [1, 2]
    assert list(red.get_xdata()) == [3]
    assert red.get_markerfacecolor() == marks.HOLLOW
    assert label is not None
    assert (label.x, label.y, label.text, label.colour) == (2, 20, "callbacks", LOOK.colour)


def test_a_line_of_red_points_has_a_label_that_says_so(sheet: Any) -> None:
    label = marks.series(marks.panels(sheet, 1)[0], "callbacks", [Point(3, 5, red=True)], LOOK)

    assert label is not None
    assert label.text == "callbacks (red)"


@pytest.mark.parametrize(("points", "look"), [([], LOOK), ([Point(1, 1)], None), ([Point(1, 0)], LOOK)])
def test_what_is_not_drawn_or_has_no_look_has_no_label(sheet: Any, points: Any, look: Any) -> None:
    assert marks.series(marks.panels(sheet, 1)[0], "any", points, look, logarithmic=True) is None


def test_bars_are_stacked_and_named_and_one_beyond_the_axis_ends_in_an_arrow(sheet: Any) -> None:
    axes: Any = marks.panels(sheet, 1)[0]
    fills = {"user": Fill("#0072B2"), "kernel": Fill("#D55E00", "//")}
    found = [Bar("thread", {"user": 9, "kernel": 8}, 16, 18, "17 kB"), Bar("task", {"user": 99, "kernel": 1}, text="x")]

    marks.stacked(axes, found, fills, limit=50)

    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, 9), (9, 8), (0, 99), (99, 1)]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["thread", "task"]
    assert [text.get_text() for text in axes.texts] == ["17 kB"]
    assert [line.get_marker() for line in axes.lines if list(line.get_ydata()) == [1]] == [">"]


def test_panels_fill_rows_and_leave_the_rest_empty(sheet: Any) -> None:
    found = marks.panels(sheet, 3)

    assert len(found) == 3
    assert [axes.axison for axes in sheet.axes] == [True, True, True, False]


def test_notes_are_the_sentences_that_there_are() -> None:
    assert marks.notes("One.", "", None, "Two.") == "One. Two."
