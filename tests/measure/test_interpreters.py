"""Interpreters: what they say of themselves, their labels and environments, and a plan with several of them."""

import json
import os
import sys
from pathlib import Path

import psutil
import pytest

from inflight import strategies
from inflight.bench.commands.run import experiment_of
from inflight.bench.measure import interpreters
from inflight.bench.measure.interpreters import Interpreter
from inflight.bench.measure.process import Runtime
from inflight.bench.plan import experiment
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.plan.trials import expand
from tests.patience import FOREVER_S, until

OTHER = Interpreter(
    "/x", "3.13.0", "cpython", "", "cc", optimised=False, debug=False, free_threaded=False, allocator=""
)


def made(**changes: object) -> Interpreter:
    values = OTHER.to_dict() | changes
    del values["eager_tasks"]
    return Interpreter(**values)


def a_program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return str(path)


def test_an_interpreter_says_what_it_is() -> None:
    found = interpreters.ask(sys.executable)

    assert found.executable == sys.executable
    assert found.version == sys.version.split()[0]
    assert found.numbers == sys.version_info[:2]
    assert found.to_dict()["eager_tasks"] == (sys.version_info >= (3, 12))


@pytest.mark.parametrize(
    ("interpreter", "label"),
    [
        (made(), "3.13.0"),
        (made(version="3.14.0a3+", free_threaded=True), "3.14.0a3t"),
        (made(debug=True), "3.13.0d"),
        (made(implementation="pypy", version="3.11.9"), "pypy-3.11.9"),
    ],
)
def test_a_label_tells_versions_and_builds_apart(interpreter: Interpreter, label: str) -> None:
    assert interpreter.label == label


def test_the_same_interpreter_twice_has_two_labels() -> None:
    own = interpreters.ask(sys.executable).label

    assert interpreters.labelled([sys.executable, sys.executable]) == {
        own: sys.executable,
        f"{own} (2)": sys.executable,
    }


def test_interpreters_on_the_path_are_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("python3.11", "python3.12", "python3.x", "python3"):
        (tmp_path / name).symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "none"))

    assert len(interpreters.on_this_machine()) == 1


def test_a_free_threaded_build_must_run_without_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    for free_threaded, variables, locked in ((False, {}, True), (True, {}, False), (True, {"PYTHON_GIL": "1"}, True)):
        monkeypatch.setattr(
            interpreters,
            "ask",
            lambda _name, one=free_threaded: made(free_threaded=one),
        )
        wanted = interpreters.wanted_knobs("callbacks", Runtime("/x", None, variables), None)
        assert (wanted["executable"], wanted["gil"]) == ("/x", locked)

    assert interpreters.wanted_knobs("callbacks", Runtime(), {1, 0}) == {"strategy": "callbacks", "cpus": [0, 1]}


def says(**changes: object) -> str:
    """Return a shell command that prints what an interpreter says of itself."""
    facts = made(**changes).to_dict()
    del facts["eager_tasks"]
    return f"echo '{json.dumps(facts)}'"


NO_PYTHON = "is no Python; Python 3.11 or newer is needed"
ODD = "does not run as a Python interpreter: "


@pytest.mark.parametrize(
    ("text", "told"),
    {
        says(version="3.9.1"): "is 3.9.1; Python 3.11 or newer is needed",
        says(version="3.10.0rc1"): "is 3.10.0rc1; Python 3.11 or newer is needed",
        "exit 0": NO_PYTHON,
        "exit 1": NO_PYTHON,
        "echo '[1]'": NO_PYTHON,
        "echo '\"x\"'": NO_PYTHON,
        "echo 1": NO_PYTHON,
        "echo '{\"executable\": 1}'": NO_PYTHON,
        'echo \'{"executable": "", "version": 3}\'': NO_PYTHON,
        "echo hello there": ODD,
        r"printf '\377\377\n'": ODD,
        None: ODD,
    }.items(),
)
def test_a_program_that_is_no_python_or_too_old_is_refused(tmp_path: Path, text: str | None, told: str) -> None:
    program = a_program(tmp_path / "python", text or "")
    if text is None:
        (tmp_path / "python").write_text("not a program", "utf-8")

    with pytest.raises(ExperimentError) as caught:
        interpreters.ask(program)

    assert str(caught.value).startswith(f"--python: {program} {told}")
    assert "\n" not in str(caught.value)


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "ANSWER_SECONDS", 0.2)
    own_s = str(FOREVER_S + os.getpid())
    program = a_program(tmp_path / "python", f"sleep {own_s} &\nwait")

    with pytest.raises(ExperimentError) as caught:
        interpreters.ask(program)

    assert str(caught.value) == f"--python: {program} is no Python: no answer within 0.2 s"
    until(lambda: not any(own_s in (one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"])))


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(ExperimentError, match=r"^--python is empty"):
        interpreters.ask(" ")


def test_an_environment_that_cannot_be_made_leaves_nothing_and_pip_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    with pytest.raises(ExperimentError) as caught:
        interpreters.environment_for(sys.executable, ["there-is-no-such-distribution"])

    assert str(caught.value).startswith("there-is-no-such-distribution for ")
    assert "\n" not in str(caught.value)
    assert list((environments := tmp_path / "inflight" / "environments").iterdir()) == []
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pip installs from the network: there-is-no-such-distribution; into ")
    assert Path(line.rpartition(" into ")[2]).parent == environments


# The plan

TEXT = """
strategies = ["callbacks", "sequential"]
rounds = 1
python = { old = "python3.11", new = "bin/python3.13" }
[site]
pages = 20
[[throughput]]
in_flight = [5]
[[memory]]
in_flight = [5]
"""


@pytest.fixture
def planned(tmp_path: Path) -> experiment.Experiment:
    path = tmp_path / "mine.toml"
    path.write_text(TEXT, "utf-8")
    return experiment.load(str(path), strategies.names())


def test_each_strategy_has_an_arm_and_a_memory_trial_on_each_interpreter(
    planned: experiment.Experiment, tmp_path: Path
) -> None:
    trials = expand(planned, {name: strategies.describe(name) for name in planned.strategies})

    new = str(tmp_path / "bin" / "python3.13")
    blocks = [trial for trial in trials if trial.is_block]
    assert [(arm.name, arm.python, arm.role) for arm in blocks[0].arms] == [
        ("callbacks old", "python3.11", "reference"),
        ("callbacks old again", "python3.11", "placebo"),
        ("callbacks new", new, "compared"),
    ]
    held = [trial for trial in trials if not trial.is_block]
    assert {(trial.name, trial.arms[0].strategy) for trial in held} == {
        ("callbacks old", "callbacks"),
        ("callbacks new", "callbacks"),
    }
    assert {trial.workload.arm.interpreter for trial in held} == {"old", "new"}


def test_a_missing_interpreter_is_refused_before_anything_runs() -> None:
    with pytest.raises(ExperimentError, match="--python: there is no program python9"):
        experiment_of("quick", pythons=["python9"])


def test_an_arm_that_needs_a_newer_python_gets_the_newest_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        made(),
        made(version="3.99.0", executable="/new"),
        made(version="3.99.1", free_threaded=True),
    ]
    monkeypatch.setattr(interpreters, "on_this_machine", lambda: found)
    interpreters.at_least.cache_clear()
    try:
        assert interpreters.at_least("3.11") is None
        assert interpreters.at_least("3.98") in {"/new", "/x"}
        with pytest.raises(ExperimentError, match=r"needs Python 3\.100 or newer"):
            interpreters.at_least("3.100")
    finally:
        interpreters.at_least.cache_clear()
