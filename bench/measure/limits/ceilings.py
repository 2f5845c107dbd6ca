"""All limits (``limits.toml``), and how much each of them leaves of a resource: its ceiling. Pure.

``limits`` and ``swarm.layout`` call ``list_ceilings`` with the facts about a process (``facts.look``). Before a *ramp*
(a process that starts threads until one is refused) a ceiling is a prediction; after a failure, the lowest one is the
suspect (``threads.culprit``). Not every thread costs the same, so *readings* say what a process used with some numbers
of threads, and a ceiling follows the line through them. A *cost* is an entry of ALL_COSTS: what of a thread a limit
counts. ``limits`` and ``limits.threads`` call ``make_figures`` for their rows.
"""

import math
import tomllib
from collections.abc import Collection, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import asdict

from inflight.bench.measure.limits.facts import Facts
from inflight.bench.measure.procfs import UNLIMITED
from inflight.bench.rows.kinds import Ceiling

SIZES = ("VmSize", "VmData", "memory")
"""Facts in bytes that grow with threads."""
ALL_COSTS = ("one", "maps", *SIZES)
"""How one more thread can count against a limit: as 1, or as the growth of the fact with this name."""
SHARED_PART = 0.9
"""Share of what a shared limit leaves at which a ramp stops."""
ALIKE = 0.01
"""Relative difference up to which two limits count as equal."""
Names = tuple[str, ...]
"""The binding limits: several, if the cause is ambiguous; none, if the limit is unknown."""
Reading = tuple[int, Facts]
"""What a process uses with a given number of threads."""


class LimitEntry(NamedTuple):
    """One entry of ``limits.toml``, at whose top each field is explained."""

    name: str
    resources: Sequence[str]
    unit: str
    used: str | None = None
    shared: bool = False
    costs: str = "one"
    beyond: int = 0
    remedy: str = "sysctl -w {name}={twice:.0f}"
    note: str = ""


@cache
def table() -> tuple[LimitEntry, ...]:
    """Return all limits."""
    text = Path(__file__).with_name("limits.toml").read_text(encoding="utf-8")
    return tuple(LimitEntry(**entry) for entry in tomllib.loads(text)["limit"])


def list_ceilings(
    resource: str, facts: Facts, readings: Sequence[Reading] = (), wanted_costs: Collection[str] = ALL_COSTS
) -> list[Ceiling]:
    """Return how much of a resource each limit leaves, the lowest first.

    ``wanted_costs`` selects limits: those that count a thread in one of these ways. Unlimited ones are left out, and
    those with an unknown cost per thread. An unknown use counts as zero: this is an upper bound, and the evidence says
    so. A limit of a control group is among the facts once for each ancestor of the process, by its path:
    ``/sys/fs/cgroup/user.slice/pids.max``.
    """
    ceilings = [
        _ceiling(limit, name, facts, readings if resource == "threads" else None)
        for limit in table()
        if resource in limit.resources and limit.costs in wanted_costs
        for name, value in facts.items()
        if (name == limit.name or name.endswith(f"/{limit.name}")) and value != UNLIMITED
    ]
    return sorted(filter(None, ceilings), key=lambda ceiling: ceiling.most)


def _ceiling(limit: LimitEntry, name: str, facts: Facts, readings: Sequence[Reading] | None) -> Ceiling | None:
    """Return what one limit leaves; None where the cost of a thread is unknown.

    ``name`` is that of the limit among the facts; ``readings`` are None for all resources but threads.
    """
    cost = "one" if readings is None else limit.costs
    each = slope(readings or (), cost)
    if each is None:
        return None
    used = 0 if limit.used is None else facts.get(limit.used.format(name=name))
    refusals = facts.get(f"{name} refusals", 0)
    parts = [f"{name} is {amount(facts[name], limit.unit)}", limit.note.format_map(facts)]
    if refusals:
        parts.append(f"{refusals:,.0f} refusals counted since it was created")
    if used is None:
        parts.append("the amount in use is unknown")
    elif used:
        parts.append(f"{amount(used, limit.unit)} in use")
    if cost == "maps":
        parts.append(f"each further thread takes {each:.2f} maps")
    elif cost != "one":
        parts.append(f"each further thread takes {each / 1000:,.0f} kB")
    most = room(readings or (), cost, facts[name] + limit.beyond - (used or 0))
    return Ceiling(
        name=name,
        most=most,
        shared=limit.shared,
        evidence="; ".join(filter(None, parts)),
        remedy=limit.remedy.format(name=name, twice=2 * facts[name]),
    )


def amount(value: float, unit: str) -> str:
    """Format a limit or the amount in use."""
    return f"{value:,.0f} {unit}" if unit != "bytes" else f"{value / (1 << 20):,.0f} MiB"


def slope(readings: Sequence[Reading], cost: str) -> float | None:
    """Return the cost of the next thread in the unit of the fact: the slope between the last two readings.

    None where it is unknown.
    """
    if cost == "one":
        return 1.0
    points = _points(readings, cost)
    if len(points) < 2 or points[-1][1] <= points[-2][1]:
        return None
    (before, less), (after, more) = points[-2:]
    return (more - less) / (after - before)


def room(readings: Sequence[Reading], cost: str, free: float) -> int:
    """Return how many threads fit into what is free before the first one: along the readings, then the last slope.

    ``free`` is what the limit leaves to a process without threads, in the unit of the limit.
    """
    if cost == "one":
        return max(0, math.floor(free))
    points = _points(readings, cost)
    limit = points[0][1] + free
    # The segment that crosses the limit, or else the last one, which is extended: where its line meets the limit.
    segments = list(pairwise(points))
    (before, less), (after, more) = next((pair for pair in segments if pair[1][1] > limit), segments[-1])
    return max(0, math.floor(before + (limit - less) * (after - before) / (more - less)))


def _points(readings: Sequence[Reading], cost: str) -> list[tuple[int, float]]:
    """Return the numbers of threads at which the fact of a cost is known, each with the value of the fact."""
    return [(threads, facts[cost]) for threads, facts in readings if cost in facts]


def lowest(ceilings: Sequence[Ceiling]) -> Names:
    """Return the limits that bind first."""
    return tuple(ceiling.name for ceiling in ceilings if ceiling.most <= ceilings[0].most * (1 + ALIKE))


def make_figures(
    ceilings: Sequence[Ceiling],
    stopped_by: str,
    evidence: Sequence[str],
    reached: int | None = None,
    bound_by: Names = (),
) -> dict[str, Any]:
    """Return the figures of a row: the prediction, how many pieces a process really got, and what stopped it.

    ``bound_by`` are the limits that were reached or are suspected; empty: those of the prediction.
    """
    named = bound_by or lowest(ceilings)
    following = next((ceiling for ceiling in ceilings if ceiling.name not in named), None)
    remedies = dict.fromkeys(ceiling.remedy for ceiling in ceilings if ceiling.name in named)
    return {
        "predicted": ceilings[0].most if ceilings else None,
        "predicted_by": _of_row(lowest(ceilings)),
        "found": reached,
        "bound_by": _of_row(bound_by),
        "stopped_by": stopped_by,
        "ceilings": [asdict(ceiling) for ceiling in ceilings],
        "evidence": evidence,
        "next": following and {"name": following.name, "most": following.most},
        "remedy": "; and ".join(remedies) or None,
    }


def _of_row(names: Names) -> str | list[str] | None:
    """Return names as a row has them: null for none, a text for one, a list for several."""
    if len(names) > 1:
        return list(names)
    return names[0] if names else None
