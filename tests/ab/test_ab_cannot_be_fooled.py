"""Failures of a side count against it, the named files are compared, and errors do not look like verdicts."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.core.arm import Arm
from inflight.bench.core.judge import ExperimentError
from inflight.bench.measure import host, interpreters
from inflight.bench.measure.blocks.sides import prepare
from inflight.bench.measure.run import ServerKeeper
from inflight.bench.studies.compare import loop
from inflight.bench.studies.compare.comparison import METRICS, Comparison, Metric, comparison
from inflight.bench.studies.compare.read import Result
from inflight.bench.studies.compare.rule import Rule
from inflight.bench.studies.compare.run import Place
from inflight.fake_server.site import SiteConfig
from tests.ab.repositories import HONEST, arm, commit, git, new_repository, with_mine


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


def compared(a: Arm, b: Arm, *metrics: Metric) -> Comparison:
    return replace(comparison(a, b, SiteConfig(links=10), metrics), cycles=1)


def ran(planned: Comparison, folder: Path, **options: float) -> Result:
    """Run a comparison on any cores."""
    cpus = host.Cpus(None, None)
    with ServerKeeper(cpus) as keeper:
        planned, prepared = loop.ready(planned, folder / "sides")
        place = Place(keeper, cpus)
        return loop.run(folder, planned, prepared, place, Rule(), lambda _block, _decision: None, **options)


def test_blocks_that_exceed_the_budget_end_the_run(tmp_path: Path) -> None:
    found = ran(compared(arm("callbacks"), arm("callbacks"), "cpu_per_page"), tmp_path, budget_s=0.001)

    assert len(found.blocks) == 1
    assert (found.decision.verdict, found.decision.final) == ("inconclusive", True)
    assert found.decision.why.startswith("blocks took longer than planned: 1.5 times the budget after 1 (")
    assert re.search(r"\); try --budget [1-9]\d*0s$", found.decision.why)


# What was named is what is compared


@pytest.mark.parametrize("name", ["callbacks.py", "__init__.py"])
def test_a_commit_with_missing_files_is_refused_and_not_completed_from_the_harness(
    repository: Path, tmp_path: Path, name: str
) -> None:
    (repository / ".gitattributes").write_text(f"strategies/{name} export-ignore\n", encoding="utf-8")
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


# Nothing else looks like a verdict


def ended(code: str, *, stdout: Any = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_an_internal_error_ends_with_70_and_its_traceback() -> None:
    done = ended("from inflight.bench import cli; cli.importlib.import_module = None; cli.main(['list'])")

    assert done.returncode == 70
    assert "TypeError" in done.stderr


def test_a_side_that_ends_itself_by_a_signal_without_a_name_is_one_failed_block(tmp_path: Path) -> None:
    body = "def crawl(job, frontier):\n    os.kill(os.getpid(), 40)\n"
    b = arm("mine", None, with_mine(tmp_path / "fork", body))

    found = ran(compared(arm("callbacks"), b, "cpu_per_page"), tmp_path)

    assert found.decision.verdict == "regression"
    assert [one.reasons for one in found.blocks] == [["B: the worker was killed by signal 40"]] * 3
    assert json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()[1])["status"] == "failed"


def test_memory_alone_is_refused_for_a_model_with_one_fetch_in_flight(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="memory per fetch in flight is not defined"):
        loop.ready(compared(arm("sequential"), arm("sequential"), "memory"), tmp_path)


def test_memory_is_left_out_on_a_free_threaded_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free_threaded = replace(interpreters.ask(sys.executable), free_threaded=True)
    monkeypatch.setattr(interpreters, "ask", lambda _name, _option="--python": free_threaded)
    side = arm("callbacks", python=sys.executable)

    planned, _ = loop.ready(compared(arm("callbacks"), side, *METRICS), tmp_path / "first")

    assert planned.metrics == ("cpu_per_page", "throughput")
    with pytest.raises(ExperimentError, match="memory per fetch in flight is not compared on a free-threaded build"):
        loop.ready(compared(side, side, "memory"), tmp_path / "second")


def test_more_in_flight_than_there_are_descriptors_is_refused_by_the_limits_name(tmp_path: Path) -> None:
    side = arm("callbacks", in_flight=900_000_000)
    planned, prepared = loop.ready(compared(side, side, "cpu_per_page"), tmp_path)
    with pytest.raises(ExperimentError, match="RLIMIT_NOFILE"):
        loop.calibrated(planned, prepared, Place(None, None), None)  # type: ignore[arg-type]
