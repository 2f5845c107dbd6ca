"""Show how the cost of a page grows with idle connections, under each kind of selector that this platform has.

The callbacks strategy fetches the same pages each time, while so many idle connections are registered with its selector
as well: real ones, to a child process that accepts them and stays silent. They are registered before the clock starts
and unregistered after it has stopped, so that all they can cost is what the selector makes of them.

select() and poll() are handed the whole list on every call, epoll_wait() is not; but Python hands it room for as many
events as there are registered descriptors (EpollSelector.select in Lib/selectors.py).
"""

import errno
import os
import resource
import select
import selectors
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bench.studies.probes.programs._answer import check_pages
from bench.studies.probes.programs._arguments import complete, need_server

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
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "selector": tuple(KINDS),
    "idle": (0, 250, 500, 900, 2000, 4000, 8000),
}
SITE: dict[str, Any] | None = {"pages": 1500, "links": 0}

IN_FLIGHT = 10
RESERVE = 64
"""Descriptors beside the idle ones: standard streams, the fetches, the selector, what the interpreter has open."""
FD_SETSIZE = 1024
"""The descriptors that fit into an fd_set (select(2)); CPython is built with the platform's own value."""


def measure(arguments: dict[str, Any], base: str | None) -> dict[str, Any]:
    """Crawl once; return what a page cost, or which limit forbade the crawl."""
    given = complete(arguments, ARGUMENTS, {"idle": (0, 1_000_000)})
    url = need_server(base)
    limit = raise_descriptor_limit()
    if given["idle"] + RESERVE > limit:
        error = f"{given['idle']} idle connections need {given['idle'] + RESERVE} descriptors of {limit}"
        return given | {"stopped_by": "RLIMIT_NOFILE", "error": error}
    with ExitStack() as stack:
        try:
            idle = stack.enter_context(idle_connections(given["idle"]))
        except OSError as error:
            return given | {
                "stopped_by": errno.errorcode.get(error.errno or 0, type(error).__name__),
                "error": str(error),
            }
        return given | crawl_beside(idle, KINDS[given["selector"]], url)


def crawl_beside(idle: list[socket.socket], kind: Any, url: str) -> dict[str, Any]:
    """Crawl with a selector of this kind that watches the idle connections as well."""
    import strategies
    from strategies.base import Job
    from strategies.core.frontier import Frontier

    assert SITE is not None
    strategy = strategies.load("callbacks")
    pages = (f"{url}/", *(f"{url}/p/{n}" for n in range(1, SITE["pages"])))
    job = Job(pages, max_in_flight=IN_FLIGHT)
    frontier = Frontier(job)
    selector = crowded(kind)()
    stopped: dict[str, Any] = {}
    try:
        for sock in idle:
            selector.register(sock, selectors.EVENT_READ)
        selectors.DefaultSelector = lambda: selector  # type: ignore[misc, assignment]
        begin_ns, cpu_begin_ns = time.perf_counter_ns(), time.process_time_ns()
        try:
            strategy.crawl(job, frontier)
        except ValueError as error:
            if selector.largest_fd < FD_SETSIZE or kind is not selectors.SelectSelector:
                raise
            stopped = {"stopped_by": "FD_SETSIZE", "error": str(error)}
        cpu_ns, wall_ns = time.process_time_ns() - cpu_begin_ns, time.perf_counter_ns() - begin_ns
    finally:
        selector.disperse()
    seen = {"largest_fd": selector.largest_fd, "waits": selector.waits}
    return (stopped | seen) if stopped else (seen | figures(frontier, cpu_ns, wall_ns))


def figures(frontier: Any, cpu_ns: int, wall_ns: int) -> dict[str, Any]:
    """Reduce a finished crawl to pages and what they cost."""
    pages = check_pages(frontier.finished, SITE)
    return {
        "pages": pages,
        "wall_ns": wall_ns,
        "cpu_ns": cpu_ns,
        "cpu_per_page_ns": cpu_ns // pages,
        "pages_per_s": pages * 1e9 / wall_ns,
    }


def crowded(kind: Any) -> Any:
    """Return a selector class that is the given one, and keeps what it watches when the crawl closes it."""

    class Crowded(kind):  # type: ignore[misc]
        largest_fd = -1
        waits = 0

        def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
            key: selectors.SelectorKey = super().register(fileobj, events, data)
            self.largest_fd = max(self.largest_fd, key.fd)
            return key

        def select(self, timeout: float | None = None) -> Any:
            self.waits += 1
            return super().select(timeout)

        def close(self) -> None:
            """Stay open: dropping the idle connections is no part of the crawl."""

        def disperse(self) -> None:
            super().close()

    return Crowded


@contextmanager
def idle_connections(count: int) -> Iterator[list[socket.socket]]:
    """Give connected sockets on which nothing ever comes; a child process holds their other ends."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        ours, theirs = socket.socketpair()
        stack.enter_context(ours)
        with theirs:
            stack.callback(end_child, accept_silently(listener, theirs, ours, count))
        idle = []
        for _ in range(count):
            idle.append(stack.enter_context(socket.create_connection(listener.getsockname(), 5)))
            if ours.recv(1) != b"+":  # one at a time: a backlog that runs over costs a second
                raise OSError(errno.ECONNABORTED, "the peer could not accept as many connections")
        yield idle


def accept_silently(listener: socket.socket, tell: socket.socket, not_ours: socket.socket, count: int) -> int:
    """Fork a child that accepts so many connections, says so after each, and holds them; return its process id."""
    pid = os.fork()
    if pid == 0:
        try:
            not_ours.close()  # else we would not see that the other process is gone
            held: list[socket.socket] = []
            while len(held) < count and not select.select([listener, tell], [], [])[0].count(tell):
                held.append(listener.accept()[0])
                tell.send(b"+")
            tell.recv(1)  # returns when the other process is gone
        finally:
            os._exit(0)
    return pid


def end_child(pid: int) -> None:
    """Kill the child and wait for its end."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def raise_descriptor_limit() -> int:
    """Allow this process as many descriptors as it may allow itself; return how many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 10_240), hard))  # macOS grants no "unlimited"
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if soft == resource.RLIM_INFINITY else soft
