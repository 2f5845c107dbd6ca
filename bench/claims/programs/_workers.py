"""Crawl once, as ``cancel_workers`` orders, and report what is left: the child process of that probe.

This program reads ``{"strategy", "variant", "url", "site"}`` and prints ``{"pages", "left", "error"}`` at the end of
the crawl. The probe examines everything else that is printed until the process ends.

The crawls without a cancel use the strategies' own workers; only the lines that would end them are missing.
"""

import asyncio
import gc
import inspect
import json
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from inflight import strategies
from inflight.bench.claims.programs._shared import check_pages
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.kept import Kept

IN_FLIGHT = 8
"""Number of workers."""
LIFETIME_S = 300
"""Time in seconds after which the kernel ends the process."""


def main() -> None:
    """Follow the order on standard input."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIFETIME_S)
    order = json.loads(sys.stdin.readline())
    # Any: the programs below use private parts of a strategy.
    model: Any = strategies.load(order["strategy"])
    program, changes = PROGRAMS.get((order["strategy"], order["variant"]), (as_it_is, {}))
    job = replace(Job((order["url"],), max_in_flight=IN_FLIGHT), **changes)
    frontier = Frontier(job)
    before = descriptors()
    error = None
    try:
        program(model, job, frontier)
    except RuntimeError as found:
        error = traceback.format_exception_only(found)[-1].strip()
        print(error, file=sys.stderr)
    left = leftovers(model, before)
    pages = check_pages(frontier.finished, order["site"])
    print(json.dumps({"pages": pages, "left": left, "error": error}), flush=True)
    gc.collect()  # frees unreachable objects now, and not at the exit of the interpreter


def as_it_is(model: Any, job: Job, frontier: Frontier) -> None:
    """Crawl as the strategy does."""
    model.crawl(job, frontier)


# With the cancel left out


async def asyncio_main(model: Any, job: Job, frontier: Frontier) -> None:
    """Start all workers, wait until the queue is finished, and return."""
    waiting: asyncio.Queue[Any] = asyncio.Queue()
    for fetch in frontier.roots():
        waiting.put_nowait(fetch)
    connecting, idle = asyncio.Semaphore(job.max_in_flight), Kept[Any]()
    connections = [model.Connection(job, connecting, idle, None) for _ in range(job.max_in_flight)]
    workers = [asyncio.create_task(model.work(job, frontier, waiting, connection)) for connection in connections]
    await waiting.join()
    assert len(workers) == job.max_in_flight  # here each of them would be cancelled


def asyncio_closed(model: Any, job: Job, frontier: Frontier) -> None:
    """Run the event loop until the main coroutine returns, and close it."""
    loop = asyncio.new_event_loop()
    loop.run_until_complete(asyncio_main(model, job, frontier))
    loop.close()


def asyncio_run(model: Any, job: Job, frontier: Frontier) -> None:
    """Do the same with ``asyncio.run``, which cancels every remaining task before it closes the loop."""
    asyncio.run(asyncio_main(model, job, frontier))


def generators_uncancelled(model: Any, job: Job, frontier: Frontier) -> None:
    """Crawl with tasks whose cancellation does nothing."""
    real: Callable[[Any, BaseException], None] = model.Task.throw

    def throw(task: Any, error: BaseException) -> None:
        """Throw an error into a task, unless it is the cancellation."""
        if not isinstance(error, model.Cancelled):
            real(task, error)

    model.Task.throw = throw
    model.crawl(job, frontier)


def threads_forgotten(model: Any, job: Job, frontier: Frontier) -> None:
    """Start all threads, wait until the queue is finished, and return."""
    start_threads(model, job, frontier, daemon=False)


def daemons_forgotten(model: Any, job: Job, frontier: Frontier) -> None:
    """Do the same with daemon threads, which the process does not wait for at exit."""
    start_threads(model, job, frontier, daemon=True)


def start_threads(model: Any, job: Job, frontier: Frontier, *, daemon: bool) -> None:
    """Start threads that take fetches from a queue forever; return when the queue is finished.

    ``daemon``: the process does not wait for them at its exit.
    """
    waiting: queue.Queue[Any] = queue.Queue()
    lock = threading.Lock()
    pool = model.Pool(job, frontier)  # for the state that its connections share

    def work() -> None:
        """Fetch forever; no error is handled, as none is expected."""
        connection = model.Connection(pool)
        while True:
            fetch = waiting.get()
            with lock:
                frontier.start(fetch)
            response = connection.fetch(fetch)
            with lock:
                links = frontier.finish(fetch, response)
            for new in links:
                waiting.put(new)
            waiting.task_done()

    for fetch in pool.waiting:
        waiting.put(fetch)
    for _ in range(job.max_in_flight):
        threading.Thread(target=work, daemon=daemon).start()
    waiting.join()  # here each of them would be ended


SOON_OVER = {"connection": "per-fetch", "timeout_ns": 2_000_000_000}
"""Job settings that let the loop end: it waits forever for kept connections, and for deadlines until they pass."""
PROGRAMS: dict[tuple[str, str], tuple[Callable[[Any, Job, Frontier], None], dict[str, Any]]] = {
    ("native_asyncio", "left-out"): (asyncio_closed, {}),
    ("native_asyncio", "left-out-run"): (asyncio_run, {}),
    ("generators", "left-out"): (generators_uncancelled, SOON_OVER),
    ("thread_pool", "left-out"): (threads_forgotten, {}),
    ("thread_pool", "left-out-daemon"): (daemons_forgotten, {}),
}
"""What crawls without a cancel, by strategy and variant, with changes of the job; others crawl as they are."""


# Leftovers


def leftovers(model: Any, before: int) -> dict[str, int]:
    """Count what a crawl must not leave behind, before a garbage collection."""
    objects = gc.get_objects()
    return {
        "threads": threading.active_count() - 1,
        "tasks": sum(is_unfinished_task(thing, model) for thing in objects),
        "coroutines": sum(is_suspended(thing, model.__file__) for thing in objects),
        "descriptors": descriptors() - before,
    }


def is_unfinished_task(thing: Any, model: Any) -> bool:
    """Return whether this is a task, of asyncio or of the strategy, that has not ended."""
    kind = type(thing)
    if issubclass(kind, asyncio.Task):
        return not thing.done()
    return kind is getattr(model, "Task", None) and inspect.getgeneratorstate(thing.coroutine) != inspect.GEN_CLOSED


def is_suspended(thing: Any, file: str) -> bool:
    """Return whether this is a generator or coroutine of the strategy's file that has not ended."""
    if inspect.isgenerator(thing):
        return thing.gi_code.co_filename == file and inspect.getgeneratorstate(thing) != inspect.GEN_CLOSED
    if inspect.iscoroutine(thing):
        return thing.cr_code.co_filename == file and inspect.getcoroutinestate(thing) != inspect.CORO_CLOSED
    return False


def descriptors() -> int:
    """Return the number of open descriptors, including the one that lists them."""
    return len(list(Path("/dev/fd").iterdir()))


if __name__ == "__main__":
    main()
