"""A side's wrongs are held against it, what was named is compared, and nothing else looks like a verdict."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.comparison import Comparison, Side
from bench.measure.pair_checks import MOST_DRIFT, PairEvidence, blamed, drift

from bench import ab
from bench.analyse.decide import Rule
from bench.judge import ExperimentError
from bench.measure import host
from bench.measure.sides import prepare
from bench.runs import ServerKeeper
from fake_server.site import SiteConfig
from tests.ab.repositories import HONEST, commit, git, new_repository, with_mine
from tests.ab.test_pair_checks import ORDER, SOUND, turn
from tests.made_rows import pair_row
from tests.patience import HANG_S


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


def evidence(**changed: Any) -> PairEvidence:
    return PairEvidence(**SOUND | changed)


def one_turn_of(side: str, **changed: int) -> list[dict[str, Any]]:
    """Return turns of which the last one of a side is changed."""
    last = ORDER.rindex(side)
    return [turn(name, **changed if place == last else {}) for place, name in enumerate(ORDER)]


# What a side does wrong


def test_a_sound_pair_blames_nobody() -> None:
    assert blamed(evidence()) is None


@pytest.mark.parametrize("side", "AB")
@pytest.mark.parametrize("wrong", [{"peak_in_flight": 101}, {"tries": 299}, {"failed_pages": 1}], ids=str)
def test_a_side_that_breaks_a_rule_has_failed_whatever_its_times(side: str, wrong: dict[str, int]) -> None:
    found = blamed(evidence(turns=one_turn_of(side, **wrong)))

    assert found is not None
    assert found[0] == side


def test_a_where_both_are_wrong_a_is_to_blame() -> None:
    both = [turn(side, tries=299) for side in ORDER]

    assert (blamed(evidence(turns=both)) or "")[0] == "A"


def test_a_cap_that_was_not_quite_reached_is_nobodys_fault_unless_pages_wait() -> None:
    lazy = one_turn_of("B", peak_in_flight=40)

    assert blamed(evidence(turns=lazy, waits=False)) is None
    assert (blamed(evidence(turns=lazy, waits=True)) or "")[0] == "B"


def test_a_drift_of_one_side_alone_is_no_reason_to_leave_the_pair_out() -> None:
    slow = round(10_000_000 * (1 + 2 * MOST_DRIFT))
    of_b = [turn(side, makespan_ns=slow if side == "B" and n >= 4 else 10_000_000) for n, side in enumerate(ORDER)]
    of_both = [turn(side, makespan_ns=slow if n >= 4 else 10_000_000) for n, side in enumerate(ORDER)]

    assert drift(evidence(turns=of_b))[0] == "passed"
    assert drift(evidence(turns=of_both))[0] == "failed"


def test_b_never_passes_with_a_wrong_answer_however_rare() -> None:
    good = [
        pair_row(n, cpu_ns=(10e6, 10e6 + 1000 * n), spin_ns=(4e6, 4e6 + n), null_ns=(5e6, 5e6 - n)) for n in range(30)
    ]
    wrong = pair_row(31, status="wrong", reason="side B: a page is missing", failed_side="B")
    rule = Rule(looks=(30,), shares=(1.0,))

    assert ab.decided(good, rule).verdict == "pass"
    decision = ab.decided([wrong, *good], rule)
    assert (decision.verdict, decision.final) == ("inconclusive", True)
    assert decision.why.startswith("B gave a wrong answer in 1 of 31 pairs, so it cannot pass")


def test_a_budget_that_pairs_overrun_ends_the_run(tmp_path: Path) -> None:
    comparison = Comparison(Side("callbacks"), Side("callbacks"), SiteConfig(pages=300), ("cpu_per_page",))
    cpus = host.Cpus(None, None)
    with ServerKeeper(cpus) as keeper:
        sides = ab.prepare_both(comparison, tmp_path / "sides")
        found = ab.run(
            tmp_path, comparison, sides, ab.Bench(keeper, cpus), Rule(), lambda _row, _decision: None, budget_s=0.001
        )

    assert len(found.rows) == 1
    assert (found.decision.verdict, found.decision.final) == ("inconclusive", True)
    assert found.decision.why.startswith("pairs took longer than planned: the budget was used up after 1 (")


# What was named is what is compared


@pytest.mark.parametrize("name", ["callbacks.py", "__init__.py"])
def test_a_commit_that_keeps_files_back_is_refused_instead_of_completed_with_ours(
    repository: Path, tmp_path: Path, name: str
) -> None:
    (repository / ".gitattributes").write_text(f"strategies/{name} export-ignore\n", encoding="utf-8")
    commit(repository, "keep one back")

    with pytest.raises(ExperimentError, match=f"git does not hand out strategies/{name}"):
        prepare(Side("callbacks", "HEAD", repository), tmp_path / "place")


def test_a_strategy_that_the_repository_lacks_is_not_taken_from_ours(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="there is no strategy 'callbacks'; there are mine"):
        prepare(Side("callbacks", None, with_mine(tmp_path / "fork", HONEST)), tmp_path / "place")


def test_a_hook_of_git_does_not_turn_the_repository_into_another(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))

    assert prepare(Side("callbacks", "HEAD", repository), tmp_path / "place").commit == head


# Nothing else looks like a verdict


def ended(code: str, *, stdout: Any = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=HANG_S)


def test_a_bug_of_ours_ends_with_70_and_its_traceback() -> None:
    done = ended("from bench import cli, commands; commands.show_list = None; cli.main(['list'])")

    assert done.returncode == 70
    assert "TypeError" in done.stderr


def test_a_side_that_ends_itself_by_a_signal_without_a_name_is_one_failed_pair(tmp_path: Path) -> None:
    body = "def crawl(job, frontier):\n    os.kill(os.getpid(), 40)\n"
    b = Side("mine", None, with_mine(tmp_path / "fork", body))
    comparison = Comparison(Side("callbacks"), b, SiteConfig(pages=300), ("cpu_per_page",))
    cpus = host.Cpus(None, None)
    seen: list[str] = []
    with ServerKeeper(cpus) as keeper:
        sides = ab.prepare_both(comparison, tmp_path / "sides")
        found = ab.run(
            tmp_path, comparison, sides, ab.Bench(keeper, cpus), Rule(), lambda row, _: seen.append(str(row.reason))
        )

    assert found.decision.verdict == "regression"
    assert seen == ["the worker was killed by signal 40"] * 3
    assert json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()[0])["status"] == "failed"


def test_memory_alone_cannot_be_compared_of_a_model_that_has_one_in_flight(tmp_path: Path) -> None:
    comparison = Comparison(Side("sequential"), Side("sequential"), SiteConfig(), ("memory",))
    with pytest.raises(ExperimentError, match="memory per fetch in flight is not defined"):
        ab.calibrated(comparison, ab.prepare_both(comparison, tmp_path), ab.Bench(None, None), None)  # type: ignore[arg-type]


def test_more_in_flight_than_there_are_descriptors_is_refused_by_the_limits_name(tmp_path: Path) -> None:
    side = replace(Side("callbacks"), in_flight=900_000_000)
    comparison = Comparison(side, side, SiteConfig(), ("cpu_per_page",))
    with pytest.raises(ExperimentError, match="RLIMIT_NOFILE"):
        ab.calibrated(comparison, ab.prepare_both(comparison, tmp_path), ab.Bench(None, None), None)  # type: ignore[arg-type]
