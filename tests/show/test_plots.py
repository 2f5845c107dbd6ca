"""The plots: each is drawn from any rows, in files and on pages, and the same rows give the same bytes."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight.bench import units
from inflight.bench.rows.files import Row
from inflight.bench.show import pictures
from inflight.bench.show.looks import DARK, GREY, INKS, look
from inflight.bench.show.pictures import Panel, Picture, Point
from inflight.bench.show.studies import Studies
from tests.made_rows import MACHINE, crawl_row, grid, memory_row
from tests.outputs import recorded
from tests.show.cases import ASYNCIO, FAST, MEMORY, SLOW, of
from tests.show.drawn import drawn

LOOK = look("callbacks")


def saved(rows: list[Row], folder: Path, machine: dict[str, Any] = MACHINE) -> list[str]:
    """Draw, check that every PNG and SVG is there and sound, and return the names of the plots."""
    paths = Studies(rows).save_plots(machine, folder)
    for path in paths:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG\r\n")
        else:
            assert ET.fromstring(path.read_text(encoding="utf-8")).tag.endswith("svg")  # noqa: S314  (we wrote it)
    names = [path.stem for path in paths[::2]]
    assert [path.name for path in paths] == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    return names


def words(path: Path) -> str:
    """Return all text in an SVG, in its order, as one line."""
    return " ".join(" ".join(ET.parse(path).getroot().itertext()).split())  # noqa: S314  (we wrote it)


def draw_tick(axes: Any) -> None:
    axes.set_xticks([0.0125], ["0.0125"])


@pytest.fixture
def axes() -> Any:
    from matplotlib.figure import Figure

    with pictures.settings():
        yield Figure().subplots()


# Of whole runs


@pytest.mark.ci
def test_the_same_rows_give_the_same_bytes_and_the_users_settings_stay(tmp_path: Path) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    saved(grid(), tmp_path / "one")
    saved(grid(), tmp_path / "two")

    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    assert dict(mpl.rcParams) == before


def test_without_a_valid_row_the_invalid_ones_are_drawn_and_nothing_is_concluded(tmp_path: Path) -> None:
    rows = [crawl_row(in_flight=cap, invalid=True, times_ns=[5, 6]) for cap in (1, 10)]
    rows += [memory_row(held=20, number=n, invalid=True) for n in (1, 2)]

    assert saved(rows, tmp_path) == ["throughput", "cpu", "held", "held_over_time"]
    assert "fastest" not in words(tmp_path / "throughput.svg")
    assert "in flight: all held after" not in words(tmp_path / "held.svg")


def test_beside_what_is_valid_nothing_is_drawn_that_allows_no_conclusion(tmp_path: Path) -> None:
    """A self-test has one crawl of its own, which says how late the server is, and is invalid on a noisy machine."""
    rows = [memory_row(held=held, number=number) for held in (10, 20) for number in (1, 2)]

    assert not {"throughput", "cpu", "times"} & set(saved([*rows, crawl_row(invalid=True)], tmp_path))


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        (
            {"cpu": "$x^{2}$<b>&", "cores": None, "system": "a\x00b\x1b[31m\n", "versions": None},
            "$x^{2}$<b>&, ? cores · a?b?[31m",
        ),
        ({}, "unknown CPU, ? cores · unknown system"),
    ],
)
def test_a_sheet_names_any_machine(machine: dict[str, Any], text: str, tmp_path: Path) -> None:
    saved([crawl_row()], tmp_path, machine)

    assert text in words(tmp_path / "cpu.svg")


# On a page


def test_an_image_has_a_dark_value_for_each_of_its_colours_and_a_tick_keeps_its_digits() -> None:
    with pictures.settings():
        svgs = [pictures.draw_svg(panel) for picture in Studies(grid()).pictures() for panel in picture.panels]
        ticks = pictures.draw_svg(Panel("x_1.23456", draw_tick))

    for svg in svgs:
        colours = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg))
        assert colours
        assert colours <= set(DARK)
        assert "prefers-color-scheme: dark" in svg
        assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314  (we wrote it)
    assert "0.0125" in ticks
    assert "x_1.23456" in ticks


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb`` (WCAG 2.2)."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    parts = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio (WCAG 2.2)."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_names_can_be_read_in_light_and_dark_mode() -> None:
    for ink in (*INKS, GREY):
        assert contrast(ink, "#ffffff") >= 4.5
        assert contrast(DARK[ink], DARK["#ffffff"]) >= 4.5


# Marks


def test_a_line_goes_through_the_valid_points_only_and_its_name_says_if_there_are_none(axes: Any) -> None:
    valid, invalid = [Point(1, 10, 9, 12), Point(2, 20)], Point(3, 5, is_invalid=True)
    (label,) = pictures.draw_series(axes, "callbacks", [*valid, invalid], LOOK)
    (alone,) = pictures.draw_series(axes, "callbacks", [invalid], LOOK)

    line, good, bad = axes.lines[:3]
    assert list(line.get_xdata()) == list(good.get_xdata()) == [1, 2]
    assert (list(bad.get_xdata()), bad.get_markerfacecolor()) == ([3], "white")
    assert (label.x, label.y, label.text, label.ink) == (2, 20, "callbacks", LOOK.ink)
    assert alone.text == "callbacks (invalid)"
    assert pictures.draw_series(axes, "callbacks", [], LOOK) == pictures.draw_series(axes, "x", valid, None) == []


def test_a_sheet_has_its_panels_its_title_its_notes_and_its_source() -> None:
    with pictures.settings():
        panels = [Panel(str(n), draw_tick, 2 + n) for n in range(3)]
        sheet = pictures.draw_sheet(Picture("x", "Title", "Notes.", panels, footer="Footer."))

    assert [axes.get_title(loc="left") for axes in sheet.axes] == ["0", "1", "2"]
    assert [text.get_text() for text in sheet.texts] == ["Title", "Notes.\nFooter."]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_labels_never_overlap_and_keep_their_order(wanted: list[float]) -> None:
    places = pictures.spread(wanted, 0.05)

    assert all(high - low > 0.05 - 1e-9 for low, high in pairwise(sorted(places)))
    assert all(-1e-9 <= place <= 1 for place in places)
    assert sorted(range(len(wanted)), key=lambda n: wanted[n]) == sorted(range(len(wanted)), key=lambda n: places[n])


@settings(max_examples=25)
@given(st.floats(1e-3, 1e9), st.floats(1.05, 1e6))
def test_a_logarithmic_axis_has_some_ticks_but_not_too_many(low: float, factor: float) -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    pictures.log_axis(axes.xaxis, units.duration, [low, low * factor])
    left, right = axes.get_xlim()

    assert 2 <= sum(left <= tick <= right for tick in axes.get_xticks()) <= 10


# What a picture leaves out


def test_a_few_windows_have_no_panel() -> None:
    """Fewer than eight dots of an arm do not show how windows vary."""
    few = {"windows": lambda windows: windows[:2]}
    rows = of("quick", f"{FAST} or {SLOW}", (SLOW, few))

    (panel,) = drawn(rows)["windows"].axes
    assert panel.get_title(loc="left").startswith("0 ms latency")
    assert "windows" not in drawn(of("quick", FAST, (FAST, few)))


def test_what_is_too_noisy_is_text_beside_its_name_and_no_bar() -> None:
    (panel,) = drawn(of("quick", FAST, (f"{ASYNCIO} and round != 2", {"cost": 9.0})))["cpu"].axes

    names = [label.get_text() for label in panel.get_yticklabels()]
    widths = [bar.get_path().get_extents(bar.get_transform()).width for bar in panel.patches]
    assert [name for name, width in zip(names, widths, strict=True) if width < 1e-9] == ["native_asyncio"]
    assert [text.get_text() for text in panel.texts if " to " in text.get_text()]


def test_the_axes_of_a_ladder_begin_at_zero() -> None:
    panel, *_ = drawn(recorded("memory"))["ladder"].axes

    assert (panel.get_xscale(), panel.get_yscale()) == ("linear", "linear")
    assert (panel.get_xlim()[0], panel.get_ylim()[0]) == (0, 0)


@pytest.mark.parametrize("letter", ["W", "m", "漢"])
def test_a_long_name_of_wide_letters_leaves_room_for_the_memory_beside_it(letter: str) -> None:
    (panel,) = drawn(of("quick", MEMORY, (ASYNCIO, {"name": 40 * letter})))["memory"].axes

    (name,) = (label.get_text() for label in panel.get_yticklabels() if letter in label.get_text())
    assert "…" in name
    assert max(map(len, name.split("\n"))) <= 12
