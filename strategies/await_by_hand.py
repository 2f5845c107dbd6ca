"""``async def`` and ``await`` on an event loop of our own: a Future, a Task, a loop and a queue, nothing from asyncio.

Compare this file with ``generators.py``: the loop, the tasks and the queue are the same, and ``yield from`` has become
``await``. So the two differ by what ``await`` costs, and ``native_asyncio`` differs from both by what asyncio costs.
"""

import errno
import heapq
import itertools
import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any, Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import CHUNK_BYTES, ProtocolError, Response, ResponseParser, is_stale
from inflight.strategies.core.kept import Kept
from inflight.strategies.core.lag import Timer
from inflight.strategies.core.page import Fetch, Origin
from inflight.strategies.core.work import consume

if TYPE_CHECKING:
    from inflight.strategies.core.tls import SSLContext

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
GROUP = "asyncio"

Address = tuple[socket.AddressFamily, Any]
Open = tuple[socket.socket, ResponseParser]


def crawl(job: Job, frontier: Frontier) -> None:
    """Run one main task and its workers until all of them have ended."""
    loop = Loop()
    Task(loop, main(loop, job, frontier))
    if frontier.timer is not None:
        loop.set_timer(frontier.timer.due_ns, frontier.timer)
    try:
        loop.run()
    finally:
        loop.close()


async def main(loop: "Loop", job: Job, frontier: Frontier) -> None:
    """Start all workers at once, wait until the queue is finished, cancel the workers."""
    queue = JoinableQueue()
    for fetch in frontier.roots():
        queue.put(fetch)
    addresses: dict[Origin, list[Address]] = {}
    kept: Kept[Open] = Kept()
    context = job.tls_context()
    workers = []
    for _ in range(job.max_in_flight):
        if context is None:
            connection = Connection(loop, job, addresses, kept)
        else:
            connection = TlsConnection(loop, job, addresses, kept, context)
        workers.append(Task(loop, work(loop, job, frontier, queue, connection)))
    try:
        await queue.join()
    finally:
        for sock, _ in kept:
            sock.close()
    for worker in workers:
        worker.throw(Cancelled())


async def work(loop: "Loop", job: Job, frontier: Frontier, queue: "JoinableQueue", connection: "Connection") -> None:
    """Fetch one URL after another until cancelled."""
    deadline = Deadline(loop)
    try:
        while True:
            fetch = await queue.get()
            frontier.start(fetch)
            deadline.set(fetch.deadline_ns)
            try:
                response = await connection.fetch(fetch)
            except (OSError, ProtocolError) as error:
                connection.close()
                found = frontier.fail(fetch, error)
            except Expired:
                connection.close()
                found = frontier.fail(fetch, TimeoutError())
            else:
                consume(job)
                found = frontier.finish(fetch, response)
            deadline.clear()
            for new in found:
                queue.put(new)
            queue.task_done()
    finally:
        connection.close()


# What drives them: a task for each coroutine, futures, and the loop


class Task:
    """A coroutine that the loop runs, from one wait to the next."""

    __slots__ = ("coroutine", "error", "loop", "waits_for")

    def __init__(self, loop: "Loop", coroutine: "Coroutine[Future, None, None]") -> None:
        self.loop = loop
        self.coroutine = coroutine
        self.error: BaseException | None = None
        self.waits_for: Future | None = None
        loop.tasks.add(self)
        loop.ready.append(self)

    def step(self) -> None:
        """Run the coroutine to its next wait. Any exception that leaves it, except Cancelled, ends the whole loop."""
        self.loop.current = self
        try:
            if self.error is None:
                future = self.coroutine.send(None)
            else:
                error, self.error = self.error, None
                future = self.coroutine.throw(error)
        except (StopIteration, Cancelled):
            self.loop.tasks.discard(self)
        else:
            self.waits_for = future
            future.waiter = self

    def wake(self) -> None:
        """Let the loop step the task in its next turn."""
        self.waits_for = None
        self.loop.ready.append(self)

    def throw(self, error: BaseException) -> None:
        """Raise an exception in the coroutine, at the place where it waits."""
        self.error = error
        if self.waits_for is not None:
            self.waits_for.waiter = None
            self.wake()


class Future:
    """Something that has not happened yet; ``await future`` waits for it."""

    __slots__ = ("done", "waiter")

    def __init__(self) -> None:
        self.done = False
        self.waiter: Task | None = None

    def __await__(self) -> "Generator[Future, None, None]":
        if not self.done:
            yield self

    def resolve(self) -> None:
        """Record that it has happened, and wake the task that waits for it."""
        self.done = True
        if self.waiter is not None:
            self.waiter.wake()


class Loop:
    """The event loop: wait for events, call the function registered for each, step all tasks that are ready."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.ready: deque[Task] = deque()
        self.tasks: set[Task] = set()
        self.timers: list[tuple[int, int, Deadline | Timer]] = []
        self.tie_breaker = itertools.count()
        self.current: Task

    def run(self) -> None:
        """Run until every task has ended."""
        ready = self.ready
        while self.tasks:
            for key, _ in self.selector.select(self.seconds_to_wait()):
                on_event = key.data
                on_event()
            if self.timers:
                self.fire_timers(time.perf_counter_ns())
            for _ in range(len(ready)):
                ready.popleft().step()

    def seconds_to_wait(self) -> float | None:
        """Return how long the selector may wait."""
        if self.ready:
            return 0
        if self.timers:
            return max(0, self.timers[0][0] - time.perf_counter_ns()) / 1e9
        if not self.selector.get_map():
            raise RuntimeError("every task waits, and nothing is left that could wake one")
        return None

    def set_timer(self, at_ns: int, timer: "Deadline | Timer") -> None:
        heapq.heappush(self.timers, (at_ns, next(self.tie_breaker), timer))

    def fire_timers(self, now: int) -> None:
        """Fire the timers that are due, and set those again that say when."""
        while self.timers and self.timers[0][0] <= now:
            timer = heapq.heappop(self.timers)[2]
            again_ns = timer.fire(now)
            if again_ns is not None:
                self.set_timer(again_ns, timer)

    def close(self) -> None:
        """Close the coroutines that have not ended (there are some only after an error), and the selector."""
        for task in self.tasks:
            task.coroutine.close()
        self.selector.close()


# What a worker does with its socket


class Connection:
    """One connection, opened when first needed and kept as long as the server and the job keep it."""

    __slots__ = ("addresses", "job", "kept", "loop", "origin", "parser", "sock", "waiter")

    again: type[OSError] | tuple[type[OSError], ...] = BlockingIOError
    """What a call raises that must be tried again after the next event."""

    def __init__(self, loop: Loop, job: Job, addresses: dict[Origin, list[Address]], kept: Kept[Open]) -> None:
        self.loop = loop
        self.job = job
        self.addresses = addresses
        self.kept = kept
        self.sock: socket.socket | None = None
        self.origin: Origin | None = None
        self.parser: ResponseParser
        self.waiter: Future | None = None

    async def fetch(self, fetch: Fetch) -> Response:
        """Send the request and wait for the whole response. Raises OSError or ProtocolError."""
        if self.origin is not fetch.origin:
            self.change_origin(fetch.origin)
        if self.sock is not None:
            try:
                return await self.exchange(self.sock, fetch)
            except (OSError, ProtocolError) as error:
                if not is_stale(error, self.parser):
                    raise
        self.close()
        sock = await self.connect(fetch.origin)
        return await self.exchange(sock, fetch)

    async def exchange(self, sock: socket.socket, fetch: Fetch) -> Response:
        unsent = self.send_at_once(sock, fetch.request)
        if unsent:
            await self.send(sock, unsent)
        response = None
        while response is None:
            await self.event()
            try:
                response = self.parser.feed(sock.recv(CHUNK_BYTES))
            except self.again:  # nothing to read: the selector may be wrong (select(2), BUGS)
                continue
        if not response.keep_alive or self.job.connection == "per-fetch":
            self.close()
        return response

    def event(self) -> Future:
        """Return a future for the next event that the selector reports for this connection."""
        future = self.waiter = Future()
        return future

    def on_event(self) -> None:
        """Resolve that future: the loop calls this."""
        future, self.waiter = self.waiter, None
        if future is not None:
            future.resolve()
        else:  # nobody waits: the server closed an idle connection, or sent something unasked
            self.close()

    async def send(self, sock: socket.socket, unsent: bytes) -> None:
        """Send what the kernel did not take at once."""
        self.loop.selector.modify(sock, selectors.EVENT_WRITE, self.on_event)
        while unsent:
            await self.event()
            unsent = self.send_at_once(sock, unsent)
        self.loop.selector.modify(sock, selectors.EVENT_READ, self.on_event)

    def send_at_once(self, sock: socket.socket, data: bytes) -> bytes:
        """Send what the kernel takes now, nearly always everything; return the rest."""
        try:
            return data[sock.send(data) :]
        except self.again:
            return data

    async def connect(self, origin: Origin) -> socket.socket:
        """Connect to the first address of the host that accepts."""
        self.parser = ResponseParser(self.job.max_header_bytes, self.job.max_body_bytes)
        *others, last = self.look_up(origin)
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
        code = sock.connect_ex(address)
        if code in {0, errno.EINPROGRESS}:
            self.loop.selector.register(sock, selectors.EVENT_WRITE, self.on_event)
            await self.event()
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        self.loop.selector.modify(sock, selectors.EVENT_READ, self.on_event)
        return sock

    def look_up(self, origin: Origin) -> list[Address]:
        """Look up the addresses of a host, once. This blocks the loop, because getaddrinfo has no other form."""
        if origin not in self.addresses:
            found = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
            self.addresses[origin] = [(family, address) for family, _, _, _, address in found]
        return self.addresses[origin]

    def change_origin(self, origin: Origin) -> None:
        """Put the connection aside; use a kept one to the new origin if there is one that is still usable."""
        selector = self.loop.selector
        if self.sock is not None and self.origin is not None:
            selector.unregister(self.sock)
            surplus = self.kept.put(self.origin, (self.sock, self.parser))
            if surplus is not None:
                surplus[0].close()
        self.origin = origin
        self.sock = None
        if (kept := self.kept.take(origin)) is not None:
            self.sock, self.parser = kept
            selector.register(self.sock, selectors.EVENT_READ, self.on_event)
            if not self.is_usable(self.sock):
                self.close()

    def is_usable(self, sock: socket.socket) -> bool:
        """Return whether a kept connection is still open and has received nothing since."""
        try:
            sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        return False

    def close(self) -> None:
        self.waiter = None
        if self.sock is not None:
            if self.sock.fileno() >= 0 and self.sock in self.loop.selector.get_map():  # else Ctrl-C came during a close
                self.loop.selector.unregister(self.sock)
            self.sock.close()
            self.sock = None


class TlsConnection(Connection):
    """The same over TLS, with an ``SSLSocket`` that does not block: each call may have to be tried again.

    The bytes that the selector sees are encrypted, and may be no data yet. One call returns the data of at most one
    record, and leaves the next record in the kernel, where the selector sees it.
    """

    __slots__ = ("again", "context")

    def __init__(
        self, loop: Loop, job: Job, addresses: dict[Origin, list[Address]], kept: Kept[Open], context: "SSLContext"
    ) -> None:
        from inflight.strategies.core.tls import SSLWantReadError, SSLWantWriteError

        super().__init__(loop, job, addresses, kept)
        self.context = context
        self.again = (SSLWantReadError, SSLWantWriteError)

    async def connect_to(self, family: socket.AddressFamily, address: Any) -> socket.socket:
        sock = await super().connect_to(family, address)
        assert self.origin is not None
        self.loop.selector.unregister(sock)
        secure = self.sock = self.context.wrap_socket(
            sock, server_hostname=self.origin.host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
        self.loop.selector.register(secure, selectors.EVENT_READ, self.on_event)
        while True:
            try:
                secure.do_handshake()
            except self.again:
                await self.event()
            else:
                return secure

    def on_event(self) -> None:
        """Resolve the future that is waited for. Without one, what came may be a session ticket, which is no data."""
        if self.waiter is not None or (self.sock is not None and not self.is_usable(self.sock)):
            super().on_event()

    def is_usable(self, sock: socket.socket) -> bool:
        """Return whether a kept connection is still open. What came may be a session ticket, which is no data."""
        try:
            sock.recv(1)
        except OSError as error:
            return isinstance(error, self.again)
        return False


# Deadlines, cancellation, and a queue: what else a crawler needs of a library of coroutines


class Cancelled(BaseException):
    """Raised in a coroutine that is no longer wanted, so that its ``finally`` blocks run."""


class Expired(BaseException):
    """Raised in a coroutine whose deadline has passed: not an OSError, which would look like a failed address."""


class Deadline:
    """Raise Expired in a task that is not done by a given time; set for each fetch, later each time.

    There is one timer per worker. When it fires it checks whether the deadline has moved. A timer per fetch would cost
    more than the fetch.
    """

    __slots__ = ("armed", "at_ns", "loop", "task")

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.task = loop.current
        self.at_ns = 0
        self.armed = False

    def set(self, at_ns: int) -> None:
        self.at_ns = at_ns
        if not self.armed:
            self.armed = True
            self.loop.set_timer(at_ns, self)

    def clear(self) -> None:
        self.at_ns = 0

    def fire(self, now: int) -> int | None:
        """Raise Expired if the deadline has passed; return when to fire again if it has moved."""
        if self.at_ns > now:
            return self.at_ns
        self.armed = False
        if self.at_ns:
            self.task.throw(Expired())
        return None


class JoinableQueue:
    """A queue that knows when everything that was ever put into it is finished."""

    def __init__(self) -> None:
        self.items: deque[Fetch] = deque()
        self.unfinished = 0
        self.getters: deque[Future] = deque()
        self.all_done = Future()

    def put(self, item: Fetch) -> None:
        self.items.append(item)
        self.unfinished += 1
        if self.getters:
            self.getters.popleft().resolve()

    async def get(self) -> Fetch:
        while not self.items:
            getter = Future()
            self.getters.append(getter)
            await getter
        return self.items.popleft()

    def task_done(self) -> None:
        self.unfinished -= 1
        if not self.unfinished:
            self.all_done.resolve()

    async def join(self) -> None:
        if self.unfinished:
            await self.all_done
