"""Which model to take for a workload, what to expect of it, and when that is not known. Pure.

What is expected comes from each strategy's formula (``bench.analyse.surface``), fitted to a map of the same machine.
How sure it is comes from the measured workloads nearby: each of them was left out in turn and predicted by the others,
and the root mean square of these errors, times Student's t, is the interval of 95 %. Beyond 10 % nothing is advised;
nor outside of what was measured by more than a factor of 2.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from bench.analyse.cells import Cell
from bench.analyse.model import FULL
from bench.analyse.observed import Observed, Wanted
from bench.analyse.stats import NoSlope, Slope
from bench.analyse.surface import NoSurface, Surface, fit
from bench.core.stats import CONFIDENCE, t_quantile

MOST_OFF = 0.10
"""An interval, or a measured figure, that is farther off than this share is not known."""
BEYOND = 2.0
"""So many times outside of what was measured is too far."""
WORK_SLACK = 1.25
"""What was asked for as 1 ms of CPU work may have cost so much less where it was measured, or more."""
LEAST_SAVING_BYTES = 10_000_000
"""Less memory than this is no reason to choose a model."""
SHOWN = 3
"""So many of the nearest measured workloads are listed."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the strategies besides the map's rows."""

    most_in_flight: Mapping[str, int] = field(default_factory=dict)
    """Of strategies that never have more in flight."""
    forbidden: Mapping[str, str] = field(default_factory=dict)
    """Strategies that this machine does not allow so many in flight, each with the reason."""
    memory: Mapping[str, Slope | NoSlope] = field(default_factory=dict)
    """What one more fetch in flight takes, where it was measured."""
    behind: frozenset[str] = frozenset()
    """Strategies that the map itself shows behind others at this very workload, where it was measured."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """How long the strategies' programs are."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What to expect of one strategy in a long crawl; ``low`` to ``high`` is the interval of 95 %."""

    strategy: str
    per_s: float
    low: float
    high: float
    error: float
    """The root mean square of the relative errors nearby."""
    limit: Literal["latency", "CPU"]
    knee: float
    """N*: with fewer in flight latency is what limits, but where they keep the core full (``model.FULL``)."""
    cpu_per_page_ns: float
    """The CPU work included."""
    memory: Slope | None
    in_flight: int
    """What the strategy can have of what was asked for."""
    unknown: str
    """Why the figures are not to be trusted; empty where they are."""
    nearest: tuple[tuple[Observed, float], ...]
    """Measured workloads, each with ln(measured / predicted by the others)."""
    surface: Surface

    @property
    def off(self) -> float:
        """The half width of the interval, as a share: of the half that is not cut by what no client can exceed."""
        return self.per_s / self.low - 1

    @property
    def core_share(self) -> float:
        """How much of a core it keeps busy."""
        return min(1.0, self.per_s * self.cpu_per_page_ns / 1e9)

    @property
    def memory_bytes(self) -> float | None:
        """What so many in flight take; None where it was not measured."""
        return None if self.memory is None else self.memory.per_fetch * self.in_flight


@dataclass(frozen=True, slots=True)
class Advice:
    """The advised strategy, or None; what to expect of all of them, the fastest first."""

    wanted: Wanted
    advised: str | None
    why: str
    """Why this one, or why none."""
    alike: tuple[str, ...]
    """Those that are within the interval of the fastest whose figures are known, itself included."""
    expected: tuple[Expected, ...]
    left_out: Mapping[str, str]
    """Strategies without an expectation, each with the reason."""

    def of(self, strategy: str) -> Expected | None:
        """Return what is expected of a strategy."""
        return next((one for one in self.expected if one.strategy == strategy), None)


def surfaces(found: Iterable[Cell]) -> list[Surface | NoSurface]:
    """Return the formula of each strategy that shares the stack, of crawl cells of one site and use of connections."""
    own: dict[str, list[Cell]] = {}
    for cell in found:
        if cell.stack == "shared" and cell.kind == "crawl":
            own.setdefault(cell.strategy, []).append(cell)
    return [fit(name, cells) for name, cells in sorted(own.items())]


def advise(fits: Sequence[Surface | NoSurface], wanted: Wanted, facts: Facts) -> Advice:
    """Advise on a workload (its number of pages does not count: what is expected is that of a long crawl)."""
    left_out = {one.strategy: one.reason for one in fits if isinstance(one, NoSurface)}
    left_out |= {one.strategy: facts.forbidden[one.strategy] for one in fits if one.strategy in facts.forbidden}
    able = [one for one in fits if isinstance(one, Surface) and one.strategy not in left_out]
    expected = sorted((_expected(one, wanted, facts) for one in able), key=lambda one: (-one.per_s, one.strategy))
    if not expected:
        return Advice(wanted, None, "no strategy has enough valid trials", (), (), left_out)
    able_to = [one for one in expected if one.in_flight == wanted.in_flight]
    known = [one for one in able_to if not one.unknown]
    if not known:
        first = (able_to or expected)[0]
        why = first.unknown or f"it never has more than {first.in_flight:,} in flight"
        return Advice(wanted, None, f"{first.strategy}: {why}", (), tuple(expected), left_out)
    first = known[0]
    if better := [one for one in expected if one.unknown and one.low > first.high]:
        why = f"{better[0].strategy} seems to be faster than all that is known: {better[0].unknown}"
        return Advice(wanted, None, why, (), tuple(expected), left_out)
    alike = [one for one in known if one.per_s >= first.low]
    ahead = [one for one in alike if one.strategy not in facts.behind] or alike
    advised, why = _choose(ahead, facts)
    if len(ahead) < len(alike):
        why += "; the map itself has the others behind, at this very workload"
    alike = ahead
    return Advice(wanted, advised, why, tuple(one.strategy for one in alike), tuple(expected), left_out)


def outside(points: Iterable[Observed], wanted: Wanted) -> str:
    """Say in which direction a workload is too far from all that were measured; an empty text where it is not.

    There must be one with at least half as much of everything, and one with at most twice as much of everything: what
    was measured need not be a rectangle.
    """
    measured = [point.at for point in points]
    if not any(_at_least(one, wanted, 1 / BEYOND) for one in measured):
        return "no measured workload has half or more of all three: latency, CPU work and in flight"
    if not any(_at_least(wanted, one, 1 / BEYOND) for one in measured):
        return "no measured workload has twice or less of all three: latency, CPU work and in flight"
    return ""


def _at_least(one: Wanted, other: Wanted, factor: float) -> bool:
    return (
        one.latency_ns >= factor * other.latency_ns
        and one.work_ns * WORK_SLACK >= factor * other.work_ns
        and one.in_flight >= factor * other.in_flight
    )


def _expected(one: Surface, asked: Wanted, facts: Facts) -> Expected:
    in_flight = min(asked.in_flight, facts.most_in_flight.get(one.strategy, asked.in_flight))
    wanted = Wanted(asked.latency_ns, asked.work_ns, in_flight)
    error, near = one.error_near(wanted), one.nearest(wanted)
    cpu_ns = _own_cpu_ns(near, one.cpu_ns) + wanted.work_ns
    most = min(most_per_s(wanted), 1e9 / cpu_ns if cpu_ns else math.inf)  # no core has more time than it has
    per_s = min(one.per_s(wanted), most)
    factor = math.exp(min(t_quantile(len(near), (1 + CONFIDENCE) / 2) * error, 700.0))
    knee = one.knee(wanted.latency_ns, wanted.work_ns)
    slope = facts.memory.get(one.strategy)
    unknown = outside(one.observed, wanted)
    if not unknown and factor - 1 > MOST_OFF:
        unknown = f"the interval is ±{(factor - 1) * 100:.0f} %, and beyond {MOST_OFF * 100:.0f} % nothing is advised"
    return Expected(
        one.strategy,
        per_s,
        per_s / factor,
        min(per_s * factor, most_per_s(wanted)),
        error,
        "CPU" if in_flight >= FULL * knee else "latency",
        knee,
        cpu_ns,
        slope if isinstance(slope, Slope) else None,
        in_flight,
        unknown,
        tuple(near[:SHOWN]),
        one,
    )


def most_per_s(wanted: Wanted) -> float:
    """Return what no client can exceed: N / (L + w), because a page takes its latency and its work, and 1 / w."""
    page_ns = wanted.latency_ns + wanted.work_ns
    by_latency = wanted.in_flight / page_ns * 1e9 if page_ns else math.inf
    return min(by_latency, 1e9 / wanted.work_ns) if wanted.work_ns else by_latency


def _own_cpu_ns(near: Sequence[tuple[Observed, float]], otherwise: float) -> float:
    """Return the CPU time of a page without its work: the median of the nearest workloads."""
    found = [point.cpu_per_page_ns - point.at.work_ns for point, _ in near[:SHOWN] if point.cpu_per_page_ns is not None]
    return max(0.0, median(found)) if found else otherwise


def _choose(alike: Sequence[Expected], facts: Facts) -> tuple[str, str]:
    """Choose among those that cannot be told apart: by memory if that is worth it, else the shortest program."""
    if len(alike) == 1:
        return alike[0].strategy, "it is the fastest, and no other is within its interval"
    text = f"{len(alike)} are within the interval of the fastest; of these"
    sizes = {one.strategy: size for one in alike if (size := one.memory_bytes) is not None}
    left = list(alike)
    if len(sizes) == len(alike):
        least = min(sizes.values())
        left = [one for one in alike if sizes[one.strategy] - least < LEAST_SAVING_BYTES]
        if len(left) == 1:
            return left[0].strategy, f"{text} it takes the least memory"
    text += " by the least memory, of these" if len(left) < len(alike) else ""
    lengths = {one.strategy: facts.lines[one.strategy] for one in left if one.strategy in facts.lines}
    if len(lengths) < len(left):
        return left[0].strategy, f"{text} it has the highest throughput expected"
    chosen = min(left, key=lambda one: (lengths[one.strategy], -one.per_s))
    return chosen.strategy, f"{text} it has the shortest program"
