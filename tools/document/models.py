"""What one step costs, for docs/models.md: ratios of two strategies of ``models`` that differ in one thing."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.frame import statistics as stats
from inflight.bench.present import section, words
from inflight.bench.present.markdown import escaped
from inflight.bench.present.table import Table
from tools.document.stored import joined, newest

STEPS = (
    ("await instead of yield from", "await_by_hand", "generators"),
    ("asyncio's loop instead of our own loop", "asyncio_protocol", "await_by_hand"),
    ("streams instead of protocols", "native_asyncio", "asyncio_protocol"),
    ("loop.sock_recv instead of protocols", "asyncio_sockets", "asyncio_protocol"),
    ("a task for each fetch instead of workers", "asyncio_tasks", "native_asyncio"),
    ("uvloop instead of asyncio's loop, streams", "uvloop_streams", "native_asyncio"),
    ("uvloop instead of asyncio's loop, protocols", "uvloop_protocol", "asyncio_protocol"),
    ("uvloop instead of asyncio's loop, loop.sock_recv", "uvloop_sockets", "asyncio_sockets"),
    ("epoll instead of selectors", "epoll_callbacks", "callbacks"),
    ("the executor instead of our own pool", "thread_pool_executor", "thread_pool"),
)
"""What changes, the strategy with it, and the one without it."""
PARTS = (
    ("the kernel, and the smallest possible loop", "null_client", None),
    ("the shared core", "core_client", "null_client"),
    ("callbacks with selectors", "callbacks", "core_client"),
    ("generators and our own loop", "generators", "core_client"),
    ("threads", "thread_pool", "core_client"),
    ("asyncio's streams", "native_asyncio", "core_client"),
)
"""A part of a page, the strategy whose cost includes it, and the one whose cost is the rest of that."""

QUESTIONS: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]] = {
    "Is uvloop worth it?": (
        "It changes the CPU time per page",
        {
            "with streams": ("uvloop_streams", "native_asyncio"),
            "with protocols": ("uvloop_protocol", "asyncio_protocol"),
            "with loop.sock_recv": ("uvloop_sockets", "asyncio_sockets"),
        },
    ),
    "What does await cost?": (
        "On one event loop, it changes the CPU time per page",
        {"against yield from": ("await_by_hand", "generators")},
    ),
    "What does asyncio cost?": (
        "It changes the CPU time per page",
        {
            "with its event loop instead of our own": ("asyncio_protocol", "await_by_hand"),
            "again with its streams instead of protocols": ("native_asyncio", "asyncio_protocol"),
        },
    ),
}
"""The questions that the run answers: how each answer begins, and its comparisons, as in ``STEPS``."""


def part(runs: Path, beside: Path) -> str:
    """Return the answers of the newest run of ``models``, its plot, and what each step and each part of a page costs.

    Figures that the run does not have are left out.
    """
    run = newest(runs, "models")
    cells = {cell.strategy: cell for cell in c.cells(run.rows)}
    lines = tuple((what, one, other, _ratio(cells[one], cells[other])) for what, one, other in STEPS)
    steps = Table("", ("step", "strategy", "compared with", "CPU per page (95 %)"), lines)
    parts = section.table_markdown(_parts(cells)) if "null_client" in cells else ""
    answers = "\n".join(f"- {escaped(sentence)}" for sentence in answered(cells))
    picture = run.picture("cpu", "CPU time per page", beside)
    return joined(answers, picture, section.table_markdown(steps), parts, run.provenance)


def answered(cells: Mapping[str, Cell]) -> list[str]:
    """Return a sentence for each question, with intervals; those without figures are left out."""
    found = []
    for question, (begin, compared) in QUESTIONS.items():
        told = [
            f"by {change} {what}"
            for what, (one, other) in compared.items()
            if one in cells and other in cells and (change := _change(cells[one], cells[other]))
        ]
        found += [f"{question} {begin} {words.listed(told)}."] if told else []
    return found


def _change(one: Cell, other: Cell) -> str:
    """Write a ratio as a change with its interval; empty without valid figures of several rounds."""
    found = c.ratio(one, other, c.cpu_per_page_ns)
    if found is None or not found.low:
        return ""
    estimate, low, high = map(math.log, (found.estimate, found.low, found.high))
    return f"{units.change(estimate)} (95 %: {units.change_between(low, high)})"


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
        lines.append((what, name if rest is None else f"{name} minus {rest}", _microseconds(found)))
    return Table("", ("part of a page", "measured as", "CPU per page (95 %)"), tuple(lines))


def _microseconds(values_ns: Sequence[float]) -> str:
    if not values_ns:
        return "-"
    found = stats.t_interval(values_ns)
    return f"{found.estimate / 1000:.1f} µs ({found.low / 1000:.1f} to {found.high / 1000:.1f})"
