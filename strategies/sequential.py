"""One blocking fetch after another: no concurrency at all, the baseline for every other model."""

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
    """Fetch one URL after another until nothing waits."""
    waiting = deque(frontier.roots())
    kept: Kept[Open] = Kept()
    connection = TlsConnection(job, kept) if job.is_https else Connection(job, kept)
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

    __slots__ = ("has_full_timeout", "job", "kept", "origin", "parser", "sock")

    def __init__(self, job: Job, kept: Kept[Open]) -> None:
        self.job = job
        self.kept = kept
        self.sock: socket.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.has_full_timeout = False

    def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        if self.sock is not None:
            if not self.has_full_timeout:
                self.set_timeout(self.sock, self.job.timeout_ns)
                self.has_full_timeout = True
            try:
                return self.exchange(self.sock, fetch)
            except (OSError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        self.close()
        return self.exchange(self.connect(fetch), fetch)

    def exchange(self, sock: socket.socket, fetch: Fetch) -> Response:
        request = fetch.request
        try:
            sent = sock.send(request, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        try:
            if sent < len(request):  # rare: the kernel nearly always takes all of it at once
                self.send(sock, fetch, request[sent:])
            while (response := self.parser.feed(sock.recv(CHUNK_BYTES))) is None:
                self.limit_calls(sock, fetch)
        except BlockingIOError as error:  # the kernel's time-out
            raise TimeoutError from error
        if not response.keep_alive or self.job.connection == "per-fetch":
            self.close()
        return response

    def send(self, sock: socket.socket, fetch: Fetch, unsent: bytes) -> None:
        """Send what the kernel did not take at once; then limit the calls that receive the response."""
        self.limit_calls(sock, fetch)
        while unsent := unsent[sock.send(unsent) :]:
            self.limit_calls(sock, fetch)
        self.limit_calls(sock, fetch)

    def limit_calls(self, sock: socket.socket, fetch: Fetch) -> None:
        """Limit the next calls to the time that the fetch has left. Raises TimeoutError if it has none."""
        self.set_timeout(sock, int(seconds_left(fetch) * 1e9))
        self.has_full_timeout = False

    def connect(self, fetch: Fetch) -> socket.socket:
        """Connect to the first address of the host that accepts, within the deadline of the fetch."""
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
        self.limit_calls(sock, fetch)
        return sock

    def change_origin(self, origin: Origin) -> None:
        """Put the connection aside; use a kept one to the new origin if there is one that is still usable."""
        if self.sock is not None and self.origin is not None:
            surplus = self.kept.put(self.origin, (self.sock, self.parser))
            if surplus is not None:
                surplus[0].close()
        self.origin = origin
        self.sock = None
        if (kept := self.kept.take(origin)) is not None:
            self.sock, self.parser = kept
            self.has_full_timeout = False
            if not self.is_usable(self.sock):
                self.close()

    def set_timeout(self, sock: socket.socket, timeout_ns: int) -> None:
        """Limit each blocking call, in the kernel: ``settimeout`` would call poll() before each of them."""
        seconds, rest_ns = divmod(timeout_ns, 1_000_000_000)
        timeval = struct.pack("@ll", seconds, max(1, rest_ns // 1000))  # all zero means no limit
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)

    def is_usable(self, sock: socket.socket) -> bool:
        """Return whether a kept connection is still open and has received nothing since."""
        try:
            sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        return False

    def close(self) -> None:
        sock, self.sock = self.sock, None
        if sock is not None:
            sock.close()


class TlsConnection(Connection):
    """The same over TLS, with an ``SSLSocket``: its calls block like those of a socket, and encrypt and decrypt."""

    __slots__ = ("context",)

    def __init__(self, job: Job, kept: Kept[Open]) -> None:
        super().__init__(job, kept)
        self.context = job.tls_context()

    def connect_to(self, family: socket.AddressFamily, address: Any, fetch: Fetch) -> socket.socket:
        sock = super().connect_to(family, address, fetch)
        assert self.context is not None
        sock.settimeout(seconds_left(fetch))
        secure = self.sock = self.context.wrap_socket(
            sock, server_hostname=fetch.origin.host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
        secure.do_handshake()
        return secure

    def exchange(self, sock: socket.socket, fetch: Fetch) -> Response:
        sock.sendall(fetch.request)
        while (response := self.parser.feed(sock.recv(CHUNK_BYTES))) is None:
            self.limit_calls(sock, fetch)
        if not response.keep_alive or self.job.connection == "per-fetch":
            self.close()
        return response

    def set_timeout(self, sock: socket.socket, timeout_ns: int) -> None:
        """Limit each blocking call by ``settimeout``: an SSLSocket waits again when the kernel's time-out is over."""
        sock.settimeout(timeout_ns / 1e9)

    def is_usable(self, sock: socket.socket) -> bool:
        """Return whether a kept connection is still open. What came may be a session ticket, which is no data."""
        from inflight.strategies.core.tls import SSLWantReadError

        sock.settimeout(0)
        try:
            sock.recv(1)
        except OSError as error:
            return isinstance(error, SSLWantReadError)
        return False


def seconds_left(fetch: Fetch) -> float:
    """Return the seconds until the deadline of the fetch. Raises TimeoutError if it has passed."""
    left = (fetch.deadline_ns - time.perf_counter_ns()) / 1e9
    if left <= 0:
        raise TimeoutError
    return left
