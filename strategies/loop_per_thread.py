"""An event loop in each of several threads, one per core: coroutines wait in their loop, threads share one frontier."""

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, Literal

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
from inflight.strategies.core.kept import MAX_KEPT, Kept
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
TLS_BYTES_EACH = 310_000
GROUP = "cores"

CONNECTING = 256
"""Maximum number of connections that a loop opens at a time: see ``native_asyncio``."""


def crawl(job: Job, frontier: Frontier) -> None:
    """Start loops while fetches wait, at most one per core, and wait until the crawl is over."""
    shared = Shared(job, frontier)
    try:
        shared.run()
    finally:
        shared.stop()
    if shared.bug is not None:
        raise shared.bug


async def main(own: "Loop") -> None:
    """Run the workers of one loop until the crawl is over."""
    own.begin()
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(own.share):
                group.create_task(work(own, Connection(own)))
    finally:
        for _, writer, _ in own.kept:
            await abort(writer)


async def work(own: "Loop", connection: "Connection") -> None:
    """Fetch one URL after another until the crawl is over."""
    shared = own.shared
    job = shared.job
    try:
        fetch = await own.next_fetch()
        while fetch is not None:
            try:
                async with asyncio.timeout(job.timeout_ns / 1e9):
                    response = await connection.fetch(fetch)
            except (OSError, ProtocolError) as error:
                await connection.close()
                with shared.lock:
                    shared.put(shared.frontier.fail(fetch, error))
                    fetch = shared.take()
            else:
                consume(job)
                with shared.lock:
                    shared.put(shared.frontier.finish(fetch, response))
                    fetch = shared.take()
            fetch = fetch or await own.next_fetch()
    finally:
        await connection.close()


class Shared:
    """What all loops share. ``lock`` guards everything here, and the frontier too; nobody awaits while holding it."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        self.lock = threading.Lock()
        self.over = threading.Condition(self.lock)
        self.waiting = deque(frontier.roots())
        self.idle: deque[tuple[Loop, asyncio.Future[None]]] = deque()
        self.loops: list[Loop] = []
        self.threads: list[threading.Thread] = []
        self.most = min(usable_cores(), job.max_in_flight)
        self.stopped = False
        self.bug: BaseException | None = None
        self.context = job.tls_context()

    def run(self) -> None:
        """Block until nothing waits and nothing is in flight, or a loop hit a bug."""
        with self.lock:
            if self.waiting:
                self.add_loop()
            while not (self.frontier.done or self.stopped):
                self.over.wait()

    def take(self) -> Fetch | None:
        """Start a fetch, if one waits. Needs the lock."""
        if self.stopped or not self.waiting:
            return None
        fetch = self.waiting.popleft()
        self.frontier.start(fetch)
        if len(self.waiting) > len(self.idle) and len(self.loops) < self.most:
            self.add_loop()
        return fetch

    def put(self, found: Sequence[Fetch]) -> None:
        """Add fetches, and wake an idle worker for each but one, which the caller takes. Needs the lock."""
        self.waiting.extend(found)
        for _ in range(min(len(self.idle), len(found) - 1)):
            loop, idle = self.idle.popleft()
            loop.wake(idle)
        if self.frontier.done:
            self.stop_workers()

    def stop_workers(self) -> None:
        """Wake all that wait: the crawl is over. Needs the lock."""
        self.stopped = True
        self.over.notify()
        while self.idle:
            loop, idle = self.idle.popleft()
            loop.wake(idle)

    def add_loop(self) -> None:
        """Start one more thread with a loop, which has its share of the cap. Needs the lock."""
        share, rest = divmod(self.job.max_in_flight, self.most)
        loop = Loop(self, share + (len(self.loops) < rest))
        thread = threading.Thread(target=loop.run)
        thread.start()
        self.loops.append(loop)
        self.threads.append(thread)

    def stop(self) -> None:
        """End all loops, and wait for their threads."""
        with self.lock:
            self.stop_workers()
            if not self.frontier.done:
                for loop in self.loops:
                    loop.cancel()
        for thread in self.threads:
            thread.join()


class Loop:
    """One thread with an event loop, and the connections that its workers put aside."""

    def __init__(self, shared: Shared, share: int) -> None:
        self.shared = shared
        self.share = share
        self.kept: Kept[Open] = Kept(MAX_KEPT // shared.most)
        self.connecting = asyncio.Semaphore(CONNECTING)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.task: asyncio.Task[None] | None = None
        self.cancelled = False

    def run(self) -> None:
        """Run the event loop: what the thread does."""
        try:
            asyncio.run(main(self))
        except asyncio.CancelledError:
            pass
        except BaseException as bug:  # noqa: BLE001  (raised again in the thread that called crawl)
            with self.shared.lock:
                self.shared.bug = bug
                self.shared.stop_workers()

    def begin(self) -> None:
        """Note the loop and its main task, so that another thread can wake and cancel what runs in it."""
        with self.shared.lock:
            self.loop, self.task = asyncio.get_running_loop(), asyncio.current_task()
            if self.cancelled and self.task is not None:
                self.task.cancel()

    async def next_fetch(self) -> Fetch | None:
        """Start a fetch, once there is one; None when the crawl is over."""
        shared = self.shared
        while True:
            with shared.lock:
                fetch = shared.take()
                if fetch is not None or shared.stopped:
                    return fetch
                idle: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                shared.idle.append((self, idle))
            await idle

    def wake(self, idle: "asyncio.Future[None]") -> None:
        """Let a worker of this loop go on, from any thread. Needs the lock."""
        self.call(lambda: set_unless_done(idle))

    def cancel(self) -> None:
        """Cancel what runs in this loop, from any thread. Needs the lock."""
        self.cancelled = True
        if self.task is not None:
            self.call(self.task.cancel)

    def call(self, function: Any) -> None:
        if self.loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                self.loop.call_soon_threadsafe(function)


def set_unless_done(idle: "asyncio.Future[None]") -> None:
    """Set a future, unless its worker has been cancelled meanwhile."""
    if not idle.done():
        idle.set_result(None)


class Reader(asyncio.StreamReader):
    """A stream that counts received bytes that were not read yet: before a request, any such byte is unrequested."""

    unread_bytes = 0

    def feed_data(self, data: Any) -> None:
        self.unread_bytes += len(data)
        super().feed_data(data)


Open = tuple[Reader, asyncio.StreamWriter, ResponseParser]


class Connection:
    """One connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("job", "origin", "own", "parser", "reader", "writer")

    def __init__(self, own: Loop) -> None:
        self.own = own
        self.job = own.shared.job
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
            if not data and self.own.shared.context is not None:
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
        async with self.own.connecting:
            transport, protocol = await loop.create_connection(
                lambda: asyncio.StreamReaderProtocol(reader), origin.host, origin.port, ssl=self.own.shared.context
            )
        self.writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        return self.writer

    async def change_origin(self, origin: Origin) -> None:
        """Put the connection aside; use one of this loop that was kept to the new origin, if there is one."""
        surplus = None
        if self.writer is not None and self.origin is not None:
            surplus = self.own.kept.put(self.origin, (self.reader, self.writer, self.parser))
        self.origin = origin
        self.writer = None
        if (kept := self.own.kept.take(origin)) is not None:
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


def usable_cores() -> int:
    """Return on how many cores this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
