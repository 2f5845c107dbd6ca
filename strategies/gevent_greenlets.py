"""Greenlets of gevent: code that reads as if it blocked, and a hub that switches at each call that would wait.

Nothing is patched: the sockets are gevent's own. The hub, its loop and the threads of its name look-ups end with the
crawl.
"""

import socket
from typing import Any, Literal

import gevent
from gevent import socket as cooperative
from gevent.event import AsyncResult
from gevent.queue import SimpleQueue

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ("gevent",)
GROUP = "one thread"

Address = tuple[socket.AddressFamily, Any]
Open = tuple[cooperative.socket, ResponseParser]


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl in a hub of its own."""
    hub = gevent.get_hub()
    hub.NOT_ERROR = (*hub.NOT_ERROR, KeyboardInterrupt)  # it comes out of crawl, and need not be printed too
    try:
        main(job, frontier)
    finally:
        hub.destroy(destroy_loop=True)


def main(job: Job, frontier: Frontier) -> None:
    """Spawn all workers at once, wait until nothing waits and all is done, kill the workers."""
    crawler = Crawler(job, frontier)
    if frontier.done:
        return
    workers = [gevent.spawn(crawler.work) for _ in range(job.max_in_flight)]
    try:
        crawler.over.get()
    finally:
        gevent.killall(workers)
        for sock, _ in crawler.kept:
            sock.close()


class Crawler:
    """What the workers share. One greenlet runs at a time, and switches only where it waits: no lock is needed."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        self.waiting: SimpleQueue[Fetch] = SimpleQueue()
        for fetch in frontier.roots():
            self.waiting.put(fetch)
        self.over: AsyncResult[None] = AsyncResult()
        self.addresses: dict[Origin, list[Address]] = {}
        self.kept: Kept[Open] = Kept()
        self.context = job.tls_context()

    def work(self) -> None:
        """Fetch one URL after another until killed: the life of one worker."""
        connection = Connection(self) if self.context is None else TlsConnection(self)
        try:
            while True:
                connection.idle = self.waiting.empty()
                self.fetch(connection, self.waiting.get())
        except (Exception, KeyboardInterrupt) as bug:  # noqa: BLE001  (raised again in the greenlet that called crawl)
            self.over.set_exception(bug)
        finally:
            connection.close()

    def fetch(self, connection: "Connection", fetch: Fetch) -> None:
        self.frontier.start(fetch)
        try:
            with gevent.Timeout(self.job.timeout_ns / 1e9, TimeoutError):
                response = connection.fetch(fetch)
        except (OSError, ProtocolError) as error:
            connection.close()
            found = self.frontier.fail(fetch, error)
        else:
            consume(self.job)
            found = self.frontier.finish(fetch, response)
        for new in found:
            self.waiting.put(new)
        if self.frontier.done:
            self.over.set(None)


class Connection:
    """One connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("crawler", "idle", "job", "origin", "parser", "sock")

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.job = crawler.job
        self.sock: cooperative.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.idle = False
        """Whether the worker waited since the last response: nobody looks at the socket meanwhile."""

    def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        if self.sock is not None and self.idle and not self.is_quiet(self.sock):
            self.close()
        if self.sock is not None:
            try:
                return self.exchange(self.sock, fetch)
            except (OSError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        self.close()
        return self.exchange(self.connect(fetch.origin), fetch)

    def exchange(self, sock: cooperative.socket, fetch: Fetch) -> Response:
        sock.sendall(fetch.request)
        while (response := self.parser.feed(sock.recv(CHUNK_BYTES))) is None:
            pass
        if not response.keep_alive or self.job.connection == "per-fetch":
            self.close()
        return response

    def connect(self, origin: Origin) -> cooperative.socket:
        """Connect to the first address of the host that accepts."""
        self.parser = ResponseParser(self.job.max_header_bytes, self.job.max_body_bytes)
        *others, last = self.resolve(origin)
        for family, address in others:
            try:
                return self.connect_to(family, address)
            except TimeoutError:  # the fetch's
                raise
            except OSError:
                self.close()
        return self.connect_to(*last)

    def connect_to(self, family: socket.AddressFamily, address: Any) -> cooperative.socket:
        sock = self.sock = cooperative.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect(address)
        return sock

    def resolve(self, origin: Origin) -> list[Address]:
        """Look up the addresses of a host once, in a thread of the hub's pool, as gevent's own resolver does."""
        if origin not in self.crawler.addresses:
            arguments = (origin.host, origin.port, socket.AF_UNSPEC, socket.SOCK_STREAM)
            found = gevent.get_hub().threadpool.apply(socket.getaddrinfo, arguments)
            self.crawler.addresses[origin] = [(family, address) for family, _, _, _, address in found]
        return self.crawler.addresses[origin]

    def change_origin(self, origin: Origin) -> None:
        """Put the connection aside, and continue with a kept one to the new origin if there is one."""
        if self.sock is not None and self.origin is not None:
            surplus = self.crawler.kept.put(self.origin, (self.sock, self.parser))
            if surplus is not None:
                surplus[0].close()
        self.origin = origin
        self.sock = None
        if (kept := self.crawler.kept.take(origin)) is not None:
            self.sock, self.parser = kept
            self.idle = True

    def is_quiet(self, sock: cooperative.socket) -> bool:
        """Return whether a kept connection is still open and has received nothing since."""
        sock.setblocking(False)  # it then does not wait in the hub for what to read
        try:
            sock.recv(1, socket.MSG_PEEK)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        finally:
            sock.setblocking(True)
        return False

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None


class TlsConnection(Connection):
    """The same over TLS, with gevent's ``SSLSocket``: its calls switch to the hub as those of its socket do."""

    __slots__ = ()

    def connect_to(self, family: socket.AddressFamily, address: Any) -> cooperative.socket:
        from gevent.ssl import SSLSocket

        sock = super().connect_to(family, address)
        assert self.origin is not None
        secure = self.sock = SSLSocket(
            sock,
            server_hostname=self.origin.host,
            do_handshake_on_connect=False,
            suppress_ragged_eofs=False,
            _context=self.crawler.context,  # its public way is a context of a class of gevent's
        )
        secure.do_handshake()
        return secure

    def is_quiet(self, sock: cooperative.socket) -> bool:
        """Return whether a kept connection is still open. What came may be a session ticket, which is no data."""
        from inflight.strategies.core.tls import SSLWantReadError

        sock.setblocking(False)
        try:
            sock.recv(1)
        except OSError as error:
            return isinstance(error, SSLWantReadError)
        finally:
            sock.setblocking(True)
        return False
