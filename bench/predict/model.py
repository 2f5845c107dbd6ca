"""X(N): the pages per second of a model with N fetches in flight, from its CPU time per page. Pure.

``advice`` and ``simulator`` call ``models``; the script of the simulator's page has the same formulas, and a test
compares the two. With N fetches in flight, added latency L, CPU work w per page and the model's own CPU time c(N) per
page, one core fetches X(N) = min(N / (L + c + w), 1 / (c + w)) pages per second (``inflight.bench.frame.statistics``
has the source). c is measured without latency and CPU work at several numbers in flight.
Between two of them it is interpolated on a straight line in logarithms of both; outside of them it is constant.
P processes fetch at most P times what one fetches with N / P, and no more than their parent can hand out: 1 / c.
"""

import math
from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

from pandas import DataFrame

from inflight.bench.frame.contrast import records, summary
from inflight.bench.frame.statistics import bound_per_s, knee

HALVINGS = 60
"""Steps of the search for a knee: each halves its interval."""
NUMBERS = (1, 10, 100, 1_000)
"""The numbers in flight at which costs are measured. From 1 to 10 the cost falls by a half or more, so that a line
from 1 to 100 would be twice too high at 10; above 1,000 it is taken as constant."""
TURN_NS, MEASURED_CORES = 1_000_000, 2
"""For how long a process of a pool works on pages before they go home (``strategies.process_pool``), and the number of
processes with which a pool's costs are measured."""
NEAR = 2.0
"""Maximum factor between a number in flight and the measured one whose cost is taken for it."""


class Load(NamedTuple):
    """What a page asks for."""

    latency_ns: float
    work_ns: float


class Cost(NamedTuple):
    """The CPU time per page of a model at one number in flight, in ns.

    ``low_ns`` to ``high_ns``: the 95 % interval; of an unstable arm, whose blocks jump between states, their range.
    """

    in_flight: int
    ns: float
    low_ns: float
    high_ns: float
    is_unstable: bool


class Model(NamedTuple):
    """A model: its costs in ascending order of the numbers in flight. There is at least one."""

    name: str
    costs: tuple[Cost, ...]

    def cost(self, in_flight: float) -> Cost:
        """Return the cost at any number in flight; it is unstable beside a number at which it was."""
        first, last = self.costs[0], self.costs[-1]
        if in_flight <= first.in_flight:
            return first
        for low, high in pairwise(self.costs):
            if in_flight <= high.in_flight:
                share = math.log(in_flight / low.in_flight) / math.log(high.in_flight / low.in_flight)
                mean_ns = low.ns * (high.ns / low.ns) ** share
                low_ns = low.low_ns * (high.low_ns / low.low_ns) ** share
                high_ns = low.high_ns * (high.high_ns / low.high_ns) ** share
                return Cost(round(in_flight), mean_ns, low_ns, high_ns, high.is_unstable)
        return last

    def page_ns(self, in_flight: float, load: Load) -> float:
        """Return the CPU time per page, the work included."""
        return self.cost(in_flight).ns + load.work_ns

    def per_s(self, in_flight: float, load: Load, cores: int = 1) -> tuple[float, float, float]:
        """Return the pages per second on so many cores, and the ends of their range: from the dearest cost on."""
        cost = self.cost(in_flight)
        mean, low, high = (_per_s(in_flight, load, ns, cores) for ns in (cost.ns, cost.high_ns, cost.low_ns))
        return mean, low, high

    def knee(self, load: Load) -> float:
        """Return the least number in flight that fills a core."""
        last = self.costs[-1].in_flight
        low = 1.0
        high = max(last, knee(load.latency_ns, self.page_ns(last, load)))
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            if middle >= knee(load.latency_ns, self.page_ns(middle, load)):
                high = middle
            else:
                low = middle
        return high

    @property
    def stable_up_to(self) -> int | None:
        """The greatest number in flight below the first at which it was unstable; None: it never was."""
        stable = 0
        for cost in self.costs:
            if cost.is_unstable:
                return stable
            stable = cost.in_flight
        return None

    def has_cost(self, in_flight: int) -> bool:
        """Whether the cost is known at this number in flight: near or between measured numbers, or above the last."""
        numbers = [cost.in_flight for cost in self.costs]
        is_above = in_flight > numbers[-1] >= NUMBERS[-1]
        return is_above or numbers[0] / NEAR <= in_flight <= numbers[-1] * NEAR


def _per_s(in_flight: float, load: Load, cost_ns: float, cores: int) -> float:
    """Return the pages per second at one cost; on several cores, a parent that takes all of the cost may be full."""
    members = min(cores, in_flight)
    per_s = members * bound_per_s(in_flight / members, load.latency_ns, cost_ns + load.work_ns)
    if cores == 1:
        return per_s
    return min(per_s, 1e9 / cost_ns)


def in_turns(pool: Model, in_flight: int, load: Load) -> Model:
    """Return a pool with the cost that it has at this CPU work, with so many in flight.

    The pages of one turn go home in one message. So a page costs as much as with as many in flight as a turn has.
    """
    if not load.work_ns:
        return pool
    pages = max(1, TURN_NS / load.work_ns)
    return Model(pool.name, (pool.cost(min(in_flight, MEASURED_CORES * pages)),))


def models(lines: DataFrame) -> list[Model]:
    """Return the models of lines of the frame that have the costs, in the order of their names.

    Lines are ``with_cycles``, which say which arms are unstable.
    """
    return [Model(str(name), _costs(part)) for name, part in bare(lines).groupby("arm")]


def bare(lines: DataFrame) -> DataFrame:
    """Return the lines that are costs: of the figure ``cpu_per_page_ns``, without latency and CPU work."""
    return lines.query("figure == 'cpu_per_page_ns' and latency_ns == 0 and cpu_ns == 0 and valid")


def _costs(lines: DataFrame) -> tuple[Cost, ...]:
    """Return the costs of one model, of the lines that ``models`` has chosen."""
    costs = []
    for mean in records(summary(lines, ["in_flight"]).sort_values("in_flight")):
        of_number = lines[lines["in_flight"] == mean.in_flight]
        low, high = mean.low, mean.high
        is_unstable = bool(of_number["is_unstable"].any())
        if is_unstable or not math.isfinite(mean.high):
            low, high = of_number["value"].min(), of_number["value"].max()
        costs.append(Cost(int(mean.in_flight), mean.estimate, float(low), float(high), is_unstable))
    return tuple(costs)


def around(in_flight: int) -> tuple[int, ...]:
    """Return the two of NUMBERS between which a number in flight lies, or the last two.

    One of NUMBERS is the upper of its two: what is advised, up to the knee, lies below it.
    """
    upper = min(max(1, bisect_left(NUMBERS, in_flight)), len(NUMBERS) - 1)
    return NUMBERS[upper - 1 : upper + 1]
