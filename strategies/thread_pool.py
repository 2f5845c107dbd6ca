"""A pool of threads, each fetching with blocking calls: the operating system does the switching."""

import contextlib
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
THREADS_EACH = 1

Open = tuple[socket.socket, ResponseParser]


def crawl(job: Job, frontier: Frontier) -> None:
    """Start a thread for each fetch that waits, and more when there is more to do, up to the cap; wait for all."""
    pool = Pool(job, frontier)
    try:
        pool.wait()
    finally:
        pool.stop()
    if pool.bug is not None:
        raise pool.bug


class Pool:
    """Worker threads around one frontier. ``changed`` guards everything here, and the frontier with it."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        lock = threading.Lock()
        self.changed = threading.Condition(lock)  # for workers: something waits, or the crawl is over
        self.over = threading.Condition(lock)  # for crawl(), which must not be woken in a worker's place
        self.waiting = deque(frontier.roots())
        self.idle = 0
        self.threads: list[threading.Thread] = []
        self.connections: list[Connection] = []
        self.kept: Kept[Open] = Kept()
        self.stopped = False
        self.bug: BaseException | None = None

    def wait(self) -> None:
        """Block until nothing waits and nothing is in flight, or a worker hit a bug."""
        with self.changed:
            for _ in range(min(len(self.waiting), self.job.max_in_flight)):
                self.add_worker()
            while not (self.frontier.done or self.stopped):
                self.over.wait()

    def stop(self) -> None:
        """Send every worker home; one that is still blocked in a call is woken by taking its connection away."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
            for connection in self.connections:
                connection.abort()
        for thread in self.threads:
            thread.join()
        for sock, _ in self.kept:
            sock.close()

    def add_worker(self) -> None:
        """Start one more worker thread. Needs the lock."""
        connection = Connection(self)
        thread = threading.Thread(target=self.work, args=(connection,))
        thread.start()
        self.threads.append(thread)
        self.connections.append(connection)

    def work(self, connection: "Connection") -> None:
        """Fetch what waits until the crawl is over: the life of one worker thread."""
        try:
            with self.changed:
                fetch = self.next(connection)
            while fetch is not None:
                try:
                    response = connection.fetch(fetch)
                except (OSError, ProtocolError) as error:
                    connection.close()
                    with self.changed:
                        self.put(self.frontier.fail(fetch, error))
                        fetch = self.next(connection)
                else:
                    consume(self.job)
                    with self.changed:
                        self.put(self.frontier.finish(fetch, response))
                        fetch = self.next(connection)
        except BaseException as bug:  # noqa: BLE001  (raised again in the thread that called crawl)
            with self.changed:
                self.bug = bug
                self.stopped = True
                self.over.notify()
        finally:
            connection.close()

    def put(self, found: Sequence[Fetch]) -> None:
        """Add to what waits, and wake as many idle workers; one of it is for the caller. Needs the lock."""
        self.waiting.extend(found)
        if self.idle and len(found) > 1:
            self.changed.notify(len(found) - 1)

    def next(self, connection: "Connection") -> Fetch | None:
        """Take a fetch and start it; wait for one if need be; None when the crawl is over. Needs the lock."""
        while not self.waiting:
            if self.stopped or self.frontier.done:
                self.over.notify()
                return None
            self.idle += 1
            connection.was_idle = True
            self.changed.wait()
            self.idle -= 1
        if self.stopped:
            return None
        fetch = self.waiting.popleft()
        self.frontier.start(fetch)
        if len(self.waiting) > self.idle and len(self.threads) < self.job.max_in_flight:
            self.add_worker()
        return fetch


class Connection:
    """One blocking connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("aborted", "job", "origin", "parser", "patience_is_whole", "pool", "sock", "was_idle")

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.job = pool.job
        self.sock: socket.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.patience_is_whole = False
        self.was_idle = False
        self.aborted = False

    def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        if self.was_idle:
            self.was_idle = False
            if self.sock is not None and not is_quiet(self.sock):
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
        with self.pool.changed:
            if self.sock is not None and self.origin is not None:
                surplus = self.pool.kept.put(self.origin, (self.sock, self.parser))
            self.origin = origin
            self.sock = None
            if (kept := self.pool.kept.take(origin)) is not None:
                self.sock, self.parser = kept
                self.patience_is_whole = False
                self.was_idle = True
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
