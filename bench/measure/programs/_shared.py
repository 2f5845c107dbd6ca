"""Helpers that probes share: their arguments, a clock, a child process, and a check of the pages."""

import importlib
import os
import resource
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


def measure(name: str, arguments: Mapping[str, Any], base: str | None) -> dict[str, Any]:
    """Return what a probe measured, with its arguments; those that are not given have their first usual value."""
    probe = importlib.import_module(f"inflight.bench.measure.programs.{name}")
    given: dict[str, Any] = {argument: values[0] for argument, values in probe.ARGUMENTS.items()} | dict(arguments)
    measured: dict[str, Any] = probe.measure(base, **given)
    return given | measured


@contextmanager
def timed() -> Iterator[dict[str, int]]:
    """Yield a table that receives the wall time and the CPU time of the ``with`` block."""
    taken: dict[str, int] = {}
    begin_ns, cpu_begin_ns = time.perf_counter_ns(), time.process_time_ns()
    yield taken
    cpu_ns, wall_ns = time.process_time_ns() - cpu_begin_ns, time.perf_counter_ns() - begin_ns
    taken |= {"wall_ns": wall_ns, "cpu_ns": cpu_ns}


def check_pages(finished: Iterable["Fetch"], site: Mapping[str, Any] | None) -> int:
    """Return the number of pages with status 200. Raises WrongAnswerError unless these are all pages of the site."""
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


def raise_descriptor_limit() -> int:
    """Raise the soft limit on descriptors to the hard limit; return it."""
    from inflight.bench.measure import worker

    worker.raise_descriptor_limit()
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if soft == resource.RLIM_INFINITY else soft
