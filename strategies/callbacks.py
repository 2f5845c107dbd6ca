"""One thread, a selector, and a callback for every event: no coroutine, no future, no lock.

``run`` is the whole idea. Every socket is registered together with a function, and the loop calls it when the socket is
ready. All that a fetch must remember between two calls is on its ``Connection``.
"""

import errno
import itertools
import os
import selectors
import socket
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, cast

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

if TYPE_CHECKING:
    from inflight.strategies.core.tls import SSLSocket

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()

Address = tuple[socket.AddressFamily, Any]
Open = tuple[socket.socket, ResponseParser]


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the event loop until nothing waits and nothing is in flight."""
    crawler = Crawler(job, frontier)
    try:
        run(crawler)
    finally:
        crawler.close()


def run(crawler: "Crawler") -> None:
    """Wait for events, and call the function that was registered for each: the event loop."""
    while True:
        crawler.start_fetches()
        if crawler.frontier.done:
            return
        for key, _ in crawler.selector.select(crawler.seconds_to_wait()):
            on_event = key.data
            on_event()
        if time.perf_counter_ns() >= crawler.next_check_ns:
            crawler.fail_late_fetches()


class Connection:
    """One connection and its fetch: the state that a thread would keep on its stack."""

    __slots__ = ("crawler", "fetch", "origin", "parser", "reused", "sock", "unsent", "untried")

    again: type[OSError] | tuple[type[OSError], ...] = BlockingIOError
    """What a call raises that must be tried again after the next event."""

    def __init__(self, crawler: "Crawler") -> None:
        self.crawler = crawler
        self.sock: socket.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.fetch: Fetch | None = None
        self.unsent = b""
        self.untried: list[Address] = []
        self.reused = False

    # A fetch on an open connection: begin, on_readable, on_response

    def begin(self, fetch: Fetch) -> None:
        """Start a fetch on the open connection, or on a new one."""
        crawler = self.crawler
        crawler.frontier.start(fetch)
        crawler.deadlines[self] = fetch.deadline_ns
        self.fetch = fetch
        self.unsent = fetch.request
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        self.reused = self.sock is not None
        try:
            if self.reused:
                self.send()
            else:
                self.connect(fetch)
        except OSError as error:
            self.on_error(error)

    def send(self) -> None:
        """Send the rest of the request; the kernel nearly always takes all of it at once."""
        assert self.sock is not None
        try:
            sent = self.sock.send(self.unsent)
        except self.again:
            sent = 0
        self.unsent = self.unsent[sent:]
        if self.unsent:
            self.crawler.selector.modify(self.sock, selectors.EVENT_WRITE, self.on_writable)

    def on_writable(self) -> None:
        assert self.sock is not None
        try:
            self.send()
        except OSError as error:
            self.on_error(error)
        else:
            if not self.unsent:
                self.crawler.selector.modify(self.sock, selectors.EVENT_READ, self.on_readable)

    def on_readable(self) -> None:
        assert self.sock is not None
        if self.fetch is None:  # idle: the server closed the connection, or sent something unasked
            self.close()
            return
        try:
            response = self.parser.feed(self.sock.recv(CHUNK_BYTES))
        except self.again:
            return
        except (OSError, ProtocolError) as error:
            self.on_error(error)
            return
        if response is not None:
            self.on_response(self.fetch, response)

    def on_response(self, fetch: Fetch, response: Response) -> None:
        """Finish the fetch; start the next one if one waits."""
        crawler = self.crawler
        if not response.keep_alive or crawler.job.connection == "per-fetch":
            self.close()
        self.fetch = None
        del crawler.deadlines[self]
        waiting = crawler.waiting
        consume(crawler.job)
        waiting.extend(crawler.frontier.finish(fetch, response))
        if waiting:
            self.begin(waiting.popleft())
        else:
            crawler.idle.append(self)

    def on_error(self, error: OSError | ProtocolError) -> None:
        """Send the request again if only the kept connection was stale; else fail the fetch, and become idle."""
        crawler, fetch = self.crawler, self.fetch
        assert fetch is not None
        if self.reused and is_stale(error, self.parser):
            self.reused = False
            self.unsent = fetch.request
            try:
                self.connect(fetch)
            except OSError as second:
                error = second
            else:
                return
        self.close()
        self.fetch = None
        del crawler.deadlines[self]
        crawler.waiting.extend(crawler.frontier.fail(fetch, error))
        crawler.idle.append(self)

    # Open, put aside and close connections

    def connect(self, fetch: Fetch) -> None:
        """Connect to the first address of the host that accepts, and send the request."""
        self.close()
        job = self.crawler.job
        self.parser = ResponseParser(job.max_header_bytes, job.max_body_bytes)
        self.untried = list(self.crawler.look_up(fetch.origin))
        self.connect_to_next()

    def connect_to_next(self) -> None:
        family, address = self.untried.pop(0)
        try:
            sock = self.sock = socket.socket(family, socket.SOCK_STREAM)
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = sock.connect_ex(address)
            if code not in {0, errno.EINPROGRESS}:
                raise OSError(code, os.strerror(code))
        except OSError as error:  # at once: no route, no such family
            self.on_unconnected(error)
        else:
            self.crawler.selector.register(sock, selectors.EVENT_WRITE, self.on_connected)

    def on_connected(self) -> None:
        """Send the request, unless the attempt to connect failed."""
        assert self.sock is not None
        try:
            code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code == 0:
                self.crawler.selector.modify(self.sock, selectors.EVENT_READ, self.on_readable)
                self.send()
            else:
                self.on_unconnected(OSError(code, os.strerror(code)))
        except OSError as error:
            self.on_error(error)

    def on_unconnected(self, error: OSError) -> None:
        """Try the next address of the host. Raises ``error`` when there is none."""
        if not self.untried:
            raise error
        self.close()
        self.connect_to_next()

    def change_origin(self, origin: Origin) -> None:
        """Put the connection aside; use a kept one to the new origin if there is one that is still usable."""
        crawler = self.crawler
        if self.sock is not None and self.origin is not None:
            crawler.stop_watching(self.sock)
            surplus = crawler.kept.put(self.origin, (self.sock, self.parser))
            if surplus is not None:
                surplus[0].close()
        self.origin = origin
        self.sock = None
        if (kept := crawler.kept.take(origin)) is not None:
            self.sock, self.parser = kept
            crawler.selector.register(self.sock, selectors.EVENT_READ, self.on_readable)
            if not self.is_usable(self.sock):
                self.close()

    def is_usable(self, sock: socket.socket) -> bool:
        """Return whether a kept connection is still open and has received nothing since."""
        try:
            sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        return False

    def close(self) -> None:
        if self.sock is not None:
            self.crawler.stop_watching(self.sock)
            self.sock.close()
            self.sock = None


class TlsConnection(Connection):
    """The same over TLS, with an ``SSLSocket`` that does not block: each call may have to be tried again.

    The bytes that the selector sees are encrypted. They may be no data yet, and one call returns at most one record.
    """

    __slots__ = ("again",)

    def __init__(self, crawler: "Crawler") -> None:
        from inflight.strategies.core.tls import SSLWantReadError, SSLWantWriteError

        super().__init__(crawler)
        self.again = (SSLWantReadError, SSLWantWriteError)

    def on_connected(self) -> None:
        """Shake hands, unless the attempt to connect failed."""
        crawler, fetch = self.crawler, self.fetch
        assert self.sock is not None
        assert crawler.context is not None
        assert fetch is not None
        try:
            code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self.on_unconnected(OSError(code, os.strerror(code)))
                return
            crawler.stop_watching(self.sock)
            self.sock = crawler.context.wrap_socket(
                self.sock, server_hostname=fetch.origin.host, do_handshake_on_connect=False, suppress_ragged_eofs=False
            )
        except OSError as error:
            self.on_error(error)
        else:
            crawler.selector.register(self.sock, selectors.EVENT_READ, self.shake_hands)
            self.shake_hands()

    def shake_hands(self) -> None:
        """Go on with the handshake as far as what came allows; then send the request."""
        sock = cast("SSLSocket", self.sock)
        try:
            sock.do_handshake()
            self.crawler.selector.modify(sock, selectors.EVENT_READ, self.on_readable)
            self.send()
        except self.again:
            return
        except OSError as error:
            self.on_error(error)

    def on_readable(self) -> None:
        """Read until the response is whole, or no more data has come: the selector does not see what is decrypted."""
        assert self.sock is not None
        if self.fetch is None:
            if not self.is_usable(self.sock):
                self.close()
            return
        response = None
        try:
            while response is None:
                response = self.parser.feed(self.sock.recv(CHUNK_BYTES))
        except self.again:
            return
        except (OSError, ProtocolError) as error:
            self.on_error(error)
            return
        self.on_response(self.fetch, response)

    def is_usable(self, sock: socket.socket) -> bool:
        """Return whether a kept connection is still open. What came may be a session ticket, which is no data."""
        try:
            sock.recv(1)
        except OSError as error:
            return isinstance(error, self.again)
        return False


class Crawler:
    """What the loop and the connections share."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        self.waiting = deque(frontier.roots())
        self.selector = selectors.DefaultSelector()
        self.connections: list[Connection] = []
        self.idle: list[Connection] = []
        self.kept: Kept[Open] = Kept()
        self.deadlines: dict[Connection, int] = {}  # the first is the earliest: all fetches get the same time
        self.next_check_ns = 0  # no deadline passes before this time
        self.addresses: dict[Origin, list[Address]] = {}
        self.context = job.tls_context()

    def start_fetches(self) -> None:
        """Start what waits, on idle connections and on new ones up to the cap."""
        while self.waiting:
            if self.idle:
                connection = self.idle.pop()
            elif len(self.connections) < self.job.max_in_flight:
                connection = Connection(self) if self.context is None else TlsConnection(self)
                self.connections.append(connection)
            else:
                return
            connection.begin(self.waiting.popleft())

    def seconds_to_wait(self) -> float | None:
        """Return how long the selector may wait: until deadlines must be checked."""
        return max(0, self.next_check_ns - time.perf_counter_ns()) / 1e9 if self.deadlines else None

    def fail_late_fetches(self) -> None:
        """Fail the fetches whose time is up.

        This is not done in every turn: finding the first key of a dict takes time when many before it were deleted.
        """
        now = time.perf_counter_ns()
        late = list(itertools.takewhile(lambda connection: self.deadlines[connection] <= now, self.deadlines))
        for connection in late:
            connection.on_error(TimeoutError())
        self.next_check_ns = next(iter(self.deadlines.values()), 0)
        if self.frontier.timer is not None:
            self.next_check_ns = min(self.next_check_ns, self.frontier.timer.fire(now))

    def look_up(self, origin: Origin) -> list[Address]:
        """Look up the addresses of a host, once. This blocks the loop, because getaddrinfo has no other form."""
        if origin not in self.addresses:
            found = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
            self.addresses[origin] = [(family, address) for family, _, _, _, address in found]
        return self.addresses[origin]

    def stop_watching(self, sock: socket.socket) -> None:
        """Unregister a socket if it is registered: not if its connect failed at once, nor if it is closed."""
        if sock.fileno() >= 0 and sock in self.selector.get_map():
            self.selector.unregister(sock)

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
        for sock, _ in self.kept:
            sock.close()
        self.selector.close()
