"""A pool of processes with an event loop in each: one parent sends batches of fetches, and batches of pages return."""

import asyncio
import contextlib
import os
import pickle
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, cast

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
from inflight.strategies.core.work import consume, consumed_elsewhere

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
TLS_BYTES_EACH = 310_000
GROUP = "cores"

CONNECTING = 256
"""Maximum number of connections that a member opens at a time: see ``native_asyncio``."""
TURN_S = 0.001
"""For how long a member works on pages before its loop has a turn: it reads orders, sends requests, and pages go home.

An event loop resumes all tasks that are ready before it looks at its sockets. If each task worked on its own page, a
member would work on all pages that have arrived, and fetch nothing meanwhile; then its core would wait for new ones.
"""
SIZE = struct.Struct("!I")
"""What a message begins with: the size of the rest, a pickle."""
Ended = tuple[str, BaseException | None]
"""Why a member ended, and the exception that ended it, if that is known."""


def crawl(job: Job, frontier: Frontier) -> None:
    """Crawl in a pool of processes."""
    crawl_in(Pool(job), job, frontier)


def crawl_in(pool: "Pool", job: Job, frontier: Frontier) -> None:
    """Send waiting fetches to the pool and receive finished ones, until the crawl is over. Only it has a frontier."""
    try:
        job.tls_context()  # raises OSError here, as in other models: each member makes one of its own
        waiting = deque(frontier.roots())
        while not frontier.done:
            pool.grow(frontier.in_flight + len(waiting))
            pool.hand_out(waiting, frontier)
            for fetch, done in pool.come_home():
                if isinstance(done, Response):
                    consumed_elsewhere(job)
                    waiting.extend(frontier.finish(fetch, done))
                elif isinstance(done, OSError | ProtocolError):
                    waiting.extend(frontier.fail(fetch, done))
                else:
                    raise RuntimeError(f"in {pool.MEMBER}: {done}")  # noqa: TRY004  (a bug, not a wrong type)
    finally:
        pool.stop()


class Pool:
    """The processes, at most one per core, and the selector that waits for what they send.

    ``interpreter_pool`` replaces ``start`` and ``stop``.
    """

    MEMBER: ClassVar = "a process of the pool"

    def __init__(self, job: Job) -> None:
        self.job = job
        self.selector = selectors.DefaultSelector()
        self.members: list[Member] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self.numbers = count()
        self.most = min(usable_cores(), job.max_in_flight)

    def grow(self, fetches: int) -> None:
        """Start members for this many fetches that wait or are in flight, each with its share of the cap."""
        share, rest = divmod(self.job.max_in_flight, self.most)
        while len(self.members) < min(self.most, fetches):
            self.add(share + (len(self.members) < rest))

    def add(self, share: int) -> None:
        """Start a member with this share of the cap, and tell it the job."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                ended = self.start(theirs)
            except BaseException:
                ours.close()
                raise
        member = Member(ours, share, ended)
        self.members.append(member)
        self.selector.register(ours, selectors.EVENT_READ, member)
        member.send((self.job, share, MAX_KEPT // self.most))

    def start(self, theirs: socket.socket) -> Callable[[], Ended]:
        """Start a member at the other end of this socket; return a function that waits for its end and says why.

        A process gets a fresh interpreter: a fork would copy the locks that other threads hold at that moment. The
        socket is all that it inherits. So it sees the end of this process, however that comes, and ends too.
        """
        command = [sys.executable, "-P", "-m", __name__, str(theirs.fileno())]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        self.processes.append(process)
        return lambda: (f"{self.MEMBER} ended with code {process.wait()}", None)

    def hand_out(self, waiting: deque[Fetch], frontier: Frontier) -> None:
        """Start fetches, each in the member with the fewest in flight; send a batch to each."""
        free = [member for member in self.members if member.ready and member.has_room]
        batches: dict[Member, list[tuple[Any, ...]]] = {}
        while waiting and free:
            member = min(free, key=lambda one: len(one.in_flight))
            fetch = waiting.popleft()
            frontier.start(fetch)
            number = next(self.numbers)
            member.in_flight[number] = fetch
            origin = fetch.origin
            order = Order(number, origin.host, origin.port, fetch.request, fetch.deadline_ns)
            batches.setdefault(member, []).append(tuple(order))
            if not member.has_room:
                free.remove(member)
        for member, batch in batches.items():
            member.send(batch)

    def come_home(self) -> Iterator[tuple[Fetch, "Done"]]:
        """Wait until a member has sent something; yield each fetch that is done, with what came of it."""
        for key, _ in self.selector.select():
            member: Member = key.data
            for batch in member.received():
                member.ready = True
                for number, done in batch:
                    yield member.in_flight.pop(number), done

    def stop(self) -> None:
        """End all processes and wait for them."""
        self.close()
        for process in self.processes:
            process.kill()  # it has nothing to save, and may be computing
        for process in self.processes:
            process.wait()

    def close(self) -> None:
        """Close the sockets, which tells the members to end."""
        self.selector.close()
        for member in self.members:
            member.sock.close()


class Member:
    """A member of the pool as the parent sees it: a socket, and the fetches that are in flight there."""

    def __init__(self, sock: socket.socket, share: int, ended: Callable[[], Ended]) -> None:
        self.sock = sock
        self.share = share
        self.ended = ended
        self.in_flight: dict[int, Fetch] = {}
        self.ready = False
        self.unread = bytearray()

    @property
    def has_room(self) -> bool:
        """Whether it may have more in flight."""
        return len(self.in_flight) < self.share

    def send(self, message: object) -> None:
        """Send a message. A member always reads, so this does not wait for long."""
        try:
            self.sock.sendall(packed(message))
        except OSError as error:
            self.lost(error)

    def received(self) -> Iterator[Any]:
        """Yield the messages that have arrived whole. Raises RuntimeError if the member has ended."""
        try:
            data = self.sock.recv(CHUNK_BYTES)
        except OSError as error:
            self.lost(error)
        if not data:
            self.lost()
        self.unread += data
        yield from whole(self.unread)

    def lost(self, error: OSError | None = None) -> NoReturn:
        """Raise: the member has ended, though nobody told it to."""
        reason, cause = self.ended()
        raise RuntimeError(reason) from cause or error


async def main(sock: socket.socket) -> None:
    """Fetch what the parent sends, until it closes the socket: what each member runs."""
    home: Home
    _, home = await asyncio.get_running_loop().create_connection(Home, sock=sock)
    workers: list[asyncio.Task[None]] = []
    own = None
    try:
        job, share, most_kept = await home.told
        own = Own(job, most_kept)
        workers = [asyncio.create_task(work(home, Connection(own))) for _ in range(share)]
        workers.append(asyncio.create_task(work_on_pages(home, job)))
        home.send([])
        await home.over
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        for _, writer, _ in own.kept if own else ():
            await abort(writer)


async def work(home: "Home", connection: "Connection") -> None:
    """Fetch one URL after another until cancelled; an exception that is no failed fetch goes home as text."""
    try:
        while True:
            order = await home.orders.get()
            try:
                async with asyncio.timeout((order.deadline_ns - time.perf_counter_ns()) / 1e9):
                    response = await connection.fetch(order)
            except (OSError, ProtocolError) as error:
                await connection.close()
                home.add(order.number, error)
            except Exception:  # noqa: BLE001  (a bug: the parent raises it)
                home.add(order.number, traceback.format_exc())
            else:
                if connection.own.job.work_units:
                    home.arrived.put_nowait((order.number, response))
                else:
                    home.add(order.number, response)
    finally:
        await connection.close()


async def work_on_pages(home: "Home", job: Job) -> None:
    """Do the CPU work of the pages that have arrived, and let the loop have its turns, until cancelled."""
    turn_s = time.perf_counter()
    while True:
        number, response = await home.arrived.get()
        try:
            consume(job)
        except Exception:  # noqa: BLE001  (a bug: the parent raises it)
            home.add(number, traceback.format_exc())
        else:
            home.add(number, response)
        if time.perf_counter() - turn_s > TURN_S:
            await asyncio.sleep(0)
            turn_s = time.perf_counter()


class Order(NamedTuple):
    """A fetch as it is sent: the parent keeps the rest of it, under its number."""

    number: int
    host: str
    port: int
    request: bytes
    deadline_ns: int
    """On the clock of perf_counter, which all members share."""


class Home(asyncio.Protocol):
    """The connection to the parent. All that is done in one turn of the loop goes home in one message."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.told: asyncio.Future[tuple[Job, int, int]] = loop.create_future()
        self.over: asyncio.Future[None] = loop.create_future()
        self.orders: asyncio.Queue[Order] = asyncio.Queue()
        self.arrived: asyncio.Queue[tuple[int, Response]] = asyncio.Queue()
        self.done: list[tuple[int, Done]] = []
        self.unread = bytearray()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.unread += data
        for message in whole(self.unread):
            if not self.told.done():
                self.told.set_result(message)
                continue
            for order in message:
                self.orders.put_nowait(Order(*order))

    def connection_lost(self, _error: Exception | None) -> None:
        self.told.cancel()  # which does nothing once it is done
        if not self.over.done():
            self.over.set_result(None)

    def add(self, number: int, done: "Done") -> None:
        if not self.done:
            asyncio.get_running_loop().call_soon(self.flush)
        self.done.append((number, done))

    def flush(self) -> None:
        self.send(self.done)
        self.done = []

    def send(self, done: "list[tuple[int, Done]]") -> None:
        """Send what is done; without waiting, because the parent always reads on."""
        self.transport.write(packed(done))


class Own:
    """What the workers of one member share."""

    def __init__(self, job: Job, most_kept: int) -> None:
        self.job = job
        self.connecting = asyncio.Semaphore(CONNECTING)
        self.kept: Kept[Open] = Kept(most_kept)
        self.context = job.tls_context()
        self.origins: dict[tuple[str, int], Origin] = {}

    def origin(self, order: Order) -> Origin:
        """Return the one object for an origin, by which kept connections are found."""
        address = order.host, order.port
        if (found := self.origins.get(address)) is None:
            found = self.origins[address] = Origin(*address, "", 0, "")
        return found


class Reader(asyncio.StreamReader):
    """A stream that counts received bytes that were not read yet: before a request, any such byte is unrequested."""

    unread_bytes = 0

    def feed_data(self, data: Any) -> None:
        self.unread_bytes += len(data)
        super().feed_data(data)


Done = Response | OSError | ProtocolError | str
"""What came of a fetch; a text is the traceback of a bug."""
Open = tuple[Reader, asyncio.StreamWriter, ResponseParser]


class Connection:
    """One connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("origin", "own", "parser", "reader", "writer")

    def __init__(self, own: Own) -> None:
        self.own = own
        self.reader: Reader
        self.writer: asyncio.StreamWriter | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser

    async def fetch(self, order: Order) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        origin = self.own.origin(order)
        if self.origin is not origin:
            await self.change_origin(origin)
        if self.writer is not None and not self.reader.unread_bytes and not self.reader.at_eof():
            try:
                return await self.exchange(self.writer, order)
            except (OSError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        await self.close()
        return await self.exchange(await self.connect(origin), order)

    async def exchange(self, writer: asyncio.StreamWriter, order: Order) -> Response:
        writer.write(order.request)
        await writer.drain()
        response = None
        while response is None:
            data = await self.reader.read(CHUNK_BYTES)
            self.reader.unread_bytes -= len(data)
            if not data and self.own.context is not None:
                check_end(writer)
            response = self.parser.feed(data)
        if not response.keep_alive or self.own.job.connection == "per-fetch":
            await self.close()
        return response

    async def connect(self, origin: Origin) -> asyncio.StreamWriter:
        """Do what asyncio.open_connection does, with ``Reader`` as the reader."""
        loop = asyncio.get_running_loop()
        reader = self.reader = Reader()
        self.parser = ResponseParser(self.own.job.max_header_bytes, self.own.job.max_body_bytes)
        async with self.own.connecting:
            transport, protocol = await loop.create_connection(
                lambda: asyncio.StreamReaderProtocol(reader), origin.host, origin.port, ssl=self.own.context
            )
        self.writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        return self.writer

    async def change_origin(self, origin: Origin) -> None:
        """Put the connection aside; use one that was kept to the new origin, if there is one."""
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


def whole(unread: bytearray) -> Iterator[Any]:
    """Take the messages that have arrived whole out of a buffer."""
    while len(unread) >= SIZE.size:
        end = SIZE.size + SIZE.unpack_from(unread)[0]
        if len(unread) < end:
            break
        message = pickle.loads(unread[SIZE.size : end])  # noqa: S301  (from code of ours)
        del unread[:end]
        yield message


def packed(message: object) -> bytes:
    """Return a message as bytes: its size, and its pickle."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return SIZE.pack(len(data)) + data


def usable_cores() -> int:
    """Return on how many cores this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def serve(descriptor: int) -> None:
    """Run one member of the pool, with this end of its socket."""
    with contextlib.suppress(asyncio.CancelledError):  # the parent was gone before it had told anything
        asyncio.run(main(socket.socket(fileno=descriptor)))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    serve(int(sys.argv[1]))
