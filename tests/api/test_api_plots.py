"""The plots of results: onto given Axes or into a new figure, without other changes."""

import sys
from io import BytesIO

import pytest

import inflight
from inflight.bench.api import NotInRunError, Results
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from tests.api.made_results import HOSTILE, made, reference
from tests.made_rows import MS, arm_row, crawl_row, edited, grid, idle_row, memory_row, memory_rows

PLOTS = ("throughput", "cpu", "times", "memory", "ladder")


@pytest.fixture(scope="module")
def quick() -> Results:
    return inflight.load(reference("quick"))


def numbers() -> list[int]:
    """Return the figures that pyplot knows; other tests in this process may have opened some."""
    return sys.modules["matplotlib.pyplot"].get_fignums() if "matplotlib.pyplot" in sys.modules else []


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_without_axes_is_a_figure_of_its_own(name: str, quick: Results) -> None:
    import matplotlib as mpl

    before, opened = dict(mpl.rcParams), numbers()
    figure = quick.plot(name)

    (axes,) = figure.get_axes()
    assert axes.get_title() or axes.get_title(loc="left")
    assert axes.get_xlabel()
    assert axes.lines or axes.patches or axes.texts
    assert dict(mpl.rcParams) == before
    assert numbers() == opened


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_onto_axes_touches_nothing_outside(name: str, quick: Results) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    ours, others = figure.subplots(1, 2)
    others.plot([1, 2])
    before = [len(figure.get_children()), len(others.get_children()), others.get_xlim(), others.get_position().bounds]

    assert quick.plot(name, ax=ours) is figure

    assert ours.lines or ours.patches
    assert before == [
        len(figure.get_children()), len(others.get_children()), others.get_xlim(), others.get_position().bounds,
    ]  # fmt: skip


def test_hostile_names_are_names_on_the_callers_own_axes_too() -> None:
    from matplotlib.figure import Figure

    results = made(grid([HOSTILE, "_hidden"], caps=(1, 100), rounds=1))
    figure = Figure(figsize=(20, 12), layout="constrained")
    for axes, name in zip(figure.subplots(2, 2).flat, ("throughput", "cpu", "times", "memory"), strict=True):
        results.plot(name, ax=axes)

    image = BytesIO()
    figure.savefig(image, format="svg")  # outside of our settings

    assert b"\x1b" not in image.getvalue()


@pytest.mark.parametrize(
    ("experiment", "study", "title"),
    [
        ("map", "map", "Fastest model\n100 in flight"),
        ("memory", "memory", "Memory per additional thread, task or fetch, per-fetch connections"),
        ("c10k", "held", "Held in flight at once, per-fetch connections, parked\nall held after"),
        ("c100k", "swarm", "Fetches in flight in many processes\nfetches held at the gates"),
    ],
)
def test_each_kind_of_study_has_a_plot(experiment: str, study: str, title: str) -> None:
    figure = inflight.load(reference(experiment)).plot(study)

    figure.draw_without_rendering()
    (axes,) = figure.get_axes()
    assert axes.get_title(loc="left") == title
    assert axes.lines or axes.patches


def test_a_setting_among_several_is_named() -> None:
    row = crawl_row(times_ns=[5])
    worked = edited(row, workload={"id": "w", "cpu": "2ms", "cpu_ns": 2 * MS})
    results = made([row, changed(row, round=2), crawl_row("other"), worked])

    assert results.plot("cpu").axes[0].get_title(loc="left").endswith(", no CPU work\n100 in flight, no added latency")
    only = results.only(cpu="2ms").plot("cpu")
    assert only.axes[0].get_title(loc="left").endswith("\n100 in flight, no added latency")


def test_ratios_without_their_baseline_have_no_plot() -> None:
    rows = [
        edited(arm_row(number=number), workload={"arm": {"cores": cores}}) for cores in (2, 3) for number in (1, 2, 3)
    ]

    with pytest.raises(NotInRunError, match="nothing for the study 'cores'"):
        made(rows).plot("cores")


@pytest.mark.parametrize(
    ("rows", "study", "told"),
    [
        ([], "throughput", "nothing for the study 'throughput' in this run"),
        ([crawl_row(status="failed")], "cpu", "nothing for the study 'cpu' in this run"),
        ([crawl_row(stack="own")], "map", "nothing for the study 'map' in this run"),
        ([crawl_row()], "mapp", "no study 'mapp'; did you mean \"map\"?"),
        ([crawl_row()], "memory", "nothing for the study 'memory' in this run"),
        ([memory_row()], "memory", "nothing for the study 'memory' in this run"),
        (memory_rows(), "ladder", "nothing for the study 'ladder' in this run"),
        ([crawl_row()], "held", "nothing for the study 'held' in this run"),
        ([idle_row()], "ps", "nothing for the study 'ps' in this run"),
    ],
)
def test_missing_data_is_refused_in_one_sentence(rows: list[Row], study: str, told: str) -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    with pytest.raises(NotInRunError) as refused:
        made(rows).plot(study, ax=axes)

    assert str(refused.value) == told
    assert [*axes.lines, *axes.patches, *axes.texts] == []
