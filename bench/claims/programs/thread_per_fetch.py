"""Show what a thread pool and kept connections save, compared with a new thread for each fetch.

A program of a claim (``claims.programs`` says how it is run). ``pool`` is the strategy thread_pool. The
thread-per-fetch program below has the same blocking calls in the same order, the same parser and frontier, and one
lock. A thread that ends starts its successors.
"""

import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from inflight.bench.claims.programs._shared import check_pages, timed

if TYPE_CHECKING:
    from inflight.strategies.base import Job
    from inflight.strategies.core.frontier import Frontier
    from inflight.strategies.core.http1 import Response
    from inflight.strategies.core.page import Fetch

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "how": ("pool", "thread-per-fetch"),
    "connection": ("keep-alive", "per-fetch"),
    "in_flight": (10,),
}
"""The arguments of the program with their usual values."""
SITE = {"pages": 1500, "links": 10}
"""The site that is crawled."""


def measure(base: str, how: str, connection: Literal["keep-alive", "per-fetch"], in_flight: int) -> dict[str, Any]:
    """Crawl the site once; return its cost, and the number of started threads."""
    if how == "thread-per-fetch" and connection == "keep-alive":
        return {"not_applicable": "a thread that ends with its fetch has no connection to keep"}
    from inflight import strategies
    from inflight.strategies.base import Job
    from inflight.strategies.core.frontier import Frontier

    crawl = strategies.load("thread_pool").crawl if how == "pool" else crawl_with_a_thread_each
    job = Job((f"{base}/",), max_in_flight=in_flight, connection=connection)
    frontier = Frontier(job)
    with counted_threads() as started, timed() as taken:
        crawl(job, frontier)
    pages = check_pages(frontier.finished, SITE)
    return {
        "pages": pages,
        "peak_in_flight": frontier.peak_in_flight,
        "makespan_ns": taken["wall_ns"],
        "cpu_ns": taken["cpu_ns"],
        "cpu_per_page_ns": taken["cpu_ns"] // pages,
        "threads_started": len(started),
    }


@contextmanager
def counted_threads() -> Iterator[list[str]]:
    """Yield a list that receives the name of every thread started in the ``with`` block."""
    started: list[str] = []
    patched: Any = threading.Thread
    real: Callable[[threading.Thread], None] = patched.start

    def start(thread: threading.Thread) -> None:
        """Start a thread, and note its name."""
        real(thread)
        started.append(thread.name)

    patched.start = start
    try:
        yield started
    finally:
        patched.start = real


# A thread for each fetch


def crawl_with_a_thread_each(job: "Job", frontier: "Frontier") -> None:
    """Start a thread for each waiting fetch, up to the cap; return when all have ended."""
    crew = Crew(job, frontier)
    with crew.changed:
        crew.start_more()
        while not frontier.done and crew.bug is None:
            crew.changed.wait()
    for thread in crew.threads:
        thread.join()
    if crew.bug is not None:
        raise crew.bug


class Crew:
    """The threads around one frontier. ``changed`` guards this object and the frontier."""

    def __init__(self, job: "Job", frontier: "Frontier") -> None:
        self.job = job
        self.frontier = frontier
        self.changed = threading.Condition(threading.Lock())
        self.waiting = deque(frontier.roots())
        self.threads: list[threading.Thread] = []
        self.bug: BaseException | None = None

    def start_more(self) -> None:
        """Start a thread for each waiting fetch, up to the cap. The caller holds the lock."""
        while self.waiting and self.frontier.in_flight < self.job.max_in_flight and self.bug is None:
            fetch = self.waiting.popleft()
            self.frontier.start(fetch)
            thread = threading.Thread(target=self.work, args=(fetch,))
            thread.start()
            self.threads.append(thread)

    def work(self, fetch: "Fetch") -> None:
        """Make one fetch, in a thread of its own."""
        from inflight.strategies.core.http1 import ProtocolError

        fetches: Sequence[Fetch]
        try:
            try:
                response = exchange(self.job, fetch)
            except (OSError, ProtocolError) as error:
                with self.changed:
                    fetches = self.frontier.fail(fetch, error)
                    self.go_on(fetches)
            else:
                with self.changed:
                    fetches = self.frontier.finish(fetch, response)
                    self.go_on(fetches)
        except BaseException as bug:  # noqa: BLE001  (raised again in the thread that called crawl)
            with self.changed:
                self.bug = bug
                self.changed.notify_all()

    def go_on(self, fetches: Sequence["Fetch"]) -> None:
        """Start the next fetches, and notify when none is left. The caller holds the lock."""
        self.waiting.extend(fetches)
        self.start_more()
        if self.frontier.done:
            self.changed.notify_all()


def exchange(job: "Job", fetch: "Fetch") -> "Response":
    """Connect, send the request, wait for the whole response, close. Raises OSError or ProtocolError."""
    from inflight.strategies.core.http1 import CHUNK_BYTES, ResponseParser

    parser = ResponseParser(job.max_header_bytes, job.max_body_bytes)
    with socket.create_connection((fetch.origin.host, fetch.origin.port), seconds_left(fetch)) as sock:
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        set_patience(sock, fetch)
        try:
            unsent = fetch.request
            while unsent := unsent[sock.send(unsent) :]:
                set_patience(sock, fetch)
            while (response := parser.feed(sock.recv(CHUNK_BYTES))) is None:
                set_patience(sock, fetch)
        except BlockingIOError as error:  # how the kernel reports its timeout
            raise TimeoutError from error
        return response


def set_patience(sock: socket.socket, fetch: "Fetch") -> None:
    """Limit each blocking call, in the kernel, to the remaining time of the fetch, as thread_pool does."""
    seconds, rest_ns = divmod(int(seconds_left(fetch) * 1e9), 1_000_000_000)
    timeval = struct.pack("@ll", seconds, max(1, rest_ns // 1000))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)


def seconds_left(fetch: "Fetch") -> float:
    """Return the seconds until the deadline of the fetch. Raises TimeoutError after it."""
    left = (fetch.deadline_ns - time.perf_counter_ns()) / 1e9
    if left <= 0:
        raise TimeoutError
    return left
