"""Paths in an experiment: they start at its file, rows do not have them, and a resumed run has the same ones."""

import sys
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from inflight import strategies
from inflight.bench.commands.run import experiment_of
from inflight.bench.measure import run as runs
from inflight.bench.measure.trial import skipped
from inflight.bench.plan.experiment import Experiment, load
from inflight.bench.plan.trial import row_trials
from inflight.bench.rows import files as rows

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


@pytest.mark.parametrize("spaces", [False, True])
def test_a_run_on_an_interpreter_by_its_path_can_be_resumed(tmp_path: Path, spaces: bool) -> None:
    python = tmp_path / ("my pythons" if spaces else "pythons") / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    _, folder = stored_run(tmp_path, SMALL, (str(python),))

    again = load(str(folder / runs.EXPERIMENT_FILE), strategies.names())
    runs.execute(folder, again, runs.plan(again), lambda *_: pytest.fail("each trial has a row"))
