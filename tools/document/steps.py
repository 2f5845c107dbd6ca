"""What one step costs, of the preset ``models``: ratios of two strategies that differ in one thing."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from inflight.bench.core import cells as c
from inflight.bench.core import stats, units
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
PARTS = (
    ("the kernel, and the least that a loop needs", "null_client", None),
    ("the shared core", "core_client", "null_client"),
    ("callbacks with selectors", "callbacks", "core_client"),
    ("generators and a loop of our own", "generators", "core_client"),
    ("threads", "thread_pool", "core_client"),
    ("asyncio's streams", "native_asyncio", "core_client"),
)
"""A part of a page, the strategy whose cost includes it, and the one whose cost is the rest of that."""


def part(runs: Path, beside: Path) -> str:
    """Return what each step and each part of a page costs by the newest run of ``models``, and its plot."""
    run = newest(runs, "models")
    cells = {cell.strategy: cell for cell in c.cells(run.rows)}
    lines = tuple((what, one, other, _ratio(cells[one], cells[other])) for what, one, other in STEPS)
    steps = Table("", ("step", "strategy", "compared with", "CPU per page (95 %)"), lines)
    parts = section.table_markdown(_parts(cells)) if "null_client" in cells else ""
    return joined(run.provenance, section.table_markdown(steps), parts, run.picture("cpu", "CPU time per page", beside))


def _ratio(one: Cell, other: Cell) -> str:
    found = c.ratio(one, other, c.cpu_per_page_ns)
    if found is None:
        return "-"
    estimate, low, high = (units.number(value, 3) for value in (found.estimate, found.low, found.high))
    return f"{estimate}x ({low} to {high})"


def _parts(cells: Mapping[str, Cell]) -> Table:
    """Return the CPU time per page of each part: differences within blocks, with their 95 % t intervals."""
    costs_ns = {
        name: {block: math.exp(log) for block, log in figure.logs.items()}
        for name, cell in cells.items()
        if (figure := cell.valid_figure(c.cpu_per_page_ns))
    }
    lines = []
    for what, name, rest in PARTS:
        own, others = costs_ns.get(name, {}), costs_ns.get(rest or "", {})
        found = [cost_ns - others.get(block, 0) for block, cost_ns in own.items() if rest is None or block in others]
        lines.append((what, name if rest is None else f"{name} less {rest}", _microseconds(found)))
    return Table("", ("part of a page", "measured as", "CPU per page (95 %)"), tuple(lines))


def _microseconds(values_ns: Sequence[float]) -> str:
    if not values_ns:
        return "-"
    found = stats.t_interval(values_ns)
    return f"{found.estimate / 1000:.1f} µs ({found.low / 1000:.1f} to {found.high / 1000:.1f})"
