"""Standard output and standard error of a command: what is said there, what --quiet hides, what becomes of lost output.

An error of either stream does not end the command; its exit code says whether results were lost.
"""

import io
import os
import select
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TextIO


def say(sentence: str) -> None:
    """Say on standard error what a quiet command leaves out."""
    print(sentence, file=sys.stderr, flush=True)


def complain(sentence: str) -> None:
    """Say on standard error what went wrong, or why it ended early; a quiet command says this too."""
    print(sentence, file=sys.stderr.loud if isinstance(sys.stderr, Hushed) else sys.stderr, flush=True)


def say_plots(saved: Iterable[Path]) -> None:
    """Say where plots were saved, once for each, whatever formats it has."""
    for path in saved:
        if path.suffix == ".png":
            say(f"plot:  {path}")


class Hushed(io.TextIOBase):
    """Stands in for standard error while a command is quiet: it drops talk and keeps the stream for complaints."""

    def __init__(self, loud: TextIO) -> None:
        self.loud = loud

    def write(self, text: str) -> int:
        """Drop the text; return its length."""
        return len(text)


@contextmanager
def hushed() -> Iterator[None]:
    """Drop what is said on standard error while this lasts, except what ``complain`` says."""
    with redirect_stderr(Hushed(sys.stderr)):
        yield


class Output(io.FileIO):
    """A file that never raises when it is written to, and remembers the first error.

    A command goes on when its output is lost: its rows are kept and its files are written. Nobody who prints has to
    handle the error, be it click, rich, argparse or the interpreter when it ends.
    """

    error: OSError | None = None

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        """Write all of it, or lose it; return its length."""
        rest = memoryview(data)
        while rest and self.error is None:
            try:
                written = super().write(rest)
            except OSError as error:
                self.error = error
            else:
                if written is None:  # the file is in non-blocking mode, and full for now
                    select.select([], [self], [])
                rest = rest[written or 0 :]
        return len(data)

    @property
    def lost(self) -> str | None:
        """Say that output was lost, and why; None when all was written, or its reader has gone."""
        if self.error is None or isinstance(self.error, BrokenPipeError):
            return None
        return f"cannot write to standard output: {self.error.strerror}"


@contextmanager
def watched() -> Iterator[Output]:
    """Put an ``Output`` in the place of standard output and of standard error while this lasts; yield the former.

    Where one was closed by whoever started this, what goes there is not wanted.
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
    except OSError:  # a test reads what is printed, and has put a stream without a file there
        output = Output(os.devnull, "w")
        output.close()
        return output
    # By lines, so that results and what is said on standard error stay in order where both go to one file.
    encoding, errors = ("utf-8", "strict") if stream is None else (stream.encoding, stream.errors)
    setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(output), encoding, errors, line_buffering=True))
    return output
