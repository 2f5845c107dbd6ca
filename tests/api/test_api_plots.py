"""The plots of results: onto given Axes or into a new figure, without other changes."""

import sys
from io import BytesIO
from typing import Any

import pytest

import inflight
from inflight.bench.api import NotInRunError, Results
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from tests.api.made_results import HOSTILE, made, reference
from tests.made_rows import MS, crawl_row, edited, grid, memory_row

PLOTS: dict[str, tuple[str, dict[str, Any]]] = {
    "throughput": ("plot_throughput", {}),
    "throughput of": ("plot_throughput", {"latency": "0"}),
    "cpu": ("plot_cpu", {}),
    "cpu of": ("plot_cpu", {"latency": "10ms", "in_flight": 40}),
    "times": ("plot_times", {}),
    "times of": ("plot_times", {"kind": "service", "latency": "10ms", "in_flight": 40}),
    "memory": ("plot_memory", {}),
    "ladder": ("plot_ladder", {}),
    "map": ("plot_map", {"in_flight": 100}),
}


@pytest.fixture(scope="module")
def quick() -> Results:
    return inflight.load(reference("quick"))


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_without_axes_is_a_figure_of_its_own(name: str, quick: Results) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    method, options = PLOTS[name]
    figure = getattr(quick, method)(**options)

    (axes,) = figure.get_axes()
    assert axes.get_title() or axes.get_title(loc="left")
    assert axes.get_xlabel()
    assert axes.lines or axes.patches or axes.texts
    assert dict(mpl.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


@pytest.mark.parametrize("name", ["throughput", "cpu", "times", "memory", "ladder", "map"])
def test_a_plot_onto_axes_touches_nothing_outside(name: str, quick: Results) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    ours, others = figure.subplots(1, 2)
    others.plot([1, 2])
    before = [len(figure.get_children()), len(others.get_children()), others.get_xlim(), others.get_position().bounds]
    method, options = PLOTS[name]

    assert getattr(quick, method)(**options, ax=ours) is figure

    assert ours.lines or ours.patches
    assert before == [
        len(figure.get_children()), len(others.get_children()), others.get_xlim(), others.get_position().bounds,
    ]  # fmt: skip


def test_hostile_names_are_names_on_the_callers_own_axes_too() -> None:
    from matplotlib.figure import Figure

    results = made(grid([HOSTILE, "_hidden"], caps=(1, 100), rounds=1))
    figure = Figure(figsize=(20, 12), layout="constrained")
    for axes, name in zip(figure.subplots(2, 2).flat, ("throughput", "cpu", "times", "memory"), strict=True):
        method, options = PLOTS[name]
        getattr(results, method)(**options, ax=axes)

    image = BytesIO()
    figure.savefig(image, format="svg")  # outside of our settings

    assert b"\x1b" not in image.getvalue()


def test_a_setting_among_several_is_named() -> None:
    row = crawl_row(times_ns=[5])
    worked = edited(row, workload={"id": "w", "cpu": "2ms", "cpu_ns": 2 * MS})
    results = made([row, changed(row, round=2), crawl_row("other"), worked])

    title = results.plot_cpu().axes[0].get_title(loc="left")
    assert title.endswith("100 in flight (no CPU work)")
    assert results.only(cpu="2ms").plot_cpu().axes[0].get_title(loc="left").endswith("100 in flight")


@pytest.mark.parametrize(
    ("rows", "method", "options", "told"),
    [
        ([], "plot_throughput", {}, "no throughput in this run"),
        ([crawl_row(status="failed")], "plot_cpu", {}, "no CPU times in this run"),
        ([crawl_row(invalid=True, times_ns=[1])], "plot_times", {}, "no valid trial with times in this run"),
        ([crawl_row(times_ns=[1])], "plot_times", {"kind": "queueing"}, "no kind of time 'queueing' in this run: it"),
        ([crawl_row()], "plot_throughput", {"latency": "7ms"}, "no added latency '7ms' in this run: it has 0"),
        ([crawl_row()], "plot_cpu", {"in_flight": 3}, "no number in flight 3 in this run: it has 100"),
        ([crawl_row()], "plot_map", {"in_flight": 3}, "no number in flight 3 in this run: it has 100"),
        ([crawl_row(stack="own")], "plot_map", {"in_flight": 3}, "no crawl of a strategy that shares the stack"),
        ([crawl_row()], "plot_memory", {}, "no memory trial in this run"),
        ([memory_row()], "plot_memory", {}, "no memory slope in this run: a slope needs"),
        ([memory_row()], "plot_ladder", {}, "no memory trial of a strategy in this run has every layer"),
    ],
)
def test_missing_data_is_refused_in_one_sentence(
    rows: list[Row], method: str, options: dict[str, Any], told: str
) -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    with pytest.raises(NotInRunError) as refused:
        getattr(made(rows), method)(**options, ax=axes)

    assert str(refused.value).startswith(told)
    assert [*axes.lines, *axes.patches, *axes.texts] == []
