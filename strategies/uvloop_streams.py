"""Native coroutines on asyncio's streams, run by uvloop's event loop instead of asyncio's."""

import asyncio
from typing import Literal

import uvloop

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.native_asyncio import main

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ("uvloop",)
GROUP = "asyncio"
VARIANT_OF = "native_asyncio"


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl of ``native_asyncio`` in an event loop of uvloop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(job, frontier))
