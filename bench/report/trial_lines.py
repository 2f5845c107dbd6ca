"""A line for each trial, and the progress of a run that writes them."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from inflight.bench import units
from inflight.bench.present import words
from inflight.bench.present.console import DIM, GREEN, PLAIN, RED, wants_colour
from inflight.bench.present.progress import Clock, Stand, shown
from inflight.bench.rows.files import Row

LEAST_NAME, _WHERE = 16, 34
"""Columns of the name of a strategy, at least, and of its workload."""

Report = Callable[[int, int, Sequence[Row]], None]
"""Receives the number of a trial, the total, and its rows: one, or those of the arms of a block."""


class Awaited(Protocol):
    """A trial that is waiting to be run."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def strategy(self) -> str:
        """Its strategy."""

    @property
    def expected_ns(self) -> int:
        """Expected duration."""


@contextmanager
def of_trials(waiting: Sequence[Awaited], clock: Clock = time.monotonic_ns) -> Iterator[Report]:
    """Show the progress of the waiting trials; yield a function that receives the rows of each."""
    width = name_width(trial.strategy for trial in waiting)
    names = [words.plain(trial.strategy, 30) for trial in waiting] + [""]
    with shown(Stand(len(waiting), sum(trial.expected_ns for trial in waiting), now=names[0]), clock) as progress:

        def report(number: int, total: int, found: Sequence[Row]) -> None:
            tell = progress.skipped if all(row.status == "skipped" for row in found) else progress.finished
            lines = "\n".join(trial_line(number, total, row, width=width) for row in found)
            tell(lines, waiting[number - 1].expected_ns, names[number])

        yield report


def name_width(strategies: Iterable[str]) -> int:
    """Return the columns for names in the lines of trials; a block has the names of its arms, with commas."""
    names = [name for strategy in strategies for name in strategy.split(", ")]
    return max([LEAST_NAME, *(len(words.name(name)) for name in names)])


def trial_line(number: int, total: int, row: Row, *, colour: bool | None = None, width: int = LEAST_NAME) -> str:
    """Return the line of a trial: its number, workload and figures, and ``ok`` or its failure.

    With ``colour`` None, it is coloured if standard error is a terminal and NO_COLOR is not set. ``width`` is that of
    the column of names.
    """
    coloured = wants_colour(sys.stderr) if colour is None else colour
    counted = f"{number:>{len(str(total))}}/{total}"
    where = _where(row)
    figures = "  ".join(_figures(row))
    head = f"{counted}  {words.name(row.strategy):{width}}  {where:{_WHERE}}"
    return "  ".join(part for part in (head, figures, _verdict(row, coloured)) if part)


def _where(row: Row) -> str:
    """Return the workload in few words."""
    asked = row.workload
    match row.kind:
        case "idle":
            return f"idle  {units.count(asked.n)}"
        case "probe":
            return words.plain(", ".join(f"{key} {value}" for key, value in asked.arguments.items()), 60)
        case "limit":
            return "limit" + (", through shared ones" if asked.through_shared else "")
        case "swarm":
            ramp = f", {units.count(asked.ramp_per_s)}/s" if asked.ramp_per_s else ""
            return f"swarm  {words.in_flight(asked.in_flight)}{ramp}"
        case "open":
            return f"open loop  {units.number_tick(asked.rate_per_s)}/s"
        case "client":
            return f"{units.latency(asked.latency)}  {words.in_flight(asked.in_flight)}"
        case "crawl" | "memory" | "arm":
            what = ["memory" if row.kind == "memory" else units.latency(asked.latency)]
            what += [f"{units.latency(asked.cpu)} CPU work"] if asked.cpu_ns and row.kind != "memory" else []
            what += [] if asked.connection == "keep-alive" else [asked.connection]
            return f"{', '.join(what)}  {words.in_flight(asked.in_flight)}"


def _figures(row: Row) -> list[str]:
    """Return the main figures; none for a trial that did not end as ``ok``."""
    found = row.measured
    if row.status != "ok":
        return []
    if row.kind in {"memory", "idle"}:
        return [f"{units.size(found.held_uss_bytes):>9} held (USS)"]
    if row.kind == "swarm" and found.reach_ns is not None:
        return [f"{units.count(found.held_in_flight)} held after {units.duration(found.reach_ns, 2)}"]
    if row.kind == "limit" and found.found is not None:
        return [f"{units.count(found.found)} found"]
    if row.kind == "limit" and found.predicted is not None:
        return [f"{units.count(found.predicted)} predicted"]
    if row.kind in {"crawl", "arm"}:
        rate = units.rate(found.pages_per_s)
        return [f"{rate:>14}", f"{units.duration(found.cpu_per_page_ns):>8} CPU/page"]
    return []


def _verdict(row: Row, coloured: bool) -> str:
    if row.valid:
        return _paint("ok", GREEN, coloured)
    reasons = "; ".join(words.plain(reason) for reason in row.invalid_reasons)
    return _paint(reasons, DIM, coloured) if row.status == "skipped" else _paint(f"✗ {reasons}", RED, coloured)


def _paint(text: str, colour: str, coloured: bool) -> str:
    return f"{colour}{text}{PLAIN}" if coloured else text
