"""The plots of pairs and of a self-test: the finding is their title, and no pair is lost, however odd its values."""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bench.ab import decided
from bench.present.pair_axis import Range
from bench.present.plot_pairs import save_pairs, save_selftest
from hypothesis import given
from hypothesis import strategies as st

from bench.analyse import pairs, self_test
from bench.analyse.decide import DESIGNED, Rule
from bench.present import page, pair_axis, plot_pairs, plot_selftest
from bench.rows import Row
from tests.made_rows import MACHINE
from tests.present.made_pair_rows import pair, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TIMED = ("cpu_per_page", "throughput")
LABELS = ("callbacks", "callbacks@abc")
HOSTILE = ["$x^{2}$<b>&" * 9, "_hidden", "a\x00b\x1b[31m\n", "\N{PILE OF POO}" * 40, "\\frac{1}{0}"]


def saved(rows: list[Row], folder: Path, rule: Rule = DESIGNED) -> str:
    """Save the plot of these pairs and return its text."""
    paths = save_pairs(rows, decided(rows, rule), rule, MACHINE, folder)
    assert [path.name for path in paths] == ["pairs.png", "pairs.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG\r\n")
    return words(paths[1])


def words(path: Path) -> str:
    """Return all text in an SVG, in its order."""
    texts = ET.parse(path).getroot().itertext()  # noqa: S314  (we wrote it)
    return " ".join(" ".join(texts).split()).replace("\xa0", " ")


def drawn(rows: list[Row], rule: Rule = DESIGNED) -> "Figure":
    figure = plot_pairs.draw(rows, decided(rows, rule), rule, MACHINE)
    assert figure is not None
    return figure


def marks(axes: "Axes", *shapes: str, below: int | None = None) -> list[float]:
    """Return from left to right where there are marks of these shapes; ``below``: of whole pairs up to a number."""
    import numpy as np

    places = [
        float(x)
        for line in axes.lines
        if line.get_marker() in shapes
        for x in np.asarray(line.get_xdata(), dtype=float)
    ]
    return sorted(x for x in places if below is None or (x <= below and x == round(x)))


def selftest(strategies: dict[str, list[Row]], planted: dict[str, list[Row]]) -> dict[str, Any]:
    """Return what a self-test on these pairs keeps, as far as its plot reads it."""
    same = strategies["callbacks"]
    return {
        "strategy": "callbacks",
        "noise": {name: self_test.noise(rows) for name, rows in strategies.items()},
        "false_alarms": {
            "resampled": {"alarms": 1, "decisions": 300, "pairs": len(same)},
            "real": {"alarms": 0, "decisions": 8, "pairs": len(same)},
        },
        "detection": {size.removeprefix("planted-"): {"share": 0.98, "decisions": 300} for size in planted},
        "resolves": [
            {"minutes": 1, "pairs": 0, "metrics": [], "smallest": None},
            {"minutes": 5, "pairs": 48, "metrics": list(TIMED), "smallest": 1.0312},
            {"minutes": 15, "pairs": 240, "metrics": [*TIMED, "memory"], "smallest": 1.004},
        ],
    }


def test_a_pass_is_the_title_with_both_sides_and_all_that_is_gated(tmp_path: Path) -> None:
    text = saved(series(12, 0.001, 0.01, labels=LABELS), tmp_path)

    assert "PASS: callbacks@abc is at most 5 % worse than callbacks in CPU per page, throughput and" in text
    assert "A: callbacks. B: callbacks@abc. 300 pages a turn, no added latency, 100 in flight." in text
    assert "Imaginary 9000" in text
    assert "look 1" in text


def test_a_regression_is_the_title_with_its_metric_and_interval(tmp_path: Path) -> None:
    rows = series(24, 0.055, 0.018, labels=LABELS, metrics=["cpu_per_page", "memory"])
    decision = decided(rows, DESIGNED)
    text = saved(rows, tmp_path)

    assert decision.verdict == "regression"
    one = next(one for one in decision.effects if one.metric == "cpu_per_page")
    figures = f"{pair_axis.change(one.estimate)} ({pair_axis.change(one.low)[:-2]} to {pair_axis.change(one.high)})"
    assert f"REGRESSION: callbacks@abc against callbacks: CPU per page {figures}" in text


def test_a_regression_in_more_than_one_metric_names_them_all(tmp_path: Path) -> None:
    text = saved(series(12, math.log(1.2), 0.0001, labels=("20% slower", "100%")), tmp_path)

    assert "REGRESSION: 100% against 20% slower: CPU per page +20.0 % and throughput -16.7 %" in text


def test_a_memory_that_hardly_grows_but_surely_is_no_title_of_a_regression(tmp_path: Path) -> None:
    rows = [
        pair(n, 0.06 + 0.02 * (n % 3 - 1), memory=0.004 + 1e-5 * (n % 5), spin=1e-3 * (n % 3), null=1e-3 * (n % 2))
        for n in range(1, 13)
    ]
    decision = decided(rows, DESIGNED)

    assert min(decision.effects, key=lambda one: one.p).metric == "memory"
    assert "memory" not in plot_pairs.title(decision, DESIGNED, pairs.tally(rows))
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
    text = saved([pair(1), pair(2), *(pair(n, failed="B") for n in (3, 4, 5))], tmp_path)

    assert "REGRESSION: B failed in 3 of 5 pairs, A in none" in text
    assert "orange, 3 failed (B in 3)" in text


@pytest.mark.parametrize(
    ("rows", "beginning"),
    [
        (series(48, 0.01, 0.07, metrics=TIMED), "INCONCLUSIVE: neither worse nor ruled out: "),
        (series(48, -0.1, 0.4, metrics=["cpu_per_page"]), "INCONCLUSIVE: too noisy: pairs vary by CPU per page"),
        (
            [pair(n, 0.06 + 0.001 * (n % 5), spin=0.05 + 0.001 * (n % 3), null=1e-3 * (n % 2)) for n in range(1, 13)],
            "INCONCLUSIVE: a control moved (spin +5.2 %) A: ",
        ),
    ],
)
def test_what_keeps_it_undecided_is_the_title(rows: list[Row], beginning: str, tmp_path: Path) -> None:
    assert beginning in saved(rows, tmp_path)


def test_every_pair_is_drawn_once_in_each_metric_or_marked_as_lost() -> None:
    rows = series(30, 0.01, 0.02, metrics=TIMED)
    rows[3], rows[7], rows[11] = pair(4, red=True), pair(8, failed="A"), pair(12, failed="B")
    rows[20] = pair(21, 1.5, throughput=-1.5, metrics=TIMED)
    cpu, throughput, controls = drawn(rows).axes

    assert marks(cpu, "o", "^", "v", "x", below=30) == list(range(1, 31))
    assert marks(throughput, "s", "^", "v", "x", below=30) == list(range(1, 31))
    assert marks(cpu, "x") == [4, 8, 12]
    assert 21 in marks(cpu, "^")
    assert 21 in marks(throughput, "v")
    assert marks(controls, "o", "x", below=30) == marks(controls, "D", "x", below=30) == list(range(1, 31))


def test_a_value_beyond_the_axis_is_an_arrow_with_its_value(tmp_path: Path) -> None:
    rows = series(24, 0.0, 0.01, metrics=["cpu_per_page"])
    rows[5] = pair(6, math.log(3.5), metrics=["cpu_per_page"])

    assert "+250 %" in saved(rows, tmp_path)
    _, high = drawn(rows).axes[0].get_ylim()
    assert high < math.log(1.2)


def test_a_value_that_is_no_number_is_a_cross() -> None:
    rows = [*series(5, metrics=["cpu_per_page"]), pair(6, math.nan, throughput=0.0, metrics=["cpu_per_page"])]

    assert marks(drawn(rows).axes[0], "x") == [6]


def test_pairs_whose_memory_could_not_be_had_are_crosses_in_its_panel_alone(tmp_path: Path) -> None:
    rows = series(14, metrics=["cpu_per_page", "memory"])
    rows[4] = pair(5, 0.001, memory_reason="side B: too late", metrics=["cpu_per_page", "memory"])
    cpu, memory, _ = drawn(rows).axes

    assert marks(cpu, "x") == []
    assert marks(memory, "x") == [5]
    assert marks(memory, "^", below=14) == [n for n in range(1, 13) if n != 5]
    assert "Crosses in the metric's colour: no value." in saved(rows, tmp_path)


def test_without_a_good_pair_nothing_is_written(tmp_path: Path) -> None:
    for rows in ([], [pair(1, red=True), pair(2, failed="A")]):
        assert save_pairs(rows, decided(rows, DESIGNED), DESIGNED, MACHINE, tmp_path / "plots") == []
    assert not (tmp_path / "plots").exists()


def test_one_pair_is_drawn_without_an_interval(tmp_path: Path) -> None:
    text = saved([pair(1, 0.03)], tmp_path)

    assert "INCONCLUSIVE: too few pairs: 1 of at least 12" in text
    assert "no interval from 1 pair" in text


def test_pairs_that_do_not_vary_are_drawn(tmp_path: Path) -> None:
    assert "INCONCLUSIVE: CPU per page has the same value" in saved([pair(n, 0.02) for n in range(1, 13)], tmp_path)


def test_a_throughput_that_is_not_gated_is_named_and_not_drawn(tmp_path: Path) -> None:
    rows = [pair(n, 0.001 * (n % 3), latency="50ms", metrics=TIMED) for n in range(1, 13)]
    rows = [replace(row, measured=_waiting(row.measured)) for row in rows]

    assert "Not gated, so not shown: throughput." in saved(rows, tmp_path)
    assert len(drawn(rows).axes) == 2


def _waiting(measured: dict[str, Any]) -> dict[str, Any]:
    return measured | {"turns": [turn | {"makespan_ns": turn["makespan_ns"] * 20} for turn in measured["turns"]]}


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


def test_the_same_pairs_give_the_same_bytes(tmp_path: Path) -> None:
    saved(series(12), tmp_path / "one")
    saved(series(12), tmp_path / "two")

    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_sides_on_unlike_interpreters_are_both_named(tmp_path: Path) -> None:
    rows = series(12)
    knobs = {"A": {"python": "3.11.7"}, "B": {"python": "3.13.1", "gil": False}}

    assert "A: CPython 3.11.7, B: CPython 3.13.1, no GIL" in saved([replace(r, knobs=knobs) for r in rows], tmp_path)


@given(st.lists(st.floats(-25, 25) | st.just(math.nan), max_size=40))
def test_an_axis_has_0_a_range_and_a_few_ticks(values: list[float]) -> None:
    shown = pair_axis.range_of([values])

    assert shown.low < 0 < shown.high
    for direction in (1, -1):
        changes = pair_axis.ticks(shown, direction)
        assert 2 <= len(changes) <= 2 * pair_axis.MOST_TICKS
        assert all(shown.low - 1e-9 <= direction * math.log1p(change) <= shown.high + 1e-9 for change in changes)
        assert changes == sorted(set(changes))


@given(st.lists(st.floats(-0.1, 0.1), min_size=8, max_size=40), st.floats(1, 20))
def test_one_value_far_out_does_not_stretch_the_axis(values: list[float], far: float) -> None:
    assert pair_axis.range_of([[*values, far]]).high < 0.9


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
    assert pair_axis.change(logarithm) == text


def test_an_interval_rises_in_the_metrics_own_direction() -> None:
    assert pair_axis.interval(math.log(1.02), math.log(1.05), 1) == "+2.0 to +5.0 %"
    assert pair_axis.interval(math.log(1.02), math.log(1.05), -1) == "-4.8 to -2.0 %"
    assert pair_axis.interval(math.log(1.5), math.log(20), 1) == "+50.0 % to 20x"


def test_a_range_puts_what_is_beyond_it_on_its_edge() -> None:
    shown = Range(-1.0, 1.0)

    assert [shown.clip(value) for value in (-3, 0.5, 3)] == [-1, 0.5, 1]
    assert -1 < shown.edge(-3) < shown.edge(3) < 1
    assert not shown.has(math.nan)


def test_a_self_test_shows_its_rates_its_pairs_and_what_can_be_found(tmp_path: Path) -> None:
    same = {"callbacks": series(30), "thread_pool": series(12, sd=0.03, labels=("thread_pool", "thread_pool"))}
    planted = {"planted-10": series(12, math.log(1.1)), "planted-5": [*series(12, math.log(1.05)), pair(13, red=True)]}
    found = selftest(same, planted)
    paths = save_selftest(found, [row for rows in same.values() for row in rows], planted, MACHINE, tmp_path)
    text = words(tmp_path / "selftest.svg")

    assert [path.name for path in paths] == ["selftest.png", "selftest.svg"]
    assert "Self-test: 1 false alarm in 300 decisions without a change; 98 % of 5 % slowdowns found; 98" in text
    assert text.index("+5 % planted 12 pairs") < text.index("+10 % planted 12 pairs")
    assert "A/A no change 42 pairs SD" in text
    assert "thread_pool" in text
    assert "1 of 67 pairs failed or were dropped." in text
    assert "nothing in 1 min, 3.1 % in 5 min (48 pairs, memory left out), 2.0 % in 15 min (240 pairs)" in text


def test_a_self_test_draws_every_good_pair_of_each_group() -> None:
    same, planted = series(30), {"5": series(12, math.log(1.05)), "odd": series(4)}
    same[2] = pair(3, 2.0)
    figure = plot_selftest.draw(selftest({"callbacks": same}, {}), same, planted, MACHINE)

    assert figure is not None
    for axes in figure.axes[:2]:
        for place, number in enumerate((30, 12, 4)):
            there = [x for x in marks(axes, "o", "^", "v") if place - 0.45 < x < place + 0.29]
            assert len(there) == number
    assert "no change" in figure.axes[0].get_xticklabels()[0].get_text()


def test_a_self_test_of_few_pairs_claims_no_rate(tmp_path: Path) -> None:
    same = {"callbacks": series(2)}
    found = selftest(same, {"5": []})
    none = {"alarms": 0, "decisions": 0, "pairs": 2}
    found |= {"false_alarms": {"real": none, "resampled": none}, "resolves": []}
    found["detection"] = {"5": {"share": 0.0, "decisions": 0}}
    save_selftest(found, same["callbacks"], {"5": []}, MACHINE, tmp_path)

    text = words(tmp_path / "selftest.svg")

    assert "Self-test: no decision without a change; no decision on 5 % slowdowns" in text


def test_a_self_test_without_a_good_pair_is_not_drawn(tmp_path: Path) -> None:
    found = selftest({"callbacks": []}, {})

    assert save_selftest(found, [pair(1, red=True)], {}, MACHINE, tmp_path / "plots") == []
    assert not (tmp_path / "plots").exists()


def test_more_strategies_than_fit_are_counted(tmp_path: Path) -> None:
    same = {"callbacks": series(12)} | {f"own{n}": series(3, labels=(f"own{n}",) * 2) for n in range(20)}
    save_selftest(selftest(same, {}), same["callbacks"], {}, MACHINE, tmp_path)

    assert "5 more strategies are not shown." in words(tmp_path / "selftest.svg")
