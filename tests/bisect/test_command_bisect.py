"""``inflight bisect`` from end to end: a git repository in which one commit makes a strategy slow."""

import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.core import rows
from inflight.bench.core.arm import BlockTrial
from inflight.bench.studies.bisect.command import EXITS, FILE, MARKDOWN_FILE
from tests.ab.repositories import HONEST, NO_CONFIG, commit, git, new_repository, with_mine
from tests.ab.test_decide import noise
from tests.cli.command import Done, call
from tests.laboratory import Laboratory, only_run, sides

CPU = ("--metric", "cpu_per_page", "--json")
NOISE = noise(96, 0.0, 0.02)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files of all that the test starts."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for name, value in NO_CONFIG.items():
        monkeypatch.setenv(name, value)
    return folder


def edit(folder: Path, number: int) -> str:
    """Commit a change of the strategies."""
    path = folder / "strategies" / "callbacks.py"
    path.write_text(f"{path.read_text(encoding='utf-8')}\n# {number}\n", encoding="utf-8")
    return commit(folder, f"edit {number}")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository of one commit."""
    return new_repository(tmp_path / "repository")


def told(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.out)
    return found


def slow_from(*slow: str) -> Callable[[BlockTrial], dict[str, Any]]:
    """Return blocks in which these commits need a tenth more CPU time per page than GOOD."""
    return lambda trial: {"cpu": NOISE[trial.round - 1] + (math.log(1.1) if trial.arms[1].revision in slow else 0.0)}


def test_the_first_slow_commit_is_found(
    laboratory: Laboratory, repository: Path, tmp_path: Path, scratch: Path
) -> None:
    good = git(repository, "rev-parse", "HEAD")
    edit(repository, 1)
    (repository / "notes").write_text("not a strategy\n", encoding="utf-8")
    commit(repository, "changes no strategy")
    edit(repository, 2)
    culprit, last = edit(repository, 3), edit(repository, 4)
    before = git(repository, "status", "--porcelain=v2", "--branch")
    laboratory.answer = sides(slow_from(culprit, last))

    done = call("bisect", good, "HEAD", "callbacks", "--repo", repository, *CPU, folder=tmp_path)

    found, folder = told(done), only_run(tmp_path / "results")
    assert (done.code, found["verdict"], found["suspects"]) == (EXITS["regression"], "regression", [culprit])
    assert [one["subject"] for one in found["commits"]] == ["edit 1", "edit 2", "edit 3", "edit 4"]
    assert "4 commits to search: GOOD against BAD, then at most 2 comparisons" in done.err
    assert "of simulated searches" in done.err
    answers = {step["commit"]: (step["answer"], step["blocks"]) for step in found["steps"]}
    assert answers.pop(last) == answers.pop(culprit) == ("regression", 12)
    assert set(answers.values()) == {("pass", 12)}
    for step in found["steps"]:
        assert [len(rows.read(folder / name)) for name in step["folders"]] == [36] * step["comparisons"]
    assert (folder / FILE).exists()
    assert (folder / MARKDOWN_FILE).exists()
    assert git(repository, "status", "--porcelain=v2", "--branch") == before
    assert list(scratch.iterdir()) == []


def test_a_file_is_searched_in_its_own_repository_and_no_change_is_a_pass(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    folder = with_mine(tmp_path / "project", HONEST)
    (folder / "strategies" / "mine.py").rename(folder / "mine.py")
    git(folder, "init", "--quiet")
    good = commit(folder, "the first")
    (folder / "helper.py").touch()
    commit(folder, "a helper")
    laboratory.answer = sides(slow_from())

    done = call("bisect", good, "HEAD", folder / "mine.py", *CPU, folder=tmp_path)

    found = told(done)
    assert (done.code, found["verdict"]) == (EXITS["pass"], "pass")
    assert [one["subject"] for one in found["commits"]] == ["a helper"]
    assert [step["blocks"] for step in found["steps"]] == [12]


def test_an_interrupted_search_goes_on_and_skips_a_commit_that_cannot_be_tested(
    laboratory: Laboratory, repository: Path, tmp_path: Path, scratch: Path
) -> None:
    broken = repository / "strategies" / "callbacks.py"
    whole = broken.read_text(encoding="utf-8")
    edit(repository, 1)
    broken.unlink()
    missing = commit(repository, "without the strategy")
    broken.write_text(whole, encoding="utf-8")
    last = edit(repository, 2)
    arguments = ("bisect", "HEAD~3", "HEAD", "callbacks", "--repo", repository, *CPU)
    laboratory.answer, laboratory.interrupt_at = sides(slow_from(last)), 20

    first = call(*arguments, folder=tmp_path)
    assert (first.code, first.out) == (130, "")
    assert list(scratch.iterdir()) == []
    asked, laboratory.interrupt_at = len(laboratory.asked), 0
    done = call(*arguments, folder=tmp_path)

    found = told(done)
    assert "known steps: 1" in done.err
    assert asked == 20
    assert [(step["commit"], step["answer"]) for step in found["steps"] if step["commit"] in {missing, last}] == [
        (last, "regression"), (missing, "untestable")
    ]  # fmt: skip
    assert found["suspects"] == [missing, last]
    assert done.code == EXITS["inconclusive"]
    assert only_run(tmp_path / "results").is_dir()
