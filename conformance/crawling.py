"""Run one crawl in this process, and check that nothing is left of it.

``python -m inflight.conformance.crawling STRATEGY CAP`` crawls once for each line of standard input, which has the use
of connections and the URL, until it gets SIGINT; and prints how each crawl ended, and what is left.
"""

import asyncio
import gc
import importlib.util
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from traceback import walk_stack
from types import ModuleType
from typing import Any

import psutil

from inflight import strategies
from inflight.conformance import BrokenRuleError
from inflight.conformance.sites import LONG_NS, Outcome
from inflight.conformance.words import frames_of, is_blocked_loop, located, path_of, place_of
from inflight.strategies.base import Job, Strategy
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ProtocolError
from inflight.strategies.core.page import Fetch, Page

LOOK_S = 0.003
"""Time in seconds between two looks at an event loop: two of them see a call that blocks for 10 ms."""
NOTHING_LEFT = "nothing left"


@dataclass(frozen=True)
class Crawled:
    """What a crawl came to."""

    pages: dict[str, Page]
    peak_in_flight: int
    not_followed: dict[str, int]

    def by_path(self) -> dict[str, Page]:
        """Return the record of each path."""
        return {path_of(url): page for url, page in self.pages.items()}

    def outcomes(self) -> dict[str, Outcome]:
        """Return for each path its status, or the kind of its error."""
        return {path: kind_of(page.error) or page.status for path, page in self.by_path().items()}

    def tries(self) -> dict[str, int]:
        """Return for each path how often it was tried."""
        return {path: page.tries for path, page in self.by_path().items()}


def comparable(pages: dict[str, Page]) -> dict[str, Page]:
    """Return records without what depends on the order of the crawl, and without the details of errors."""
    return {url: replace(page, num_new_urls=0, error=kind_of(page.error)) for url, page in pages.items()}


def kind_of(error: str | None) -> str | None:
    """Return the kind of an error without its details."""
    return error.partition(":")[0] if error else None


@dataclass(slots=True)
class Last:
    """What the last crawl of this process is remembered by, for the words of a failure."""

    page_ns: int = 0
    """Time per page."""
    errors: dict[str, str] = field(default_factory=dict)
    """Path -> the exception of its last fetch that failed, with its place."""


LAST = Last()


def crawl(
    strategy: Strategy,
    *roots: str,
    frontier: type[Frontier] = Frontier,
    leaks: list[str] | None = None,
    **options: Any,
) -> Crawled:
    """Crawl from the roots, and check what holds for every crawl. Raises BrokenRuleError.

    What is left behind is added to ``leaks``, so that it hides nothing else; without such a list, it is raised.
    """
    job = Job(roots, **{"max_in_flight": 4, "timeout_ns": LONG_NS, **options})
    LAST.errors.clear()

    def fail(self: Frontier, fetch: Fetch, error: OSError | ProtocolError) -> Sequence[Fetch]:
        LAST.errors[path_of(fetch.url)] = located(sys.exception() or error)
        return frontier.fail(self, fetch, error)

    front = type(frontier.__name__, (frontier,), {"fail": fail})(job)
    began_ns = time.perf_counter_ns()
    with nothing_left_behind(leaks):
        try:
            strategy.crawl(job, front)
        except (OSError, ProtocolError) as error:
            raise BrokenRuleError("errors", "no exception", "one that left crawl", located(error)) from error
    if front.in_flight:
        raise BrokenRuleError("links", "each fetch finished or failed", f"{front.in_flight} neither")
    if not front.done:
        raise BrokenRuleError("ends", "crawl returns when nothing waits", "fetches that waited")
    LAST.page_ns = (time.perf_counter_ns() - began_ns) // max(1, len(front.finished))
    return Crawled({page.url: page for page in front.pages()}, front.peak_in_flight, front.not_followed())


def open_what_stays_open() -> None:
    """Make an event loop of uvloop: libuv opens a pipe for its signals once, and keeps it while the process lives."""
    if importlib.util.find_spec("uvloop"):
        importlib.import_module("uvloop").new_event_loop().close()


@contextmanager
def watched_loop() -> Iterator[Counter[str]]:
    """Count where a coroutine blocked the event loop of this thread during the block: place -> number of looks.

    At a look the thread sleeps, and since the last look it has not run, although the loop had something to run. So a
    slow machine, which lets a thread wait for a core, is no reason.
    """
    places: Counter[str] = Counter()
    is_over = threading.Event()
    ident, state = threading.get_ident(), Path(f"/proc/self/task/{threading.get_native_id()}/stat")
    if not state.exists():  # as on macOS
        yield places
        return
    clock = time.pthread_getcpuclockid(ident)

    def look() -> None:
        before = None
        while not is_over.wait(LOOK_S):
            frame = sys._current_frames()[ident]  # noqa: SLF001  (there is no other way to see what a thread does)
            now = frames_of(walk_stack(frame)), time.clock_gettime_ns(clock)
            if now == before and is_blocked_loop(now[0]) and ") S " in state.read_text():
                places[place_of(now[0])] += 1
            before = now

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield places
    finally:
        is_over.set()
        looking.join()


def code_of(strategy: Strategy) -> ModuleType:
    """Return the module with the code of a strategy: of a variant, that of the other one."""
    found = getattr(strategy, "VARIANT_OF", None)
    return sys.modules[f"inflight.strategies.{found}" if found else strategy.crawl.__module__]


@contextmanager
def nothing_left_behind(leaks: list[str] | None) -> Iterator[None]:
    """Check that no thread, task, process or descriptor outlives the block, however it ends.

    What does is added to ``leaks``; without such a list, raises BrokenRuleError.
    """
    before = resources()
    gc.freeze()  # the collector looks through what the block makes only, not through all that the suite has loaded
    ended = "returned"
    try:
        yield
    except BaseException as error:
        ended = f"raised {type(error).__name__}"
        raise
    finally:
        gc.collect()  # what only the collector would close is a warning, and so an error
        left = left_behind(before)
        if left and leaks is None:
            raise BrokenRuleError("cleanup", NOTHING_LEFT, f"{', '.join(left)} after crawl {ended}")
        if left and leaks is not None:
            leaks.append(f"{', '.join(left)} after crawl {ended}")


def resources() -> dict[str, Any]:
    """Return the resources that this process holds, besides objects."""
    own = psutil.Process()
    return {"threads": set(threading.enumerate()), "descriptors": own.num_fds(), "children": set(own.children())}


def left_behind(before: dict[str, Any]) -> list[str]:
    """Return in words what this process holds now that it did not hold ``before``, or the reverse."""
    now = resources()
    threads = [f"the thread {thread.name}" for thread in now["threads"] - before["threads"]]
    children = [f"the process {child.pid}" for child in now["children"] - before["children"]]
    number = now["descriptors"] - before["descriptors"]
    descriptors = [f"{number:+d} descriptor{'' if abs(number) == 1 else 's'}"] if number else []
    return threads + children + descriptors + [f"the task {task.get_name()}" for task in unfinished_tasks()]


def unfinished_tasks() -> list["asyncio.Task[Any]"]:
    """Return the unfinished tasks among the objects of the collector."""
    return [one for one in gc.get_objects() if issubclass(type(one), asyncio.Task) and not one.done()]


def crawl_until_interrupted(name: str, cap: str) -> None:
    """Crawl for each line of standard input, and print how each crawl ended and what is left."""
    strategy = strategies.load(name)
    open_what_stays_open()
    for line in sys.stdin:
        connection, url = line.split()
        job = Job.from_dict(
            {"roots": [url], "max_in_flight": int(cap), "connection": connection, "timeout_ns": LONG_NS}
        )
        before = resources()
        ended = "done"
        try:
            strategy.crawl(job, Frontier(job))
        except KeyboardInterrupt:
            ended = "interrupted"
        gc.collect()
        print(f"{ended}, {', '.join(left_behind(before)) or 'nothing'} left", flush=True)


if __name__ == "__main__":
    crawl_until_interrupted(*sys.argv[1:])
