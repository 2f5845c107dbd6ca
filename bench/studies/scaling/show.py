"""The sections of scaling: pages per second on several cores, speed-up, efficiency and memory. Pure."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.frame.statistics import Interval
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import ONLY_INVALID, Group, Line, Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.scaling import read
from inflight.bench.studies.scaling.read import GAIN, Scaling, Series, Work

NEARLY_IDLE = 0.1
"""Share of its core below which the server hardly disturbs a client on the same core."""

_ABOUT_SPEED_UP = (
    "A speed-up compares the pages per second of a model with its own on {}, within the same blocks, with its 95 % "
    "interval. It may be above the ratio of cores, because both figures have noise. The efficiency is the speed-up "
    "divided by the ratio of cores."
)
_ABOUT_MEMORY = (
    "Memory: all processes of a model together, while the server's gate holds all fetches in flight. Pages of memory "
    "that several processes use are divided between them (PSS), also between the strategies of the block."
)


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return a section for each group of workloads that differ in their CPU work alone."""
    return [_section(one) for one in read.scalings(rows)]


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one object per strategy, interpreter, CPU work and number of cores.

    ``speed_up`` is a ratio of pages per second to those on the fewest cores, within blocks: ``estimate``, ``low`` and
    ``high``; ``placebo`` is that of the reference to itself. ``memory_bytes`` is that of all processes together (PSS).
    """
    return [
        {
            "strategy": strategy,
            "interpreter": label or None,
            "cpu": work.cpu,
            "in_flight": one.in_flight,
            "latency": one.latency,
            "cores": cores,
            "pages_per_s": _estimate(work, (strategy, label), cores, c.pages_per_s),
            "speed_up": _json(work.speed_up((strategy, label), cores, one.cores[0])),
            "efficiency": _efficiency(one, work, (strategy, label), cores),
            "memory_bytes": _estimate(work, (strategy, label), cores, memory),
            "server_share_of_shared_core": work.server_share((strategy, label), cores),
            "placebo": _json(work.placebo),
        }
        for one in read.scalings(rows)
        for work in one.works
        for (strategy, label), cores in work.cells
    ]


def memory(row: Row) -> float | None:
    """Return the memory of all processes of an arm together, at rest behind its gate."""
    found: float | None = getattr(row.measured, "pss_bytes", None)
    return found


def title(found: Scaling) -> str:
    """Return the finding: which strategies use all cores, by how much, and from which CPU work per page on."""
    told = [f"{_gains(found, label)} ({label})" if label else _gains(found, label) for label in found.interpreters]
    return f"{_compared(found)}: {'; '.join(told)}"


def _finding(found: Scaling, label: str) -> str:
    """Return the finding on one interpreter."""
    return f"{_compared(found)}{f', {label}' if label else ''}: {_gains(found, label)}."


def _compared(found: Scaling) -> str:
    return f"Pages per second on {words.counted(found.cores[-1], 'core')} compared with {found.cores[0]}"


def _gains(found: Scaling, label: str) -> str:
    """Return the gains of the strategies on an interpreter, those with the same least CPU work together."""
    told = []
    for work in found.works:
        gaining = [one for one in found.series if one[1] == label and found.gains_from(one) is work]
        if gaining:
            best = max(found.best(one) or 0.0 for one in gaining)
            names = words.listed([words.name(strategy) for strategy, _ in gaining])
            told.append(f"{names} up to {best:.2f}x {_from(found, work)}")
    return ", ".join(told) or f"no model significantly above {GAIN:g}x"


def work_text(work: Work) -> str:
    """Return the CPU work per page as it is shown."""
    return units.duration_tick(work.cpu_ns) if work.cpu_ns else "none"


def about_server(found: Scaling) -> str:
    """Say where the last core of the arms was also the server's, and how busy the server was there; else empty."""
    most = found.cores[-1]
    shares = {
        work.cpu: max((work.server_share(one, most) for one in found.series), default=0.0) for work in found.works
    }
    if not any(shares.values()):
        return ""
    told = [f"{units.percent(share)} at {_at(work)}" for work in found.works if (share := shares[work.cpu])]
    return (
        "This machine has no other core, so the last core of the strategies was also the server's. In valid trials, "
        f"the server used of it up to {', '.join(told)}: so a strategy had less than {units.count(most)} cores."
    )


def _section(found: Scaling) -> Section:
    tables = [
        *(_table(found, f"Speed-up on {cores} cores{where(found)}", _speed_up(found, cores)) for cores in _more(found)),
        *(_table(found, f"Efficiency on {cores} cores", _percent(found, cores)) for cores in _more(found)),
        *(_table(found, f"Pages per second, {_cores(n)}", _value(n, c.pages_per_s, units.number)) for n in found.cores),
        *(_table(found, f"Memory, {_cores(n)}", _value(n, memory, units.size)) for n in found.cores),
    ]
    placebos = [f"{_at(work)} {_interval(work.placebo)}" for work in found.works if work.placebo is not None]
    notes = (
        _ABOUT_SPEED_UP.format(_cores(found.cores[0])),
        _ABOUT_MEMORY,
        about_server(found),
        f"Placebo, the reference compared with itself: {', '.join(placebos)}." if placebos else "",
    )
    entries = {entry for table in tables for line in table.cells for entry in line[1:]}
    marks = (
        ONLY_INVALID if any("✗" in entry for entry in entries) else "",
        "-: no valid trials to compare." if "-" in entries else "",
    )
    told = tuple(_finding(found, label) for label in found.interpreters)
    return Section(title(found), tuple(tables), tuple(filter(None, (*notes, *marks))), findings=told)


def where(found: Scaling) -> str:
    """Return the workload in words."""
    return f" {words.at_latency(found.latency)}, {words.in_flight(found.in_flight)}"


def _more(found: Scaling) -> tuple[int, ...]:
    return found.cores[1:]


def _cores(number: int) -> str:
    return words.counted(number, "core")


def _table(found: Scaling, caption: str, write: Callable[[Work, Series], str]) -> Table:
    heads = ("CPU work per page", *map(work_text, found.works))
    lines: list[Line] = []
    for label in found.interpreters:
        lines += [Group(label)] if label else []
        own = [series for series in found.series if series[1] == label]
        lines += [(words.name(series[0]), *(write(work, series) for work in found.works)) for series in own]
    return Table(caption, heads, tuple(lines))


def _speed_up(found: Scaling, cores: int) -> Callable[[Work, Series], str]:
    return lambda work, series: (
        _interval(ratio)
        if (ratio := work.speed_up(series, cores, found.cores[0])) is not None
        else _missing(work, series, cores)
    )


def _percent(found: Scaling, cores: int) -> Callable[[Work, Series], str]:
    def write(work: Work, series: Series) -> str:
        share = _efficiency(found, work, series, cores)
        return "-" if share is None else units.percent(share)

    return write


def _value(cores: int, figure: c.Read, text: Callable[[float, int], str]) -> Callable[[Work, Series], str]:
    def write(work: Work, series: Series) -> str:
        cell = work.cells.get((series, cores))
        found = cell.figure(figure) if cell else None
        if found is None:
            return _missing(work, series, cores)
        return f"{text(found.estimate, found.digits)}{'' if found.valid else '✗'}"

    return write


def _missing(work: Work, series: Series, cores: int) -> str:
    cell = work.cells.get((series, cores))
    return "-" if cell is None else next((row.status for row in cell.rows if row.status != "ok"), "-")


def _interval(ratio: Interval) -> str:
    estimate = f"{ratio.estimate:.2f}x"
    return estimate if math.isinf(ratio.high) else f"{estimate} ({ratio.low:.2f} to {ratio.high:.2f})"


def _from(found: Scaling, work: Work) -> str:
    if work is found.works[0]:
        return "with any CPU work per page" if work.cpu_ns else "even without CPU work"
    return f"with {units.duration_tick(work.cpu_ns)} of CPU work per page or more"


def _at(work: Work) -> str:
    return f"{work_text(work)} of CPU work" if work.cpu_ns else "no CPU work"


def _estimate(work: Work, series: Series, cores: int, figure: c.Read) -> float | None:
    cell = work.cells.get((series, cores))
    found = cell.valid_figure(figure) if cell else None
    return None if found is None else found.estimate


def _efficiency(found: Scaling, work: Work, series: Series, cores: int) -> float | None:
    ratio = work.speed_up(series, cores, found.cores[0])
    return None if ratio is None else ratio.estimate * found.cores[0] / cores


def _json(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    low, high = (interval.low, interval.high) if math.isfinite(interval.high) else (None, None)
    return {"estimate": interval.estimate, "low": low, "high": high, "blocks": interval.n}
