"""Copies of a checkout in which mutants are tried, and the tests that run there, watched from outside.

The environment of a copy has the packages of the checkout's environment, and the copy as the editable install of the
project. So every child process imports the mutant, whatever its folder and its environment variables.
"""

import contextlib
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tools.mutants.draw import Mutation, mutated
from tools.mutants.inflight_mutants import unordered

BUDGET_S, SPIN_S, IDLE_S, MAX_BYTES = 120.0, 30.0, 90.0, 4 << 30
"""CPU seconds of a mutant; those of one test beyond ten times its usual cost; seconds without CPU time; memory."""
POLL_S = 0.3
OUT_OF_BUDGET = "out of budget"
PLUGIN = Path(__file__).with_name("inflight_mutants.py").resolve()
STOP = threading.Event()  # set when the command is to end: the running tests are killed


class Copy:
    """A copy of a checkout with an environment of its own, in which the project's editable install is the copy."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.folder, self.root = folder, folder / "checkout"
        self.stamps = itertools.count(10**9)
        listed = ["git", "-C", str(checkout), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in filter(None, subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")):
            if os.path.lexists(checkout / name):
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(checkout / name, self.root / name, follow_symlinks=False)
        venv = checkout / ".venv" if (checkout / ".venv").exists() else Path(sys.prefix)
        self.venv = self.root / ".venv"
        (self.venv / "bin").mkdir(parents=True)
        shutil.copy2(venv / "pyvenv.cfg", self.venv)
        for path in (venv / "bin").iterdir():
            if path.read_bytes()[:2] == b"#!":  # a program of a package names the interpreter that runs it
                (self.venv / "bin" / path.name).write_text(path.read_text().replace(str(venv), str(self.venv)))
                shutil.copymode(path, self.venv / "bin" / path.name)
            else:
                (self.venv / "bin" / path.name).symlink_to(path.resolve())
        (packages,) = venv.glob("lib/python*/site-packages")
        installed = self.venv / packages.relative_to(venv)
        installed.mkdir(parents=True)
        for path in packages.iterdir():
            if path.suffix != ".pth" or "inflight" not in path.name:
                (installed / path.name).symlink_to(path)
        (installed / "_inflight_bench.pth").write_text(str(self.root))
        shutil.copy2(PLUGIN, installed)

    def environment(self) -> dict[str, str]:
        """Return the environment variables of tests; whatever is started with them can be found by INFLIGHT_MUTANT."""
        unset = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTEST_ADDOPTS"}
        variables = {name: value for name, value in os.environ.items() if name not in unset}
        path = os.pathsep.join([str(self.venv / "bin"), variables.get("PATH", os.defpath)])
        return variables | {"INFLIGHT_MUTANT": str(self.folder), "VIRTUAL_ENV": str(self.venv), "PATH": path}

    @contextlib.contextmanager
    def with_mutant(self, site: Mutation) -> Iterator[None]:
        """Have a mutant in the copy for a while."""
        path = self.root / site.file
        source, before = path.read_bytes(), path.stat()
        path.write_bytes(mutated(source, site))
        # A .pyc is used if the second of the change is right, so each mutant has a second that nothing else has.
        stamp = next(self.stamps)
        os.utime(path, (stamp, stamp))
        try:
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What tests said of a copy: the failures (test, reason), the CPU time, and whether there were any tests."""

    failures: list[tuple[str, str]]
    cpu_seconds: float
    any_tests: bool = True


def tried(
    place: Copy, tests: Sequence[str], marks: str, costs: Mapping[str, float], options: Sequence[str], budget_s: float
) -> Outcome:
    """Run tests in a copy until they end, or have used their budget, or hang, which counts as a failure."""
    log, output, costs_file = (place.folder / name for name in ("log.jsonl", "output.txt", "costs.json"))
    log.write_text("")
    costs_file.write_text(json.dumps(dict(costs)))
    command = [
        str(place.venv / "bin" / "python"), "-m", "pytest", "-m", marks, "-p", PLUGIN.stem, f"--mutants-log={log}",
        f"--mutants-costs={costs_file}", f"--basetemp={place.folder / 'tmp'}", "--tb=short", *options, *tests,
    ]  # fmt: skip
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=place.root, env=place.environment(), stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    watched = WatchedTests(process, costs)
    try:
        while (status := watched.status()) is None and not (why := watched.why_to_kill(log, budget_s)):
            time.sleep(POLL_S)
    finally:
        sweep(place)
    if STOP.is_set():
        raise SystemExit(1)
    failures = [(test, reason) for event, test, reason in events(log) if event == "fails"]
    if status is None:
        process.wait()
        failures += [(watched.test, why)] if why != OUT_OF_BUDGET else []
    elif status not in {0, 5} and not failures:
        failures = [("", f"exit code {status}: {output.read_text(errors='replace').strip()[-300:]}")]
    return Outcome(failures, watched.cpu_s, any_tests=status != 5)


@dataclass(slots=True)
class WatchedTests:
    """A process of pytest and its descendants, from outside."""

    process: subprocess.Popen[bytes]
    costs: Mapping[str, float]
    cpu_s: float = 0.0
    test: str = ""
    test_from_s: float = 0.0
    moved: tuple[float, float] = field(default_factory=lambda: (0.0, time.monotonic()))

    def status(self) -> int | None:
        """Return the exit code, or None while it runs."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        self.cpu_s = max(self.cpu_s, usage.ru_utime + usage.ru_stime)
        if pid:
            self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode

    def why_to_kill(self, log: Path, budget_s: float) -> str:
        """Return why the tests must not go on, or ""."""
        cpu_s, used_bytes = 0.0, 0
        with contextlib.suppress(psutil.Error):
            for process in [(top := psutil.Process(self.process.pid)), *top.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    cpu_s += sum(process.cpu_times()[:4])  # its own time and that of the children it waited for
                    used_bytes += process.memory_info().rss
        self.cpu_s = max(self.cpu_s, cpu_s)
        test = next((test for event, test, _ in reversed(events(log)) if event == "begins"), "")
        if test != self.test:
            self.test, self.test_from_s = test, self.cpu_s
        if self.cpu_s - self.moved[0] > 1:
            self.moved = (self.cpu_s, time.monotonic())
        reasons = {
            "stopped": STOP.is_set(),
            "hang: no CPU time is used": time.monotonic() - self.moved[1] > IDLE_S,
            "hang: a loop without an end": self.cpu_s - self.test_from_s
            > SPIN_S + 10 * self.costs.get(unordered(test), math.inf),
            "too much memory": used_bytes > MAX_BYTES,
            OUT_OF_BUDGET: self.cpu_s > budget_s,
        }
        return next((reason for reason, is_so in reasons.items() if is_so), "")


def events(log: Path) -> list[tuple[str, str, str]]:
    """Return the whole lines of a log."""
    return [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]


def sweep(place: Copy) -> None:
    """Kill whatever was started in a copy and is still there."""
    killed = True
    while killed:  # again until none is left: a process may start another meanwhile
        killed = False
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                names = (process.environ().get("INFLIGHT_MUTANT", ""), process.cwd(), *process.cmdline()[:1])
                if any(f"{name}/".startswith(f"{place.folder}/") for name in names):
                    process.kill()
                    killed = True
