"""Which strategies a plot leaves out, and why. Pure."""

from collections.abc import Sequence

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.present import words

MOST_NAMES = 4
"""Maximum number of names for one reason; more are counted."""


def about(every: Sequence[Cell], shown: Sequence[Cell]) -> str:
    """Name the strategies that are not among the shown cells, many by their number, with the reasons; empty if none."""
    reasons: dict[str, list[str]] = {}
    for name in sorted(set(c.strategies_of(every)) - set(c.strategies_of(shown))):
        why = _why([cell for cell in every if cell.strategy == name], shown)
        reasons.setdefault(why, []).append(words.name(name))
    told = [
        f"{words.listed(names) if len(names) <= MOST_NAMES else f'{len(names)} strategies'} ({why})"
        for why, names in reasons.items()
    ]
    return f"Left out: {'; '.join(told)}." if told else ""


def _why(own: Sequence[Cell], shown: Sequence[Cell]) -> str:
    """Say why the cells of a strategy have no figure on the workloads that are shown."""
    places = {(cell.latency, cell.in_flight) for cell in shown}
    rows = [row for cell in own if (cell.latency, cell.in_flight) in places for row in cell.rows]
    if not rows:
        caps = sorted({cell.in_flight for cell in own})
        if not {cell.in_flight for cell in shown}.isdisjoint(caps):
            return "not measured at this latency"
        return f"measured with {words.listed([units.count(cap) for cap in caps])} in flight"
    bad = next((row for row in rows if row.status != "ok"), None)
    if bad is None:
        if not any(row.valid for row in rows):
            return "no valid trial"
        return "only one number in flight" if len({cell.in_flight for cell in own}) == 1 else "no figure"
    return words.plain(f"{bad.status}: {bad.reason}" if bad.reason else bad.status, 90).rstrip(".")
