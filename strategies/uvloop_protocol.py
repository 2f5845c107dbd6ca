"""Native coroutines on asyncio's transports and protocols, run by uvloop's event loop instead of asyncio's."""

import asyncio
from typing import Literal

import uvloop

from inflight.strategies.asyncio_protocol import main
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ("uvloop",)
GROUP = "asyncio"
VARIANT_OF = "asyncio_protocol"


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl of ``asyncio_protocol`` in an event loop of uvloop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(job, frontier))
