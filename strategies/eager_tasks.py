"""Native coroutines with a task for each fetch that runs at once, up to its first wait (eager tasks)."""

import asyncio
from typing import Literal

from inflight.strategies.asyncio_tasks import main
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
TLS_BYTES_EACH = 310_000
GROUP = "asyncio"
VARIANT_OF = "asyncio_tasks"
LEAST_PYTHON = (3, 12)


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl of ``asyncio_tasks`` in a loop whose tasks start eagerly."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]  # since 3.12
        runner.run(main(job, frontier))
