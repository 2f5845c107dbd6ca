"""Questions to git, which never change a repository or its working tree."""

import os
import subprocess
from pathlib import Path

from inflight.bench.core.judge import ExperimentError

TIMEOUT_S = 60
_FORMAT = "--format=%H %s"

Commit = tuple[str, str]
"""The id of a commit, and the first line of its message."""


def output(repository: Path, *arguments: str, to: str = "read") -> bytes:
    """Run git in a repository and return its output. Raises ExperimentError, which says what could not be done."""
    done = _run(repository, *arguments)
    if done.returncode:
        raise ExperimentError(f"cannot {to} {repository}: {_reason(done, f'git {arguments[0]} gave no reason')}")
    return done.stdout


def commit_of(repository: Path, revision: str) -> str:
    """Return the commit of a revision, in full. Raises ExperimentError."""
    done = _run(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if done.returncode:
        reason = _reason(done, "there is no such revision")
        raise ExperimentError(f"cannot read {repository} at {revision}: {reason}")
    return done.stdout.decode().strip()


def described(file: Path) -> str | None:
    """Return the commit of the working tree that a file belongs to, with ``-dirty`` if files were edited.

    None if no repository has the file (an installed package may lie in the working tree of another project), or if
    there is no git.
    """
    folder = file.parent
    try:
        if _run(folder, "ls-files", "--error-unmatch", "--", file.name).returncode:
            return None
        return output(folder, "describe", "--always", "--exclude=*", "--dirty", "--abbrev=12").decode().strip()
    except ExperimentError:
        return None


def commit(repository: Path, revision: str) -> Commit:
    """Return a commit with its subject. Raises ExperimentError."""
    found = commit_of(repository, revision)
    (one,) = _commits(output(repository, "log", "-1", _FORMAT, found))
    return one


def commits_between(repository: Path, good: str, bad: str, folder: str) -> list[Commit]:
    """Return the commits after ``good``, up to ``bad``, that change a folder, in their order; of merges, one commit.

    They are the commits of the branch itself (``--first-parent``). Raises ExperimentError.
    """
    order = ("log", "--first-parent", "--reverse", _FORMAT, f"{good}..{bad}", "--", folder)
    return _commits(output(repository, *order))


def _commits(printed: bytes) -> list[Commit]:
    lines = (line.partition(" ") for line in printed.decode("utf-8", "replace").splitlines() if line)
    return [(name, subject) for name, _, subject in lines]


def is_ancestor(repository: Path, one: str, other: str) -> bool:
    """Return whether a commit is an ancestor of another. Raises ExperimentError if git cannot be run."""
    return _run(repository, "merge-base", "--is-ancestor", one, other).returncode == 0


def _run(repository: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    # In a git hook, variables such as GIT_DIR name another repository.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--no-optional-locks", "-C", str(repository), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=TIMEOUT_S, env=clean)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExperimentError(f"git could not be run on {repository}: {error}") from error


def _reason(done: "subprocess.CompletedProcess[bytes]", otherwise: str) -> str:
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else otherwise
