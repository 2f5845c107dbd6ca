"""The recipe for ``git bisect run`` of docs/ci.md, taken from there and followed to the letter."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ab.repositories import NO_CONFIG, SLOW, commit, git, new_repository

DOCS = Path(__file__).parents[2] / "docs" / "ci.md"
SCRIPT, COMMANDS = re.findall(r"```sh\n(.*?)```", DOCS.read_text(encoding="utf-8").partition("## Bisect")[2], re.DOTALL)
FAKE = """#!/bin/sh
test "$1 $2 $3" = "ab callbacks@v1.2 callbacks@HEAD" || exit 2
exit "$(cat strategies/code)"
"""
"""Stands in for ``inflight``: the code of a comparison is in the working tree."""


def bisected(folder: Path, path: str = "") -> "subprocess.CompletedProcess[str]":
    """Run the commands in the repository of a folder, with programs of another folder first."""
    (folder / "compare.sh").write_text(SCRIPT, encoding="utf-8")
    start, run, _ = COMMANDS.splitlines()
    return subprocess.run(
        ["sh", "-c", f"{start} && {run}"],
        cwd=folder / "repository",
        env=os.environ | NO_CONFIG | {"PATH": f"{path or folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = new_repository(tmp_path / "repository")
    git(folder, "tag", "v1.2")
    fake = tmp_path / "inflight"
    fake.write_text(FAKE, encoding="utf-8")
    fake.chmod(0o755)
    return folder


def with_codes(repository: Path, codes: str) -> list[str]:
    """Commit changes of the strategies, one for each exit code."""
    commits = []
    for number, code in enumerate(codes):
        (repository / "strategies" / "code").write_text(code, encoding="utf-8")
        (repository / "strategies" / "number").write_text(str(number), encoding="utf-8")
        commits.append(commit(repository, f"edit {number}"))
    return commits


@pytest.mark.parametrize("place", range(5))
def test_the_first_regression_is_found(repository: Path, place: int) -> None:
    commits = with_codes(repository, "0" * place + "1" * (5 - place))

    done = bisected(repository.parent)

    assert done.returncode == 0, done.stderr
    assert f"{commits[place]} is the first bad commit" in done.stdout.replace("'", "")


def test_an_inconclusive_commit_is_skipped(repository: Path) -> None:
    commits = with_codes(repository, "00311")

    done = bisected(repository.parent)

    assert done.returncode == 2
    assert "only 'skip'ped commits left to test" in done.stdout
    assert [name for name in commits if name in done.stdout.partition("could be any of")[2]] == commits[2:4]


def test_what_could_not_be_tested_stops_the_search(repository: Path) -> None:
    with_codes(repository, "02211")

    assert bisected(repository.parent).returncode == 128


@pytest.mark.night
def test_a_slow_commit_is_found_by_measuring(repository: Path) -> None:
    file = repository / "strategies" / "callbacks.py"
    commits = []
    for number, slow in enumerate(("", "", SLOW.replace("honest", "_honest"), "")):
        text = file.read_text(encoding="utf-8") + f"\n# {number}\n"
        file.write_text(text + ("\n_honest = crawl\n" + slow if slow else ""), encoding="utf-8")
        commits.append(commit(repository, f"edit {number}"))

    done = bisected(repository.parent, path=str(Path(sys.executable).parent))

    told = done.stdout.replace("'", "")
    assert f"{commits[2]} is the first bad commit" in told or "skip" in told, done.stderr
