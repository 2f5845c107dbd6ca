"""The marks of plots: they have the given values, and invalid trials are not part of a line."""

from typing import Any

import pytest
from inflight.bench.present.marks import Fill, Point

from inflight.bench.present import marks, name_looks, page

LOOK = name_looks.look("callbacks")


@pytest.fixture
def sheet() -> Any:
    with page.settings():
        yield page.sheet("Title", "Notes.", "Footer.")


def test_a_line_goes_through_the_valid_points_only(sheet: Any) -> None:
    axes: Any = marks.panels(sheet, 1)[0]

    label = marks.series(axes, "callbacks", [Point(1, 10, 9, 12), Point(2, 20), Point(3, 5, invalid=True)], LOOK)

    line, good, invalid = axes.lines[:3]
    assert list(line.get_xdata()) == list(good.get_xdata()) == [1, 2]
    assert list(invalid.get_xdata()) == [3]
    assert invalid.get_markerfacecolor() == "white"
    assert label is not None
    assert (label.x, label.y, label.text, label.colour) == (2, 20, "callbacks", LOOK.colour)


def test_a_line_of_invalid_points_has_a_label_that_says_so(sheet: Any) -> None:
    label = marks.series(marks.panels(sheet, 1)[0], "callbacks", [Point(3, 5, invalid=True)], LOOK)

    assert label is not None
    assert label.text == "callbacks (invalid)"


@pytest.mark.parametrize(("points", "look"), [([], LOOK), ([Point(1, 1)], None)])
def test_without_points_or_look_there_is_no_label(sheet: Any, points: Any, look: Any) -> None:
    assert marks.series(marks.panels(sheet, 1)[0], "any", points, look) is None


def test_bars_are_stacked_and_end_where_their_parts_do(sheet: Any) -> None:
    axes: Any = marks.panels(sheet, 1)[0]

    end = marks.stacked(axes, 0, [(9, Fill("#0072B2")), (8, Fill("#D55E00", "//"))])
    marks.beside(axes, "17 kB", end, 0)
    marks.name_rows(axes, ["thread"])

    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, 9), (9, 8)]
    assert end == 17
    assert [label.get_text() for label in axes.get_yticklabels()] == ["thread"]
    assert [text.get_text() for text in axes.texts] == ["17 kB"]


def test_panels_fill_rows_and_leave_the_rest_empty(sheet: Any) -> None:
    found = marks.panels(sheet, 3)

    assert len(found) == 3
    assert [axes.axison for axes in sheet.axes] == [True, True, True, False]


def test_notes_join_the_sentences_that_apply() -> None:
    assert marks.notes("One.", "", None, False, "Two.") == "One. Two."
