"""What git is asked: the commit of a file, and the commits of a branch that change a folder."""

from pathlib import Path

import pytest

from inflight.bench.measure.blocks import sides
from tests.ab.repositories import commit, git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with one file."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "strategies").mkdir()
    (tmp_path / "strategies" / "one.py").write_text("1\n", "utf-8")
    commit(tmp_path, "first")
    return tmp_path


def test_a_file_has_the_commit_of_its_working_tree(repository: Path) -> None:
    file = repository / "strategies" / "one.py"
    first = git(repository, "rev-parse", "HEAD")
    clean = sides.describe_commit(file)
    file.write_text("2\n", "utf-8")

    assert clean == first[:12]
    assert sides.describe_commit(file) == f"{first[:12]}-dirty"


def test_a_file_that_no_repository_has_is_of_no_commit(repository: Path) -> None:
    installed = repository / "site-packages.py"
    installed.touch()

    assert sides.describe_commit(installed) is None
