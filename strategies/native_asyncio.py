"""Native coroutines on asyncio's streams: ``async``/``await``, a queue, workers that are cancelled at the end."""

import asyncio
import contextlib
from typing import Literal

from strategies.base import Job
from strategies.core.frontier import Frontier
from strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from strategies.core.page import Fetch, Origin
from strategies.core.work import consume

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()

CONNECTING = 256
"""So many connections are opened at a time. Each needs over 2 kB while it is being opened, for the frames and futures
of open_connection; a thousand at once would leave as much memory behind that is free and yet never given back."""


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl in an event loop of its own."""
    asyncio.run(main(job, frontier))


async def main(job: Job, frontier: Frontier) -> None:
    """Start all workers at once, wait for the queue to be done with, cancel them."""
    queue: asyncio.Queue[Fetch] = asyncio.Queue()
    for fetch in frontier.roots():
        queue.put_nowait(fetch)
    connecting = asyncio.Semaphore(CONNECTING)
    async with asyncio.TaskGroup() as group:  # a worker that fails ends the group, and so the wait
        workers = [group.create_task(work(job, frontier, queue, connecting)) for _ in range(job.max_in_flight)]
        await queue.join()
        for worker in workers:
            worker.cancel()


async def work(job: Job, frontier: Frontier, queue: "asyncio.Queue[Fetch]", connecting: asyncio.Semaphore) -> None:
    """Fetch what waits, one fetch after another, until cancelled."""
    connection = Connection(job, connecting)
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


class Connection:
    """One connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("connecting", "job", "origin", "parser", "reader", "writer")

    def __init__(self, job: Job, connecting: asyncio.Semaphore) -> None:
        self.job = job
        self.connecting = connecting
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser

    async def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.writer is not None and self.origin is fetch.origin:
            try:
                return await self.exchange(self.writer, fetch)
            except (ConnectionError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        await self.close()
        return await self.exchange(await self.connect(fetch.origin), fetch)

    async def connect(self, origin: Origin) -> asyncio.StreamWriter:
        self.origin = origin
        self.parser = ResponseParser(self.job.max_header_bytes, self.job.max_body_bytes)
        async with self.connecting:
            self.reader, self.writer = await asyncio.open_connection(origin.host, origin.port)
        return self.writer

    async def exchange(self, writer: asyncio.StreamWriter, fetch: Fetch) -> Response:
        writer.write(fetch.request)
        await writer.drain()
        while (response := self.parser.feed(await self.reader.read(CHUNK_BYTES))) is None:
            pass
        if not response.keep_alive or self.job.connection == "per-fetch":
            await self.close()
        return response

    async def close(self) -> None:
        writer, self.writer = self.writer, None
        if writer is not None:
            writer.transport.abort()  # close() would wait for a peer that does not read what is unsent
            with contextlib.suppress(OSError):  # it was broken already: nothing is lost
                await writer.wait_closed()
