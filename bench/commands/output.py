"""Standard output and standard error of a command: messages, --quiet, and lost output.

A write error on either stream does not end the command; its exit code says whether results were lost.
"""

import io
import os
import re
import select
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TextIO


def say(sentence: str) -> None:
    """Print a message on standard error; --quiet drops it."""
    print(as_called(sentence), file=sys.stderr, flush=True)


def complain(sentence: str) -> None:
    """Print an error, or why a command ended early, on standard error; --quiet keeps it."""
    print(as_called(sentence), file=sys.stderr.loud if isinstance(sys.stderr, Hushed) else sys.stderr, flush=True)


_HINT = re.compile("(?:(?<=`)|(?<=: ))inflight(?= )")


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


class Output(io.FileIO):
    """A file whose writes never raise; it remembers the first error.

    So a command whose output is lost still stores its rows and files, and neither click, rich, argparse nor the
    interpreter at its exit has to handle the error.
    """

    error: OSError | None = None

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        """Write all data, or drop it after an error; return its length."""
        rest = memoryview(data)
        while rest and self.error is None:
            try:
                written = super().write(rest)
            except OSError as error:
                self.error = error
            else:
                if written is None:  # a non-blocking file that is full for now
                    select.select([], [self], [])
                rest = rest[written or 0 :]
        return len(data)

    @property
    def lost(self) -> str | None:
        """Why output was lost; None if all was written, or its reader has closed the pipe."""
        if self.error is None or isinstance(self.error, BrokenPipeError):
            return None
        return f"cannot write to standard output: {self.error.strerror}"


@contextmanager
def watched() -> Iterator[Output]:
    """Replace standard output and standard error by an ``Output`` in the block; yield that of standard output.

    Output to a stream that was closed before the program started is dropped.
    """
    before = sys.stdout, sys.stderr
    output, _ = _put_in_place("stdout"), _put_in_place("stderr")
    try:
        yield output
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _put_in_place(name: str) -> Output:
    stream = getattr(sys, name)
    try:
        output = Output(os.devnull if stream is None else stream.fileno(), "w", closefd=stream is None)
    except OSError:  # a test captures the stream: it has no file
        output = Output(os.devnull, "w")
        output.close()
        return output
    # Line buffering keeps results and messages in order where both go to one file.
    encoding, errors = ("utf-8", "strict") if stream is None else (stream.encoding, stream.errors)
    setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(output), encoding, errors, line_buffering=True))
    return output
