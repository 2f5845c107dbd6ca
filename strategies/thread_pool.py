"""A pool of threads, each fetching with blocking calls: the operating system switches between them."""

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
    """Start threads for what waits, up to the cap, and wait until the crawl is over."""
    pool = Pool(job, frontier)
    try:
        pool.run()
    finally:
        pool.stop()
    if pool.bug is not None:
        raise pool.bug


def work(pool: "Pool", connection: "Connection") -> None:
    """Fetch one URL after another until the crawl is over: what each thread runs."""
    try:
        with pool.lock:
            fetch = pool.next_fetch(connection)
        while fetch is not None:
            try:
                response = connection.fetch(fetch)
            except (OSError, ProtocolError) as error:
                connection.close()
                with pool.lock:
                    pool.put(pool.frontier.fail(fetch, error))
                    fetch = pool.next_fetch(connection)
            else:
                consume(pool.job)
                with pool.lock:
                    pool.put(pool.frontier.finish(fetch, response))
                    fetch = pool.next_fetch(connection)
    except BaseException as bug:  # noqa: BLE001  (raised again in the thread that called crawl)
        pool.fail(bug)
    finally:
        connection.close()


class Pool:
    """Worker threads around one frontier. ``lock`` guards everything here, and the frontier too."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)  # workers wait for it: there is a fetch, or the crawl is over
        self.over = threading.Condition(self.lock)  # crawl() waits for it; the other would wake it instead of a worker
        self.waiting = deque(frontier.roots())
        self.idle = 0
        self.threads: list[threading.Thread] = []
        self.connections: list[Connection] = []
        self.kept: Kept[Open] = Kept()
        self.stopped = False
        self.bug: BaseException | None = None
        self.context = job.tls_context()

    def run(self) -> None:
        """Block until nothing waits and nothing is in flight, or a worker hit a bug."""
        with self.lock:
            for _ in range(min(len(self.waiting), self.job.max_in_flight)):
                self.add_worker()
            while not (self.frontier.done or self.stopped):
                self.over.wait()

    def next_fetch(self, connection: "Connection") -> Fetch | None:
        """Take a fetch and start it; wait until there is one; None when the crawl is over. Needs the lock."""
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

    def put(self, found: Sequence[Fetch]) -> None:
        """Add fetches, and wake an idle worker for each but one, which the caller takes. Needs the lock."""
        self.waiting.extend(found)
        if self.idle and len(found) > 1:
            self.changed.notify(len(found) - 1)

    def add_worker(self) -> None:
        """Start one more thread. Needs the lock."""
        connection = Connection(self) if self.context is None else TlsConnection(self)
        thread = threading.Thread(target=work, args=(self, connection))
        thread.start()
        self.threads.append(thread)
        self.connections.append(connection)

    def fail(self, bug: BaseException) -> None:
        """End the crawl because of a bug in a worker."""
        with self.lock:
            self.bug = bug
            self.stopped = True
            self.over.notify()

    def stop(self) -> None:
        """End all threads; those that are blocked in a call are woken by shutting their connections down."""
        with self.lock:
            self.stopped = True
            self.changed.notify_all()
            for connection in self.connections:
                connection.abort()
        for thread in self.threads:
            thread.join()
        for sock, _ in self.kept:
            sock.close()


class Connection:
    """One blocking connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("aborted", "has_full_timeout", "job", "origin", "parser", "pool", "sock", "was_idle")

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.job = pool.job
        self.sock: socket.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.has_full_timeout = False
        self.was_idle = False
        self.aborted = False

    def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        if self.was_idle:
            self.was_idle = False
            if self.sock is not None and not self.is_usable(self.sock):
                self.close()
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
        if self.aborted:  # abort() came too early to end the connect
            raise ConnectionAbortedError
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.limit_calls(sock, fetch)
        return sock

    def change_origin(self, origin: Origin) -> None:
        """Put the connection aside; use a kept one to the new origin if there is one."""
        surplus = None
        with self.pool.lock:
            if self.sock is not None and self.origin is not None:
                surplus = self.pool.kept.put(self.origin, (self.sock, self.parser))
            self.origin = origin
            self.sock = None
            if (kept := self.pool.kept.take(origin)) is not None:
                self.sock, self.parser = kept
                self.has_full_timeout = False
                self.was_idle = True
        if surplus is not None:
            surplus[0].close()
        if self.aborted:
            raise ConnectionAbortedError

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

    def abort(self) -> None:
        """End a call in which another thread is blocked on this connection, and let the next ones fail."""
        self.aborted = True
        sock = self.sock
        if sock is not None:
            with contextlib.suppress(OSError):  # its thread has just closed it
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # SSLSocket's own would drop what its thread is using

    def close(self) -> None:
        sock, self.sock = self.sock, None
        if sock is not None:
            sock.close()


class TlsConnection(Connection):
    """The same over TLS, with an ``SSLSocket``: its calls block like those of a socket, and encrypt and decrypt."""

    __slots__ = ()

    def connect_to(self, family: socket.AddressFamily, address: Any, fetch: Fetch) -> socket.socket:
        sock = super().connect_to(family, address, fetch)
        assert self.pool.context is not None
        sock.settimeout(seconds_left(fetch))
        secure = self.sock = self.pool.context.wrap_socket(
            sock, server_hostname=fetch.origin.host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
        if self.aborted:  # abort() may have shut down the socket that is now part of this one, or come before
            raise ConnectionAbortedError
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

        self.has_full_timeout = False
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
