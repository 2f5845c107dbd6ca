"""``inflight bisect`` from end to end: a git repository in which one commit makes a strategy slow."""

import json
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.core import rows
from inflight.bench.studies.bisect.command import EXITS, FILE, MARKDOWN_FILE
from tests.ab import hurried
from tests.ab.repositories import HONEST, NO_CONFIG, commit, git, new_repository, slow_down, with_mine
from tests.cli import command
from tests.cli.command import Done, inflight

SMALL = ("--cycles", 2, "--metric", "cpu_per_page")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files of all that the test starts, in which a comparison has few blocks."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(command, "ENVIRONMENT", command.ENVIRONMENT | NO_CONFIG | {"TMPDIR": str(folder)})
    monkeypatch.setattr(command, "INFLIGHT", [command.INFLIGHT[0], str(Path(hurried.__file__))])
    return folder


def edit(folder: Path, number: int) -> str:
    """Commit a change of the strategies that changes no figure."""
    path = folder / "strategies" / "callbacks.py"
    path.write_text(f"{path.read_text(encoding='utf-8')}\n# {number}\n", encoding="utf-8")
    return commit(folder, f"harmless {number}")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository of one commit."""
    return new_repository(tmp_path / "repository")


def told(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.mark.long
def test_a_planted_slowdown_is_found(repository: Path, tmp_path: Path, scratch: Path) -> None:
    good = git(repository, "rev-parse", "HEAD")
    edit(repository, 1)
    (repository / "notes").write_text("not a strategy\n", encoding="utf-8")
    commit(repository, "changes no strategy")
    edit(repository, 2)
    slow_down(repository, "callbacks")
    culprit = commit(repository, "slower")
    edit(repository, 3)
    before = git(repository, "status", "--porcelain=v2", "--branch")

    done = inflight("bisect", good, "HEAD", "callbacks", "--repo", repository, *SMALL, "--json", folder=tmp_path)

    found = told(done)
    (folder,) = (tmp_path / "results").iterdir()
    assert done.code == EXITS[found["verdict"]]
    assert len(found["commits"]) == 4
    assert "4 commits to search: GOOD against BAD, then at most 2 comparisons" in done.err
    assert culprit in found["suspects"]
    if found["verdict"] == "regression":  # a busy machine may leave a range
        assert found["suspects"] == [culprit]
        assert "of simulated searches" in done.err
    for step in found["steps"]:
        assert all(rows.read(folder / name) for name in step["folders"])
        assert len(step["folders"]) == step["comparisons"]
    assert (folder / FILE).exists()
    assert (folder / MARKDOWN_FILE).exists()
    assert git(repository, "status", "--porcelain=v2", "--branch") == before
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_a_file_is_searched_in_its_own_repository(tmp_path: Path) -> None:
    folder = with_mine(tmp_path / "project", HONEST)
    (folder / "strategies" / "mine.py").rename(folder / "mine.py")
    git(folder, "init", "--quiet")
    good = commit(folder, "the first")
    (folder / "helper.py").touch()
    commit(folder, "a helper")

    done = inflight("bisect", good, "HEAD", folder / "mine.py", *SMALL, "--json", folder=tmp_path)

    found = told(done)
    assert done.code == EXITS[found["verdict"]]
    assert [one["subject"] for one in found["commits"]] == ["a helper"]
    assert found["steps"][0]["blocks"] >= hurried.BLOCKS


@pytest.mark.slow
def test_an_unfinished_search_goes_on_and_skips_a_commit_that_cannot_be_tested(
    repository: Path, tmp_path: Path
) -> None:
    broken = repository / "strategies" / "callbacks.py"
    whole = broken.read_text(encoding="utf-8")
    broken.unlink()
    missing = commit(repository, "without the strategy")
    broken.write_text(whole, encoding="utf-8")
    edit(repository, 2)
    arguments = ("bisect", "HEAD~2", "HEAD", "callbacks", "--repo", repository, *SMALL, "--json")
    first = told(inflight(*arguments, folder=tmp_path))
    (folder,) = (tmp_path / "results").iterdir()
    known = json.loads((folder / FILE).read_text(encoding="utf-8"))
    known["steps"] = [first["steps"][0] | {"answer": "regression"}]
    (folder / FILE).write_text(json.dumps(known), encoding="utf-8")

    done = inflight(*arguments, folder=tmp_path)

    found = told(done)
    assert "known steps: 1" in done.err
    assert found["steps"][0]["folders"] == first["steps"][0]["folders"]
    assert [(step["commit"], step["answer"]) for step in found["steps"][1:]] == [(missing, "untestable")]
    assert done.code == EXITS["inconclusive"]
    assert len(list((tmp_path / "results").iterdir())) == 1
