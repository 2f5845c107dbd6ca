"""Show how the cost of a page grows with idle connections, for each kind of selector of this platform.

A program of a claim (``claims.programs`` says how it is run). The callbacks strategy always fetches the same pages,
while idle connections are registered with its selector too. They are real connections to a child process that accepts
them and stays silent. They are registered before the clock starts and unregistered after it has stopped, so their only
cost is that of the selector.

select() and poll() are given the whole list at every call, epoll_wait() is not. But Python gives it room for as many
events as there are registered descriptors (EpollSelector.select in Lib/selectors.py).
"""

import errno
import resource
import select
import selectors
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from inflight.bench.claims.programs._shared import check_pages, child_process, timed

KINDS = {
    name: getattr(selectors, attribute)
    for name, attribute in (
        ("select", "SelectSelector"),
        ("poll", "PollSelector"),
        ("epoll", "EpollSelector"),
        ("kqueue", "KqueueSelector"),
    )
    if hasattr(selectors, attribute)
}
"""The selectors of this platform."""
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "selector": tuple(KINDS),
    "idle": (0, 250, 500, 900, 2000, 4000, 8000),
}
"""The arguments of the program with their usual values; ``idle`` is the number of idle connections."""
SITE = {"pages": 1500, "links": 0}
"""The site that is crawled."""

IN_FLIGHT = 10
"""Number of fetches in flight."""
RESERVE = 64
"""Descriptors besides the idle ones: standard streams, the fetches, the selector, files of the interpreter."""
FD_SETSIZE = 1024
"""Number of descriptors that fit into an fd_set (select(2)); CPython is built with the value of the platform."""


def measure(base: str, selector: str, idle: int) -> dict[str, Any]:
    """Crawl once; return the cost of a page, or the limit that prevented the crawl. ``idle`` is a number."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]  # the worker has raised it
    if limit != resource.RLIM_INFINITY and idle + RESERVE > limit:
        error = f"{idle} idle connections need {idle + RESERVE} descriptors of {limit}"
        return {"stopped_by": "RLIMIT_NOFILE", "error": error}
    with ExitStack() as stack:
        try:
            socks = stack.enter_context(idle_connections(idle))
        except OSError as error:
            stopped_by = errno.errorcode.get(error.errno or 0, type(error).__name__)
            return {"stopped_by": stopped_by, "error": str(error)}
        return crawl_beside(socks, KINDS[selector], base)


def crawl_beside(idle_socks: list[socket.socket], kind: Any, url: str) -> dict[str, Any]:
    """Crawl with a selector of this kind that also watches the idle connections."""
    from inflight import strategies
    from inflight.strategies.base import Job
    from inflight.strategies.core.frontier import Frontier

    strategy = strategies.load("callbacks")
    pages = (f"{url}/", *(f"{url}/p/{n}" for n in range(1, SITE["pages"])))
    job = Job(pages, max_in_flight=IN_FLIGHT)
    frontier = Frontier(job)
    selector = crowded(kind)()
    stopped: dict[str, Any] = {}
    try:
        for sock in idle_socks:
            selector.register(sock, selectors.EVENT_READ)
        # The strategy makes its selector by this name. It stays replaced: this process measures once, and ends.
        selectors.DefaultSelector = lambda: selector  # type: ignore[misc, assignment]
        with timed() as taken:
            try:
                strategy.crawl(job, frontier)
            except ValueError as error:
                if selector.largest_fd < FD_SETSIZE or kind is not selectors.SelectSelector:
                    raise
                stopped = {"stopped_by": "FD_SETSIZE", "error": str(error)}
    finally:
        selector.disperse()
    seen = {"largest_fd": selector.largest_fd, "waits": selector.waits}
    if stopped:
        return stopped | seen
    count = check_pages(frontier.finished, SITE)
    per_page = {"cpu_per_page_ns": taken["cpu_ns"] // count, "pages_per_s": count * 1e9 / taken["wall_ns"]}
    return seen | {"pages": count} | taken | per_page


def crowded(kind: Any) -> Any:
    """Return a subclass of a selector that stays open when the crawl closes it."""

    class Crowded(kind):  # type: ignore[misc]
        """A selector that counts its waits, and ignores that the crawl closes it."""

        largest_fd = -1
        waits = 0

        def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
            """Register a socket, and note the largest descriptor."""
            key: selectors.SelectorKey = super().register(fileobj, events, data)
            self.largest_fd = max(self.largest_fd, key.fd)
            return key

        def select(self, timeout: float | None = None) -> Any:
            """Wait, and count that."""
            self.waits += 1
            return super().select(timeout)

        def close(self) -> None:
            """Stay open: closing the idle connections is not part of the crawl."""

        def disperse(self) -> None:
            """Close it in the end."""
            super().close()

    return Crowded


@contextmanager
def idle_connections(count: int) -> Iterator[list[socket.socket]]:
    """Yield connected sockets on which nothing ever arrives; a child process holds their other ends."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def accept_silently(tell: socket.socket) -> None:
            """Accept connections in the child process, say so for each, and wait for the end of the other process."""
            held: list[socket.socket] = []
            while len(held) < count and not select.select([listener, tell], [], [])[0].count(tell):
                held.append(listener.accept()[0])
                tell.send(b"+")
            tell.recv(1)  # returns when the other process has ended

        accepted = stack.enter_context(child_process(accept_silently))
        idle = []
        for _ in range(count):
            idle.append(stack.enter_context(socket.create_connection(listener.getsockname(), 5)))
            if accepted.recv(1) != b"+":  # one at a time: a backlog that overflows costs a second
                raise OSError(errno.ECONNABORTED, "the peer could not accept this many connections")
        yield idle
