"""The worker of idle threads or tasks: start N of one kind that wait and do nothing else, and report it.

``measure.bare.run_idle`` runs it, and reads its memory before and after; it sends ``start`` between the two. ``KINDS``
maps a name to the function that starts N (``n``) of them and returns the objects that keep them alive; ``port`` is that
of the server, for those with a connection. ``idle.attribution`` uses ``KINDS``, too. Threads and tasks wait for a held
lock, as in the scripts of the authors whose figures are tested (docs/claims.md).
"""

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, NamedTuple

from inflight.bench.measure.worker import Say, WorkerPart, serve

_CONNECTING = 256
"""Maximum number of concurrent attempts, as in ``strategies.native_asyncio``: it bounds the memory for connecting."""


class Held(NamedTuple):
    """The number that was started, and the objects that keep them alive."""

    started: int
    alive: Any


class ShortageError(Exception):
    """Fewer could be started than wanted; ``started`` says how many."""

    def __init__(self, started: int, cause: BaseException) -> None:
        super().__init__(f"only {started:,} could be started: {cause}")
        self.started = started


def threads(n: int, _port: int) -> Held:
    """Start threads that wait for a lock."""
    lock = threading.Lock()
    lock.acquire()
    alive: list[threading.Thread] = []
    try:
        for _ in range(n):
            thread = threading.Thread(target=lock.acquire, daemon=True)
            thread.start()
            alive.append(thread)
    except (RuntimeError, MemoryError) as error:  # CPython's errors for a failed pthread_create
        raise ShortageError(len(alive), error) from error
    return Held(n, (lock, alive))


def generators(n: int, _port: int) -> Held:
    """Start generators that are suspended at their first yield."""

    def wait() -> Generator[None, None, None]:
        """Wait for ever."""
        yield

    alive = [wait() for _ in range(n)]
    for generator in alive:
        next(generator)
    return Held(n, alive)


def generator_tasks(n: int, _port: int) -> Held:
    """Start generators in tasks of ``strategies.generators``, each waiting for its own future."""
    from inflight.strategies.generators import Future, Loop, Task

    def wait() -> Generator[Future, None, None]:
        """Wait for a future that is never set."""
        yield from Future()

    loop = Loop()
    for _ in range(n):
        Task(loop, wait())
    while loop.ready:
        loop.ready.popleft().step()
    return Held(len(loop.tasks), loop)


def asyncio_tasks(n: int, _port: int) -> Held:
    """Start asyncio tasks that wait for a lock; the loop runs until all of them wait, and then stops."""

    async def start() -> list[asyncio.Task[Any]]:
        lock = asyncio.Lock()
        await lock.acquire()
        tasks = [asyncio.ensure_future(wait(lock)) for _ in range(n)]
        await asyncio.sleep(0)  # one turn of the loop, in which each task reaches the lock
        return tasks

    async def wait(lock: asyncio.Lock) -> None:
        await lock.acquire()

    loop = asyncio.new_event_loop()
    tasks = loop.run_until_complete(start())
    return Held(sum(not task.done() for task in tasks), (loop, tasks))


def asyncio_sockets(n: int, port: int) -> Held:
    """Start asyncio tasks, each with a connected socket, that wait for data (loop.sock_recv)."""
    import socket

    async def wait(arrivals: Arrivals) -> None:
        loop = asyncio.get_running_loop()
        with socket.socket() as sock:
            sock.setblocking(False)
            async with arrivals.gate:
                await loop.sock_connect(sock, ("127.0.0.1", port))
            arrivals.count += 1
            await loop.sock_recv(sock, 65536)

    return _connected(n, wait)


def asyncio_streams(n: int, port: int) -> Held:
    """Start asyncio tasks, each with a connected stream, that wait for data (StreamReader.read)."""

    async def wait(arrivals: Arrivals) -> None:
        async with arrivals.gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        arrivals.count += 1
        await reader.read(65536)
        writer.close()

    return _connected(n, wait)


class Arrivals:
    """The number of connected tasks, the gate that limits concurrent attempts, and an error if one failed."""

    def __init__(self) -> None:
        self.count = 0
        self.gate = asyncio.Semaphore(_CONNECTING)
        self.error: OSError | None = None


def _connected(n: int, wait: Callable[[Arrivals], Coroutine[Any, Any, None]]) -> Held:
    """Start N tasks that connect; run the loop until all have connected, and then stop it."""

    async def waiter(arrivals: Arrivals) -> None:
        try:
            await wait(arrivals)
        except OSError as error:
            arrivals.error = error

    async def start() -> list[asyncio.Task[None]]:
        arrivals = Arrivals()
        tasks = [asyncio.ensure_future(waiter(arrivals)) for _ in range(n)]
        while arrivals.count < n:
            if arrivals.error is not None:
                raise ShortageError(arrivals.count, arrivals.error)
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)  # a task counts itself before it waits: one more turn, in which all get there
        return tasks

    loop = asyncio.new_event_loop()
    tasks = loop.run_until_complete(start())
    return Held(sum(not task.done() for task in tasks), (loop, tasks))


KINDS: dict[str, Callable[[int, int], Held]] = {
    "thread": threads,
    "generator": generators,
    "generator_task": generator_tasks,
    "asyncio_task": asyncio_tasks,
    "asyncio_task_socket": asyncio_sockets,
    "asyncio_task_stream": asyncio_streams,
}
"""What starts N of each kind (``plan.bare.IdleName``); it takes N and the port of the server."""


class IdlePart(WorkerPart):
    """N idle threads or tasks of one kind."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        self._order = order
        self._start = KINDS[order["what"]]
        with contextlib.suppress(ShortageError):
            self._first = self._start(1, order["port"])  # imports and the first arena belong to the baseline

    def knobs(self) -> dict[str, Any]:
        """Add what is idle."""
        return {"idle": self._order["what"]} | super().knobs()

    def start(self) -> dict[str, Any]:
        """Start all, and return how many there are, why not more, and how long that took."""
        error, cause, held = None, None, Held(0, None)
        begin_ns = time.perf_counter_ns()
        try:
            held = self._held = self._start(self._order["n"], self._order["port"])
        except ShortageError as shortage:
            error, cause, held = str(shortage), "limit", Held(shortage.started, None)
        except MemoryError:
            error, cause = "MemoryError", "limit"
        start_ns = time.perf_counter_ns() - begin_ns
        return {"event": "started", "error": error, "cause": cause, "started": held.started, "start_ns": start_ns}

    def end(self) -> None:
        """End at once: cancelling or freeing a million tasks one by one takes minutes."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    serve(IdlePart)
