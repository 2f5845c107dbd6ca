"""What one step costs, of the preset ``models``: ratios of two strategies that differ in one thing."""

from collections.abc import Mapping
from math import log
from pathlib import Path

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.present import section, words
from inflight.bench.present.markdown import escaped
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
            "with its event loop instead of one of our own": ("asyncio_protocol", "await_by_hand"),
            "once more with its streams instead of protocols": ("native_asyncio", "asyncio_protocol"),
        },
    ),
}
"""The questions that the run answers: how each answer begins, and its comparisons, as in ``STEPS``."""


def part(runs: Path, beside: Path) -> str:
    """Return the answers of the newest run of ``models``, its plot of CPU time per page, and what each step costs."""
    run = newest(runs, "models")
    cells = {cell.strategy: cell for cell in c.cells(run.rows)}
    lines = tuple((what, one, other, _ratio(cells[one], cells[other])) for what, one, other in STEPS)
    steps = Table("", ("step", "strategy", "compared with", "CPU per page (95 %)"), lines)
    answers = "\n".join(f"- {escaped(sentence)}" for sentence in answered(cells))
    picture = run.picture("cpu", "CPU time per page", beside)
    return joined(run.provenance, answers, picture, section.folded("Each step", section.table_markdown(steps)))


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
    return f"{units.change(log(found.estimate))} (95 %: {units.change_between(log(found.low), log(found.high))})"


def _ratio(one: Cell, other: Cell) -> str:
    found = c.ratio(one, other, c.cpu_per_page_ns)
    if found is None:
        return "-"
    estimate, low, high = (units.number(value, 3) for value in (found.estimate, found.low, found.high))
    return f"{estimate}x ({low} to {high})"
