"""Run one crawl in this process, and check that nothing is left of it.

``python -m inflight.conformance.crawling STRATEGY CAP`` crawls once for each line of standard input, which has the use
of connections and the URL, until it gets SIGINT; and prints how each crawl ended, and what is left.
"""

import asyncio
import gc
import importlib.util
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import psutil

from inflight import strategies
from inflight.conformance import BrokenRuleError
from inflight.conformance.sites import LONG_NS, Outcome
from inflight.strategies.base import Job, Strategy
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ProtocolError
from inflight.strategies.core.page import Page


@dataclass(frozen=True)
class Crawled:
    """What a crawl came to."""

    pages: dict[str, Page]
    peak_in_flight: int
    not_followed: dict[str, int]

    def by_path(self) -> dict[str, Page]:
        """Return the record of each path."""
        return {url[url.index("/", len("https://")) :]: page for url, page in self.pages.items()}

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


def crawl(strategy: Strategy, *roots: str, frontier: type[Frontier] = Frontier, **options: Any) -> Crawled:
    """Crawl from the roots, and check what holds for every crawl. Raises BrokenRuleError."""
    job = Job(roots, **{"max_in_flight": 4, "timeout_ns": LONG_NS, **options})
    front = frontier(job)
    with nothing_left_behind():
        try:
            strategy.crawl(job, front)
        except (OSError, ProtocolError) as error:
            raise BrokenRuleError("errors", f"crawl raised {type(error).__name__}: {error}") from error
    if front.in_flight:
        raise BrokenRuleError("links", f"fetches started and neither finished nor failed: {front.in_flight}")
    if not front.done:
        raise BrokenRuleError("ends", "crawl returned while fetches waited")
    return Crawled({page.url: page for page in front.pages()}, front.peak_in_flight, front.not_followed())


def open_what_stays_open() -> None:
    """Make an event loop of uvloop: libuv opens a pipe for its signals once, and keeps it while the process lives."""
    if importlib.util.find_spec("uvloop"):
        importlib.import_module("uvloop").new_event_loop().close()


def code_of(strategy: Strategy) -> ModuleType:
    """Return the module with the code of a strategy: of a variant, that of the other one."""
    found = getattr(strategy, "VARIANT_OF", None)
    return sys.modules[f"inflight.strategies.{found}" if found else strategy.crawl.__module__]


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Check that no thread, task, process or descriptor outlives the block, however it ends. Raises BrokenRuleError."""
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
        if left := left_behind(before):
            raise BrokenRuleError("cleanup", f"after crawl {ended}, it has left {', '.join(left)}")


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
        print(json.dumps({"ended": ended, "left": left_behind(before)}), flush=True)


if __name__ == "__main__":
    crawl_until_interrupted(*sys.argv[1:])
