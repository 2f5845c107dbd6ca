"""Native coroutines on trio: workers in a nursery, cancel scopes for deadlines, trio's own sockets."""

import contextlib
import math
import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import trio

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

if TYPE_CHECKING:
    from inflight.strategies.core.tls import SSLContext

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ("trio",)
GROUP = "one thread"

TICKET_S = 0.01
"""How long to wait for more, when something has come over TLS on an idle connection."""

Address = tuple[socket.AddressFamily, Any]
Open = tuple["trio.socket.SocketType | TlsSocket", ResponseParser]


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl in an event loop of its own."""
    try:
        trio.run(main, job, frontier)
    except BaseExceptionGroup as group:  # what ends a nursery; Ctrl-C must come out as itself
        if group.subgroup(KeyboardInterrupt) is not None:
            raise KeyboardInterrupt from group
        raise


async def main(job: Job, frontier: Frontier) -> None:
    """Start all workers at once, wait until nothing waits and all is done, cancel the workers."""
    crawler = Crawler(job, frontier)
    if frontier.done:
        return
    try:
        async with trio.open_nursery() as nursery:
            for _ in range(job.max_in_flight):
                nursery.start_soon(crawler.work)
            await crawler.over.wait()
            nursery.cancel_scope.cancel()
    finally:
        for sock, _ in crawler.kept:
            sock.close()


class Crawler:
    """What the workers share."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        self.waiting, self.next = trio.open_memory_channel[Fetch](math.inf)
        self.put(frontier.roots())
        self.over = trio.Event()
        self.addresses: dict[Origin, list[Address]] = {}
        self.kept: Kept[Open] = Kept()
        self.context = job.tls_context()

    def put(self, found: Any) -> None:
        for fetch in found:
            self.waiting.send_nowait(fetch)

    async def work(self) -> None:
        """Fetch one URL after another until cancelled."""
        connection = Connection(self)
        try:
            while True:
                connection.idle = not self.next.statistics().current_buffer_used
                await self.fetch(connection, await self.next.receive())
        finally:
            connection.close()

    async def fetch(self, connection: "Connection", fetch: Fetch) -> None:
        self.frontier.start(fetch)
        try:
            with trio.move_on_after(self.job.timeout_ns / 1e9) as deadline:
                response = await connection.fetch(fetch)
            if deadline.cancelled_caught:
                raise TimeoutError
        except (OSError, ProtocolError) as error:
            connection.close()
            found = self.frontier.fail(fetch, error)
        else:
            consume(self.job)
            found = self.frontier.finish(fetch, response)
        self.put(found)
        if self.frontier.done:
            self.over.set()


class Connection:
    """One connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("crawler", "idle", "job", "origin", "parser", "sock")

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.job = crawler.job
        self.sock: trio.socket.SocketType | TlsSocket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.idle = False
        """Whether the worker waited since the last response: nobody looks at the socket meanwhile."""

    async def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        if self.sock is not None and self.idle and self.sock.is_readable():  # closed, or with bytes nobody asked for
            is_usable = isinstance(self.sock, TlsSocket) and await self.sock.has_only_tickets()
            if not is_usable:
                self.close()
        if self.sock is not None:
            try:
                return await self.exchange(self.sock, fetch)
            except (OSError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        self.close()
        return await self.exchange(await self.connect(fetch.origin), fetch)

    async def exchange(self, sock: "trio.socket.SocketType | TlsSocket", fetch: Fetch) -> Response:
        unsent = fetch.request
        while unsent:
            unsent = unsent[await sock.send(unsent) :]
        response = None
        while response is None:
            response = self.parser.feed(await sock.recv(CHUNK_BYTES))
        if not response.keep_alive or self.job.connection == "per-fetch":
            self.close()
        return response

    async def connect(self, origin: Origin) -> "trio.socket.SocketType | TlsSocket":
        """Connect to the first address of the host that accepts."""
        self.parser = ResponseParser(self.job.max_header_bytes, self.job.max_body_bytes)
        *others, last = await self.resolve(origin)
        for family, address in others:
            try:
                return await self.connect_to(family, address)
            except OSError:
                self.close()
        return await self.connect_to(*last)

    async def connect_to(self, family: socket.AddressFamily, address: Any) -> "trio.socket.SocketType | TlsSocket":
        sock = self.sock = trio.socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await sock.connect(address)
        if self.crawler.context is None or self.origin is None:
            return sock
        secure = TlsSocket(sock, self.crawler.context, self.origin.host)
        await secure.shake_hands()
        self.sock = secure
        return secure

    async def resolve(self, origin: Origin) -> list[Address]:
        """Look up the addresses of a host once."""
        if origin not in self.crawler.addresses:
            found = await look_up(origin.host, origin.port)
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

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None


class TlsSocket:
    """A socket over TLS: trio's stream, which encrypts and decrypts in memory, with the functions of a socket."""

    __slots__ = ("sock", "stream")

    def __init__(self, sock: trio.socket.SocketType, context: "SSLContext", host: str) -> None:
        self.sock = sock
        self.stream = trio.SSLStream(trio.SocketStream(sock), context, server_hostname=host)

    async def shake_hands(self) -> None:
        with socket_errors():
            await self.stream.do_handshake()

    async def send(self, data: bytes) -> int:
        with socket_errors():
            await self.stream.send_all(data)
        return len(data)

    async def recv(self, most_bytes: int) -> bytes:
        """Return what has come, at most one record; b"" after a close_notify. Raises SSLEOFError without one."""
        with socket_errors():
            return bytes(await self.stream.receive_some(most_bytes))

    def is_readable(self) -> bool:
        return self.sock.is_readable()

    async def has_only_tickets(self) -> bool:
        """Return whether what has come is no data, but session tickets. trio's stream cannot read without waiting."""
        with contextlib.suppress(OSError), trio.move_on_after(TICKET_S) as wait:
            await self.recv(1)
        return wait.cancelled_caught and not self.sock.is_readable()

    def close(self) -> None:
        """Close the socket at once: the stream's own way would wait until the peer has read a close_notify."""
        self.sock.close()


@contextlib.contextmanager
def socket_errors() -> Iterator[None]:
    """Raise the errors of a socket and of TLS that trio's streams wrap in one of their own."""
    try:
        yield
    except trio.BrokenResourceError as error:
        raise (error.__cause__ if isinstance(error.__cause__, OSError) else ConnectionResetError()) from error


async def look_up(host: str, port: int) -> list[Any]:
    """Do what trio.socket.getaddrinfo does, in a thread that ends with the look-up.

    trio's own threads wait for ten more seconds for another piece of work, and would outlive the crawl. As trio's, the
    look-up cannot be cancelled.
    """
    token = trio.lowlevel.current_trio_token()
    ended = trio.Event()
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            found.append(error)
        finally:
            token.run_sync_soon(ended.set)

    thread = threading.Thread(target=run)
    thread.start()
    with trio.CancelScope(shield=True):
        await ended.wait()
    thread.join()
    (result,) = found
    if isinstance(result, OSError):
        raise result
    addresses: list[Any] = result
    return addresses
