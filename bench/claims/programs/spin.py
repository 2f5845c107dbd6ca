"""Show the cost of waiting for late peers by busy polling, compared with a selector.

A program of a claim (``claims.programs`` says how it is run). A peer (a child process) lets each of several sockets
wait. ``waits_for`` is what the wait is for:

- ``answer``: the peer sends, on one socket after the other, until ``wait_ms`` have passed.
- ``connect``: the original form of the claim, a non-blocking connect and then attempts to send in a tight loop. On
  loopback a connection is established at once, so each socket has a listener of its own whose backlog is full: Linux
  then ignores the SYN (tcp_conn_request in net/ipv4/tcp_input.c, when sk_acceptq_is_full). The peer makes room after
  ``wait_ms``, and the connection is established when the kernel repeats its SYN: a second after the first (RFC 6298,
  section 2.1), so the wait is a whole number of seconds. The result says if the backlog accepted the connection anyway.
"""

import errno
import os
import select
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from inflight.bench.claims.programs._shared import child_process, timed

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "how": ("spin", "selector"),
    "waits_for": ("answer", "connect"),
    "sockets": (1, 50),
    "wait_ms": (500,),
}
"""The arguments of the program with their usual values."""
SITE = None
"""No server is needed."""

BACKLOG = 1
"""Backlog of each listener."""
FILLERS = BACKLOG + 1
"""The queue of accepted connections is full when it holds *more* than the backlog (sk_acceptq_is_full, Linux)."""

FOR_EVER_NS = 60_000_000_000
"""Nanoseconds for which the peer keeps connections open: longer than the program runs."""

Attempt = Callable[[socket.socket], bool]
"""Tries what the wait is for on a socket; returns whether it succeeded."""


def measure(base: str, how: str, waits_for: str, sockets: int, wait_ms: int) -> dict[str, Any]:  # noqa: ARG001  (no server is needed)
    """Wait once; return the wall time, the CPU time of this process and the number of attempts.

    ``how`` is a key of WAITS, ``sockets`` the number of peers that are waited for, at most ``wait_ms`` each.
    """
    with ExitStack() as stack:
        if waits_for == "answer":
            socks = stack.enter_context(late_answers(sockets, wait_ms * 1_000_000))
            event, attempt = selectors.EVENT_READ, has_answer
        else:
            socks = stack.enter_context(late_connections(sockets, wait_ms * 1_000_000))
            event, attempt = selectors.EVENT_WRITE, can_send
            if select.select([], socks, [], 0)[1]:
                return {"stopped_by": "backlog", "error": "a full backlog accepted the connection"}
        with timed() as taken:
            attempts = WAITS[how](socks, event, attempt)
    return taken | {"cpu_share": taken["cpu_ns"] / taken["wall_ns"], "attempts": attempts}


def spin(socks: list[socket.socket], event: int, attempt: Attempt) -> int:  # noqa: ARG001  (no selector is used)
    """Try each socket in turn until all have succeeded; return the number of attempts. ``event`` is for selectors."""
    waiting, attempts = list(socks), 0
    while waiting:
        for sock in tuple(waiting):
            attempts += 1
            if attempt(sock):
                waiting.remove(sock)
    return attempts


def by_selector(socks: list[socket.socket], event: int, attempt: Attempt) -> int:
    """Try a socket when the selector reports ``event`` for it; return the number of attempts."""
    attempts = 0
    with selectors.DefaultSelector() as selector:
        for sock in socks:
            selector.register(sock, event)
        while selector.get_map():
            for key, _ in selector.select():
                attempts += 1
                assert isinstance(key.fileobj, socket.socket)
                if attempt(key.fileobj):
                    selector.unregister(key.fileobj)
    return attempts


WAITS = {"spin": spin, "selector": by_selector}
"""How to wait, by the argument ``how``."""


def has_answer(sock: socket.socket) -> bool:
    """Return whether the answer has arrived."""
    try:
        return sock.recv(1) == b"!"
    except BlockingIOError:
        return False


def can_send(sock: socket.socket) -> bool:
    """Return whether the connection is established; before that, send fails."""
    try:
        return sock.send(b"?") == 1
    except OSError as error:
        if error.errno in {errno.EAGAIN, errno.ENOTCONN}:  # on Linux, and on other systems
            return False
        raise


@contextmanager
def late_answers(count: int, wait_ns: int) -> Iterator[list[socket.socket]]:
    """Yield connected sockets, whose peer answers on one after the other, on the last one after ``wait_ns``."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=count))
        near = [stack.enter_context(socket.create_connection(listener.getsockname())) for _ in range(count)]
        far = [stack.enter_context(listener.accept()[0]) for _ in range(count)]
        for sock in near:
            sock.setblocking(False)
        begin_ns = time.monotonic_ns()

        def answer(lifeline: socket.socket) -> None:
            """Answer on one socket after the other, in the child process."""
            for n, sock in enumerate(far, 1):
                sleep_until(begin_ns + wait_ns * n // count, lifeline)
                sock.send(b"!")

        with child_process(answer):
            yield near


@contextmanager
def late_connections(count: int, wait_ns: int) -> Iterator[list[socket.socket]]:
    """Yield sockets that are connecting to listeners with full backlogs, which the peer empties after ``wait_ns``."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
            listener.listen(BACKLOG)
            for _ in range(FILLERS):
                stack.enter_context(socket.create_connection(listener.getsockname(), 1))
        begin_ns = time.monotonic_ns()

        def make_room(lifeline: socket.socket) -> None:
            """Accept the connections that fill the backlogs, in the child process."""
            sleep_until(begin_ns + wait_ns, lifeline)
            taken = [listener.accept() for listener in listeners for _ in range(FILLERS)]
            sleep_until(begin_ns + FOR_EVER_NS, lifeline)  # killed long before; until then the connections stay open
            del taken

        socks = [stack.enter_context(socket.socket()) for _ in range(count)]
        with child_process(make_room):
            for sock, listener in zip(socks, listeners, strict=True):
                sock.setblocking(False)
                sock.connect_ex(listener.getsockname())
            yield socks


def sleep_until(at_ns: int, lifeline: socket.socket) -> None:
    """Sleep until a time of the monotonic clock, which all processes share; end if the parent process is gone."""
    if select.select([lifeline], [], [], max(0, at_ns - time.monotonic_ns()) / 1e9)[0]:
        os._exit(0)
