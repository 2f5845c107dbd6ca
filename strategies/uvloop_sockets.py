"""Native coroutines on asyncio's plain sockets, run by uvloop's event loop instead of asyncio's."""

import asyncio
from typing import Literal

import uvloop

from inflight.strategies.asyncio_sockets import main
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ("uvloop",)
GROUP = "asyncio"
NO_TLS = "functions for sockets take no SSLSocket, as in asyncio"
VARIANT_OF = "asyncio_sockets"


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl of ``asyncio_sockets`` in an event loop of uvloop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(job, frontier))
