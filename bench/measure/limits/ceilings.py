"""Predictions: how many of a resource each limit leaves to this process, the lowest first. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from inflight.bench.measure.limits import growth
from inflight.bench.measure.limits.bounds import Bound
from inflight.bench.measure.limits.growth import Reading

SHARED_PART = 0.9
"""Share of what a shared limit leaves at which a ramp stops."""
ALIKE = 0.01
"""Relative difference up to which two limits count as equal."""
Names = tuple[str, ...]
"""The binding limits: one; several, if the cause is ambiguous; none, if the limit is unknown."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One limit, and how much more of the resource it allows this process."""

    name: str
    most: int
    shared: bool
    """Whether other processes share it."""
    evidence: str
    remedy: str


def ceilings(bounds: Sequence[Bound], readings: Sequence[Reading] = ()) -> list[Ceiling]:
    """Return what each bound allows, the lowest first. A bound with an unknown cost per piece is left out.

    Where the amount in use is unknown, it counts as zero: an upper bound, and the evidence says so.
    """
    found = [(bound, growth.room(readings, bound.costs, bound.limit - (bound.used or 0))) for bound in bounds]
    return sorted(
        (
            Ceiling(bound.name, most, bound.shared, f"{bound.sentence}{_each(bound, readings)}", bound.remedy)
            for bound, most in found
            if most is not None
        ),
        key=lambda ceiling: ceiling.most,
    )


def lowest(found: Sequence[Ceiling]) -> Names:
    """Return the limits that bind first."""
    return tuple(ceiling.name for ceiling in found if ceiling.most <= found[0].most * (1 + ALIKE))


def following(found: Sequence[Ceiling], bound_by: Names) -> Ceiling | None:
    """Return the limit that binds next, after the first ones are raised."""
    return next((ceiling for ceiling in found if ceiling.name not in bound_by), None)


def polite(found: Sequence[Ceiling]) -> tuple[int, Ceiling] | None:
    """Return the count at which to stop for the sake of other processes, and its limit; None where none is shared."""
    shared = next((ceiling for ceiling in found if ceiling.shared), None)
    return None if shared is None else (math.floor(SHARED_PART * shared.most), shared)


def _each(bound: Bound, readings: Sequence[Reading]) -> str:
    slope = growth.each(readings, bound.costs)
    if bound.costs == "one" or slope is None:
        return ""
    return f"; each further thread takes {f'{slope:.2f} maps' if bound.costs == 'maps' else f'{slope / 1000:,.0f} kB'}"
