"""``inflight`` as a user calls it: in this process, as a process that runs to its end, or watched while it goes on."""

import ctypes
import io
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import click
import psutil

from inflight.bench.cli import CONTEXT, main
from tests.patience import ended, until

INFLIGHT = [sys.executable, "-m", "inflight"]
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1)
"""Signals of which a command may change the handlers."""
QUIET = {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
ENVIRONMENT = os.environ | QUIET

_LIMIT = """
import os, resource, sys
name, value, *command = sys.argv[1:]
resource.setrlimit(getattr(resource, name), (int(value), int(value)))
os.execv(command[0], command)
"""


GROUP = click.Context(main, info_name="inflight", **CONTEXT)


def context_of(name: str, *words: str) -> click.Context:
    """Return the context in which a command runs with these words; click keeps what it says of the first ``--help``."""
    return main.commands[name].make_context(name, list(words), GROUP)


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
        return self.refusal

    @property
    def refusal(self) -> str:
        """The same of a command that has said more before: the last line, and the only one of its kind."""
        *lines, last = self.err.splitlines()
        told = re.match(r"inflight( [a-z-]+)?: ", last)
        assert told is not None, self.err
        assert not any(line.startswith("inflight") for line in lines), self.err
        return last[told.end() :]


def call(
    *words: object, folder: Path | None = None, columns: int | None = None, into: TextIO | None = None, **env: str
) -> Done:
    """Run the command line in this process, as if its output went to pipes; leave the process as it was before.

    ``columns`` is the width of the terminal that it is told; without it, it is told none. ``into`` is a file that takes
    the place of standard output.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    environment = dict(os.environ)
    argv, stdin, real = sys.argv, sys.stdin, sys.__stdout__
    with ExitStack() as stack:
        for number in HANDLED:
            stack.callback(signal.signal, number, signal.getsignal(number))
        stack.callback(adopt_orphans, adopts_orphans())
        stack.enter_context(warnings.catch_warnings())
        stack.callback(os.environ.update, environment)
        stack.callback(os.environ.clear)
        stack.enter_context(chdir(folder or Path.cwd()))
        stack.enter_context(redirect_stdout(into or out))
        stack.enter_context(redirect_stderr(err))
        os.environ.pop("COLUMNS", None)
        os.environ.update(QUIET | ({} if columns is None else {"COLUMNS": str(columns)}) | env)
        sys.argv, sys.stdin = ["inflight", *map(str, words)], io.StringIO()
        vars(sys)["__stdout__"] = into or out  # shutil.get_terminal_size looks there
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.argv, sys.stdin = argv, stdin
            vars(sys)["__stdout__"] = real
    assert isinstance(code, int)
    done = Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
    assert "Traceback" not in done.err, done.err
    if code == 2:
        assert done.refusal
    return done


def adopts_orphans() -> bool:
    """Whether Linux makes this process the parent of orphans below it, as commands do: a subreaper, prctl(2)."""
    if sys.platform != "linux":
        return False
    flag = ctypes.c_int()
    ctypes.CDLL(None).prctl(37, ctypes.byref(flag), 0, 0, 0)
    return bool(flag.value)


def adopt_orphans(adopt: bool) -> None:
    """Say whether it does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, int(adopt), 0, 0, 0)


def inflight(
    *arguments: object,
    folder: Path | None = None,
    limit: tuple[str, int] | None = None,
    **env: str,
) -> Done:
    """Run the command to its end, with one of the system's limits lowered if asked for."""
    done = subprocess.run(
        [*_limited(limit), *INFLIGHT, *map(str, arguments)],
        cwd=folder, env=ENVIRONMENT | env, capture_output=True, text=True, check=False,
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
        return until(lambda: family if len(family := self.family()) >= number else [])

    def interrupt(self, *, whole_group: bool = False) -> None:
        """Send what Ctrl-C sends: to the process alone, or to its whole group as a terminal does."""
        if whole_group:
            os.killpg(self.process.pid, signal.SIGINT)
        else:
            self.process.send_signal(signal.SIGINT)

    def end(self) -> Done:
        """Wait until it has ended by itself."""
        out, err = self.process.communicate()
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


def await_end(processes: list[psutil.Process]) -> None:
    """Wait until none of them runs."""
    until(lambda: all(map(ended, processes)))
