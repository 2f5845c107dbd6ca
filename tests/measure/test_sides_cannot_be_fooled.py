"""The named files are compared and no others, and what cannot be measured is refused by its name."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from inflight.bench.measure import interpreters
from inflight.bench.measure.blocks import comparing
from inflight.bench.measure.blocks.comparing import Place
from inflight.bench.measure.blocks.sides import prepare
from inflight.bench.plan.comparison import METRICS, Comparison, comparison
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.rows.kinds import Arm, Metric
from inflight.fake_server.site import SiteConfig
from tests.ab.repositories import HONEST, arm, commit, git, new_repository, with_mine


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


def compared(a: Arm, b: Arm, *metrics: Metric) -> Comparison:
    return replace(comparison(a, b, SiteConfig(links=10), metrics), cycles=1)


# What was named is what is compared


@pytest.mark.parametrize("name", ["callbacks.py", "__init__.py"])
def test_a_commit_with_missing_files_is_refused_and_not_completed_from_the_harness(
    repository: Path, tmp_path: Path, name: str
) -> None:
    (repository / ".gitattributes").write_text(f"strategies/{name} export-ignore\n", "utf-8")
    commit(repository, "keep one back")

    with pytest.raises(ExperimentError, match=f"git does not export strategies/{name}"):
        prepare(arm("callbacks", "HEAD", repository), tmp_path / "place")


def test_a_strategy_missing_from_the_repository_is_not_taken_from_the_harness(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="there is no strategy 'callbacks'; known: mine"):
        prepare(arm("callbacks", None, with_mine(tmp_path / "fork", HONEST)), tmp_path / "place")


def test_a_git_hook_does_not_redirect_to_another_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))

    assert prepare(arm("callbacks", "HEAD", repository), tmp_path / "place").commit == head


# What cannot be measured


def test_memory_alone_is_refused_for_a_model_with_one_fetch_in_flight(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="memory per fetch in flight is not defined"):
        comparing.ready(compared(arm("sequential"), arm("sequential"), "memory"), tmp_path)


def test_memory_is_left_out_on_a_free_threaded_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free_threaded = replace(interpreters.ask(sys.executable), free_threaded=True)
    monkeypatch.setattr(interpreters, "ask", lambda _name, _option="--python": free_threaded)
    side = arm("callbacks", python=sys.executable)

    planned, _ = comparing.ready(compared(arm("callbacks"), side, *METRICS), tmp_path / "first")

    assert planned.metrics == ("cpu_per_page", "throughput")
    with pytest.raises(ExperimentError, match="memory per fetch in flight is not compared on a free-threaded build"):
        comparing.ready(compared(side, side, "memory"), tmp_path / "second")


def test_more_in_flight_than_there_are_descriptors_is_refused_by_the_limits_name(tmp_path: Path) -> None:
    side = arm("callbacks", in_flight=900_000_000)
    planned, prepared = comparing.ready(compared(side, side, "cpu_per_page"), tmp_path)
    with pytest.raises(ExperimentError, match="RLIMIT_NOFILE"):
        comparing.calibrate(planned, prepared, Place(None, None))  # type: ignore[arg-type]
