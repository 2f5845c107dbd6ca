"""A loop around epoll that reads and counts bytes: no model, no parser, a fixed walk through an endless site."""

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError
from inflight.strategies.core.page import Fetch, Origin

STACK: Literal["shared", "own", "none"] = "none"
REQUIRES: tuple[str, ...] = ()
GROUP = "parts"
NO_TLS = "it measures a part of a page, without encryption"
SYSTEM = "linux"

ENDLESS_ONLY = "null_client and core_client fetch endless sites only, as in [[throughput]], on kept connections"
Conversation = Generator[bytes, bytes, None]
"""The use of one connection: it yields what to send and is sent what was received; an empty piece asks for more."""


def crawl(job: Job, frontier: Frontier) -> None:
    """Fetch the roots, which are one lap of an endless site, and the same pages of each next lap, until it has no more.

    Only the first answer of each page is parsed, for its length. There are no deadlines and no second tries.
    """
    roots = frontier.roots()
    origin, lap = roots[0].origin, len(roots)
    numbers = [fetch.url.rpartition("/p/")[2] for fetch in roots]
    if not all(map(str.isdecimal, numbers)):
        raise ValueError(ENDLESS_ONLY)
    waiting = deque(map(int, numbers))
    tail = origin.tail.encode("ascii")
    lengths: dict[int, tuple[int, int]] = {}
    done: list[tuple[int, int, int]] = []

    def converse() -> Conversation:
        began_ns = time.perf_counter_ns()
        while waiting:
            page = waiting.popleft()
            data = yield b"GET /p/%d%b" % (page, tail)
            missing = (lengths.get(page % lap) or lengths.setdefault(page % lap, lengths_of(data)))[0] - len(data)
            while missing > 0:
                missing -= len((yield b""))
            if missing:
                raise ProtocolError(f"page {page} is longer than the same page of an earlier lap")
            if b'<a href="' in data:  # not so on the pages with which an endless site ends
                waiting.append(page + lap)
            ended_ns = time.perf_counter_ns()
            done.append((page, began_ns, ended_ns))
            began_ns = ended_ns

    drive(job, origin, converse)
    frontier.peak_in_flight = min(lap, job.max_in_flight)
    for page, began_ns, ended_ns in done:
        fetch = Fetch(f"{origin.prefix}/p/{page}", origin, 0, began_ns)
        fetch.started_ns, fetch.finished_ns, fetch.tries = began_ns, ended_ns, 1
        fetch.status, fetch.size = 200, lengths[page % lap][1]
        frontier.finished.append(fetch)


def lengths_of(data: bytes) -> tuple[int, int]:
    """Return the length of the answer that begins with these bytes, and that of its body. Raises ProtocolError."""
    head, end, _ = data.partition(b"\r\n\r\n")
    _, field, length = head.partition(b"\r\nContent-Length: ")
    if not (head.startswith(b"HTTP/1.1 200 ") and end and field):
        raise ProtocolError(f"{ENDLESS_ONLY}, not {data[:60]!r}")
    body = int(length.split(b"\r\n")[0])
    return len(head) + len(end) + body, body


def drive(job: Job, origin: Origin, converse: Callable[[], Conversation]) -> None:
    """Hold as many conversations as the job allows, each on a connection of its own, until all have ended."""
    if job.connection != "keep-alive":
        raise ValueError(ENDLESS_ONLY)
    with select.epoll() as epoll, ExitStack() as stack:
        talking = {}
        for _ in range(job.max_in_flight):
            conversation = converse()
            request = next(conversation, None)
            if request is None:
                break
            sock = stack.enter_context(socket.create_connection((origin.host, origin.port)))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(request)
            epoll.register(sock, select.EPOLLIN)
            talking[sock.fileno()] = sock.recv, sock.send, conversation.send
        while talking:
            for fd, _ in epoll.poll():
                receive, send, go_on = talking[fd]
                data = receive(CHUNK_BYTES)
                if not data:
                    raise ConnectionResetError("the server closed a connection")
                try:
                    request = go_on(data)
                except StopIteration:
                    epoll.unregister(fd)
                    del talking[fd]
                else:
                    if request:
                        send(request)
