"""Turn an HTTP client into a strategy: one driver for async clients, one for blocking ones.

A strategy's file gives a driver two functions and a table: how to open the client, how to fetch one URL with it, and
what the client's exceptions mean. All else is here, so that all clients work in the same surroundings: the cap, the
deadline of each fetch, the CPU work of a page, the frontier, and the end of a crawl, whatever ends it.

The client must not follow redirects, keep cookies, decode bodies, or fetch again what failed: that is the crawl's part
or nobody's. Its pool must not be smaller than the cap.
"""

import asyncio
import contextlib
import errno
import functools
import os
import socket
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Generic, NamedTuple, TypeVar

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import (
    NO_BODY,
    USER_AGENT,
    ClosedEarlyError,
    ProtocolError,
    Response,
    TooLargeError,
    make_response,
)
from inflight.strategies.core.page import Fetch
from inflight.strategies.core.work import consume

__all__ = [
    "NO_BODY",
    "Answer",
    "ClosedEarlyError",
    "Errors",
    "Frontier",
    "Job",
    "ProtocolError",
    "TooLargeError",
    "check_header",
    "crawl_in_tasks",
    "crawl_in_threads",
    "in_latin_1",
    "read",
    "read_async",
    "request_headers",
]  # fmt: skip

Client = TypeVar("Client")
Errors = Mapping[type[Exception], Callable[[Exception], OSError | ProtocolError]]
"""What exceptions of a library mean, such as ``{BodyCutShort: ClosedEarlyError, LibraryError: ProtocolError}``.

The first class counts that an exception, or what it was raised from, belongs to. An error of the operating system among
these goes before the table. An exception of none of these classes is a bug and ends the crawl.
"""


class Answer(NamedTuple):
    """What a client found at a URL. Text must be decoded as UTF-8; bytes are taken too, as they came."""

    status: int
    content_type: str | bytes | None
    location: str | bytes | None
    body: bytes
    """The whole body without its framing, and as it was coded: the size that is recorded is the size that was sent."""


def request_headers(job: Job) -> dict[str, str]:
    """Return the header fields of every request, besides Host. A client must add no others."""
    close = {"Connection": "close"} if job.connection == "per-fetch" else {}
    return {"User-Agent": USER_AGENT, "Accept": "*/*", **close}


def check_header(reason: str | bytes | None, fields: Iterable[tuple[str | bytes, str | bytes]], job: Job) -> None:
    """Raise TooLargeError when a header section is larger than the job allows: libraries have limits of their own.

    ``fields`` are the names and values of its lines. If a library has joined lines of one name, they count as joined.
    """
    size = len("HTTP/1.1 200 ") + len(reason or "") + sum(len(name) + len(value) + 4 for name, value in fields)
    if size > job.max_header_bytes:
        raise TooLargeError(f"header section over {job.max_header_bytes} bytes")


async def read_async(pieces: AsyncIterable[bytes], job: Job) -> bytes:
    """Read a body from its pieces. Raises TooLargeError when it is larger than the job allows."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > job.max_body_bytes:
            raise _too_large(job)
    return bytes(body)


def read(pieces: Iterable[bytes], job: Job) -> bytes:
    """Read a body from its pieces. Raises TooLargeError when it is larger than the job allows."""
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > job.max_body_bytes:
            raise _too_large(job)
    return bytes(body)


def in_latin_1(value: str | None) -> bytes | None:
    """Return the bytes of a header value that a client has decoded as Latin-1, as ``http.client`` does."""
    return None if value is None else value.encode("latin-1")


# Async clients


OpenAsync = Callable[[Job], AbstractAsyncContextManager[Client]]
GetAsync = Callable[[Client, str, Job], Awaitable[Answer]]


def crawl_in_tasks(
    job: Job, frontier: Frontier, open_client: OpenAsync[Client], get: GetAsync[Client], errors: Errors
) -> None:
    """Crawl with an async client in an event loop of its own: a worker task for each fetch in flight, one client.

    ``open_client(job)`` is an async context manager of the client. ``await get(client, url, job)`` fetches one URL. It
    is cancelled at the deadline of the fetch, so the client needs no timeout of its own.
    """
    asyncio.run(_crawl_in_tasks(job, frontier, open_client, get, errors))


async def _crawl_in_tasks(
    job: Job, frontier: Frontier, open_client: OpenAsync[Client], get: GetAsync[Client], errors: Errors
) -> None:
    """Start all workers at once, wait until nothing waits and nothing is in flight, cancel them."""
    queue: asyncio.Queue[Fetch] = asyncio.Queue()
    for fetch in frontier.roots():
        queue.put_nowait(fetch)
    async with open_client(job) as client, asyncio.TaskGroup() as group:
        workers = [
            group.create_task(_work(job, frontier, queue, client, get, errors)) for _ in range(job.max_in_flight)
        ]
        await queue.join()
        for worker in workers:
            worker.cancel()


async def _work(
    job: Job, frontier: Frontier, queue: "asyncio.Queue[Fetch]", client: Client, get: GetAsync[Client], errors: Errors
) -> None:
    """Fetch what waits, one fetch after another, until cancelled."""
    timeout_s = job.timeout_ns / 1e9
    failures: tuple[type[Exception], ...] = (OSError, ProtocolError, *errors)
    while True:
        fetch = await queue.get()
        frontier.start(fetch)
        try:
            async with asyncio.timeout(timeout_s):
                answer = await get(client, fetch.url, job)
            response = _response(answer, job)
        except failures as error:
            found = frontier.fail(fetch, failure_of(error, errors))
        else:
            consume(job)
            found = frontier.finish(fetch, response)
        for new in found:
            queue.put_nowait(new)
        queue.task_done()


# Blocking clients


Open = Callable[[Job], AbstractContextManager[Client]]
Get = Callable[[Client, str, Job], Answer]


def crawl_in_threads(job: Job, frontier: Frontier, open_client: Open[Client], get: Get[Client], errors: Errors) -> None:
    """Crawl with a blocking client: a thread for each fetch in flight, each with a client of its own.

    ``open_client(job)`` is a context manager of the client, entered once in each thread; so a client need not be
    thread-safe, and never has more than one fetch in flight. ``get(client, url, job)`` fetches one URL. The driver
    enforces deadlines: it shuts down the connections of a thread whose fetch is late, and refuses it new ones. It sees
    them by the audit event ``socket.connect``, so the client must connect with Python's ``socket``, in its own thread.
    """
    pool = _Pool(job, frontier, open_client, get, errors)
    _watch_connections()
    try:
        pool.wait()
    finally:
        pool.stop()
    if pool.bug is not None:
        raise pool.bug


class _Pool(Generic[Client]):
    """Worker threads around one frontier. ``changed`` guards everything here, and the frontier with it."""

    def __init__(
        self, job: Job, frontier: Frontier, open_client: Open[Client], get: Get[Client], errors: Errors
    ) -> None:
        self.job = job
        self.frontier = frontier
        self.open_client = open_client
        self.get = get
        self.errors = errors
        lock = threading.Lock()
        self.changed = threading.Condition(lock)  # for workers: something waits, or the crawl is over
        self.over = threading.Condition(lock)  # for the thread that called crawl
        self.waiting = deque(frontier.roots())
        self.idle = 0
        self.workers: list[_Worker[Client]] = []
        self.stopped = False
        self.bug: BaseException | None = None

    def wait(self) -> None:
        """Block until nothing waits and nothing is in flight, or a worker hit a bug; end fetches that are late."""
        with self.changed:
            for _ in range(min(len(self.waiting), self.job.max_in_flight)):
                self.add_worker()
            while not (self.frontier.done or self.stopped):
                self.over.wait(self.end_late_fetches())

    def end_late_fetches(self) -> float:
        """End fetches past their deadlines; return the seconds until any other one can be late. Needs the lock."""
        now_ns = time.perf_counter_ns()
        soonest_ns = now_ns + self.job.timeout_ns
        for worker in self.workers:
            if worker.fetch is not None and not worker.is_late:
                if worker.fetch.deadline_ns <= now_ns:
                    worker.is_late = True
                    worker.disconnect()
                else:
                    soonest_ns = min(soonest_ns, worker.fetch.deadline_ns)
        return (soonest_ns - now_ns) / 1e9

    def stop(self) -> None:
        """Send every worker home; one that is still blocked in a call is woken by shutting its connections down."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
            for worker in self.workers:
                worker.disconnect()
        for worker in self.workers:
            worker.thread.join()

    def add_worker(self) -> None:
        """Start one more worker thread. Needs the lock."""
        worker = _Worker(self)
        worker.thread.start()
        self.workers.append(worker)

    def put(self, found: Sequence[Fetch]) -> None:
        """Add to what waits, and wake as many idle workers; one of it is for the caller. Needs the lock."""
        self.waiting.extend(found)
        if self.idle and len(found) > 1:
            self.changed.notify(len(found) - 1)

    def next(self) -> Fetch | None:
        """Take a fetch and start it; wait for one if need be; None when the crawl is over. Needs the lock."""
        while not self.waiting:
            if self.stopped or self.frontier.done:
                self.over.notify()
                return None
            self.idle += 1
            self.changed.wait()
            self.idle -= 1
        if self.stopped:
            return None
        fetch = self.waiting.popleft()
        self.frontier.start(fetch)
        if len(self.waiting) > self.idle and len(self.workers) < self.job.max_in_flight:
            self.add_worker()
        return fetch

    def fail(self, bug: BaseException) -> None:
        """End the crawl with the first bug of any worker."""
        with self.changed:
            self.bug = self.bug or bug
            self.stopped = True
            self.over.notify()


class _Worker(Generic[Client]):
    """One thread, its fetch, and the connections that it opened."""

    def __init__(self, pool: _Pool[Client]) -> None:
        self.pool = pool
        self.thread = threading.Thread(target=self.run)
        self.fetch: Fetch | None = None
        self.is_late = False
        self.connections: list[_Plain | _Secure] = []
        self.kind: type[_Plain | _Secure] = _Secure if pool.job.is_https else _Plain

    def run(self) -> None:
        """Fetch what waits until the crawl is over: the life of the thread."""
        _this_thread.worker = self
        try:
            with self.pool.open_client(self.pool.job) as client:
                self.work(client)
        except BaseException as bug:  # noqa: BLE001  (raised again in the thread that called crawl)
            self.pool.fail(bug)

    def work(self, client: Client) -> None:
        pool, job, frontier = self.pool, self.pool.job, self.pool.frontier
        failures: tuple[type[Exception], ...] = (OSError, ProtocolError, *pool.errors)
        with pool.changed:
            fetch = self.fetch = pool.next()
        while fetch is not None:
            try:
                response = _response(pool.get(client, fetch.url, job), job)
                if self.is_late:  # what looks like the end of a body may be the end that the driver has put to it
                    raise TimeoutError
            except failures as error:
                failure = TimeoutError() if self.is_late else failure_of(error, pool.errors)
                with pool.changed:
                    pool.put(frontier.fail(fetch, failure))
                    self.is_late = False
                    fetch = self.fetch = pool.next()
            else:
                consume(job)
                with pool.changed:
                    pool.put(frontier.finish(fetch, response))
                    self.is_late = False
                    fetch = self.fetch = pool.next()

    def note(self, connection: socket.socket) -> None:
        """Keep in mind a connection that this thread is about to open; refuse it to a fetch that has no time left."""
        self.connections = [earlier for earlier in self.connections if earlier.is_open()]
        self.connections.append(self.kind(connection))
        if self.pool.stopped:
            raise ConnectionAbortedError
        if self.fetch is not None and time.perf_counter_ns() >= self.fetch.deadline_ns:
            raise TimeoutError

    def disconnect(self) -> None:
        """Make a call that the thread is blocked in return at once."""
        for connection in tuple(self.connections):
            with contextlib.suppress(OSError):  # closed meanwhile by its owner
                connection.shut_down()


class _Plain:
    """A connection that a thread has opened."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = weakref.ref(connection)

    def is_open(self) -> bool:
        """Return whether its owner still has it."""
        sock = self.socket()
        return sock is not None and sock.fileno() >= 0

    def shut_down(self) -> None:
        """End calls that wait for it. Raises OSError if it is closed."""
        sock = self.socket()
        if sock is not None:
            sock.shutdown(socket.SHUT_RDWR)


class _Secure:
    """A connection over TLS: its descriptor passes to an SSLSocket, which nobody announces."""

    def __init__(self, connection: socket.socket) -> None:
        self.descriptor = connection.fileno()
        self.inode = os.fstat(self.descriptor).st_ino

    def is_open(self) -> bool:
        """Return whether the descriptor is still that of the connection."""
        try:
            return os.fstat(self.descriptor).st_ino == self.inode
        except OSError:
            return False

    def shut_down(self) -> None:
        """End calls that wait for it, by a descriptor that cannot meanwhile become another's. Raises OSError."""
        descriptor = os.dup(self.descriptor)
        try:
            if os.fstat(descriptor).st_ino == self.inode:
                sock = socket.socket(fileno=descriptor)
                sock.shutdown(socket.SHUT_RDWR)
                sock.detach()
        finally:
            os.close(descriptor)


_this_thread = threading.local()


@functools.cache  # a hook cannot be removed
def _watch_connections() -> None:
    """Let each worker know the connections that are opened in its thread."""
    sys.addaudithook(_on_event)


def _on_event(event: str, details: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        worker = getattr(_this_thread, "worker", None)
        if worker is not None:
            worker.note(details[0])


# Responses and errors


def _response(answer: Answer, job: Job) -> Response:
    """Return a client's answer as the response of a crawl. Raises TooLargeError."""
    status, content_type, location, body = answer
    if len(body) > job.max_body_bytes:
        raise _too_large(job)
    if isinstance(location, bytes):
        location = location.decode("utf-8", "surrogateescape")  # what is not UTF-8 is no valid URL
    return make_response(status, content_type, location, body, keep_alive=True)


def _too_large(job: Job) -> TooLargeError:
    return TooLargeError(f"body over {job.max_body_bytes} bytes")


def failure_of(error: Exception, errors: Errors) -> OSError | ProtocolError:
    """Return what an exception of a client means: an error of the system among its causes, or what the table says."""
    if isinstance(error, ProtocolError):
        return error
    causes = list(_causes(error))
    numbered = None
    for cause in causes:
        if isinstance(cause, ConnectionError | TimeoutError | socket.gaierror):
            return cause
        if isinstance(cause, OSError) and type(cause).__module__ == "ssl":  # its numbers are not those of the system
            return cause
        if isinstance(cause, OSError) and cause.errno not in {None, errno.EAGAIN}:
            numbered = OSError(cause.errno, cause.strerror)  # made from its number, it has the class of its kind
    if numbered is not None:
        return numbered
    for known, meaning in errors.items():
        if any(isinstance(cause, known) for cause in causes):
            return meaning(error)
    assert isinstance(error, OSError)
    return error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Iterate over an exception and what it was raised from, the exception itself first."""
    while error is not None:
        yield error
        error = error.exceptions[-1] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error.__context__
