"""The plots of a comparison and of a self-test: the finding is their title, and no block is lost, however odd."""

import math
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.present import change_axis, page
from bench.present.change_axis import Range
from bench.studies.compare import plot as plot_comparison
from bench.studies.compare import read
from bench.studies.compare.decide import DESIGNED, Rule
from bench.studies.compare.plot import save_comparison
from bench.studies.compare.read import decided
from bench.studies.selftest import plot as plot_selftest
from bench.studies.selftest import read as self_test
from bench.studies.selftest.plot import save_selftest
from tests.made_blocks import Rows, block, blocks, series
from tests.made_rows import MACHINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TIMED = ("cpu_per_page", "throughput")
LABELS = ("callbacks", "callbacks@abc")
HOSTILE = ["$x^{2}$<b>&" * 9, "_hidden", "a\x00b\x1b[31m\n", "\N{PILE OF POO}" * 40, "\\frac{1}{0}"]


def saved(rows: list[Rows], folder: Path, rule: Rule = DESIGNED) -> str:
    """Save the plot of these blocks and return its text."""
    found = blocks(rows)
    paths = save_comparison(found, decided(found, rule), rule, MACHINE, folder)
    assert [path.name for path in paths] == ["comparison.png", "comparison.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG\r\n")
    return words(paths[1])


def words(path: Path) -> str:
    """Return all text in an SVG, in its order."""
    texts = ET.parse(path).getroot().itertext()  # noqa: S314  (we wrote it)
    return " ".join(" ".join(texts).split()).replace("\xa0", " ")


def drawn(rows: list[Rows], rule: Rule = DESIGNED) -> "Figure":
    found = blocks(rows)
    figure = plot_comparison.draw(found, decided(found, rule), rule, MACHINE)
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


def selftest(made: dict[str, list[Rows]]) -> dict[str, Any]:
    """Return what a self-test on these comparisons keeps, as far as its plot reads it."""
    found = {name: blocks(own) for name, own in made.items()}
    counted = {"blocks": len(made["aa"])}
    sizes = {name.removeprefix("planted-"): own for name, own in found.items() if name.startswith("planted-")}
    return {
        "strategy": "callbacks",
        "noise": {"callbacks": self_test.noise(found["aa"])},
        "false_alarms": {
            "resampled": {"alarms": 1, "decisions": 300} | counted,
            "real": {"alarms": 0, "decisions": 8} | counted,
        },
        "detection": {
            size: self_test.detection(own) | {"share": 0.98, "decisions": 300} for size, own in sizes.items()
        },
        "resolves": [
            {"minutes": 1, "blocks": 0, "metrics": [], "smallest": None},
            {"minutes": 5, "blocks": 48, "metrics": list(TIMED), "smallest": 1.0312},
            {"minutes": 15, "blocks": 240, "metrics": [*TIMED, "memory"], "smallest": 1.004},
        ],
    }


def drawn_selftest(made: dict[str, list[Rows]], folder: Path) -> str:
    """Save the plot of a self-test and return its text."""
    found = {name: blocks(own) for name, own in made.items()}
    paths = save_selftest(selftest(made), found, MACHINE, folder)
    assert [path.name for path in paths] == ["selftest.png", "selftest.svg"]
    return words(paths[1])


def test_a_pass_is_the_title_with_both_sides_and_all_that_is_gated(tmp_path: Path) -> None:
    text = saved(series(12, 0.001, 0.01, labels=LABELS), tmp_path)

    assert "PASS: callbacks@abc is at most 5 % worse than callbacks in CPU per page, throughput and" in text
    assert "A: callbacks. B: callbacks@abc. no added latency, 100 in flight." in text
    assert "Imaginary 9000" in text
    assert "look 1" in text


def test_a_regression_is_the_title_with_its_metric_and_interval(tmp_path: Path) -> None:
    rows = series(24, 0.055, 0.018, labels=LABELS, metrics=["cpu_per_page", "memory"])
    decision = decided(blocks(rows), DESIGNED)
    text = saved(rows, tmp_path)

    assert decision.verdict == "regression"
    one = next(one for one in decision.effects if one.metric == "cpu_per_page")
    figures = (
        f"{change_axis.change(one.estimate)} ({change_axis.change(one.low)[:-2]} to {change_axis.change(one.high)})"
    )
    assert f"REGRESSION: callbacks@abc against callbacks: CPU per page {figures}" in text


def test_a_regression_in_more_than_one_metric_names_them_all(tmp_path: Path) -> None:
    text = saved(series(12, math.log(1.2), 0.0001, labels=("20% slower", "100%")), tmp_path)

    assert "REGRESSION: 100% against 20% slower: CPU per page +20.0 % and throughput -16.7 %" in text


def test_a_memory_that_hardly_grows_but_surely_is_no_title_of_a_regression(tmp_path: Path) -> None:
    rows = [block(n, 0.06 + 0.02 * (n % 3 - 1), memory=0.004 + 1e-5 * (n % 5), **wobble(n)) for n in range(1, 13)]
    decision = decided(blocks(rows), DESIGNED)

    assert min(decision.effects, key=lambda one: one.p).metric == "memory"
    assert "memory" not in plot_comparison.title(decision, DESIGNED, read.tally(blocks(rows)))
    assert "REGRESSION: generators against callbacks: " in saved(rows, tmp_path)


def test_less_throughput_is_written_with_a_minus_and_drawn_upwards(tmp_path: Path) -> None:
    rows = series(12, math.log(1.10), 0.01, metrics=["throughput"])
    text = saved(rows, tmp_path)
    axes = drawn(rows).axes[0]

    assert "REGRESSION: generators against callbacks: throughput -" in text
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
    assert "orange, 3 failed (B in 3)" in text


@pytest.mark.parametrize(
    ("rows", "beginning"),
    [
        (series(48, 0.01, 0.07, metrics=TIMED), "INCONCLUSIVE: neither worse nor ruled out: "),
        (series(48, -0.1, 0.4, metrics=["cpu_per_page"]), "INCONCLUSIVE: too noisy: blocks vary by CPU per page"),
        (
            [block(n, 0.06 + 0.001 * (n % 5), **wobble(n) | {"placebo": 0.05 + 0.001 * (n % 3)}) for n in range(1, 13)],
            "INCONCLUSIVE: a control moved (placebo CPU per page +5.2 %) A: ",
        ),
    ],
)
def test_what_keeps_it_undecided_is_the_title(rows: list[Rows], beginning: str, tmp_path: Path) -> None:
    assert beginning in saved(rows, tmp_path)


def test_every_block_is_drawn_once_in_each_metric_or_marked_as_lost() -> None:
    rows = series(30, 0.01, 0.02, metrics=TIMED)
    rows[3], rows[7], rows[11] = block(4, red=True), block(8, failed="A"), block(12, failed="B")
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


def test_blocks_whose_memory_could_not_be_had_are_crosses_in_its_panel_alone(tmp_path: Path) -> None:
    rows = series(14, metrics=["cpu_per_page", "memory"])
    rows[4] = block(5, 0.001, memory_red="too late", metrics=["cpu_per_page", "memory"])
    cpu, memory, _ = drawn(rows).axes

    assert marks(cpu, "x") == []
    assert marks(memory, "x") == [5]
    assert marks(memory, "^", below=14) == [n for n in range(1, 13) if n != 5]
    assert "Crosses in the metric's colour: no value." in saved(rows, tmp_path)


def test_without_a_good_block_nothing_is_written(tmp_path: Path) -> None:
    for found in ([], blocks([block(1, red=True), block(2, failed="A")])):
        assert save_comparison(found, decided(found, DESIGNED), DESIGNED, MACHINE, tmp_path / "plots") == []
    assert not (tmp_path / "plots").exists()


def test_one_block_is_drawn_without_an_interval(tmp_path: Path) -> None:
    text = saved([block(1, 0.03)], tmp_path)

    assert "INCONCLUSIVE: too few blocks: 1 of at least 12" in text
    assert "no interval from 1 block" in text


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


@pytest.mark.parametrize(
    ("logarithm", "text"),
    [
        (0.0, "+0.0 %"),
        (-1e-5, "+0.0 %"),
        (math.log(1.051), "+5.1 %"),
        (math.log(2.3), "+130 %"),
        (3, "20x"),
        (-9, "0.00012x"),
    ],
)
def test_changes_are_written_as_people_read_them(logarithm: float, text: str) -> None:
    assert change_axis.change(logarithm) == text


def test_an_interval_rises_in_the_metrics_own_direction() -> None:
    assert change_axis.interval(math.log(1.02), math.log(1.05), 1) == "+2.0 to +5.0 %"
    assert change_axis.interval(math.log(1.02), math.log(1.05), -1) == "-4.8 to -2.0 %"
    assert change_axis.interval(math.log(1.5), math.log(20), 1) == "+50.0 % to 20x"


def test_a_range_puts_what_is_beyond_it_on_its_edge() -> None:
    shown = Range(-1.0, 1.0)

    assert [shown.clip(value) for value in (-3, 0.5, 3)] == [-1, 0.5, 1]
    assert -1 < shown.edge(-3) < shown.edge(3) < 1
    assert not shown.has(math.nan)


def test_a_self_test_shows_its_rates_its_blocks_and_what_can_be_found(tmp_path: Path) -> None:
    made = {
        "aa": series(30, labels=("callbacks",) * 2),
        "aa-thread_pool": series(12, sd=0.03, labels=("thread_pool",) * 2),
        "planted-10": series(12, math.log(1.081), 0.0001),
        "planted-5": [*series(12, math.log(1.048), 0.0001), block(13, red=True)],
    }
    text = drawn_selftest(made, tmp_path)

    assert "1 false alarm in 300 decisions without a change; 98 % of 4.8 % slowdowns found; 98 % of 8.1 %" in text
    assert text.index("+4.8 % planted 12 blocks") < text.index("+8.1 % planted 12 blocks")
    assert "A/A no change 42 blocks SD" in text
    assert "1 of 67 blocks failed or were dropped." in text
    assert "nothing in 1 min, 3.1 % in 5 min (48 blocks, memory left out), 2.0 % in 15 min (240 blocks)" in text


def test_a_self_test_draws_every_good_block_of_each_group() -> None:
    made = {"aa": series(30), "planted-5": series(12, math.log(1.05)), "planted-odd": series(4)}
    made["aa"][2] = block(3, 2.0)
    figure = plot_selftest.draw(selftest(made), {name: blocks(own) for name, own in made.items()}, MACHINE)

    assert figure is not None
    for axes in figure.axes[:2]:
        for place, number in enumerate((30, 4, 12)):
            there = [x for x in marks(axes, "o", "^", "v") if place - 0.45 < x < place + 0.29]
            assert len(there) == number
    assert "no change" in figure.axes[0].get_xticklabels()[0].get_text()


def test_a_self_test_of_few_blocks_claims_no_rate(tmp_path: Path) -> None:
    made: dict[str, list[Rows]] = {"aa": series(2), "planted-5": []}
    found = selftest(made)
    none = {"alarms": 0, "decisions": 0, "blocks": 2}
    found |= {"false_alarms": {"real": none, "resampled": none}, "resolves": []}
    found["detection"]["5"] |= {"share": 0.0, "decisions": 0}
    save_selftest(found, {"aa": blocks(made["aa"])}, MACHINE, tmp_path)

    text = words(tmp_path / "selftest.svg")

    assert "Self-test: no decision without a change; no decision on about 5 % slowdowns" in text


def test_a_self_test_without_a_good_block_is_not_drawn(tmp_path: Path) -> None:
    red = blocks([block(1, red=True)])

    assert save_selftest(selftest({"aa": []}), {"aa": red}, MACHINE, tmp_path / "plots") == []
    assert not (tmp_path / "plots").exists()


def test_more_strategies_than_fit_are_counted(tmp_path: Path) -> None:
    made = {"aa": series(12)}
    found = selftest(made)
    found["noise"] |= {f"own{n}": {"cpu_per_page": 0.01 * n} for n in range(20)}
    save_selftest(found, {"aa": blocks(made["aa"])}, MACHINE, tmp_path)

    assert "5 more strategies are not shown." in words(tmp_path / "selftest.svg")
