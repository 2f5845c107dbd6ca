"""Stored runs as series: what belongs to one history, in which order, and what is followed."""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.studies.history import changes, show
from inflight.bench.studies.history.changes import Split
from inflight.bench.studies.history.read import By, History, LeftOut, Run, Series, history, of_benchmarks, of_run
from inflight.bench.studies.stored.side import CPU, MEMORY, THROUGHPUT, WALL
from tests.compare.made_runs import noisy_run, slowed
from tests.made_rows import MACHINE, arm_row, edited

NUMBER = 10


def day(number: int, found: Sequence[Row], **machine: Any) -> Run | LeftOut:
    """Return a run that began on this day of January."""
    began = f"2026-01-{number + 1:02}T03:04:05+00:00"
    rows = [changed(row, started_at=began, run=f"run-{number:02}") for row in found]
    return of_run(f"run-{number:02}", rows, MACHINE | machine, "callbacks")


def busy(found: Sequence[Row], factor: float) -> list[Row]:
    """Return a run in a busy hour: all its strategies need more time."""
    return slowed(slowed(found, factor, "callbacks"), factor, "generators")


def days(late: float = 1.0, number: int = NUMBER) -> list[Run | LeftOut]:
    """Return runs of which every third is disturbed, and in whose second half generators is slower."""
    found = []
    for n in range(number):
        rows = busy(noisy_run(n, sd=0.004), 1 + 0.1 * (n % 3))
        found.append(day(n, slowed(rows, late, "generators") if 2 * n >= number else rows))
    return found


def made(found: Sequence[Run | LeftOut], by: By = "date", find: changes.Find | None = lambda _: []) -> History:
    made = history(found, by, "callbacks", find)
    assert isinstance(made, History)
    return made


def series(found: History, subject: str, metric: str = CPU) -> list[Series]:
    return [one for one in found.series if (one.key.subject, one.key.metric) == (subject, metric)]


def test_a_strategy_is_followed_by_its_ratio_to_the_reference_of_the_same_run() -> None:
    found = made(days())

    for one in series(found, "generators"):
        values = [one.followed(place).estimate for place in range(NUMBER)]  # type: ignore[union-attr]
        assert one.is_relative
        assert max(values) / min(values) < 1.03
    for one in series(found, "callbacks"):
        values = [one.followed(place).estimate for place in range(NUMBER)]  # type: ignore[union-attr]
        assert not one.is_relative
        assert max(values) / min(values) > 1.15


def test_with_several_interpreters_the_reference_arm_is_the_reference() -> None:
    rows = [
        arm_row(
            f"{strategy} {version}",
            number=number,
            cpu_per_page_ns=20_000 + 100 * number,
            role="reference" if (strategy, version) == ("callbacks", "3.11.7") else "compared",
            asked={"strategy": strategy, "interpreter": version, "python": f"python{version}"},
        )
        for number in range(1, 4)
        for strategy in ("callbacks", "generators")
        for version in ("3.11.7", "3.13.0")
    ]

    found = made([day(0, rows)])

    assert {one.key.subject for one in found.series if one.is_relative} == {
        "callbacks 3.13.0", "generators 3.11.7", "generators 3.13.0",
    }  # fmt: skip


def test_all_figures_of_runs_are_followed() -> None:
    assert {one.key.metric for one in made(days()).series} == {CPU, THROUGHPUT, MEMORY}


def test_a_busy_hour_is_no_change_and_a_slower_strategy_is_one() -> None:
    pytest.importorskip("otava")
    find = changes.finder()

    quiet, changed_ = made(days(), find=find), made(days(1.06), find=find)

    assert not quiet.changes
    assert {(one.key.subject, one.key.metric) for one, _ in changed_.changes} == {("generators", CPU)}
    for one, change in changed_.changes:
        assert change.run == NUMBER // 2
        assert math.isclose(change.size, math.log(1.06), abs_tol=0.01)
        assert show.is_worse(one, change)


def test_series_without_a_change_rarely_have_change_points() -> None:
    pytest.importorskip("otava")
    find, draw = changes.finder(), Random(3)
    assert find is not None

    alarms = sum(bool(find([draw.gauss(1.0, 0.02) for _ in range(20)])) for _ in range(300))

    assert alarms <= 15  # 5 %


def test_few_runs_are_not_searched() -> None:
    def find(_: Sequence[float]) -> list[Split]:
        raise AssertionError

    found = made(days(number=changes.LEAST_RUNS - 1), find=find)

    assert "at least 5 runs" in found.not_searched
    assert "no change points were looked for" in show.title(found)


def test_a_missing_library_is_one_sentence_and_the_figures_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "otava.analysis", None)

    found = made(days(), find=changes.finder())

    assert "pip install 'inflight-bench[history]'" in found.not_searched
    assert "Change points need apache-otava" in show.text(found)
    assert "generators" in show.text(found)


def test_what_else_changed_with_a_run_is_said() -> None:
    newer = day(7, noisy_run(7), python="CPython 3.13.1")
    found = made([*days(number=7), newer], find=lambda values: [Split(7, 1.0, 1.1, 0.0)] if len(values) == 8 else [])

    assert "also changed: python CPython 3.11.7 / CPython 3.13.1" in show.text(found)


def test_runs_of_other_machines_disturbed_runs_and_copies_are_left_out_with_the_reason() -> None:
    copy = day(1, busy(noisy_run(1, sd=0.004), 1.1))
    assert isinstance(copy, Run)
    others = [day(20, noisy_run(20), cpu="Other 1"), day(21, noisy_run(21), neighbour="spin"), copy]

    found = made([*days(number=3), *others])

    assert [run.name for run in found.runs] == ["run-00", "run-01", "run-02"]
    assert {(one.name, one.why) for one in found.left_out} == {
        ("run-20", "another machine: cpu Other 1, not Imaginary 9000"),
        ("run-21", "disturbed on purpose by a neighbour (spin)"),
        ("run-01", "the same run as run-01"),
    }


def test_a_new_kernel_is_not_another_machine() -> None:
    assert len(made([*days(number=2), day(5, noisy_run(5), system="Linux 6.2")]).runs) == 3


def test_runs_without_figures_are_left_out() -> None:
    failed = [changed(row, status="failed", reason="by the test") for row in noisy_run(1)]

    assert of_run("empty", [], MACHINE, "callbacks") == LeftOut("empty", "no rows")
    assert isinstance(of_run("failed", failed, MACHINE, "callbacks"), LeftOut)


def test_rows_of_earlier_runs_do_not_count_again() -> None:
    earlier = [changed(row, run="run-00") for row in noisy_run(1)]

    found = of_run("claims", [*earlier, *(changed(row, run="run-05") for row in noisy_run(5))], MACHINE, "callbacks")

    assert isinstance(found, Run)
    assert found.repeated == len(earlier)


def test_versions_are_ordered_by_their_numbers() -> None:
    versions = ("3.13.1", "3.9.2", "3.11.7")
    found = [
        day(number, [edited(row, knobs={"python": version}) for row in noisy_run(number)])
        for number, version in enumerate(versions)
    ]

    assert [run.told("python") for run in made(found, "python").runs] == ["3.9.2", "3.11.7", "3.13.1"]


def test_commits_are_ordered_by_their_first_run_and_runs_without_one_are_left_out() -> None:
    found = [
        day(0, noisy_run(0), commit="ff00"),
        day(1, noisy_run(1), commit="aa00"),
        day(2, noisy_run(2), commit="ff00"),
        day(3, noisy_run(3)),
    ]

    made_ = made(found, "commit")

    assert [run.name for run in made_.runs] == ["run-00", "run-02", "run-01"]
    assert made_.left_out == (LeftOut("run-03", "its commit is not recorded"),)


def test_files_of_pytest_benchmark_are_runs() -> None:
    def file(number: int) -> dict[str, Any]:
        stats = {"data": [0.010 + 0.0001 * number, 0.011, 0.012], "rounds": 3}
        return {
            "machine_info": {"system": "Linux", "cpu": {"brand_raw": "Imaginary 9000", "count": 4}},
            "commit_info": {"id": f"{number}0"},
            "datetime": f"2026-01-{number + 1:02}T03:04:05",
            "benchmarks": [{"fullname": "test_it", "stats": stats, "extra_info": {}}],
        }

    found = made([of_benchmarks(f"{number}.json", file(number)) for number in range(3)], "commit")

    (only,) = found.series
    assert (only.key.subject, only.key.metric, only.is_relative) == ("test_it", WALL, False)
    assert [run.told("commit") for run in found.runs] == ["00", "10", "20"]
    assert "callbacks" not in show.text(found)
    point = only.points[0].absolute
    assert point.low < point.estimate < point.high
    assert isinstance(of_benchmarks("old.json", file(1) | {"datetime": None}), LeftOut)


def test_every_output_has_every_series() -> None:
    found = made(days(), find=lambda _: [])
    text, told = show.text(found, every=True), json.loads(json.dumps(show.to_json(found), allow_nan=False))

    assert len(told["series"]) == len(found.series) == text.count("\nrun-00")
    assert {len(one["points"]) for one in told["series"]} == {NUMBER}
    for one in found.series:
        assert show.headed(show.name_of(one)) in show.markdown(found).replace("\\_", "_")


def test_a_single_round_has_no_interval() -> None:
    found = made([day(number, noisy_run(number, rounds=1)) for number in range(2)])

    assert "single round" in show.text(found, every=True)
    assert show.to_json(found)["series"][0]["points"][0]["absolute"]["high"] is None


def test_the_plot_has_changes_first(tmp_path: Path) -> None:
    from inflight.bench.studies.history.plot import save_history

    found = made(days(1.06), find=lambda values: [Split(5, 2.0, 2.1, 0.0)] if 1.9 < values[0] < 2.2 else [])

    assert [path.name for path in save_history(found, tmp_path)] == ["history.png", "history.svg"]
    drawn = (tmp_path / "history.svg").read_text(encoding="utf-8")
    assert "+5.0 %" in drawn
    assert "ratio to callbacks" in drawn
    assert save_history(made(days(number=1)), tmp_path / "none") == []
