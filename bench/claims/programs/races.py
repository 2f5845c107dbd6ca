"""Show whether check-then-act on shared state is safe without a lock: between threads, and between coroutines.

A program of a claim (``claims.programs`` says how it is run). Eight workers take pages and enter their links into one
unlocked ledger. If a link is new, they compute its URL and admit it. They also increment a counter, which is a read, a
computation and a write. All pages of a batch have the same new links, as the pages of one section of a site do. CPython
3.11 switches threads only at function calls and backward jumps (CHECK_EVAL_BREAKER in Python/ceval.c), so a race needs
a call between check and act, which nearly every program has. How often threads switch also depends on the kernel: far
less often on one core than on two. A coroutine yields only where it says so: between two pages, and not between check
and act, unless it is written like that.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from inflight.bench.claims.programs._shared import timed

WORKERS = 8
"""Number of threads, or of coroutines."""
BATCHES = 100
"""Number of pages of each worker."""
LINKS = 60
"""New links of a batch, which every page of the batch has."""


def measure(base: str, model: str, switch_interval_us: int) -> dict[str, Any]:  # noqa: ARG001  (no server is needed)
    """Let the workers read all pages; return what they recorded and what they should have recorded.

    ``model`` is a key of MODELS. Threads are asked to switch after ``switch_interval_us`` microseconds.
    """
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(switch_interval_us / 1e6)
    try:
        ledger, shares = Ledger(), site()
        with timed() as taken:
            MODELS[model](ledger, shares)
        return ledger.figures() | {"workers": WORKERS, "wall_ns": taken["wall_ns"]}
    finally:
        sys.setswitchinterval(usual_s)


class Ledger:
    """State that workers share: the URLs seen, the fetches, and a count of the links."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.fetched: list[str] = []
        self.counted = 0

    def note(self, page: str, href: bytes) -> None:
        """Count a link, and fetch its URL if it is new, without a lock and without a wait in between."""
        self.counted += self.weight(href)  # read, call, write
        if self.is_new(href):  # check
            url = self.normal(page, href)
            self.admit(href, url)  # act

    def weight(self, href: bytes) -> int:
        """Return the number of links in ``href``: one."""
        return 1 if href else 0

    def is_new(self, href: bytes) -> bool:
        """Return whether no worker has seen this link."""
        return href not in self.seen

    def normal(self, page: str, href: bytes) -> str:
        """Return the URL of a link, which is slow to compute and needed for new links only."""
        from inflight.strategies.core.links import resolve

        url = resolve(page, href, None)
        assert url is not None
        return url

    def admit(self, href: bytes, url: str) -> None:
        """Remember the link, and fetch its URL."""
        self.seen.add(href)
        self.fetched.append(url)

    def figures(self) -> dict[str, int]:
        """Return the counts of duplicate fetches and lost updates."""
        links_seen = WORKERS * BATCHES * LINKS
        distinct = len(set(self.fetched))
        return {
            "links_seen": links_seen,
            "distinct": distinct,
            "fetched": len(self.fetched),
            "duplicates": len(self.fetched) - distinct,
            "lost_updates": links_seen - self.counted,
        }


class Page:
    """A fetched page and its links."""

    __slots__ = ("hrefs", "url")

    def __init__(self, batch: int) -> None:
        """Make the page of a batch; each worker has one with the same links."""
        from inflight.strategies.core.links import find_links

        body = "".join(f'<li><a href="/section/{batch}/{n}">{n}</a>' for n in range(LINKS))
        self.url = f"http://site.test/section/{batch}"
        self.hrefs = find_links(body.encode())


def site() -> list[list[Page]]:
    """Return the pages of each worker, one of each batch."""
    return [[Page(batch) for batch in range(BATCHES)] for _ in range(WORKERS)]


# Threads


def threads(ledger: Ledger, shares: list[list[Page]]) -> None:
    """Let each worker be a thread, without a lock."""
    run_threads(ledger, shares, nullcontext())


def threads_locked(ledger: Ledger, shares: list[list[Page]]) -> None:
    """Let each worker be a thread that holds a lock while it notes a link."""
    run_threads(ledger, shares, threading.Lock())


def run_threads(ledger: Ledger, shares: list[list[Page]], guard: AbstractContextManager[Any]) -> None:
    """Run one thread for each share; all of them start at the same moment."""
    begin = threading.Barrier(len(shares))

    def work(pages: list[Page]) -> None:
        """Note the links of all pages of a share."""
        begin.wait()
        for page in pages:
            for href in page.hrefs:
                with guard:
                    ledger.note(page.url, href)

    workers = [threading.Thread(target=work, args=(pages,)) for pages in shares]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


# Coroutines


def coroutines(ledger: Ledger, shares: list[list[Page]]) -> None:
    """Let each worker be a generator that yields while it waits for a page."""

    def work(pages: list[Page]) -> Generator[None, None, None]:
        """Note the links of a share; others run only where it yields."""
        for page in pages:
            yield  # the fetch
            for href in page.hrefs:
                ledger.note(page.url, href)

    take_turns([work(pages) for pages in shares])


def coroutines_yielding(ledger: Ledger, shares: list[list[Page]]) -> None:
    """Let each worker be a generator that also yields between check and act."""

    def work(pages: list[Page]) -> Generator[None, None, None]:
        """Do the same as ``Ledger.note``, but yield in the middle."""
        for page in pages:
            yield  # the fetch
            for href in page.hrefs:
                counted = ledger.counted
                if ledger.is_new(href):
                    yield  # such as a check of robots.txt: all others run now
                    ledger.admit(href, ledger.normal(page.url, href))
                ledger.counted = counted + 1

    take_turns([work(pages) for pages in shares])


def take_turns(workers: list[Generator[None, None, None]]) -> None:
    """Run generators in turn, each to its next yield, until all have ended."""
    ready = deque(workers)
    while ready:
        worker = ready.popleft()
        try:
            next(worker)
        except StopIteration:
            continue
        ready.append(worker)


def native(ledger: Ledger, shares: list[list[Page]]) -> None:
    """Let each worker be an asyncio task that awaits each page."""
    import asyncio

    async def work(pages: list[Page]) -> None:
        for page in pages:
            await asyncio.sleep(0)  # the fetch
            for href in page.hrefs:
                ledger.note(page.url, href)

    async def main() -> None:
        await asyncio.gather(*map(work, shares))

    asyncio.run(main())


MODELS: dict[str, Callable[[Ledger, list[list[Page]]], None]] = {
    "threads": threads,
    "threads-locked": threads_locked,
    "coroutines": coroutines,
    "asyncio": native,
    "coroutines-yielding": coroutines_yielding,
}
"""What the workers are, by the argument ``model``."""
ARGUMENTS: dict[str, tuple[Any, ...]] = {"model": tuple(MODELS), "switch_interval_us": (1,)}
"""The arguments of the program with their usual values."""
SITE = None
"""No server is needed."""
