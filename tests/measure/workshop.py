"""A copy of the three packages, to which a test may add what the real tree must not have."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.processes import run_to_end

ROOT = Path(__file__).parents[2]
PACKAGES = ("inflight", "bench", "strategies", "fake_server", "tests/suite")

# Measures and does not present: all that `inflight run` does between the plan and the last row.
_DRIVER = """
import sys
from pathlib import Path
from inflight import strategies
from inflight.bench.plan import experiment
from inflight.bench.measure import run as runs

chosen = experiment.load(sys.argv[1], strategies.names())
folder = runs.new_folder(Path("results"), chosen)
runs.execute(folder, chosen, runs.plan(chosen), lambda *row: None)
print(folder)
"""

_HEAD = '''"""{model}"""

import os
import signal
import socket
import subprocess
import sys
import threading

import psutil

from inflight.strategies.callbacks import crawl as honest_callbacks
from inflight.strategies.sequential import crawl as honest

STACK = "shared"
REQUIRES = {requires!r}


def servers():
    family = set(psutil.Process(os.getppid()).children())
    running = psutil.process_iter(["cmdline"])  # None of one that has ended meanwhile
    return [each for each in running if each in family and "inflight.fake_server" in (each.info["cmdline"] or ())]


'''


class Workshop:
    """The copy. What is run in it imports the copy and never the original."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for package in PACKAGES:
            shutil.copytree(ROOT / package, folder / package, symlinks=True)

    def add_strategy(self, name: str, body: str, requires: tuple[str, ...] = ()) -> None:
        """Put in a strategy whose file has ``body`` behind some imports, and see that it is all there is to do."""
        text = _HEAD.format(model=f"A model for the test: {name}.", requires=requires) + body
        (self.folder / "strategies" / f"{name}.py").write_text(text, "utf-8")

    def write_experiment(self, text: str) -> Path:
        path = self.folder / "experiment.toml"
        path.write_text(text, "utf-8")
        return path

    def measure(self, experiment: str) -> list[Row]:
        """Run an experiment, given as the text of its file, and return its rows."""
        done = self.python("-c", _DRIVER, str(self.write_experiment(experiment)))
        assert done.returncode == 0, done.stderr
        return rows.read(self.folder / done.stdout.strip())

    def python(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return run_to_end([sys.executable, *arguments], cwd=self.folder)


def experiment(*strategies: str, seed: int = 1, deadline_s: float | None = None, **grid: Any) -> str:
    """Return the text of a small experiment: a few pages without latency, one in flight."""
    table = {"in_flight": [1], "pages": 5, "site": {"links": 2}, **grid}
    kind = table.pop("kind", "crawl")
    lines = [f"strategies = {json.dumps(strategies)}", f"seed = {seed}", "pin = false"]
    if deadline_s is not None:
        lines.append(f"deadline_s = {deadline_s}")
    site = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.pop("site").items())
    lines += [
        f"[[{kind}]]",
        *(f"{key} = {json.dumps(value)}" for key, value in table.items()),
        f"site = {{ {site} }}",
    ]
    return "\n".join(lines)
