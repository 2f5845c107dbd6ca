"""Building blocks: what concurrency is made of, each held N times, waiting, with nothing around it.

``BLOCKS`` maps a name to the function that starts N of them and returns what keeps them alive. Threads and tasks wait
for a lock that another one holds, as in the scripts of the authors whose figures are tested (docs/claims.md).
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, NamedTuple


class Held(NamedTuple):
    """What was started: how many, and the objects that keep it alive."""

    started: int
    alive: Any


class ShortageError(Exception):
    """The machine gave fewer than were asked for; ``started`` says how many."""

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
    except (RuntimeError, MemoryError) as error:  # CPython's words for a failed pthread_create
        raise ShortageError(len(alive), error) from error
    return Held(n, (lock, alive))


def generators(n: int, _port: int) -> Held:
    """Start generators that stand at their first yield."""

    def wait() -> Generator[None, None, None]:
        yield

    alive = [wait() for _ in range(n)]
    for generator in alive:
        next(generator)
    return Held(n, alive)


def generator_tasks(n: int, _port: int) -> Held:
    """Start generators in tasks of our own (``strategies.generators``), each waiting for a future of its own."""
    from inflight.strategies.generators import Future, Loop, Task

    def wait() -> Generator[Future, None, None]:
        yield from Future()

    loop = Loop()
    for _ in range(n):
        Task(loop, wait())
    while loop.ready:
        loop.ready.popleft().step()
    return Held(len(loop.tasks), loop)


def asyncio_tasks(n: int, _port: int) -> Held:
    """Start asyncio tasks that wait for a lock; the loop turns until all do, and then stands still."""

    async def start() -> list[asyncio.Task[Any]]:
        lock = asyncio.Lock()
        await lock.acquire()
        tasks = [asyncio.ensure_future(wait(lock)) for _ in range(n)]
        await asyncio.sleep(0)
        return tasks

    async def wait(lock: asyncio.Lock) -> None:
        await lock.acquire()

    loop = asyncio.new_event_loop()
    tasks = loop.run_until_complete(start())
    return Held(sum(not task.done() for task in tasks), (loop, tasks))


def asyncio_sockets(n: int, port: int) -> Held:
    """Start asyncio tasks, each with a connected socket, that wait for something to arrive (loop.sock_recv)."""
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
    """Start asyncio tasks, each with a connected stream, that wait for something to arrive (StreamReader.read)."""

    async def wait(arrivals: Arrivals) -> None:
        async with arrivals.gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        arrivals.count += 1
        await reader.read(65536)
        writer.close()

    return _connected(n, wait)


class Arrivals:
    """How many have connected, the gate that lets so many try at a time, and why one could not."""

    def __init__(self) -> None:
        self.count = 0
        self.gate = asyncio.Semaphore(_CONNECTING)
        self.error: OSError | None = None


_CONNECTING = 256
"""As in ``strategies.native_asyncio``: what is only needed while connecting should not be there N times at once."""

BLOCKS: dict[str, Callable[[int, int], Held]] = {
    "thread": threads,
    "generator": generators,
    "generator_task": generator_tasks,
    "asyncio_task": asyncio_tasks,
    "asyncio_task_socket": asyncio_sockets,
    "asyncio_task_stream": asyncio_streams,
}


def _connected(n: int, wait: Callable[[Arrivals], Coroutine[Any, Any, None]]) -> Held:
    """Start N tasks that connect, and let the loop turn until all have; then it stands still."""

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
        await asyncio.sleep(0)
        return tasks

    loop = asyncio.new_event_loop()
    tasks = loop.run_until_complete(start())
    return Held(sum(not task.done() for task in tasks), (loop, tasks))


def end() -> None:
    """End this process without taking the blocks down one by one: a million of them would take minutes."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
