"""Native coroutines on plain sockets: asyncio waits for the socket, and the strategy reads and sends itself."""

import asyncio
import socket
from typing import Any, Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
GROUP = "asyncio"
NO_TLS = "asyncio's functions for sockets take no SSLSocket"

Address = tuple[socket.AddressFamily, Any]
Open = tuple[socket.socket, ResponseParser]


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl in an event loop of its own."""
    asyncio.run(main(job, frontier))


async def main(job: Job, frontier: Frontier) -> None:
    """Start all workers at once, wait until the queue is finished, cancel the workers."""
    queue: asyncio.Queue[Fetch] = asyncio.Queue()
    for fetch in frontier.roots():
        queue.put_nowait(fetch)
    addresses: dict[Origin, list[Address]] = {}
    kept: Kept[Open] = Kept()
    try:
        async with asyncio.TaskGroup() as group:
            workers = [
                group.create_task(work(job, frontier, queue, Connection(job, addresses, kept)))
                for _ in range(job.max_in_flight)
            ]
            await queue.join()
            for worker in workers:
                worker.cancel()
    finally:
        for sock, _ in kept:
            sock.close()


async def work(job: Job, frontier: Frontier, queue: "asyncio.Queue[Fetch]", connection: "Connection") -> None:
    """Fetch one URL after another until cancelled."""
    try:
        while True:
            connection.idle = queue.empty()
            fetch = await queue.get()
            frontier.start(fetch)
            try:
                async with asyncio.timeout(job.timeout_ns / 1e9):
                    response = await connection.fetch(fetch)
            except (OSError, ProtocolError) as error:
                connection.close()
                found = frontier.fail(fetch, error)
            else:
                consume(job)
                found = frontier.finish(fetch, response)
            for new in found:
                queue.put_nowait(new)
            queue.task_done()
    finally:
        connection.close()


class Connection:
    """One connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("addresses", "idle", "job", "kept", "loop", "origin", "parser", "sock")

    def __init__(self, job: Job, addresses: dict[Origin, list[Address]], kept: Kept[Open]) -> None:
        self.job = job
        self.addresses = addresses
        self.kept = kept
        self.loop = asyncio.get_running_loop()
        self.sock: socket.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.idle = False
        """Whether the worker waited since the last response. Nothing watches the socket meanwhile."""

    async def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        if self.sock is not None and self.idle and not is_usable(self.sock):
            self.close()
        if self.sock is not None:
            try:
                return await self.exchange(self.sock, fetch)
            except (ConnectionError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        self.close()
        return await self.exchange(await self.connect(fetch.origin), fetch)

    async def exchange(self, sock: socket.socket, fetch: Fetch) -> Response:
        await self.loop.sock_sendall(sock, fetch.request)
        response = None
        while response is None:
            response = self.parser.feed(await self.loop.sock_recv(sock, CHUNK_BYTES))
        if not response.keep_alive or self.job.connection == "per-fetch":
            self.close()
        return response

    async def connect(self, origin: Origin) -> socket.socket:
        """Connect to the first address of the host that accepts."""
        self.parser = ResponseParser(self.job.max_header_bytes, self.job.max_body_bytes)
        *others, last = await self.look_up(origin)
        for family, address in others:
            try:
                return await self.connect_to(family, address)
            except OSError:
                self.close()
        return await self.connect_to(*last)

    async def connect_to(self, family: socket.AddressFamily, address: Any) -> socket.socket:
        sock = self.sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await self.loop.sock_connect(sock, address)
        return sock

    async def look_up(self, origin: Origin) -> list[Address]:
        """Look up the addresses of a host once; asyncio does it in a thread."""
        if origin not in self.addresses:
            found = await self.loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
            self.addresses[origin] = [(family, address) for family, _, _, _, address in found]
        return self.addresses[origin]

    def change_origin(self, origin: Origin) -> None:
        """Put the connection aside; use a kept one to the new origin if there is one."""
        if self.sock is not None and self.origin is not None:
            surplus = self.kept.put(self.origin, (self.sock, self.parser))
            if surplus is not None:
                surplus[0].close()
        self.origin = origin
        self.sock = None
        if (kept := self.kept.take(origin)) is not None:
            self.sock, self.parser = kept
            self.idle = True

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None


def is_usable(sock: socket.socket) -> bool:
    """Return whether a kept connection is still open and has received nothing since."""
    try:
        sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False
