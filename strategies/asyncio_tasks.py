"""Native coroutines on asyncio's streams with a task for each fetch: no queue, no workers."""

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any, Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import (
    CHUNK_BYTES,
    ClosedEarlyError,
    ProtocolError,
    Response,
    ResponseParser,
    is_stale,
)
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

if TYPE_CHECKING:
    from inflight.strategies.core.tls import SSLContext

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
TLS_BYTES_EACH = 310_000
GROUP = "asyncio"

CONNECTING = 256
"""Maximum number of connections that are opened at a time. Opening one needs over 2 kB, for the frames and futures of
create_connection. The process keeps such memory after it is freed, so a thousand at once would count later."""


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl in an event loop of its own."""
    asyncio.run(main(job, frontier))


async def main(job: Job, frontier: Frontier) -> None:
    """Start a task for each fetch that waits, up to the cap; each task that ends starts the next ones."""
    crawler = Crawler(job, frontier)
    try:
        async with asyncio.TaskGroup() as group:
            crawler.start_tasks(group)
    finally:
        await crawler.close()


class Crawler:
    """What waits, and the connections that the tasks use one after another."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        self.waiting = deque(frontier.roots())
        self.connecting = asyncio.Semaphore(CONNECTING)
        self.context = job.tls_context()
        self.connections: list[Connection] = []
        self.idle: list[Connection] = []
        self.kept: Kept[Open] = Kept()

    def start_tasks(self, group: asyncio.TaskGroup) -> None:
        """Start a task for each fetch that may be in flight now."""
        while self.waiting and self.frontier.in_flight < self.job.max_in_flight:
            fetch = self.waiting.popleft()
            self.frontier.start(fetch)
            group.create_task(self.fetch(group, self.connection(), fetch))

    async def fetch(self, group: asyncio.TaskGroup, connection: "Connection", fetch: Fetch) -> None:
        """Fetch one URL; start the tasks that this makes possible."""
        try:
            async with asyncio.timeout(self.job.timeout_ns / 1e9):
                response = await connection.fetch(fetch)
        except (OSError, ProtocolError) as error:
            await connection.close()
            found = self.frontier.fail(fetch, error)
        else:
            consume(self.job)
            found = self.frontier.finish(fetch, response)
        self.idle.append(connection)
        self.waiting.extend(found)
        self.start_tasks(group)

    def connection(self) -> "Connection":
        """Return a connection that no task uses."""
        if self.idle:
            return self.idle.pop()
        connection = Connection(self.job, self.connecting, self.kept, self.context)
        self.connections.append(connection)
        return connection

    async def close(self) -> None:
        for connection in self.connections:
            await connection.close()
        for _, writer, _ in self.kept:
            await abort(writer)


class Reader(asyncio.StreamReader):
    """A stream that counts received bytes that were not read yet: before a request, any such byte is unrequested."""

    unread_bytes = 0

    def feed_data(self, data: Any) -> None:
        self.unread_bytes += len(data)
        super().feed_data(data)


Open = tuple[Reader, asyncio.StreamWriter, ResponseParser]


class Connection:
    """One connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("connecting", "context", "job", "kept", "origin", "parser", "reader", "writer")

    def __init__(self, job: Job, connecting: asyncio.Semaphore, kept: Kept[Open], context: "SSLContext | None") -> None:
        self.job = job
        self.context = context
        self.connecting = connecting
        self.kept = kept
        self.reader: Reader
        self.writer: asyncio.StreamWriter | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser

    async def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            await self.change_origin(fetch.origin)
        if self.writer is not None and not self.reader.unread_bytes and not self.reader.at_eof():
            try:
                return await self.exchange(self.writer, fetch)
            except (OSError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        await self.close()
        return await self.exchange(await self.connect(fetch.origin), fetch)

    async def exchange(self, writer: asyncio.StreamWriter, fetch: Fetch) -> Response:
        writer.write(fetch.request)
        await writer.drain()
        response = None
        while response is None:
            data = await self.reader.read(CHUNK_BYTES)
            self.reader.unread_bytes -= len(data)
            if not data and self.context is not None:
                check_end(writer)
            response = self.parser.feed(data)
        if not response.keep_alive or self.job.connection == "per-fetch":
            await self.close()
        return response

    async def connect(self, origin: Origin) -> asyncio.StreamWriter:
        """Do what asyncio.open_connection does, with ``Reader`` as the reader."""
        loop = asyncio.get_running_loop()
        reader = self.reader = Reader()
        self.parser = ResponseParser(self.job.max_header_bytes, self.job.max_body_bytes)
        async with self.connecting:
            transport, protocol = await loop.create_connection(
                lambda: asyncio.StreamReaderProtocol(reader), origin.host, origin.port, ssl=self.context
            )
        self.writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        return self.writer

    async def change_origin(self, origin: Origin) -> None:
        """Put the connection aside; use a kept one to the new origin if there is one."""
        surplus = None
        if self.writer is not None and self.origin is not None:
            surplus = self.kept.put(self.origin, (self.reader, self.writer, self.parser))
        self.origin = origin
        self.writer = None
        if (kept := self.kept.take(origin)) is not None:
            self.reader, self.writer, self.parser = kept
        if surplus is not None:
            await abort(surplus[1])

    async def close(self) -> None:
        writer, self.writer = self.writer, None
        if writer is not None:
            await abort(writer)


def check_end(writer: asyncio.StreamWriter) -> None:
    """Raise ClosedEarlyError when a connection over TLS was cut: the stream does not tell this from its end."""
    from inflight.strategies.core.tls import has_ended_properly

    if not has_ended_properly(writer.get_extra_info("ssl_object")):
        raise ClosedEarlyError


async def abort(writer: asyncio.StreamWriter) -> None:
    """Close a connection at once; ``close()`` would wait for a peer that does not read what is unsent."""
    writer.transport.abort()
    with contextlib.suppress(OSError):  # it was already broken
        await writer.wait_closed()
