"""The page of a run that still goes on, written between two trials, when nothing is measured.

``inflight run`` gives ``write_now_and_then`` the rows of each trial. A process of its own, ``main`` below, writes the
page. The harness would otherwise hold numpy and Matplotlib, and pause for their garbage while it shares a core with the
server.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inflight.bench.commands.output import say
from inflight.bench.measure import process

if TYPE_CHECKING:
    from inflight.bench.measure.run import Report
    from inflight.bench.rows.files import Row

FIRST_NS = 20_000_000_000
"""Time of a run after which its first page is written: 20 s."""
TIMES = 20
"""A page is written again when the run has gone on for this many times as long as the last page took."""
PATIENCE_S = 120.0
"""Maximum time in seconds to write a page."""

Write = Callable[[Path, str], list[str]]
"""Writes the page of a folder with a sentence that it is not complete; returns what has been found so far."""
Clock = Callable[[], int]
"""Nanoseconds since an arbitrary moment."""


def write_now_and_then(
    folder: Path, total: int, write: Write | None = None, clock: Clock = time.monotonic_ns
) -> "Report":
    """Return a function that writes the page of a run of ``total`` trials if it is time; call it after each trial."""
    next_ns = clock() + FIRST_NS

    def after(number: int, waiting: int, _rows: "Sequence[Row]") -> None:
        """Write the page if it is time; ``number`` of the ``waiting`` trials have ended."""
        nonlocal next_ns
        begin_ns = clock()
        if number == waiting or begin_ns < next_ns:
            return
        done = f"{total - waiting + number} of {total} steps"
        sentences = (write or written)(folder, f"This run is not complete: {done} are done. Reload this page later.")
        now_ns = clock()
        next_ns = now_ns + TIMES * (now_ns - begin_ns)
        for sentence in sentences:
            say(sentence)

    return after


def written(folder: Path, so_far: str) -> list[str]:
    """Write the page in a process of its own; return its path and the first findings, as lines."""
    try:
        code, text = process.output(["inflight.bench.commands.so_far", str(folder), so_far], None, PATIENCE_S)
    except subprocess.TimeoutExpired:
        return [f"page:  not yet: it took longer than {PATIENCE_S:.0f} s"]
    return text.decode("utf-8", "replace").splitlines() if code == 0 else [f"page:  not yet: exit code {code}"]


def main(folder: str, so_far: str) -> None:
    """Write the page of a folder, and print its path and the first two findings."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in inflight.bench.cli
    from inflight.bench.rows import files as rows
    from inflight.bench.show import page
    from inflight.bench.show.studies import Studies
    from inflight.bench.show.summary import findings

    studies = Studies(rows.read(Path(folder)), Path(folder))
    print(f"page:  {page.write(Path(folder), so_far=so_far, studies=studies)}, so far")
    print("so far:", *findings(studies)[:2])  # the first one may be a warning of noise


if __name__ == "__main__":
    main(*sys.argv[1:])
