"""Native coroutines on asyncio's transports and protocols: the loop calls back, and a future wakes the worker."""

import asyncio
from typing import TYPE_CHECKING, Literal, cast

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ClosedEarlyError, ProtocolError, Response, ResponseParser, is_stale
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
    """Start all workers at once, wait until the queue is finished, cancel the workers."""
    queue: asyncio.Queue[Fetch] = asyncio.Queue()
    for fetch in frontier.roots():
        queue.put_nowait(fetch)
    connecting = asyncio.Semaphore(CONNECTING)
    context = job.tls_context()
    kept: Kept[Exchange] = Kept()
    try:
        async with asyncio.TaskGroup() as group:
            workers = [
                group.create_task(work(job, frontier, queue, Connection(job, connecting, kept, context)))
                for _ in range(job.max_in_flight)
            ]
            await queue.join()
            for worker in workers:
                worker.cancel()
    finally:
        for exchange in kept:
            await exchange.abort()


async def work(job: Job, frontier: Frontier, queue: "asyncio.Queue[Fetch]", connection: "Connection") -> None:
    """Fetch one URL after another until cancelled."""
    try:
        while True:
            fetch = await queue.get()
            frontier.start(fetch)
            try:
                async with asyncio.timeout(job.timeout_ns / 1e9):
                    response = await connection.fetch(fetch)
            except (OSError, ProtocolError) as error:
                await connection.close()
                found = frontier.fail(fetch, error)
            else:
                consume(job)
                found = frontier.finish(fetch, response)
            for new in found:
                queue.put_nowait(new)
            queue.task_done()
    finally:
        await connection.close()


class Exchange(asyncio.Protocol):
    """The functions that the loop calls for one connection; at most one request waits for its response."""

    def __init__(self, job: Job) -> None:
        self.parser = ResponseParser(job.max_header_bytes, job.max_body_bytes)
        self.loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport
        self.response: asyncio.Future[Response] | None = None
        self.usable = True
        self.lost = self.loop.create_future()

    def request(self, data: bytes) -> "asyncio.Future[Response]":
        """Send a request; return the future of its response."""
        self.response = self.loop.create_future()
        self.transport.write(data)
        return self.response

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        waiting = self.response
        if waiting is None or waiting.done():  # unrequested
            self.usable = False
            return
        try:
            response = self.parser.feed(data)
        except Exception as error:  # noqa: BLE001  (also a bug belongs to who waits; the loop would only log it)
            waiting.set_exception(error)
        else:
            if response is not None:
                self.response = None
                waiting.set_result(response)

    def eof_received(self) -> None:
        self.usable = False
        if self.response is None or self.response.done():
            return
        if is_cut(self.transport):
            self.response.set_exception(ClosedEarlyError())
        else:
            self.data_received(b"")

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        if not self.lost.done():  # cancelled with the task that waits for it
            self.lost.set_result(None)
        if self.response is not None and not self.response.done():
            # uvloop does not call eof_received when a connection over TLS is cut.
            self.response.set_exception(error or ClosedEarlyError())

    async def abort(self) -> None:
        """Close the connection at once, and wait until it is closed."""
        self.response = None
        self.transport.abort()
        await self.lost


class Connection:
    """One connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("connecting", "context", "exchange", "job", "kept", "origin")

    def __init__(
        self, job: Job, connecting: asyncio.Semaphore, kept: Kept[Exchange], context: "SSLContext | None"
    ) -> None:
        self.job = job
        self.context = context
        self.connecting = connecting
        self.kept = kept
        self.exchange: Exchange | None = None
        self.origin: Origin | None = None

    async def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            await self.change_origin(fetch.origin)
        exchange = self.exchange
        if exchange is not None and exchange.usable:
            try:
                return await self.ask(exchange, fetch)
            except (OSError, ProtocolError) as error:
                if not is_stale(error, exchange.parser):
                    raise
        await self.close()
        return await self.ask(await self.connect(fetch.origin), fetch)

    async def ask(self, exchange: Exchange, fetch: Fetch) -> Response:
        response = await exchange.request(fetch.request)
        if not response.keep_alive or self.job.connection == "per-fetch":
            await self.close()
        return response

    async def connect(self, origin: Origin) -> Exchange:
        loop = asyncio.get_running_loop()
        async with self.connecting:
            _, self.exchange = await loop.create_connection(
                lambda: Exchange(self.job), origin.host, origin.port, ssl=self.context
            )
        return self.exchange

    async def change_origin(self, origin: Origin) -> None:
        """Put the connection aside; use a kept one to the new origin if there is one."""
        surplus = None
        if self.exchange is not None and self.origin is not None:
            surplus = self.kept.put(self.origin, self.exchange)
        self.origin = origin
        self.exchange = self.kept.take(origin)
        if surplus is not None:
            await surplus.abort()

    async def close(self) -> None:
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            await exchange.abort()


def is_cut(transport: asyncio.Transport) -> bool:
    """Return whether a connection over TLS has ended without close_notify: the loop does not tell this from its end."""
    if (connection := transport.get_extra_info("ssl_object")) is None:
        return False
    from inflight.strategies.core.tls import has_ended_properly

    return not has_ended_properly(connection)
