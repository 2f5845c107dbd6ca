"""Paths in an experiment: they start at its file, rows do not have them, and a resumed run has the same ones."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from inflight import strategies
from inflight.bench.commands.run import experiment_of
from inflight.bench.measure import run as runs
from inflight.bench.measure.trial import skipped
from inflight.bench.plan.experiment import Experiment, ExperimentError, load, parse
from inflight.bench.plan.grid import AgainstTable
from inflight.bench.plan.trial import row_trials
from inflight.bench.rows import files as rows
from tests.cli.command import call

SMALL = {"strategies": ["callbacks"], "crawl": [{"in_flight": [1]}]}


def stored_run(folder: Path, values: dict[str, Any], pythons: tuple[str, ...] = ()) -> tuple[Experiment, Path]:
    """Return an experiment, and the folder of a run of it in which each trial was skipped."""
    (folder / "mine.toml").write_text(tomli_w.dumps(values), "utf-8")
    experiment = experiment_of(str(folder / "mine.toml"), pythons=pythons)
    made = runs.new_folder(folder / "results", experiment)
    for trial in runs.plan(experiment):
        for part in row_trials(trial):
            rows.append(made, skipped(part, made.name, "limit", "the test asks for rows alone"))
    return experiment, made


def tables(experiment: Experiment) -> Any:
    return experiment.memory, experiment.throughput, experiment.pythons


@pytest.mark.parametrize("spaces", [False, True])
def test_a_run_on_an_interpreter_by_its_path_can_be_resumed(tmp_path: Path, spaces: bool) -> None:
    python = tmp_path / ("my pythons" if spaces else "pythons") / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    _, folder = stored_run(tmp_path, SMALL, (str(python),))

    again = load(str(folder / rows.EXPERIMENT_FILE), strategies.names())
    runs.execute(folder, again, runs.plan(again), lambda *_: pytest.fail("each trial has a row"))


def test_an_interpreter_of_a_table_is_the_same_when_the_run_is_resumed(tmp_path: Path) -> None:
    table = {"in_flight": [1], "python": sys.executable}
    against = {"in_flight": [1], "against": {"python": sys.executable}}
    values = {"strategies": ["callbacks"], "memory": [table], "throughput": [table, against]}
    experiment, folder = stored_run(tmp_path, values)

    again = load(str(folder / rows.EXPERIMENT_FILE), strategies.names())

    assert str(tmp_path) not in (folder / rows.EXPERIMENT_FILE).read_text("utf-8")
    assert tables(again) == tables(experiment)
    runs.execute(folder, again, runs.plan(again), lambda *_: pytest.fail("each trial has a row"))


def test_a_run_whose_variables_had_paths_is_not_resumed_without_them(tmp_path: Path) -> None:
    table = {"in_flight": [1], "variables": {"HERE": str(tmp_path / "mine.toml"), "NUMBER": "1"}}
    _, folder = stored_run(tmp_path, {"strategies": ["callbacks"], "memory": [table]})

    assert call("run", "--resume", folder).sentence.endswith(
        "experiment.toml has variables without the folders in them; start a new run"
    )


def test_the_id_of_a_trial_names_no_place(tmp_path: Path) -> None:
    table = {"in_flight": [1], "against": {"python": sys.executable}}
    idle = {"n": [1], "what": ["thread"], "variables": {"HERE": str(tmp_path)}}
    _, folder = stored_run(tmp_path, {"strategies": ["callbacks"], "throughput": [table], "idle": [idle]})

    name = Path(sys.executable).name
    assert {row.trial for row in rows.read(folder)} == {
        f"throughput/latency=0/in_flight=1/keep-alive/{arm}/round=1"
        for arm in ("callbacks (python=None)", f"callbacks (python={name})", f"callbacks (python={name}) again")
    } | {f"idle/thread/n=1/HERE={tmp_path.name}/round=1"}


def test_two_interpreters_that_rows_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    table = {"in_flight": [1], "python": "/usr/bin/python3", "against": {"python": "/usr/local/bin/python3"}}
    experiment = parse({"strategies": ["callbacks"], "throughput": [table]}, "x", ["callbacks"], "x.toml")

    with pytest.raises(ExperimentError, match=r"both arms are named callbacks \(python=python3\)"):
        runs.all_trials(experiment)


def test_relative_paths_of_interpreters_start_at_the_file(tmp_path: Path) -> None:
    table = {"in_flight": [1], "python": "bin/python3"}
    against = {"in_flight": [1], "python": "python3.13", "against": {"python": "../python3"}}
    values = {"strategies": ["callbacks"], "python": {"home": "~/python3"}, "memory": [table], "throughput": [against]}

    experiment = parse(values, "x", ["callbacks"], "x.toml", tmp_path)

    assert experiment.pythons == {"home": os.path.expanduser("~/python3")}  # noqa: PTH111  (as a shell has it)
    assert experiment.memory[0].python == str(tmp_path / "bin" / "python3")
    assert experiment.throughput[0].python == "python3.13"
    assert experiment.throughput[0].against == AgainstTable(python=str(tmp_path.parent / "python3"))
