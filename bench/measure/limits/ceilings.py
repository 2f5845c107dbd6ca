"""Predictions: how many of a resource each limit leaves to this process, the lowest first. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from inflight.bench.measure.limits import growth
from inflight.bench.measure.limits.bounds import Bound
from inflight.bench.measure.limits.growth import Reading

SHARED_PART = 0.9
"""How far a ramp goes into what other processes need too."""
ALIKE = 0.01
"""Relative difference up to which two limits count as equal."""
Names = tuple[str, ...]
"""The limits that bind: one, several that cannot be told apart, or none that is known."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One limit, and how many more of the resource it lets this process have."""

    name: str
    most: int
    shared: bool
    """With other processes: who goes up to it takes from them."""
    evidence: str
    remedy: str


def ceilings(bounds: Sequence[Bound], readings: Sequence[Reading] = ()) -> list[Ceiling]:
    """Return what the bounds allow, the lowest first; a bound whose cost a piece is unknown says nothing.

    Where it is unknown how much is in use, all of it is taken to be free: an upper bound, and the evidence says so.
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
    """Return where to stop for the sake of others, and for which limit; None where nothing is shared."""
    shared = next((ceiling for ceiling in found if ceiling.shared), None)
    return None if shared is None else (math.floor(SHARED_PART * shared.most), shared)


def _each(bound: Bound, readings: Sequence[Reading]) -> str:
    slope = growth.each(readings, bound.costs)
    if bound.costs == "one" or slope is None:
        return ""
    return f"; one thread more takes {f'{slope:.2f} maps' if bound.costs == 'maps' else f'{slope / 1000:,.0f} kB'}"
