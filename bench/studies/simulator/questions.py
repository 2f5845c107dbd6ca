"""Questions for a class about the simulator, with answers that are computed from the costs of the run."""

import math
from collections.abc import Sequence

from inflight.bench.core import units
from inflight.bench.present.section import Detail, Section
from inflight.bench.studies.simulator.read import USUAL, USUAL_IN_FLIGHT, Load, Model, Simulated
from inflight.bench.studies.simulator.show import whole

_MS = 1_000_000


def questions(found: Simulated) -> Section:
    """Return questions with folded answers."""
    cheap, dear = found.models[0], found.models[-1]
    asked = (_from_which_latency(dear), _whose_knee(found.models), _much_work(cheap, dear), _twice_as_many(cheap))
    return Section("", details=asked)


def _from_which_latency(dear: Model) -> Detail:
    number, cost_ns = USUAL_IN_FLIGHT, dear.cpu_ns(USUAL_IN_FLIGHT)
    latency = units.duration((number - 1) * cost_ns)
    return Detail(
        f"With {number} fetches in flight and no CPU work, at which latency does the choice of model stop mattering?",
        (
            f"At {latency}. There the knee of the most expensive model ({dear.strategy}) is at {number} in flight.",
            f"The knee is at L / c + 1. It is {number} if L is {number - 1} x {units.duration(cost_ns)} = {latency}.",
            "With more latency, every model waits for pages, and all of them get nearly the same pages/s.",
        ),
    )


def _whose_knee(models: Sequence[Model]) -> Detail:
    """Ask for the knees of the model that is cheapest at its knee and of the one that is most expensive there."""
    load = Load(50 * _MS)
    ordered = sorted(models, key=lambda model: -model.knee(load))
    told = [
        f"{model.strategy} fills its core with {whole(model.knee(load))} in flight and then gets "
        f"{units.rate(model.per_s(model.knee(load), load))}."
        for model in (ordered[0], ordered[-1])
    ]
    return Detail(
        "With 50 ms of latency, which model fills its core with fewer fetches in flight: the cheapest or the most "
        "expensive one?",
        ("The most expensive one. The knee is at L / c + 1, so a greater c means a lower knee.", *told),
    )


def _much_work(cheap: Model, dear: Model) -> Detail:
    work = Load(0, _MS)
    bare, worked = (
        units.times(cheap.per_s(USUAL_IN_FLIGHT, load) / dear.per_s(USUAL_IN_FLIGHT, load), 3)
        for load in (Load(), work)
    )
    return Detail(
        f"Each page needs {units.duration_tick(work.work_ns)} of CPU work, for example to parse it. How much faster is "
        f"the cheapest model than the most expensive one with {USUAL_IN_FLIGHT} in flight and no latency?",
        (
            f"{worked} with the work, {bare} without it ({cheap.strategy} and {dear.strategy}).",
            "The formula takes the work as equal in every model. The more there is of it, the less the model matters.",
        ),
    )


def _twice_as_many(cheap: Model) -> Detail:
    number = 10 ** math.ceil(math.log10(max(cheap.knee(USUAL), cheap.costs[-1][0])))  # the costs are constant there
    before, after = (units.duration(1e9 * many / cheap.per_s(many, USUAL)) for many in (number, 2 * number))
    return Detail(
        f"With {units.duration_tick(USUAL.latency_ns)} of latency, {cheap.strategy} has {units.count(number)} in "
        f"flight, and you allow {units.count(2 * number)}. What happens to pages/s, and to the time of a fetch?",
        (
            f"Pages/s stay at {units.number(cheap.per_s(number, USUAL))}, because the core was full before.",
            f"The time of a fetch grows from {before} to {after}: the fetches wait for the core.",
            "By Little's law, the time of a fetch is the number in flight divided by pages/s.",
        ),
    )
