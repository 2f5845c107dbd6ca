"""One blocking fetch after another: no concurrency at all, the baseline that every other model must beat."""

import socket
import struct
import time
from collections import deque
from typing import Any, Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
MOST_IN_FLIGHT = 1

Open = tuple[socket.socket, ResponseParser]


def crawl(job: Job, frontier: Frontier) -> None:
    """Fetch what waits, one after another, until nothing waits."""
    waiting = deque(frontier.roots())
    kept: Kept[Open] = Kept()
    connection = Connection(job, kept)
    try:
        while waiting:
            fetch = waiting.popleft()
            frontier.start(fetch)
            try:
                response = connection.fetch(fetch)
            except (OSError, ProtocolError) as error:
                connection.close()
                waiting.extend(frontier.fail(fetch, error))
            else:
                consume(job)
                waiting.extend(frontier.finish(fetch, response))
    finally:
        connection.close()
        for sock, _ in kept:
            sock.close()


class Connection:
    """One blocking connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("job", "kept", "origin", "parser", "patience_is_whole", "sock")

    def __init__(self, job: Job, kept: Kept[Open]) -> None:
        self.job = job
        self.kept = kept
        self.sock: socket.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.patience_is_whole = False

    def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        if self.sock is not None:
            if not self.patience_is_whole:
                set_patience(self.sock, self.job.timeout_ns)
                self.patience_is_whole = True
            try:
                return self.exchange(self.sock, fetch)
            except (ConnectionError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        self.close()
        return self.exchange(self.connect(fetch), fetch)

    def change_origin(self, origin: Origin) -> None:
        """Put the connection aside, and go on with one to the new origin if one was kept and is still good."""
        if self.sock is not None and self.origin is not None:
            surplus = self.kept.put(self.origin, (self.sock, self.parser))
            if surplus is not None:
                surplus[0].close()
        self.origin = origin
        self.sock = None
        if (kept := self.kept.take(origin)) is not None:
            self.sock, self.parser = kept
            self.patience_is_whole = False
            if not is_quiet(self.sock):
                self.close()

    def connect(self, fetch: Fetch) -> socket.socket:
        """Connect to the first address of the host that lets us, while the fetch has time."""
        origin = fetch.origin
        self.parser = ResponseParser(self.job.max_header_bytes, self.job.max_body_bytes)
        *others, last = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        for family, _, _, _, address in others:
            try:
                return self.connect_to(family, address, fetch)
            except OSError:
                self.close()
        family, _, _, _, address = last
        return self.connect_to(family, address, fetch)

    def connect_to(self, family: socket.AddressFamily, address: Any, fetch: Fetch) -> socket.socket:
        sock = self.sock = socket.socket(family, socket.SOCK_STREAM)
        sock.settimeout(seconds_left(fetch))
        sock.connect(address)
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.hurry(sock, fetch)
        return sock

    def exchange(self, sock: socket.socket, fetch: Fetch) -> Response:
        request = fetch.request
        try:
            sent = sock.send(request, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        try:
            if sent < len(request):  # nearly always all of it goes out at once, and takes no time
                self.send(sock, fetch, request[sent:])
            while (response := self.parser.feed(sock.recv(CHUNK_BYTES))) is None:
                self.hurry(sock, fetch)
        except BlockingIOError as error:  # what the kernel's time-out looks like
            raise TimeoutError from error
        if not response.keep_alive or self.job.connection == "per-fetch":
            self.close()
        return response

    def send(self, sock: socket.socket, fetch: Fetch, unsent: bytes) -> None:
        """Send what the kernel does not take at once; leave the connection what is left of the fetch's time."""
        self.hurry(sock, fetch)
        while unsent := unsent[sock.send(unsent) :]:
            self.hurry(sock, fetch)
        self.hurry(sock, fetch)

    def hurry(self, sock: socket.socket, fetch: Fetch) -> None:
        """Bound the calls to come by what is left of the fetch's time. Raises TimeoutError when nothing is."""
        set_patience(sock, int(seconds_left(fetch) * 1e9))
        self.patience_is_whole = False

    def close(self) -> None:
        sock, self.sock = self.sock, None
        if sock is not None:
            sock.close()


def set_patience(sock: socket.socket, timeout_ns: int) -> None:
    """Bound each blocking call. In the kernel, because ``settimeout`` would put a poll() before each of them."""
    seconds, rest_ns = divmod(timeout_ns, 1_000_000_000)
    timeval = struct.pack("@ll", seconds, max(1, rest_ns // 1000))  # all zero would mean: for ever
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)


def seconds_left(fetch: Fetch) -> float:
    """Return the seconds until the deadline of the fetch. Raises TimeoutError when it is past."""
    left = (fetch.deadline_ns - time.perf_counter_ns()) / 1e9
    if left <= 0:
        raise TimeoutError
    return left


def is_quiet(sock: socket.socket) -> bool:
    """Say whether a connection is as it was left: open, and with no bytes that nobody asked for."""
    try:
        sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False
