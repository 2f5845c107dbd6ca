"""The plot of a comparison: the verdict is its title, and no block is lost, however odd."""

import math
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.core import units
from inflight.bench.present import change_axis, page
from inflight.bench.present.change_axis import Range
from inflight.bench.studies.compare import plot as plot_comparison
from inflight.bench.studies.compare import read, show
from inflight.bench.studies.compare.plot import save_comparison
from inflight.bench.studies.compare.read import Result
from inflight.bench.studies.compare.rule import DESIGNED, Rule
from tests.made_blocks import Rows, block, blocks, series
from tests.made_rows import MACHINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

pytestmark = pytest.mark.ci
TIMED = ("cpu_per_page", "throughput")
LABELS = ("callbacks", "callbacks@abc")
HOSTILE = ["$x^{2}$<b>&" * 9, "_hidden", "a\x00b\x1b[31m\n", "\N{PILE OF POO}" * 40, "\\frac{1}{0}"]


def result(rows: list[Rows], rule: Rule = DESIGNED) -> Result:
    found = blocks(rows)
    return Result(read.decided(found, rule), tuple(found), rule)


def saved(rows: list[Rows], folder: Path) -> str:
    """Save the plot of these blocks and return its text."""
    paths = save_comparison(result(rows), MACHINE, folder)
    assert [path.name for path in paths] == ["comparison.png", "comparison.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG\r\n")
    return words(paths[1])


def words(path: Path) -> str:
    """Return all text in an SVG, in its order."""
    texts = ET.parse(path).getroot().itertext()  # noqa: S314  (we wrote it)
    return " ".join(" ".join(texts).split()).replace("\xa0", " ")


def drawn(rows: list[Rows]) -> "Figure":
    figure = plot_comparison.draw(result(rows), MACHINE)
    assert figure is not None
    return figure


def wobble(number: int) -> dict[str, Any]:
    """Return how much a placebo differs in a block: a little, so that it varies."""
    return {"placebo": 1e-3 * (number % 3 - 1), "placebo_throughput": 1e-3 * (number % 2)}


def marks(axes: "Axes", *shapes: str, below: int | None = None) -> list[float]:
    """Return from left to right where there are marks of these shapes; ``below``: of whole blocks up to a number."""
    import numpy as np

    places = [
        float(x)
        for line in axes.lines
        if line.get_marker() in shapes
        for x in np.asarray(line.get_xdata(), dtype=float)
    ]
    return sorted(x for x in places if below is None or (x <= below and x == round(x)))


def test_the_title_is_that_of_the_section_and_both_sides_are_named(tmp_path: Path) -> None:
    rows = series(12, 0.001, 0.01, labels=LABELS)
    text = saved(rows, tmp_path)

    assert show.title(result(rows).decision) in text
    assert "A: callbacks. B: callbacks@abc. Workload: no added latency, 100 in flight" in text
    assert "Imaginary 9000" in text
    assert "Numbered vertical lines: " in text


def test_each_metric_is_headed_by_its_change_and_interval(tmp_path: Path) -> None:
    rows = series(24, 0.055, 0.018, labels=LABELS, metrics=["cpu_per_page", "memory"])
    text = saved(rows, tmp_path)

    for one in result(rows).decision.effects:
        assert f"{one.change} ({one.interval})" in text


def test_less_throughput_is_written_with_a_minus_and_drawn_upwards(tmp_path: Path) -> None:
    rows = series(12, math.log(1.10), 0.01, metrics=["throughput"])
    text = saved(rows, tmp_path)
    axes = drawn(rows).axes[0]

    assert "-4.8 %" in text
    assert "(of throughput, less)" in text
    ticks = [label.get_text() for label in axes.get_yticklabels()]
    assert (
        ticks.index("0") < next(n for n, tick in enumerate(ticks) if tick.startswith("-")) or axes.get_yticks()[0] > 0
    )
    heights = dict(zip(ticks, axes.get_yticks(), strict=True))
    assert all((height > 0) == tick.startswith("-") for tick, height in heights.items() if tick != "0")


def test_failures_of_b_are_the_title_where_they_make_the_regression(tmp_path: Path) -> None:
    text = saved([block(1), block(2), *(block(n, failed="B") for n in (3, 4, 5))], tmp_path)

    assert "REGRESSION: B failed in 3 of 5 blocks, A in none" in text
    assert "orange, failed (A in 0, B in 3)" in text


@pytest.mark.parametrize(
    ("rows", "beginning"),
    [
        (series(48, 0.01, 0.07, metrics=TIMED), "INCONCLUSIVE: neither regression nor pass: "),
        (series(48, -0.1, 0.4, metrics=["cpu_per_page"]), "INCONCLUSIVE: too noisy: SD of blocks: CPU per page"),
        (
            [block(n, 0.06 + 0.001 * (n % 5), **wobble(n) | {"placebo": 0.05 + 0.001 * (n % 3)}) for n in range(1, 13)],
            "INCONCLUSIVE: a control moved (placebo CPU per page +5.2 %)",
        ),
    ],
)
def test_the_reason_of_an_inconclusive_verdict_is_the_title(rows: list[Rows], beginning: str, tmp_path: Path) -> None:
    assert beginning in saved(rows, tmp_path)


def test_every_block_is_drawn_once_in_each_metric_or_marked_as_lost() -> None:
    rows = series(30, 0.01, 0.02, metrics=TIMED)
    rows[3], rows[7], rows[11] = block(4, invalid=True), block(8, failed="A"), block(12, failed="B")
    rows[20] = block(21, 1.5, throughput=-1.5, metrics=TIMED)
    cpu, throughput, controls = drawn(rows).axes

    assert marks(cpu, "o", "^", "v", "x", below=30) == list(range(1, 31))
    assert marks(throughput, "s", "^", "v", "x", below=30) == list(range(1, 31))
    assert marks(cpu, "x") == [4, 8, 12]
    assert 21 in marks(cpu, "^")
    assert 21 in marks(throughput, "v")
    assert marks(controls, "o", "x", below=30) == marks(controls, "D", "x", below=30) == list(range(1, 31))


def test_a_value_beyond_the_axis_is_an_arrow_with_its_value(tmp_path: Path) -> None:
    rows = series(24, 0.0, 0.01, metrics=["cpu_per_page"])
    rows[5] = block(6, math.log(3.5), metrics=["cpu_per_page"])

    assert "+250 %" in saved(rows, tmp_path)
    _, high = drawn(rows).axes[0].get_ylim()
    assert high < math.log(1.2)


@pytest.mark.parametrize("change", [-0.07, 0.2])
def test_values_of_both_controls_beyond_the_axis_have_one_label(change: float) -> None:
    from matplotlib.text import Annotation

    rows = series(24, 0.0, 0.005, metrics=TIMED)
    for number, far in ((6, change), (7, 1.02 * change), (8, 1.01 * change)):
        rows[number - 1] = block(number, metrics=TIMED, placebo=far, placebo_throughput=far)
    controls = drawn(rows).axes[-1]

    texts = [one.get_text() for one in controls.texts if isinstance(one, Annotation)]
    assert [text for text in texts if "more" in text] == [f"{units.change(1.02 * change)}\nand 5 more"]


def test_blocks_without_memory_are_crosses_in_its_panel_alone(tmp_path: Path) -> None:
    rows = series(14, metrics=["cpu_per_page", "memory"])
    rows[4] = block(5, 0.001, memory_invalid="too late", metrics=["cpu_per_page", "memory"])
    cpu, memory, _ = drawn(rows).axes

    assert marks(cpu, "x") == []
    assert marks(memory, "x") == [5]
    assert marks(memory, "^", below=14) == [n for n in range(1, 13) if n != 5]
    assert "Crosses in the metric's colour: no value." in saved(rows, tmp_path)


def test_without_a_good_block_nothing_is_written(tmp_path: Path) -> None:
    for rows in ([], [block(1, invalid=True), block(2, failed="A")]):
        assert save_comparison(result(rows), MACHINE, tmp_path / "plots") == []
    assert not (tmp_path / "plots").exists()


def test_one_block_is_drawn_without_an_interval(tmp_path: Path) -> None:
    text = saved([block(1, 0.03)], tmp_path)

    assert "INCONCLUSIVE: too few blocks: 1 of at least 12" in text
    assert "no interval" in text


def test_blocks_that_do_not_vary_are_drawn(tmp_path: Path) -> None:
    assert "INCONCLUSIVE: CPU per page has the same value" in saved([block(n, 0.02) for n in range(1, 13)], tmp_path)


def test_a_throughput_that_is_not_gated_is_named_and_not_drawn(tmp_path: Path) -> None:
    rows = [
        block(n, 0.001 * (n % 3), latency="50ms", metrics=TIMED, gated=["cpu_per_page"], **wobble(n))
        for n in range(1, 13)
    ]

    assert "Not gated, so not shown: throughput." in saved(rows, tmp_path)
    assert len(drawn(rows).axes) == 2


@pytest.mark.parametrize("metrics", [["cpu_per_page"], TIMED, [*TIMED, "memory"]])
def test_a_slide_is_16_to_9_and_its_axes_keep_apart(metrics: list[str]) -> None:
    figure = drawn(series(24, 0.01, metrics=metrics))
    boxes = [axes.get_tightbbox() for axes in figure.axes]

    assert list(figure.get_size_inches()) == [13.33, 7.5]
    assert len(boxes) == len(metrics) + 1
    assert all(box is not None and box.x0 >= 0 and box.x1 <= 13.33 * figure.dpi for box in boxes)
    plain = [axes.get_window_extent() for axes in figure.axes]
    assert all(left.x1 < right.x0 for left, right in pairwise(plain))


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_labels(label: str, tmp_path: Path) -> None:
    text = saved(series(12, 0.06, labels=(label, label)), tmp_path)

    assert "REGRESSION: " in text


@pytest.mark.parametrize(
    "label", ["callbacks@9f31c2a (python3.13, " + "in_flight=100, " * 20 + ")", *HOSTILE], ids=range(6)
)
def test_no_text_leaves_the_page(label: str) -> None:
    with page.settings():
        figure = drawn(series(12, 0.06, labels=(label, label)))
        boxes = [text.get_window_extent() for text in figure.texts]

    assert all(box.x0 >= 0 and box.x1 <= 13.33 * figure.dpi for box in boxes)


def test_the_same_blocks_give_the_same_bytes(tmp_path: Path) -> None:
    saved(series(12), tmp_path / "one")
    saved(series(12), tmp_path / "two")

    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_sides_on_unlike_interpreters_are_both_named(tmp_path: Path) -> None:
    rows = series(12, python=("3.11.7", "3.13.1"))

    assert "A: callbacks on CPython 3.11.7. B: generators on CPython 3.13.1." in saved(rows, tmp_path)


@given(st.lists(st.floats(-25, 25) | st.just(math.nan), max_size=40))
def test_an_axis_has_0_a_range_and_a_few_ticks(values: list[float]) -> None:
    shown = change_axis.range_of([values])

    assert shown.low < 0 < shown.high
    for direction in (1, -1):
        changes = change_axis.ticks(shown, direction)
        assert 2 <= len(changes) <= 2 * change_axis.MOST_TICKS
        assert all(shown.low - 1e-9 <= direction * math.log1p(change) <= shown.high + 1e-9 for change in changes)
        assert changes == sorted(set(changes))


@given(st.lists(st.floats(-0.1, 0.1), min_size=8, max_size=40), st.floats(1, 20))
def test_one_value_far_out_does_not_stretch_the_axis(values: list[float], far: float) -> None:
    assert change_axis.range_of([[*values, far]]).high < 0.9


def test_a_range_puts_what_is_beyond_it_on_its_edge() -> None:
    shown = Range(-1.0, 1.0)

    assert [shown.clip(value) for value in (-3, 0.5, 3)] == [-1, 0.5, 1]
    assert -1 < shown.edge(-3) < shown.edge(3) < 1
    assert not shown.has(math.nan)
