"""Which model to choose for a workload, and the figures to expect, from the CPU time per page of each model. Pure.

With N fetches in flight, added latency L, CPU work w per page and the model's own CPU time c per page, a model fetches
X = min(N / (L + c + w), 1 / (c + w)) pages per second (``inflight.bench.core.model``). X is computed for each block in
which c was measured, so that models are compared within blocks, by the rule of ``inflight.bench.frame.statistics``.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

from inflight.bench.core.cells import Cell, pages_per_s, spread_of
from inflight.bench.core.model import bound_per_s, knee
from inflight.bench.frame.slopes import NoSlope, Slope
from inflight.bench.frame.statistics import Answer, Interval, Logs, adjusted, answer, compare, differs, t_interval
from inflight.bench.rows.files import Row

MOST_OFF = 0.10
"""Maximum distance between a measured figure and the expected one, as a share."""
LEFT_OUT_NS = 100_000.0
"""Time that a fetch over the loopback interface waits for server and network, which the formula leaves out."""
NEAR = 2.0
"""Maximum factor between the wanted number in flight and that of the measured CPU time per page."""
LEAST_BLOCKS = 2
LEAST_SAVING_BYTES = 10_000_000
"""Minimum memory saving that makes a model preferable."""
_SETTINGS = ("revision", "repository", "python", "requirements", "variables", "planted_loops")
"""Settings with which an arm is not the plain strategy of its name."""
_OF_SITE = ("links", "body_bytes", "body_spread")
"""Properties of a site on which the CPU time per page depends."""

Costs = Mapping[str, Logs]
"""Logarithm of the CPU time per page (ns), without latency and CPU work, by strategy and block."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The workload to advise on."""

    latency_ns: float
    work_ns: float
    """CPU work per page."""
    in_flight: int


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the strategies besides their CPU time."""

    left_out: Mapping[str, str] = field(default_factory=dict)
    """Strategies that cannot have this many in flight here, each with the reason."""
    memory: Mapping[str, Slope | NoSlope] = field(default_factory=dict)
    """Memory per fetch in flight, of the strategies for which it was measured."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Number of lines of each strategy's program."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected figures of one strategy, in a long crawl with a core of its own."""

    strategy: str
    wanted: Wanted
    logs: Logs
    """Logarithm of the pages per second, by block."""
    cpu: Interval
    """CPU time per page in nanoseconds, with the CPU work."""
    memory: Slope | None

    @property
    def per_s(self) -> Interval:
        """Pages per second."""
        return t_interval(list(self.logs.values())).ratio()

    @property
    def knee(self) -> float:
        """Number in flight from which on the core is full."""
        return knee(self.wanted.latency_ns, self.cpu.estimate)

    @property
    def limit(self) -> Literal["latency", "CPU"]:
        """The bottleneck."""
        return "CPU" if self.wanted.in_flight >= self.knee else "latency"

    @property
    def core_share(self) -> float:
        """Share of a core that is busy."""
        return min(1.0, self.per_s.estimate * self.cpu.estimate / 1e9)

    @property
    def memory_bytes(self) -> float | None:
        """Memory of all fetches in flight, in bytes; None if not measured."""
        return None if self.memory is None else self.memory.per_fetch * self.wanted.in_flight


@dataclass(frozen=True, slots=True)
class Advice:
    """The recommended strategy, or None, and the expected figures of all strategies, the fastest first."""

    wanted: Wanted
    advised: str | None
    why: str
    """Reason for this strategy, or for none."""
    answers: Mapping[str, Answer]
    """For each other strategy: whether it differs from the fastest."""
    expected: tuple[Expected, ...]
    left_out: Mapping[str, str]

    @property
    def alike(self) -> tuple[str, ...]:
        """The fastest strategy, and those that do not surely differ from it."""
        fastest = [one.strategy for one in self.expected[:1]]
        return (*fastest, *(name for name, found in self.answers.items() if found != "differs"))


def nearest(rows: Iterable[Row], in_flight: int, site: Mapping[str, Any]) -> tuple[int, Costs] | None:
    """Return the measured number in flight nearest to this one, and the CPU time per page of the strategies with it.

    Valid arms on pages like those of ``site`` count, without latency and CPU work, in two blocks or more. None if no
    number is near enough.
    """
    found: dict[int, dict[str, dict[Hashable, float]]] = {}
    for row in rows:
        if _tells_cost(row, site):
            own = found.setdefault(row.workload.in_flight, {}).setdefault(row.strategy, {})
            own[row.run, row.measured.block] = math.log(row.measured.cpu_per_page_ns)
    known = {
        number: costs
        for number, many in found.items()
        if abs(math.log(number / in_flight)) <= math.log(NEAR)
        and (costs := {name: own for name, own in many.items() if len(own) >= LEAST_BLOCKS})
    }
    return min(known.items(), key=lambda one: abs(math.log(one[0] / in_flight)), default=None)


def _tells_cost(row: Row, site: Mapping[str, Any]) -> bool:
    if row.kind != "arm" or not row.valid or row.stack != "shared":
        return False
    workload, arm = row.workload, row.workload.arm
    return (
        arm.role != "placebo"
        and arm.strategy == row.strategy
        and all(getattr(arm, setting) is None for setting in _SETTINGS)
        and workload.connection == "keep-alive"
        and not workload.mean_latency_ns
        and not workload.cpu_ns
        and all(getattr(workload.site, key) == site[key] for key in _OF_SITE)
    )


def advise(costs: Costs, wanted: Wanted, facts: Facts) -> Advice:
    """Return the advice for a workload.

    The fastest strategy is compared with each other one (Holm). There is no recommendation if one of them neither
    surely differs from it nor is surely the same.
    """
    expected = sorted(
        (_expected(name, own, wanted, facts) for name, own in costs.items() if name not in facts.left_out),
        key=lambda one: (-fmean(one.logs.values()), one.strategy),
    )
    if not expected:
        return Advice(wanted, None, "no strategy has a known CPU time per page", {}, (), facts.left_out)
    first, *others = expected
    behind = {one.strategy: compare(first.logs, one.logs) for one in others}
    p = adjusted(behind)
    answers = {name: answer(found, p[name]) for name, found in behind.items()}
    advised, why = _choose(expected, answers, facts)
    return Advice(wanted, advised, why, answers, tuple(expected), facts.left_out)


def _expected(name: str, own: Logs, wanted: Wanted, facts: Facts) -> Expected:
    costs = {block: math.exp(value) + wanted.work_ns for block, value in own.items()}
    logs = {block: math.log(bound_per_s(wanted.in_flight, wanted.latency_ns, cost)) for block, cost in costs.items()}
    cpu, slope = t_interval([math.log(cost) for cost in costs.values()]).ratio(), facts.memory.get(name)
    return Expected(name, wanted, logs, cpu, slope if isinstance(slope, Slope) else None)


def _choose(expected: Sequence[Expected], answers: Mapping[str, Answer], facts: Facts) -> tuple[str | None, str]:
    """Return the strategy to choose or None, and the reason."""
    first = expected[0]
    turn_ns = first.wanted.latency_ns + first.cpu.estimate
    if first.wanted.in_flight < 2 * first.knee and MOST_OFF * turn_ns < LEFT_OUT_NS:
        return None, "fetches are so short here that the unknown time of server and network matters"
    if open_ := [name for name, found in answers.items() if found == "unknown"]:
        return None, f"not significantly slower than the fastest ({first.strategy}): {', '.join(open_)}"
    return _simplest([one for one in expected if answers.get(one.strategy) != "differs"], facts)


def _simplest(alike: Sequence[Expected], facts: Facts) -> tuple[str, str]:
    """Choose among equally fast strategies: by memory if the saving matters, else by the length of the program."""
    if len(alike) == 1:
        return alike[0].strategy, "it is the fastest"
    sizes = {one.strategy: size for one in alike if (size := one.memory_bytes) is not None}
    left = list(alike)
    if len(sizes) == len(alike):
        least = min(sizes.values())
        left = [one for one in alike if sizes[one.strategy] - least < LEAST_SAVING_BYTES]
    chosen = min(left, key=lambda one: facts.lines.get(one.strategy, math.inf))
    if len(left) == 1:
        return chosen.strategy, f"{len(alike)} are equally fast; of these it takes the least memory"
    some = " by memory" if len(left) < len(alike) else ""
    return chosen.strategy, f"{len(alike)} are equally fast{some}; of these it has the shortest program"


# Verification


@dataclass(frozen=True, slots=True)
class Verified:
    """One strategy, measured on the workload."""

    strategy: str
    expected_per_s: float
    measured: Interval | None
    """Pages per second over the valid blocks; None without a valid block."""
    beats: Answer
    """Whether it is faster than the first measured strategy."""

    @property
    def off(self) -> float | None:
        """Relative distance from the expected figure; negative if the measured one is lower."""
        return None if self.measured is None else self.measured.estimate / self.expected_per_s - 1


def candidates(advice: Advice, number: int = 2) -> list[Expected]:
    """Return the strategies to measure: the recommended one and the fastest others."""
    return sorted(advice.expected, key=lambda one: one.strategy != advice.advised)[:number]


def verify(chosen: Sequence[Expected], cells: Iterable[Cell]) -> list[Verified]:
    """Compare the cells of a run of the workload with the expected figures."""
    found = {cell.strategy: spread_of(cell.valid_rows, pages_per_s) for cell in cells}
    logs = {one.strategy: own.logs if (own := found.get(one.strategy)) else {} for one in chosen}
    first = logs[chosen[0].strategy] if chosen else {}
    return [_verified(one, logs[one.strategy], first) for one in chosen]


def _verified(one: Expected, own: Logs, first: Logs) -> Verified:
    if not own:
        return Verified(one.strategy, one.per_s.estimate, None, "unknown")
    measured, found = t_interval(list(own.values())).ratio(), differs(own, first)
    slower = found == "differs" and fmean(own.values()) < fmean(first.values())
    return Verified(one.strategy, one.per_s.estimate, measured, "same" if slower else found)


def worst_off(found: Iterable[Verified]) -> float | None:
    """Return the largest distance from an expected figure; None if a figure is missing."""
    shares = [one.off for one in found]
    return None if not shares or None in shares else max(abs(share) for share in shares if share is not None)


def holds(found: Sequence[Verified]) -> bool:
    """Tell whether the figures are as expected and no strategy was faster than the first."""
    off = worst_off(found)
    return off is not None and off <= MOST_OFF and not any(one.beats == "differs" for one in found[1:])
