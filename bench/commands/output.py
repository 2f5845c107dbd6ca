"""Standard output and standard error of a command: results, messages, --quiet, and wrong usage in one sentence.

All commands print by ``put`` (a result), ``say`` (a message, which --quiet drops) and ``complain`` (an error). ``cli``
calls ``describe_error`` and, at the end, ``report_loss``: a write error on either stream does not end the command, so
that its rows and files are stored all the same; the exit code says at the end whether results were lost.
"""

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TextIO

import click

_lost: list[OSError] = []
"""Why standard output could not be written."""


@contextmanager
def printing(file: TextIO) -> Iterator[None]:
    """Print on a stream in the block; if that fails, drop what is printed there from then on, and go on."""
    try:
        yield
        file.flush()
    except (OSError, SystemExit) as error:
        reason = error.__context__ if isinstance(error, SystemExit) else error  # click and rich exit if nobody reads
        if not isinstance(reason, OSError):
            raise
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), file.fileno())
        if file is sys.stdout and not isinstance(reason, BrokenPipeError):
            _lost.append(reason)


def put(text: str = "") -> None:
    """Print a result on standard output."""
    with printing(sys.stdout):
        print(text)


def report_loss() -> bool:
    """Write what still waits on both streams; say why results were lost, and return whether any were.

    Nothing is lost if the reader of a pipe has closed it.
    """
    for file in (sys.stdout, sys.stderr):
        with printing(file):
            pass
    is_lost = bool(_lost)
    while _lost:
        complain(f"inflight: cannot write to standard output: {_lost.pop().strerror}")
    return is_lost


def say(sentence: str) -> None:
    """Print a message on standard error; --quiet drops it."""
    with printing(sys.stderr):
        print(as_called(sentence), file=sys.stderr)


def complain(sentence: str) -> None:
    """Print an error, or why a command ended early, on standard error, as one line; --quiet keeps it."""
    file = sys.stderr.loud if isinstance(sys.stderr, Hushed) else sys.stderr
    with printing(file):
        print(printable(as_called(sentence)), file=file)


def printable(text: str) -> str:
    """Return a text that may quote a file, an argument or a site, with escapes for what would control the terminal."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


_HINT = re.compile("(?:(?<=`)|(?<=: ))inflight(?= )")
"""Matches the name of the program in a hint."""


def as_called(sentence: str) -> str:
    """Return a message whose hints name the program by the path that it was started by, if PATH does not have it.

    A hint is a command in backquotes or behind a colon. In a checkout the program is ``.venv/bin/inflight``.
    """
    called = Path(sys.argv[0])
    if called.name != "inflight" or len(called.parts) == 1 or shutil.which("inflight") == str(called):
        return sentence
    return _HINT.sub(str(called), sentence)


def say_plots(saved: Iterable[Path]) -> None:
    """Print the path of each saved plot once, as PNG."""
    for path in saved:
        if path.suffix == ".png":
            say(f"plot:  {path}")


def seconds(time_ns: float) -> str:
    """Write an estimated time: ``82 s``, from two minutes on ``31 min``."""
    return f"{time_ns / 1e9:.0f} s" if time_ns < 120e9 else f"{time_ns / 60e9:.0f} min"


class Hushed(io.TextIOBase):
    """Standard error of a quiet command: drops text, and keeps the stream for ``complain``."""

    def __init__(self, loud: TextIO) -> None:
        self.loud = loud

    def write(self, text: str) -> int:
        """Drop the text; return its length."""
        return len(text)


@contextmanager
def hushed() -> Iterator[None]:
    """Drop what is printed on standard error in the block, except by ``complain``."""
    with redirect_stderr(Hushed(sys.stderr)):
        yield


def describe_error(error: click.ClickException) -> str:
    """Return what is wrong, where, and what to do: ``inflight run: no such option --round; did you mean --rounds?``."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = "inflight" if context is None else context.command_path
    message = error.message.rstrip(".")
    advice = f"; see `{path} --help`"
    if isinstance(error, click.MissingParameter):
        message = f"{_place(error)} is missing"
    elif isinstance(error, click.BadParameter):
        message = f"{_place(error)}: {message}{_bounds(error)}"
        advice = ""
    else:
        message = (message[:1].lower() + message[1:]).replace("'", "")
    if near := getattr(error, "possibilities", None):
        advice = f"; did you mean {near[0]}?"
    return f"{path}: {message}{advice}"


def _place(error: click.BadParameter) -> str:
    """Return the option or the argument that an error is about, as it is typed."""
    if error.param is None:
        return "the command line"
    if isinstance(error.param, click.Argument):
        return error.param.human_readable_name.strip("[]")
    return max(error.param.opts, key=len)


def _bounds(error: click.BadParameter) -> str:
    """Return the bounds of a number, which click leaves out where it is given another text."""
    number = error.param.type if error.param else None
    if isinstance(number, click.IntRange | click.FloatRange) and "<=" not in error.message:
        return f"; write one in the range {number.min}<=x<={number.max}"
    return ""
