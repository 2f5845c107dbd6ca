"""Arms that need a newer Python: which interpreter they get, and what is said without one."""

import shutil
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.core import experiment as experiments
from inflight.bench.core.arm import BlockTrial
from inflight.bench.core.experiment import ExperimentError
from inflight.bench.core.plan import expand, row_trials
from inflight.bench.measure import run
from inflight.bench.measure.newer import NEWEST, at_least, newest
from inflight.strategies import describe, names

THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"
TABLE: dict[str, Any] = {"strategies": ["asyncio_tasks", "eager_tasks"]}


def planned(python: str) -> list[Any]:
    table = TABLE | {"throughput": [{"python": python}]}
    experiment = experiments.parse(table, "made", names(), "made.toml")
    return expand(experiment, {name: describe(name) for name in experiment.strategies})


def machine(*versions: int, refusing: int | None = None) -> tuple[Callable[[str], str | None], Callable[[str], str]]:
    """Return a search and a check of a machine with these versions, one of which does not run."""

    def which(name: str) -> str | None:
        return f"/bin/{name}" if name in {f"python3.{one}" for one in versions} else None

    def check(name: str) -> str:
        if name == f"python3.{refusing}":
            raise ExperimentError(f"{name} does not run as a Python interpreter")
        return f"/real/{name}"

    return which, check


def test_the_interpreter_of_the_harness_is_taken_if_it_is_new_enough() -> None:
    assert at_least("3.11") is None
    assert at_least(THIS) is None


def test_a_program_that_does_not_run_is_passed_over() -> None:
    assert newest(12, *machine(12, 13, 14, refusing=14)) == "/real/python3.13"


def test_without_a_newer_interpreter_the_reason_names_the_version() -> None:
    with pytest.raises(ExperimentError, match=r"^needs Python 3\.12 or newer: no python3\.12 or newer is on the PATH$"):
        newest(12, *machine(11, 10))
    with pytest.raises(ExperimentError, match=r"^needs Python 3\.12 or newer"):
        newest(12, *machine(12, refusing=12))


@given(st.sets(st.integers(8, NEWEST)), st.integers(8, NEWEST))
def test_it_is_the_newest_that_there_is(versions: set[int], minor: int) -> None:
    able = {version for version in versions if version >= minor}
    if able:
        assert newest(minor, *machine(*versions)) == f"/real/python3.{max(able)}"
    else:
        with pytest.raises(ExperimentError):
            newest(minor, *machine(*versions))


@pytest.mark.parametrize("python", [">=3", ">=4.1", ">=3.x", ">= 3.12", ">=3.12.1", ">="])
def test_what_is_not_a_version_is_refused(python: str) -> None:
    with pytest.raises(ExperimentError, match=r"must be a version such as >=3\.12"):
        planned(python)


def test_arms_without_their_interpreter_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(version: str) -> str:
        raise ExperimentError(f"needs Python {version} or newer")

    monkeypatch.setattr(run, "at_least", absent)
    (block,) = planned(">=3.12")

    reasons = run._reasons_to_skip([block], None)

    assert reasons == {part.id: ("no interpreter", "needs Python 3.12 or newer") for part in row_trials(block)}


def test_a_strategy_for_newer_interpreters_is_not_skipped_in_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "at_least", lambda _: shutil.which("python3") or sys.executable)
    (block,) = planned(">=3.12")

    assert isinstance(block, BlockTrial)
    assert run._reasons_to_skip([block], None) == {}
