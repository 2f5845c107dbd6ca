"""Temporary git repositories with strategies, some of which fail."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from inflight.bench.rows.kinds import Arm

ROOT = Path(__file__).parents[2]
NOW, ONCE = "inflight.strategies", "strategies"
"""The name by which strategies import their core, and that in older revisions."""
NO_CONFIG = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
"""Environment in which git knows nothing of who runs it."""
_GIT = (
    "git", "-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "init.defaultBranch=main",
    "-c", "commit.gpgsign=false",
)  # fmt: skip
_HEAD = '''"""A model for the test."""

import os
import signal
import sys
import time

from inflight.strategies.callbacks import crawl as honest

STACK = "shared"
REQUIRES = ()


'''
SLOW = """
def crawl(job, frontier):
    finish = frontier.finish

    def slower(*arguments):
        for _ in range(8_000):
            pass
        return finish(*arguments)

    frontier.finish = slower
    honest(job, frontier)
"""
"""Costs several times as much CPU time a page as what it slows down."""
HONEST = "def crawl(job, frontier):\n    honest(job, frontier)\n"


def arm(strategy: str, revision: str | None = None, repository: Path | None = None, **options: Any) -> Arm:
    """Return an arm of a strategy at a revision of a repository."""
    place = None if repository is None else str(repository)
    return Arm("A", strategy, "compared", revision=revision, repository=place, **options)


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, and return what it prints."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        [*_GIT, "-C", str(folder), *arguments],
        env=clean | NO_CONFIG, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def commit(folder: Path, message: str) -> str:
    """Commit all that lies in a folder; return the commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def copy_strategies(folder: Path) -> Path:
    """Copy ours into a folder, which need not be there yet."""
    shutil.copytree(ROOT / "strategies", folder / "strategies", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def new_repository(folder: Path) -> Path:
    """Make a git repository with a copy of our strategies, and one commit."""
    copy_strategies(folder)
    git(folder, "init", "--quiet")
    commit(folder, "the first")
    return folder


def with_mine(folder: Path, body: str) -> Path:
    """Make a folder that has one strategy, ``mine``, whose file has ``body`` behind some imports."""
    (folder / "strategies").mkdir(parents=True)
    (folder / "strategies" / "mine.py").write_text(_HEAD + body, encoding="utf-8")
    return folder


def slow_down(folder: Path, strategy: str) -> None:
    """Edit a strategy so that each of its pages costs several times as much CPU time."""
    path = folder / "strategies" / f"{strategy}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count("\ndef crawl(") == 1
    path.write_text(text.replace("\ndef crawl(", "\ndef honest(") + SLOW, encoding="utf-8")


def name_as_once(folder: Path) -> Path:
    """Let all strategies of a folder import each other by the name that they had once.

    The package itself is left as it is: at that time it imported nothing of its own.
    """
    for path in {*(folder / "strategies").rglob("*.py")} - {folder / "strategies" / "__init__.py"}:
        text = path.read_text(encoding="utf-8").replace(NOW, ONCE)
        assert "import inflight" not in text
        assert "from inflight" not in text
        path.write_text(text, encoding="utf-8")
    return folder
