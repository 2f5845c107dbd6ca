"""What one step costs, of the preset ``models``: ratios of two strategies that differ in one thing."""

from pathlib import Path

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.present import section
from inflight.bench.present.table import Table
from tools.document.stored import joined, newest

STEPS = (
    ("await instead of yield from", "await_by_hand", "generators"),
    ("asyncio's loop instead of one of our own", "asyncio_protocol", "await_by_hand"),
    ("streams instead of protocols", "native_asyncio", "asyncio_protocol"),
    ("loop.sock_recv instead of protocols", "asyncio_sockets", "asyncio_protocol"),
    ("a task for each fetch instead of workers", "asyncio_tasks", "native_asyncio"),
    ("uvloop instead of asyncio's loop, streams", "uvloop_streams", "native_asyncio"),
    ("uvloop instead of asyncio's loop, protocols", "uvloop_protocol", "asyncio_protocol"),
    ("uvloop instead of asyncio's loop, loop.sock_recv", "uvloop_sockets", "asyncio_sockets"),
    ("epoll instead of selectors", "epoll_callbacks", "callbacks"),
    ("the executor instead of a pool of our own", "thread_pool_executor", "thread_pool"),
)
"""What changes, the strategy with it, and the one without it."""


def part(runs: Path, beside: Path) -> str:
    """Return what each step costs by the newest run of ``models``, and its plot of the CPU time per page."""
    run = newest(runs, "models")
    cells = {cell.strategy: cell for cell in c.cells(run.rows)}
    lines = tuple((what, one, other, _ratio(cells[one], cells[other])) for what, one, other in STEPS)
    steps = Table("", ("step", "strategy", "compared with", "CPU per page (95 %)"), lines)
    return joined(run.provenance, section.table_markdown(steps), run.picture("cpu", "CPU time per page", beside))


def _ratio(one: Cell, other: Cell) -> str:
    found = c.ratio(one, other, c.cpu_per_page_ns)
    if found is None:
        return "-"
    estimate, low, high = (units.number(value, 3) for value in (found.estimate, found.low, found.high))
    return f"{estimate}x ({low} to {high})"
