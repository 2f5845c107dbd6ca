"""Count what a page costs each strategy beyond the core: calls of Python functions, calls of C functions, page faults.

    python -m tools.calls --in-flight 10

A call counts unless it is one of ``strategies.core`` or made by it, directly or not. A generator or coroutine that
continues counts as called, because Python enters its frame again. Calls from C to C are invisible: most of uvloop, for
example, and parts of asyncio.

Each strategy crawls pages with ten links in a fresh process, without added latency. Counted is from page ``FIRST`` to
page ``LAST``, so starting, connecting and closing are left out. Calls are counted with ``sys.setprofile``, page faults
(``ru_minflt`` of getrusage(2)) in a second crawl without it. ``--read-bytes 65536`` changes the size of the reads of
asyncio's transports, which is 262,144. docs/method.md quotes the output.
"""

import argparse
import asyncio.selector_events
import itertools
import multiprocessing
import resource
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from inflight import strategies
from inflight.bench.measure import host, server
from inflight.fake_server.site import SiteConfig
from inflight.strategies import core
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import Response
from inflight.strategies.core.page import Fetch

CORE = str(Path(core.__file__).parent)
FIRST, LAST = 1_000, 5_000


class Order(NamedTuple):
    """What one process crawls."""

    strategy: str
    url: str
    in_flight: int
    read_bytes: int | None
    """Size of the reads of asyncio's transports; None: their own."""


Count = tuple[int, ...]


def main() -> None:
    """Count, and print one line per strategy."""
    parser = argparse.ArgumentParser(prog="python -m tools.calls", description=__doc__.partition("\n")[0])
    parser.add_argument("strategies", nargs="*", metavar="STRATEGY", help="default: all that are available here")
    parser.add_argument("--in-flight", type=int, default=10, help="fetches in flight; default: 10")
    parser.add_argument("--read-bytes", type=int, help="size of the reads of asyncio's transports; default: asyncio's")
    asked = parser.parse_args()
    names = asked.strategies or [name for name in strategies.names() if not strategies.describe(name).lack]
    cpus = host.choose_cpus(pin=True)
    print("per page                    Python calls  C calls  page faults")
    with server.running(cpus.server) as site:
        site.configure(SiteConfig(pages=LAST + asked.in_flight))
        for name in names:
            in_flight = min(asked.in_flight, strategies.describe(name).most_in_flight or asked.in_flight)
            order = Order(name, f"{site.base}/", in_flight, asked.read_bytes)
            python_calls, c_calls = in_fresh_process(count_calls, order)
            (page_faults,) = in_fresh_process(count_page_faults, order)
            print(f"{name:27} {python_calls:12.1f} {c_calls:8.1f} {page_faults:12.2f}", flush=True)


def in_fresh_process(counting: Callable[[Order], Count], order: Order) -> tuple[float, ...]:
    """Crawl in a process of its own; return the counts per page."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        counted = processes.submit(counting, order).result()
    return tuple(count / (LAST - FIRST) for count in counted)


def count_calls(order: Order) -> Count:
    """Count calls beyond the core during a crawl: of Python functions, and of C functions."""
    counts = {"call": itertools.count(), "c_call": itertools.count()}  # a step is one call in C, so safe in threads

    def on_call(frame: FrameType, event: str, _: Any) -> None:
        if event in counts and not is_for_the_core(frame) and frame.f_code.co_filename != __file__:
            next(counts[event])

    threading.setprofile(on_call)
    sys.setprofile(on_call)
    try:
        return crawl(order, lambda: (next(counts["call"]), next(counts["c_call"])))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def is_for_the_core(frame: FrameType | None) -> bool:
    """Return whether a function of the core runs in this frame, or waits for what does."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(CORE):
            return True
        frame = frame.f_back
    return False


def count_page_faults(order: Order) -> Count:
    """Count the page faults during a crawl that needed no reading from a disk."""
    return crawl(order, lambda: (resource.getrusage(resource.RUSAGE_SELF).ru_minflt,))


def crawl(order: Order, look: Callable[[], Count]) -> Count:
    """Crawl the whole site; return by how much the counts grew from page ``FIRST`` to page ``LAST``."""
    counts: list[Count] = []

    class Watched(Frontier):
        def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
            if len(self.finished) in {FIRST, LAST}:
                counts.append(look())
            return super().finish(fetch, response)

    if order.read_bytes is not None:
        vars(asyncio.selector_events)["_SelectorTransport"].max_size = order.read_bytes  # there is no public setting
    job = Job((order.url,), max_in_flight=order.in_flight)
    strategies.load(order.strategy).crawl(job, Watched(job))
    before, after = counts
    return tuple(late - early for early, late in zip(before, after, strict=True))


if __name__ == "__main__":
    main()
