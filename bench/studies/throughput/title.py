"""The findings on throughput as titles of sections and plots, one function each. Pure."""

from collections.abc import Mapping, Sequence

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell, Figure
from inflight.bench.core.stats import differs, ends_differ
from inflight.bench.present import words

WIDE = 1.5
"""A gain is shown with its 95 % interval if the ratio of its ends is at least this."""


def of_rates(found: Sequence[Cell]) -> str:
    """Say how much faster the fastest strategy gets with more in flight, at the longest and at the shortest latency.

    With a single number in flight, compare the strategies. The cells share a setting.
    """
    valid = [cell for cell in found if cell.valid_figure(c.pages_per_s)]
    if not valid:
        return "No valid throughput: nothing to conclude"
    models = [cell for cell in valid if cell.stack == "shared"] or valid
    latencies = c.latencies(models)
    shortest, longest = latencies[0], ([one for one in latencies if len(c.caps(models, one)) > 1] or latencies)[-1]
    here = _busiest([cell for cell in models if cell.latency == longest])
    best = max(here, key=lambda cell: (_rate(cell).estimate, cell.strategy))
    most, name = best.in_flight, best.strategy
    least = min(cell.in_flight for cell in models if (cell.strategy, cell.latency) == (name, longest))
    if least == most:
        return _compared(here, "the throughput is", c.pages_per_s, units.rate)
    pairs = [
        [c.at(models, name, latency, cap) for cap in (least, most)] for latency in dict.fromkeys([longest, shortest])
    ]
    gains = [_gain(few, many) for few, many in pairs if few and many]
    return (
        f"From {units.count(least)} to {units.count(most)} in flight, {words.plain(name, 30)} gets {', '.join(gains)}"
    )


def of_cpu(found: Sequence[Cell]) -> str:
    """Compare the CPU time per page of the cheapest and the most expensive strategy; the cells share a workload."""
    return _compared(found, "the CPU time per page is", c.cpu_per_page_ns, units.duration)


def of_times(found: Sequence[Cell], times: Mapping[str, Figure], share: float) -> str:
    """Compare a quantile of the service time of cells that share a workload; ``times`` has it by strategy."""
    part = "half of the fetches take" if share == 0.5 else f"1 fetch in {round(1 / (1 - share))} takes"
    return _sentence(found, f"{part} more than", times, units.duration)


def _compared(found: Sequence[Cell], what: str, figure_of: c.Read, write: units.Write) -> str:
    figures = {cell.strategy: figure for cell in found if (figure := cell.valid_figure(figure_of))}
    return _sentence(found, what, figures, write)


def _sentence(found: Sequence[Cell], what: str, figures: Mapping[str, Figure], write: units.Write) -> str:
    """State the least and the greatest of some figures, by strategy, and their ratio if it is significant.

    If two strategies share the stack, only these are compared: others have their own parsers.
    """
    at = words.at_latency(found[0].latency)
    where = f"{at[0].upper()}{at[1:]} with {words.in_flight(found[0].in_flight)}"
    if not figures:
        return f"{where}, no trial is valid: nothing to conclude"
    shared = [cell.strategy for cell in found if cell.stack == "shared" and cell.strategy in figures]
    chosen = shared if len(shared) > 1 else list(figures)
    ordered = sorted(chosen, key=lambda name: figures[name].estimate)
    told = [
        f"{write(figures[name].estimate, figures[name].digits)} with {words.plain(name, 30)}"
        for name in dict.fromkeys((ordered[0], ordered[-1]))
    ]
    return f"{where}, {what} {', '.join(told)}{_verdict([figures[name] for name in ordered])}"


def _verdict(ordered: Sequence[Figure]) -> str:
    """Write the ratio of the ends, if it is significant."""
    least, most = ordered[0], ordered[-1]
    if min(least.rounds, most.rounds) == 1:
        return " (one round)"
    if len(ordered) == 1:
        return ""
    if ends_differ([figure.logs for figure in ordered]):
        return f": {units.times(most.estimate / least.estimate)}"
    return ": not significant, corrected for all pairs"


def _gain(few: Cell, many: Cell) -> str:
    one, other = _rate(few), _rate(many)
    at, ratio = words.at_latency(few.latency), c.ratio(many, few, c.pages_per_s)
    if ratio is None or min(one.rounds, other.rounds) == 1:
        return f"{_speed(other.estimate / one.estimate)} {at} (one round)"
    gain = f"{_speed(ratio.estimate)} {at}"
    if differs(one.logs, other.logs) == "unknown":
        return f"{gain} (not significant)"
    if ratio.high < WIDE * ratio.low:
        return gain
    ends = sorted((ratio.low, ratio.high) if ratio.estimate >= 1 else (1 / ratio.low, 1 / ratio.high))
    return f"{gain} (95 %: {' to '.join(map(units.times, ends))})"


def _speed(ratio: float) -> str:
    """Write a ratio as ``2.0x faster`` or ``2.0x slower``."""
    return f"{units.times(ratio)} faster" if ratio >= 1 else f"{units.times(1 / ratio)} slower"


def _busiest(found: Sequence[Cell]) -> list[Cell]:
    """Return the cells with the most in flight of at least two strategies; else of the strategy with the most."""
    caps = [cell.in_flight for cell in found]
    most = max([cap for cap in caps if caps.count(cap) > 1] or caps)
    return [cell for cell in found if cell.in_flight == most]


def _rate(cell: Cell) -> Figure:
    """Return the throughput of a cell that has one."""
    figure = cell.figure(c.pages_per_s)
    assert figure is not None
    return figure


def workload(cell: Cell) -> str:
    """Write the workload of a cell as a sentence; the site of a block has no end."""
    parts = [units.latency(cell.latency), words.in_flight(cell.in_flight)]
    if not any(row.kind == "arm" for row in cell.rows):
        parts.append(f"{units.count(cell.pages)} pages")
    return f"Workload: {', '.join(parts)}."
