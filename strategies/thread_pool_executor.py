"""The executor of the standard library: one thread hands out the fetches and collects the responses."""

import contextlib
import socket
import struct
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
GROUP = "threads"
THREADS_EACH = 1

Open = tuple[socket.socket, ResponseParser]


def crawl(job: Job, frontier: Frontier) -> None:
    """Submit what waits, up to the cap; when a fetch has ended, submit what it found."""
    crawler = Crawler(job, frontier)
    try:
        crawler.run()
    finally:
        crawler.stop()


class Crawler:
    """An executor and what its threads share. The frontier belongs to the thread that submits, so it needs no lock."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        self.waiting = deque(frontier.roots())
        self.executor = ThreadPoolExecutor(job.max_in_flight)
        self.ended: SimpleQueue[tuple[Fetch, Future[Response]]] = SimpleQueue()
        self.thread = threading.local()
        self.lock = threading.Lock()
        self.connections: list[Connection] = []
        self.kept: Kept[Open] = Kept()
        self.aborted = False

    def run(self) -> None:
        while True:
            while self.waiting and self.frontier.in_flight < self.job.max_in_flight:
                self.submit(self.waiting.popleft())
            if self.frontier.done:
                return
            fetch, future = self.ended.get()
            try:
                found = self.frontier.finish(fetch, future.result())
            except (OSError, ProtocolError) as error:
                found = self.frontier.fail(fetch, error)
            self.waiting.extend(found)

    def submit(self, fetch: Fetch) -> None:
        self.frontier.start(fetch)
        future = self.executor.submit(self.fetch, fetch)
        future.add_done_callback(lambda ended: self.ended.put((fetch, ended)))

    def fetch(self, fetch: Fetch) -> Response:
        """Fetch one URL on the connection of this thread. Raises OSError or ProtocolError."""
        connection = self.connection()
        try:
            response = connection.fetch(fetch)
        except BaseException:
            connection.close()
            raise
        consume(self.job)
        return response

    def connection(self) -> "Connection":
        """Return the connection of this thread."""
        if not hasattr(self.thread, "connection"):
            connection = self.thread.connection = Connection(self)
            with self.lock:
                self.connections.append(connection)
        found: Connection = self.thread.connection
        return found

    def stop(self) -> None:
        """End all threads; one that is still blocked in a call is woken by shutting its connection down."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        with self.lock:
            self.aborted = True
            for connection in self.connections:
                connection.abort()
        self.executor.shutdown()
        for connection in self.connections:
            connection.close()
        for sock, _ in self.kept:
            sock.close()


class Connection:
    """One blocking connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("aborted", "crawler", "job", "origin", "parser", "patience_is_whole", "sock")

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.job = crawler.job
        self.sock: socket.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.patience_is_whole = False
        self.aborted = crawler.aborted

    def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        if self.sock is not None and not is_quiet(self.sock):  # it may have been idle for long: threads come in turn
            self.close()
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
        """Put the connection aside, and go on with one to the new origin if one was kept."""
        surplus = None
        with self.crawler.lock:
            if self.sock is not None and self.origin is not None:
                surplus = self.crawler.kept.put(self.origin, (self.sock, self.parser))
            self.origin = origin
            self.sock = None
            if (kept := self.crawler.kept.take(origin)) is not None:
                self.sock, self.parser = kept
                self.patience_is_whole = False
        if surplus is not None:
            surplus[0].close()
        if self.aborted:
            raise ConnectionAbortedError

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
        set_patience(sock, int(seconds_left(fetch) * 1e9))
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
                sock.shutdown(socket.SHUT_RDWR)


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
