"""A new thread for each fetch, which ends with it: no pool, and no queue for threads to wait at."""

import contextlib
import socket
import struct
import threading
import time
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

if TYPE_CHECKING:
    from inflight.strategies.core.tls import SSLContext

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
GROUP = "threads"
THREADS_EACH = 1

Open = tuple[socket.socket, ResponseParser]
BEGIN_S = 5.0
"""How long a thread that was started may take to begin."""


def crawl(job: Job, frontier: Frontier) -> None:
    """Start a thread for each fetch that waits, up to the cap; when one has ended, start threads for what it found."""
    crawler = Crawler(job, frontier)
    try:
        crawler.run()
    finally:
        crawler.stop()


class Crawler:
    """The thread that starts all others and joins them. The frontier belongs to it alone, so it needs no lock."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        self.waiting = deque(frontier.roots())
        self.ended: SimpleQueue[FetchThread] = SimpleQueue()
        self.running: set[FetchThread] = set()
        self.connections: list[Connection] = []
        self.idle: list[Connection] = []
        self.kept: Kept[Open] = Kept()
        self.context = job.tls_context()

    def run(self) -> None:
        while True:
            while self.waiting and self.frontier.in_flight < self.job.max_in_flight:
                self.start(self.waiting.popleft())
            if self.frontier.done:
                return
            self.end(self.ended.get())

    def start(self, fetch: Fetch) -> None:
        """Start a fetch in a thread of its own, with a connection that no other thread uses."""
        self.frontier.start(fetch)
        if not self.idle:
            self.connections.append(
                Connection(self.job) if self.context is None else TlsConnection(self.job, self.context)
            )
            self.idle.append(self.connections[-1])
        connection = self.idle.pop()
        if connection.origin is not fetch.origin:
            connection.change_origin(fetch.origin, self.kept)
        thread = FetchThread(self, connection, fetch)
        self.running.add(thread)
        thread.start()

    def end(self, thread: "FetchThread") -> None:
        """Join a thread that has ended, and record what it found. Raises its bug."""
        thread.join()
        self.running.remove(thread)
        self.idle.append(thread.connection)
        if isinstance(thread.result, Response):
            found = self.frontier.finish(thread.fetch, thread.result)
        elif isinstance(thread.result, OSError | ProtocolError):
            found = self.frontier.fail(thread.fetch, thread.result)
        else:
            raise thread.result
        self.waiting.extend(found)

    def stop(self) -> None:
        """End all threads; one that is still blocked in a call is woken by shutting its connection down."""
        for thread in self.running:
            thread.connection.abort()
        for thread in self.running:
            if has_begun(thread):
                thread.join()
        for connection in self.connections:
            connection.close()
        for sock, _ in self.kept:
            sock.close()


def has_begun(thread: threading.Thread) -> bool:
    """Say whether a thread runs or has run; wait for one whose start was interrupted, as by Ctrl-C."""
    give_up_s = time.monotonic() + BEGIN_S
    while thread.ident is None and time.monotonic() < give_up_s:
        time.sleep(0.001)
    return thread.ident is not None


class FetchThread(threading.Thread):
    """One fetch and its thread."""

    def __init__(self, crawler: Crawler, connection: "Connection", fetch: Fetch) -> None:
        super().__init__()
        self.crawler = crawler
        self.connection = connection
        self.fetch = fetch
        self.result: Response | BaseException

    def run(self) -> None:
        try:
            self.result = self.connection.fetch(self.fetch)
            consume(self.crawler.job)
        except BaseException as error:  # noqa: BLE001  (a failure or a bug: the thread that joins this one sees which)
            self.connection.close()
            self.result = error
        self.crawler.ended.put(self)


class Connection:
    """One blocking connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("aborted", "job", "origin", "parser", "patience_is_whole", "sock")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.sock: socket.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.patience_is_whole = False
        self.aborted = False

    def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.sock is not None and not self.is_quiet(self.sock):  # it may have been idle for long
            self.close()
        if self.sock is not None:
            if not self.patience_is_whole:
                self.set_patience(self.sock, self.job.timeout_ns)
                self.patience_is_whole = True
            try:
                return self.exchange(self.sock, fetch)
            except (OSError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        self.close()
        return self.exchange(self.connect(fetch), fetch)

    def change_origin(self, origin: Origin, others: Kept[Open]) -> None:
        """Put the connection aside, and go on with one to the new origin if one was kept. No fetch uses it now."""
        if self.sock is not None and self.origin is not None:
            surplus = others.put(self.origin, (self.sock, self.parser))
            if surplus is not None:
                surplus[0].close()
        self.origin = origin
        self.sock = None
        if (kept := others.take(origin)) is not None:
            self.sock, self.parser = kept
            self.patience_is_whole = False

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
        if self.aborted:  # between our look at the deadline and the connection: nobody else will wake us
            raise ConnectionAbortedError
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
        self.set_patience(sock, int(seconds_left(fetch) * 1e9))
        self.patience_is_whole = False

    def close(self) -> None:
        sock, self.sock = self.sock, None
        if sock is not None:
            sock.close()

    def abort(self) -> None:
        """Make a call that another thread is blocked in on this connection return at once, and the next ones fail."""
        self.aborted = True
        sock = self.sock
        if sock is not None:
            with contextlib.suppress(OSError):  # closed meanwhile by its owner
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # SSLSocket's own would drop what its thread is using

    def set_patience(self, sock: socket.socket, timeout_ns: int) -> None:
        """Bound each blocking call. In the kernel, because ``settimeout`` would put a poll() before each of them."""
        seconds, rest_ns = divmod(timeout_ns, 1_000_000_000)
        timeval = struct.pack("@ll", seconds, max(1, rest_ns // 1000))  # all zero would mean: for ever
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)

    def is_quiet(self, sock: socket.socket) -> bool:
        """Say whether a connection is as it was left: open, and with no bytes that nobody asked for."""
        try:
            sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        return False


class TlsConnection(Connection):
    """The same over TLS, with an ``SSLSocket``: its calls block like those of a socket, and encrypt and decrypt."""

    __slots__ = ("again", "context")

    def __init__(self, job: Job, context: "SSLContext") -> None:
        from inflight.strategies.core.tls import SSLWantReadError

        super().__init__(job)
        self.context = context
        self.again = SSLWantReadError

    def connect_to(self, family: socket.AddressFamily, address: Any, fetch: Fetch) -> socket.socket:
        sock = super().connect_to(family, address, fetch)
        sock.settimeout(seconds_left(fetch))
        secure = self.sock = self.context.wrap_socket(
            sock, server_hostname=fetch.origin.host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
        if self.aborted:  # abort() did not see the new socket
            raise ConnectionAbortedError
        secure.do_handshake()
        return secure

    def exchange(self, sock: socket.socket, fetch: Fetch) -> Response:
        sock.sendall(fetch.request)
        while (response := self.parser.feed(sock.recv(CHUNK_BYTES))) is None:
            self.hurry(sock, fetch)
        if not response.keep_alive or self.job.connection == "per-fetch":
            self.close()
        return response

    def set_patience(self, sock: socket.socket, timeout_ns: int) -> None:
        """Bound each blocking call by ``settimeout``: an SSLSocket waits again when the kernel's time-out is over."""
        sock.settimeout(timeout_ns / 1e9)

    def is_quiet(self, sock: socket.socket) -> bool:
        """Say whether a connection is still open. What came may be a session ticket, which is no data."""
        self.patience_is_whole = False
        sock.settimeout(0)
        try:
            sock.recv(1)
        except OSError as error:
            return isinstance(error, self.again)
        return False


def seconds_left(fetch: Fetch) -> float:
    """Return the seconds until the deadline of the fetch. Raises TimeoutError when it is past."""
    left = (fetch.deadline_ns - time.perf_counter_ns()) / 1e9
    if left <= 0:
        raise TimeoutError
    return left
