"""The findings on throughput as titles of sections and plots, one function each. Pure."""

import math
from collections.abc import Mapping, Sequence

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell, Figure
from inflight.bench.core.retention import Retention
from inflight.bench.frame.statistics import differs, ends_differ
from inflight.bench.present import words

WIDE = 1.5
"""A gain is shown with its 95 % interval if the ratio of its ends is at least this."""

TIED = ": no significant difference"
"""The end of a title whose least and greatest figure are the same within 2 %."""
UNKNOWN = ": noise may hide a difference"
"""The end of a title whose figures are neither the same within 2 % nor significantly different."""

NEARLY_ALL = 0.9
"""Models that reach this share of the possible throughput are not compared if they are tied."""

TOO_WIDE = 2.0
"""The ends of an interval farther from its estimate than this ratio are not written."""


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
    return f"From {units.count(least)} to {units.count(most)} in flight, {words.name(name)} gets {', '.join(gains)}"


def of_cpu(found: Sequence[Cell]) -> str:
    """Compare the CPU time per page of the cheapest and the most expensive strategy; the cells share a workload."""
    return _compared(found, "the CPU time per page is", c.cpu_per_page_ns, units.duration)


def possible_per_s(in_flight: int, latency_ns: float) -> float:
    """Return the throughput of a client that only waits: in flight / added latency, which must not be 0."""
    return in_flight / latency_ns * 1e9


def of_possible(found: Sequence[Cell]) -> str:
    """State the shares of the possible throughput at the shortest added latency with the most in flight.

    If all are nearly at the bound and do not differ significantly, state the lowest share only, and who is below it
    with a stack of its own.
    """
    latency = next(one for one in c.latencies(found) if len(c.caps(found, one)) > 1)
    here = _busiest([cell for cell in found if cell.latency == latency])
    bound = possible_per_s(here[0].in_flight, here[0].mean_latency_ns)
    figures = {cell.strategy: figure for cell in here if (figure := cell.valid_figure(c.pages_per_s))}
    shared = [cell.strategy for cell in here if cell.stack == "shared" and cell.strategy in figures]
    chosen = shared if len(shared) > 1 else list(figures)
    ordered = sorted((figures[name] for name in chosen), key=lambda one: one.estimate)
    told = _compared(
        here, "the share of the possible throughput is", c.pages_per_s, lambda rate, _: units.percent(rate / bound)
    )
    if len(ordered) < 2 or _verdict(ordered) not in {TIED, UNKNOWN} or ordered[0].estimate < NEARLY_ALL * bound:
        return told
    below = [words.name(name) for name, one in figures.items() if one.estimate < ordered[0].estimate]
    who = f"all models but {words.listed(below)} reach" if below else "all models reach"
    least = math.floor(100 * ordered[0].estimate / bound)
    return f"{told.partition(', ')[0]}, {who} at least {least} % of the possible throughput"


def of_growth(found: Sequence[Cell]) -> str:
    """Say whose CPU time per page grows most, from its least to that with the most in flight.

    The cells share a latency. If two strategies share the stack, only these are compared.
    """
    valid = [cell for cell in found if cell.valid_figure(c.cpu_per_page_ns)]
    shared = [cell for cell in valid if cell.stack == "shared"]
    chosen = shared if len({cell.strategy for cell in shared}) > 1 else valid
    growths = []
    for name in c.strategies_of(chosen):
        own = [cell for cell in chosen if cell.strategy == name]
        most = max(own, key=lambda cell: cell.in_flight)
        least = min(own, key=lambda cell: _cost(cell).estimate)
        growths.append((_cost(most).estimate / _cost(least).estimate, most, least))
    if not growths:
        return "No valid CPU time per page: nothing to conclude"
    growth, most, least = max(growths, key=lambda one: one[0])
    many, ratio = words.in_flight(most.in_flight), c.ratio(most, least, c.cpu_per_page_ns)
    if most is least or ratio is None:
        return f"With more in flight, no strategy needs more CPU time per page, up to {many}"
    ends = f"95 %: {units.times(ratio.low)} to {units.times(ratio.high)}" if math.isfinite(ratio.high) else "one round"
    grown = f"the CPU time per page of {words.name(most.strategy)} grows {units.times(growth)} ({ends})"
    return f"From {units.count(least.in_flight)} to {many}, {grown}"


def of_times(found: Sequence[Cell], times: Mapping[str, Figure], share: float) -> str:
    """Compare a quantile of the service time of cells that share a workload; ``times`` has it by strategy."""
    part = "half of the fetches take" if share == 0.5 else f"1 fetch in {round(1 / (1 - share))} takes"
    return _sentence(found, f"{part} more than", times, units.duration)


def of_retention(found: Sequence[Retention]) -> str:
    """Say which strategy keeps least of its best throughput with the most in flight, and which keeps most.

    If two strategies share the stack, only these are compared. A strategy that failed with more in flight is the worst.
    """
    shared = [one for one in found if one.most.stack == "shared"]
    chosen = shared if len(shared) > 1 else list(found)
    rest = [one for one in chosen if not one.failed]
    told = [failures(chosen)] if len(rest) < len(chosen) else []
    if rest:
        ends = [rest[-1], *([rest[0]] if len(rest) > 1 else [])]
        first, *others = [f"{words.name(one.strategy)} keeps {kept(one, '95 %: ')}" for one in ends]
        head = f"{first} of its best throughput with {words.in_flight(ends[0].most.in_flight)}"
        told.append(", ".join([head, *(other.replace(" keeps", "", 1) for other in others)]))
    return "; ".join(told)


def failures(found: Sequence[Retention]) -> str:
    """Say from how many in flight on there is no figure: ``a has no valid trial with 256 in flight, b with 4,096``."""
    firsts = sorted({min(one.failed) for one in found if one.failed})
    parts = []
    for cap in firsts:
        names = [words.name(one.strategy) for one in found if one.failed and min(one.failed) == cap]
        parts.append(f"{words.listed(names)} with {units.count(cap)}")
    first, _, rest = ", ".join(parts).partition(" with ")
    at, _, others = rest.partition(", ")
    have = "have" if " and " in first else "has"
    return f"{first} {have} no valid trial with {at} in flight" + (f", {others}" if others else "")


def kept(one: Retention, sure: str = "") -> str:
    """Write a retention with its interval: ``41 % (38 to 44 %)``; ``sure`` is written before the interval."""
    if one.interval is None:
        return "100 %"
    text = f"{_share(one.share)} %"
    if one.ends and (one.ends[1] > TOO_WIDE * one.share or one.ends[0] * TOO_WIDE < one.share):
        return f"{text} {words.WIDE}"
    return f"{text} ({sure}{_share(one.ends[0])} to {_share(one.ends[1])} %)" if one.ends else f"{text} (one round)"


def _share(ratio: float) -> str:
    """Write a ratio in percent, with two digits below 10 %."""
    return units.number(100 * ratio, 2) if ratio < 0.1 else f"{100 * ratio:,.0f}"


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
        f"{write(figures[name].estimate, figures[name].digits)} with {words.name(name)}"
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
    return TIED if differs(least.logs, most.logs) == "same" else UNKNOWN


def _gain(few: Cell, many: Cell) -> str:
    one, other = _rate(few), _rate(many)
    at, ratio = words.at_latency(few.latency), c.ratio(many, few, c.pages_per_s)
    if ratio is None or min(one.rounds, other.rounds) == 1:
        return f"{_speed(other.estimate / one.estimate)} {at} (one round)"
    gain = f"{_speed(ratio.estimate)} {at}"
    if differs(one.logs, other.logs) == "unknown" and units.times(max(ratio.estimate, 1 / ratio.estimate)) == "1.0x":
        return f"not faster {at}"
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


def _cost(cell: Cell) -> Figure:
    """Return the CPU time per page of a cell that has one."""
    figure = cell.figure(c.cpu_per_page_ns)
    assert figure is not None
    return figure


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
