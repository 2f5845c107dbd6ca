"""Run one crawl in this process, and check that nothing is left of it."""

import asyncio
import gc
import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NamedTuple

import psutil

from inflight.conformance import BrokenRuleError
from inflight.conformance.servers import Script
from inflight.strategies.base import Job, Strategy
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ProtocolError
from inflight.strategies.core.page import Page

MS = 1_000_000
LONG_NS = 3_600_000 * MS
"""A deadline that no fetch reaches, even on a machine that is stopped for a while."""
SHORT_NS = 300 * MS
"""A deadline for fetches that are never answered."""

CONNECTION_USES = ("keep-alive", "per-fetch")
Outcome = int | str | None
"""The status of a page, or the kind of its error."""


class Row(NamedTuple):
    """What the server does with a path, and what a crawl must find there."""

    script: Script
    expected: Outcome = 200
    own: tuple[Outcome, ...] = ()
    """What else is right for a client with an HTTP stack of its own."""


@dataclass(frozen=True)
class Crawled:
    """What a crawl came to."""

    pages: dict[str, Page]
    peak_in_flight: int

    def outcomes(self) -> dict[str, Outcome]:
        """Return for each path its status, or the kind of its error."""
        return {path_of(url): kind_of(page.error) or page.status for url, page in self.pages.items()}

    def tries(self) -> dict[str, int]:
        """Return for each path how often it was tried."""
        return {path_of(url): page.tries for url, page in self.pages.items()}

    @property
    def paths(self) -> set[str]:
        """Return the paths of all pages."""
        return set(self.outcomes())


def comparable(pages: dict[str, Page]) -> dict[str, Page]:
    """Return records without what depends on the order of the crawl, and without the details of errors."""
    return {url: replace(page, num_new_urls=0, error=kind_of(page.error)) for url, page in pages.items()}


def path_of(url: str) -> str:
    """Return the path of a URL, with its query."""
    return url[url.index("/", 7) :]


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
        raise BrokenRuleError("links", f"fetches started and neither finished nor failed: {front.in_flight}", "0")
    if not front.done:
        raise BrokenRuleError("ends", "crawl returned while fetches waited")
    return Crawled({page.url: page for page in front.pages()}, front.peak_in_flight)


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
