"""Questions to git, which never change a repository or its working tree."""

import os
import subprocess
from pathlib import Path

from inflight.bench.plan.judge import ExperimentError

TIMEOUT_S = 60


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


def _run(repository: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    # In a git hook, variables such as GIT_DIR name another repository.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--no-optional-locks", "-C", str(repository), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=TIMEOUT_S, env=clean)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExperimentError(f"git could not be run on {repository}: {error}") from error


def _reason(done: "subprocess.CompletedProcess[bytes]", otherwise: str) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else otherwise
