"""Helpers that several programs of claims share: a clock, a child process, and a check of the pages.

As all programs, it imports only the standard library at its top.
"""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inflight.strategies.core.page import Fetch


class WrongAnswerError(Exception):
    """A crawl did not fetch all pages of the site; the message says how many, and what went wrong."""


@contextmanager
def timed() -> Iterator[dict[str, int]]:
    """Yield a table that receives the wall time and the CPU time of the ``with`` block."""
    taken: dict[str, int] = {}
    begin_ns, cpu_begin_ns = time.perf_counter_ns(), time.process_time_ns()
    yield taken
    cpu_ns, wall_ns = time.process_time_ns() - cpu_begin_ns, time.perf_counter_ns() - begin_ns
    taken |= {"wall_ns": wall_ns, "cpu_ns": cpu_ns}


def check_pages(finished: Iterable["Fetch"], site: Mapping[str, Any] | None) -> int:
    """Return the number of pages with status 200. Raises WrongAnswerError unless these are all pages of the site.

    ``site`` is the SITE of a program. It may be None only for a program without a server, which crawls nothing.
    """
    assert site is not None
    fetches = list(finished)
    pages = sum(fetch.status == 200 for fetch in fetches)
    if pages != site["pages"]:
        errors = sorted({fetch.error for fetch in fetches if fetch.error})
        why = f": {', '.join(errors)}" if errors else ""
        raise WrongAnswerError(f"the crawl fetched {pages} of {site['pages']} pages{why}")
    return pages


@contextmanager
def child_process(work: Callable[[socket.socket], None]) -> Iterator[socket.socket]:
    """Run ``work`` in a forked child, and yield a socket that is connected to it; kill the child at the end.

    The child's work costs this process no CPU time. The child's end of the socket is readable when this process has
    ended.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            work(theirs)
        finally:
            os._exit(0)
    theirs.close()
    try:
        with ours:
            yield ours
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
