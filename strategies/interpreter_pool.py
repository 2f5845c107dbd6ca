"""A pool of interpreters in one process, an event loop in each: each has its own lock, and nothing is shared."""

import socket
from collections.abc import Callable
from concurrent.futures import InterpreterPoolExecutor  # type: ignore[attr-defined]  # since 3.14
from typing import ClassVar, Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.process_pool import Ended, Pool, crawl_in, serve

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
TLS_BYTES_EACH = 310_000
GROUP = "cores"
VARIANT_OF = "process_pool"
LEAST_PYTHON = (3, 14)


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl of ``process_pool`` in a pool of interpreters."""
    crawl_in(Interpreters(job), job, frontier)


class Interpreters(Pool):
    """The interpreters, at most one per core, each in a thread of an executor.

    An event loop can wait for a socket together with all others. It cannot wait for a queue between interpreters.
    """

    MEMBER: ClassVar = "an interpreter of the pool"

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.executor = InterpreterPoolExecutor(self.most)

    def start(self, theirs: socket.socket) -> Callable[[], Ended]:
        """Start an interpreter at the other end of this socket, which it owns; see ``Pool.start``."""
        serving = self.executor.submit(serve, theirs.detach())
        return lambda: (f"{self.MEMBER} ended", serving.exception())

    def stop(self) -> None:
        """End all interpreters and wait for them."""
        self.close()
        self.executor.shutdown()
