"""The plots: every one is drawn from any rows, its SVG is sound, and the same rows give the same file."""

import json
import math
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.present import labels, name_looks, page, scales
from inflight.bench.report.plots import save_all
from inflight.bench.rows.files import Row
from tests.made_rows import MACHINE, crawl_row, grid, memory_row, memory_rows

HOSTILE = ["$x^{2}$<b>&", "_hidden", "a\x00b\x1b[31m\n", "\N{PILE OF POO}" * 3, "x" * 200, "\\frac{1}{0}"]
ALL = ["throughput", "retention", "cpu", "times", "memory", "held", "held_over_time"]


def drawn(rows: list[Row], folder: Path) -> list[str]:
    """Draw, check that every PNG and SVG is there and sound, and return the names of the plots."""
    paths = save_all(rows, MACHINE, folder)
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


def test_every_plot_is_drawn_from_a_whole_experiment(tmp_path: Path) -> None:
    assert drawn([*grid(), *grid(["client"], stack="own")], tmp_path) == ALL


@pytest.mark.ci
def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    drawn(grid(), tmp_path / "one")
    drawn(grid(), tmp_path / "two")

    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_no_rows_give_no_plots(tmp_path: Path) -> None:
    assert drawn([], tmp_path) == []


def test_trials_that_never_ended_give_no_plots(tmp_path: Path) -> None:
    assert drawn([crawl_row(status="skipped"), memory_row(status="timeout")], tmp_path) == []


def test_without_a_valid_row_the_invalid_ones_are_shown_and_nothing_is_concluded(tmp_path: Path) -> None:
    rows = [crawl_row(in_flight=cap, invalid=True, times_ns=[5, 6]) for cap in (1, 10)]
    rows += [memory_row(held=n, invalid=True) for n in (10, 20)]

    assert drawn(rows, tmp_path) == ["throughput", "cpu", "held", "held_over_time"]
    assert "fastest" not in words(tmp_path / "throughput.svg")
    assert "in flight: all held after" not in words(tmp_path / "held.svg")


def test_beside_what_is_valid_nothing_is_drawn_that_allows_no_conclusion(tmp_path: Path) -> None:
    """A self-test has one crawl of its own, which says how late the server is, and is invalid on a noisy machine."""
    rows = [memory_row(held=held, number=number) for held in (10, 20) for number in (1, 2)]

    assert not {"throughput", "cpu", "times"} & set(drawn([*rows, crawl_row(invalid=True)], tmp_path))


@pytest.mark.ci
def test_a_hundred_strategies(tmp_path: Path) -> None:
    rows = [
        row
        for n in range(100)
        for row in (
            *(
                crawl_row(f"strategy{n}", in_flight=cap, pages_per_s=100 * cap + n, times_ns=[n + 1] * 20)
                for cap in (1, 9)
            ),
            *memory_rows(f"strategy{n}", 1000 + n, rounds=1),
        )
    ]

    assert drawn(rows, tmp_path) == [name for name in ALL if name != "retention"]
    assert "strategy0" in words(tmp_path / "memory.svg")


@pytest.mark.ci
def test_hostile_names(tmp_path: Path) -> None:
    names = [name for name in ALL if name != "retention"]
    assert drawn(grid(HOSTILE, caps=(1, 100)), tmp_path) == names
    for name in names:
        assert "$x^{2}$<b>&" in words(tmp_path / f"{name}.svg")
        assert b"\x1b" not in (tmp_path / f"{name}.svg").read_bytes()


def test_a_hostile_machine(tmp_path: Path) -> None:
    save_all([crawl_row()], {"cpu": HOSTILE[0], "cores": None, "system": HOSTILE[2], "versions": None}, tmp_path)

    assert "$x^{2}$<b>&, ? cores · a?b?[31m" in words(tmp_path / "cpu.svg")


def test_an_unknown_machine(tmp_path: Path) -> None:
    save_all([crawl_row()], {}, tmp_path)

    assert "unknown CPU, ? cores · unknown system" in words(tmp_path / "cpu.svg")


def test_drawing_leaves_the_users_settings_alone(tmp_path: Path) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    save_all([crawl_row()], MACHINE, tmp_path)

    assert dict(mpl.rcParams) == before


@given(st.lists(st.floats(0, 1), max_size=12))
def test_labels_never_overlap_and_keep_their_order(wanted: list[float]) -> None:
    places = labels.spaced(wanted, 0.05)

    ordered = sorted(places)
    assert all(high - low > 0.05 - 1e-9 for low, high in pairwise(ordered))
    assert all(0 <= place <= 1 for place in places)
    assert sorted(range(len(wanted)), key=lambda n: wanted[n]) == sorted(range(len(wanted)), key=lambda n: places[n])


@given(st.floats(1e-3, 1e9), st.floats(1.05, 1e6))
def test_an_axis_has_some_ticks_but_not_too_many(low: float, factor: float) -> None:
    ticks = scales.round_values(low, low * factor)

    assert 2 <= len(ticks) <= 16
    assert all(low * (1 - 1e-9) <= tick <= low * factor * (1 + 1e-9) for tick in ticks)
    assert all(math.isfinite(tick) for tick in ticks)


def test_looks_differ_in_more_than_colour() -> None:
    looks = page.looks(name_looks.KNOWN[: page.MOST_LINES])

    assert len({look.colour for look in looks.values()}) == page.MOST_LINES
    assert len({look.marker for look in looks.values()}) == page.MOST_LINES


@pytest.mark.parametrize("module", ["show.progress", "show.results", "show.terminal"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    import subprocess
    import sys

    code = f"import inflight.bench.{module}, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)

    assert not {
        "pandas",
        "matplotlib",
        "scipy",
        "numpy",
        "rich",
        "inflight.bench.measure",
        "inflight.strategies",
    } & set(loaded)
