"""``inflight`` as a process: run to its end, or watched while it goes on."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.patience import HANG_S

INFLIGHT = [sys.executable, "-m", "inflight"]
CALM = [sys.executable, str(Path(__file__).with_name("calm.py"))]
"""The same on a machine that is always quiet."""
ENVIRONMENT = os.environ | {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}

_LIMIT = """
import os, resource, sys
name, value, *command = sys.argv[1:]
resource.setrlimit(getattr(resource, name), (int(value), int(value)))
os.execv(command[0], command)
"""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one line on standard error of a command that refused, without the name of the command."""
        assert self.code == 2, (self.code, self.err)
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert re.match(r"inflight [a-z-]+: ", self.err), self.err
        return self.err.partition(": ")[2].strip()


def inflight(
    *arguments: object,
    folder: Path | None = None,
    limit: tuple[str, int] | None = None,
    calm: bool = False,
    timeout_s: float = HANG_S,
    **env: str,
) -> Done:
    """Run the command to its end, with one of the system's limits lowered or on a quiet machine if asked for."""
    done = subprocess.run(
        [*_limited(limit), *(CALM if calm else INFLIGHT), *map(str, arguments)],
        cwd=folder, env=ENVIRONMENT | env, capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def _limited(limit: tuple[str, int] | None) -> list[str]:
    return [] if limit is None else [sys.executable, "-c", _LIMIT, limit[0], str(limit[1])]


class Running:
    """A command that goes on."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []

    def read_error_line(self) -> str:
        """Wait for the next line on standard error."""
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert line, f"it ended: {self.lines}"
        self.lines.append(line)
        return line

    def family(self) -> list[psutil.Process]:
        """Return the processes that it has started, and those which these have."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def family_when(self, number: int) -> list[psutil.Process]:
        """Wait until it has at least this many."""
        while len(found := self.family()) < number:
            time.sleep(0.01)
        return found

    def interrupt(self, *, whole_group: bool = False) -> None:
        """Send what Ctrl-C sends: to the process alone, or to its whole group as a terminal does."""
        if whole_group:
            os.killpg(self.process.pid, signal.SIGINT)
        else:
            self.process.send_signal(signal.SIGINT)

    def end(self) -> Done:
        """Wait until it has ended by itself."""
        out, err = self.process.communicate(timeout=HANG_S)
        err = "".join(self.lines) + err
        assert "Traceback" not in err, err
        return Done(self.process.returncode, out, err)


@contextmanager
def running(*arguments: object, folder: Path | None = None) -> Iterator[Running]:
    """Start the command in a group of its own; kill what is left of it in the end."""
    process = subprocess.Popen(
        [*INFLIGHT, *map(str, arguments)],
        cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    started = Running(process)
    family: list[psutil.Process] = []
    try:
        yield started
    finally:
        if process.poll() is None:
            family = started.family()
            process.kill()
        process.communicate()
        for left in family:
            left.kill()


def survivors(family: list[psutil.Process]) -> list[psutil.Process]:
    """Give processes time to disappear; return those that did not."""
    return [left for left in psutil.wait_procs(family, timeout=HANG_S)[1] if left.status() != psutil.STATUS_ZOMBIE]
