"""Stored runs compared: answers, verdicts, change points, and what every output says, whatever the names."""

import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.runs import show
from inflight.bench.runs.compare import KEYS, MEMORY, MIN_RUNS, ComparedRuns, compare, read
from inflight.bench.runs.show import MAX_PANELS, picture
from inflight.bench.show import pictures
from tests.made_rows import MACHINE, arm_row, block_rows, edited, memory_rows
from tests.outputs import RECORDED, as_lines
from tests.outputs import compare as compare_texts
from tests.runs.made_runs import busy, compared, noisy_run, scaled, slowed
from tests.show.cases import CALLBACKS, FAST, GENERATORS, THREADS, of
from tests.varied import varied

SERIES = Path(__file__).parents[2] / "results" / "series"
CPU, THROUGHPUT = "cpu_per_page_ns", "pages_per_s"


def steady(seed: int) -> list[Row]:
    return noisy_run(seed, sd=0.002, rounds=5)


def answers(found: ComparedRuns, arm: str, figure: str) -> set[str]:
    """Return the answers for one figure of one arm."""
    lines = found.changes
    return set(lines[(lines["arm"] == arm) & (lines["figure"] == figure)]["answer"])


# Answers and verdicts


@pytest.mark.parametrize(
    ("figure", "factor", "answer", "verdict"),
    [
        (CPU, 1.0, "in range", "pass"),
        (CPU, 1.1, "in range", "pass"),
        (CPU, 1.3, "can't tell", "inconclusive"),
        (CPU, 2.5, "worse", "regression"),
        (CPU, 0.4, "better", "pass"),
        (THROUGHPUT, 0.4, "worse", "regression"),
        (THROUGHPUT, 2.5, "better", "pass"),
    ],
)
def test_a_figure_is_worse_better_or_equal(figure: str, factor: float, answer: str, verdict: str) -> None:
    found = compared(steady(1), scaled(steady(2), figure, factor))

    assert (answers(found, "generators", figure), found.verdict) == ({answer}, verdict)
    assert answers(found, "callbacks", figure) == {"equal"}


def test_a_busy_hour_is_no_regression_and_does_not_pass() -> None:
    found = compared(steady(1), busy(steady(2), 1.2))

    assert answers(found, "generators", CPU) == {"in range"}
    assert answers(found, "callbacks", CPU) == {"worse"}
    assert found.verdict == "inconclusive"


@pytest.mark.parametrize("strategy", ["callbacks", "generators"])
def test_more_memory_of_any_strategy_is_a_regression(strategy: str) -> None:
    more = [row for row in steady(2) if row.kind != "memory" or row.strategy != strategy]
    found = compared(steady(1), [*more, *memory_rows(strategy, 1300 if strategy == "callbacks" else 2600)])

    assert answers(found, strategy, MEMORY) == {"worse"}
    assert found.verdict == "regression"


@pytest.mark.parametrize(("factor", "worse"), [(1.0, set()), (1.6, {"generators"})])
@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("20261124T135854336Z", "20261126T074808228Z"),
        ("20261124T173712161Z", "20261128T140731193Z"),
        ("20261126T074808228Z", "20261128T104949669Z"),
    ],
)
def test_another_state_of_the_host_is_no_regression_and_a_slower_strategy_is(
    first: str, last: str, factor: float, worse: set[str]
) -> None:
    before, after = (read(SERIES / f"{time}-vm-series", time) for time in (first, last))

    found = compare([before, replace(after, rows=slower_windows(after.rows, factor))])

    changes = found.changes
    assert set(changes[changes["is_ratio"] & (changes["answer"] == "worse")]["arm"]) == worse
    assert not found.is_unlike
    assert (found.verdict == "regression") == bool(worse)


def test_runs_pass_if_each_ratio_is_where_the_first_run_expected_it() -> None:
    times = ("20261124T141735089Z", "20261124T205801851Z", "20261126T074808228Z")
    first, same, other = (read(SERIES / f"{time}-vm-series", time) for time in times)

    passing, open_ = compare([first, same]), compare([first, other])

    assert (passing.verdict, open_.verdict) == ("pass", "inconclusive")
    for found in (passing, open_):
        means = found.means[found.means["is_ratio"]].set_index(KEYS)
        last = means[means["run"] == 1]["estimate"]
        ends = means[means["run"] == 0].loc[last.index]
        is_expected = last.between(ends["next_low"], ends["next_high"])
        answers = found.changes.set_index(KEYS).loc[last.index]["answer"]
        assert set(answers[is_expected]) <= {"in range", "equal"}
        assert set(answers[~is_expected]) <= {"can't tell"}
    assert "in range" in show.text(passing)


def slower_windows(many: Sequence[Row], factor: float, strategy: str = "generators") -> list[Row]:
    """Return the rows of a run in which each window of one strategy took so many times the CPU time."""

    def scaled(row: Any) -> Row:
        windows = [structs.asdict(each) | {"cpu_ns": round(factor * each.cpu_ns)} for each in row.measured.windows]
        cpu_ns = round(factor * row.measured.cpu_per_page_ns)
        return edited(row, measured={"windows": windows, "cpu_per_page_ns": cpu_ns})

    return [scaled(row) if row.strategy == strategy and row.valid else row for row in many]


def test_the_stored_series_of_unchanged_strategies_has_one_false_alarm_at_most() -> None:
    runs = [read(folder, folder.name) for folder in sorted(SERIES.iterdir())]

    changes = [compare(pair).changes for pair in pairwise(runs)]

    assert sum((lines["is_ratio"] & (lines["answer"] == "worse")).any() for lines in changes) <= 1


# What is compared


def test_arms_are_compared_with_the_reference_of_their_block_and_placebos_are_not() -> None:
    found = compared(block_rows({"generators": 20_000, "callbacks": 24_000}), block_rows())

    assert set(found.changes["arm"]) == set()
    assert found.lonely.index.tolist() == ["callbacks", "generators"]

    same = compared(block_rows(), block_rows({"callbacks": 20_000, "generators": 32_000}))

    assert set(same.changes["arm"]) == {"callbacks", "generators"}
    assert same.verdict == "regression"


def test_with_several_interpreters_the_reference_arm_is_the_baseline() -> None:
    arms = [(strategy, version) for strategy in ("callbacks", "generators") for version in ("3.11.7", "3.13.0")]
    rows = [
        arm_row(
            f"{strategy} {version}",
            number=number,
            cpu_per_page_ns=20_000 + 100 * number,
            role="reference" if (strategy, version) == arms[0] else "compared",
            asked={"strategy": strategy, "interpreter": version, "python": f"python{version}"},
        )
        for number in range(1, 4)
        for strategy, version in arms
    ]

    lines = compared(rows, rows).changes

    assert set(lines[lines["is_ratio"]]["arm"]) == {"callbacks 3.13.0", "generators 3.11.7", "generators 3.13.0"}
    assert set(lines["against"]) == {"callbacks 3.11.7"}


def test_the_first_and_the_last_run_decide_and_others_may_lack_a_figure() -> None:
    middle = [row for row in slowed(steady(2), 2) if row.strategy != "generators" or row.workload.in_flight != 10]

    found = compared(steady(1), middle, steady(3))

    assert found.verdict == "pass"
    line = next(line for line in show.text(found).splitlines() if line.startswith("generators"))
    assert line.split()[:4] == ["generators", "2.00x", "-", "2.00x"]


def test_an_experiment_has_its_whole_name() -> None:
    quick, disturbed = (read(RECORDED / name, name) for name in ("quick", "quick-disturbed"))

    differences = compare([quick, disturbed]).differences

    assert differences["experiment"] == ["quick", "quick-disturbed"]


# Change points


def days(late: float, number: int = 10) -> list[Sequence[Row]]:
    """Return runs of which every third is in a busy hour, and in whose second half generators is slower."""
    runs = [busy(noisy_run(n, sd=0.004), 1 + 0.1 * (n % 3)) for n in range(number)]
    return [slowed(run, late if 2 * n >= number else 1.0) for n, run in enumerate(runs)]


def test_a_slower_strategy_is_a_change_point_and_a_busy_hour_is_none() -> None:
    pytest.importorskip("otava")

    late = compared(*days(1.06))

    for unchanged in (days(1.0), days(2.0, MIN_RUNS - 1)):
        assert len(show.to_json(compared(*unchanged))["change_points"]) == 0
    assert late.points is not None
    assert set(zip(late.points["arm"], late.points["figure"], late.points["run"], strict=True)) == {
        ("generators", CPU, 5)
    }
    assert "Change points" in show.text(late)
    assert json.loads(json.dumps(show.to_json(late)))["change_points"][0]["after"] == pytest.approx(2.12, rel=0.01)


@pytest.mark.parametrize(("number", "is_said"), [(MIN_RUNS - 1, False), (MIN_RUNS, True)])
def test_a_missing_library_is_one_sentence(number: int, is_said: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "otava.analysis", None)

    found = compared(*days(1.0, number))

    assert (show.NO_POINTS in " ".join(show.text(found).split())) is is_said
    assert show.to_json(found)["change_points"] is None


# Outputs


HELD = "kind == 'memory'"
QUICK = of("quick", f"({FAST} or {HELD}) and ({CALLBACKS} or {GENERATORS} or {THREADS})")
OTHER = MACHINE | {"cores": 8, "cpu": "Other", "neighbour": "spin", "commit": "f1", "digests": {"strategies": "b"}}
SHOWN: dict[str, tuple[list[list[Row]], dict[str, Any]]] = {
    # name: (rows of each run, the machine of the last one)
    "alike": ([QUICK, QUICK], MACHINE),
    "slower": ([QUICK, varied(QUICK, (f"{GENERATORS} and kind == 'arm'", {"cost": 2.5}))], MACHINE),
    "more-memory": ([QUICK, varied(QUICK, (f"{HELD} and {CALLBACKS}", {"held": 1.5}))], MACHINE),
    "another-machine": ([QUICK, QUICK], OTHER),
    "unknown-machine": ([QUICK, QUICK], {}),
    "another-clock": ([QUICK, varied(QUICK, ("kind == 'arm'", {"clock": "task clock"}))], MACHINE),
    "another-client": ([QUICK, varied(QUICK, (GENERATORS, {"name": "my_client"}))], MACHINE),
    "one-block": ([of("quick", f"{FAST} and round == 1")] * 2, MACHINE),
    "three-runs": ([QUICK, varied(QUICK, (f"{HELD} and {GENERATORS}", "gone")), QUICK], MACHINE),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_comparison_is_shown_as_stored(name: str, request: pytest.FixtureRequest) -> None:
    runs, machine = SHOWN[name]
    found = compared(*runs, machine=machine)
    values = show.to_json(found)
    parts = [show.text(found), show.markdown(found), as_lines(values)]
    with pictures.settings():
        parts += [panel.title for panel in picture(found).panels]

    assert json.loads(json.dumps(values, allow_nan=False)) == values
    compare_texts({RECORDED / "comparisons" / f"{name}.txt": "\n".join(parts)}, request.config)


def test_names_cannot_break_out_of_their_place() -> None:
    name = "a|b`<script>\x1b[31m\n" + "x" * 200
    many = [changed(row, strategy=name) if row.strategy == "generators" else row for row in steady(1)]
    found = compared(many, slowed(many, 1.5, name), machine=MACHINE | {"system": "x" * 300})

    assert max(map(len, show.text(found).splitlines())) <= show.WIDTH
    assert "\x1b" not in show.text(found)
    assert "<script>" not in show.markdown(found)


# The plot


def sheet(found: ComparedRuns) -> Any:
    with pictures.settings():
        return pictures.draw_sheet(picture(found))


def svg_text(found: ComparedRuns, folder: Path) -> str:
    paths = pictures.save([picture(found)], folder)
    assert [path.name for path in paths] == ["compare.png", "compare.svg"]
    root = ET.parse(folder / "compare.svg").getroot()  # noqa: S314
    return " ".join("".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text"))


def test_the_plot_marks_change_points() -> None:
    pytest.importorskip("otava")

    quiet, late = (
        [line.get_linestyle() for axes in sheet(compared(*days(factor))).axes for line in axes.lines].count("--")
        for factor in (1.0, 1.06)
    )

    assert late > quiet


def test_memory_alone_is_drawn_as_it_is_and_panels_are_bounded(tmp_path: Path) -> None:
    assert "memory per fetch in flight" in svg_text(compared(memory_rows(), memory_rows()), tmp_path)
    caps = range(10, 10 * MAX_PANELS + 50, 10)
    assert len(picture(compared(noisy_run(1, caps=caps), noisy_run(2, caps=caps))).panels) == MAX_PANELS
