"""The simulator in words: what follows from a setting of its sliders, and how far the prediction is off.

``templates/simulator.js`` writes the same sentences; a test compares the two.
"""

import math
import statistics
from collections.abc import Sequence

from inflight.bench.core import units
from inflight.bench.present import words
from inflight.bench.present.table import Table
from inflight.bench.studies.simulator.read import (
    TIE,
    Checked,
    Load,
    Model,
    Simulated,
    tied,
    ties_up_to,
)

FAR = 0.25
"""Error of the predictions above which the reader is warned."""
NUMBERS = (1, 10, 100, 1000, 10_000)
"""Numbers in flight of the table."""
MOST_NAMES = 6
"""Maximum number of names in a sentence."""


def sentences(models: Sequence[Model], load: Load, in_flight: int) -> list[str]:
    """Say where the models tie, what they get with so many in flight, and where the limits are."""
    told = [_with_in_flight(models, load, in_flight), _limits(models, load)]
    return [_ties(models, load), *told] if len(models) > 1 else told


def warning(found: Simulated) -> str:
    """Say that the predictions are far from the measured cells of the run; empty if they are not.

    With one in flight at no added latency, the time of server and network is missing from the formula, so these cells
    do not count.
    """
    errors = [abs(math.expm1(one.off)) for one in found.checked]
    sources = [abs(math.expm1(one.off)) for one in found.at_the_source if one.point.in_flight > 1]
    median, largest = statistics.median(errors) if errors else 0.0, max(sources, default=0.0)
    if max(median, largest) <= FAR:
        return ""
    percent = f"{units.number(100 * (median if median > FAR else largest), 2)} %"
    size = (
        f"{percent} (median)" if median > FAR else f"up to {percent} at no added latency, with more than one in flight"
    )
    return f"The predictions differ from this run's measurements by {size}. Do not rely on them."


def table(found: Simulated, load: Load) -> Table:
    """Return the predictions at one load."""
    rates = [f"pages/s with {units.count(number)}" for number in NUMBERS]
    heads = ("model", "CPU time per page", "knee (in flight)", *rates)
    return Table(f"Prediction with {of_load(load)}", heads, tuple(_line(model, load) for model in found.models))


def checked(found: Simulated) -> list[str]:
    """Say how far the predictions are from the measured cells of the run, and what is not simulated."""
    reasons = dict.fromkeys(found.left_out.values())
    names = {why: [words.plain(name) for name, reason in found.left_out.items() if reason == why] for why in reasons}
    left_out = [f"Not simulated: {words.listed(words.first(some, MOST_NAMES))} ({why})." for why, some in names.items()]
    return [_measured_with(found.models), *_off(found.checked), *_off_at_the_source(found.at_the_source), *left_out]


def errors(found: Simulated) -> Table | None:
    """Return every measured cell with latency or CPU work and its prediction; None without any."""
    heads = ("model", "latency", "CPU work", "in flight", "predicted pages/s", "measured pages/s", "error")
    lines = tuple(map(_checked_line, found.checked))
    return Table("Predicted against measured, the largest error first", heads, lines) if lines else None


def of_load(load: Load) -> str:
    """Write a load: ``10 ms of latency and no CPU work per page``."""
    latency = f"{units.duration_tick(load.latency_ns)} of" if load.latency_ns else "no added"
    work = f"{units.duration_tick(load.work_ns)} of" if load.work_ns else "no"
    return f"{latency} latency and {work} CPU work per page"


def whole(number: float) -> str:
    """Write a number in flight, rounded up, with three digits: ``884``, ``88,300``."""
    least = math.ceil(number - 1e-6)
    step = 10 ** max(0, len(str(least)) - 3)
    return units.count(-(-least // step) * step)


# The result of a setting


def _ties(models: Sequence[Model], load: Load) -> str:
    last = ties_up_to(models, load)
    start = f"With {of_load(load)}"
    if not last:
        return f"{start}, the models shown differ even with 1 fetch in flight."
    told = f"{start}, the {len(models)} models shown tie (within {round(100 * TIE)} %)"
    return f"{told} with 1 in flight, and differ with 2." if last == 1 else f"{told} up to {words.in_flight(last)}."


def _with_in_flight(models: Sequence[Model], load: Load, in_flight: int) -> str:
    rated = sorted(models, key=lambda model: -model.per_s(in_flight, load))
    first, last = (units.number(model.per_s(in_flight, load)) for model in (rated[0], rated[-1]))
    start = f"With {words.in_flight(in_flight)},"
    if len(models) == 1:
        return f"{start} {rated[0].strategy} gets {first} pages/s."
    if tied(models, load, in_flight):
        return f"{start} they tie: {last if first == last else f'{last} to {first}'} pages/s."
    fastest, slowest = rated[0].strategy, rated[-1].strategy
    return f"{start} {fastest} is the fastest ({first} pages/s) and {slowest} the slowest ({last} pages/s)."


def _limits(models: Sequence[Model], load: Load) -> str:
    """Name the limits of the models with the highest and the lowest one."""
    limits = sorted((_limit(model, load) for model in models), key=lambda one: -one[0])
    if not load.latency_ns:
        return "By the formula, one fetch in flight fills the core, because there is no latency to wait for."
    (rate, name, number), *others = limits
    told = f"{name} reaches its limit of {units.rate(rate)} at {whole(number)} in flight"
    for rate, name, number in others[-1:]:
        told += f", and {name} reaches {units.rate(rate)} at {whole(number)}"
    return f"{told}."


def _limit(model: Model, load: Load) -> tuple[float, str, float]:
    knee = model.knee(load)
    return model.per_s(knee, load), model.strategy, knee


def _line(model: Model, load: Load) -> tuple[str, ...]:
    cost = " to ".join(dict.fromkeys(units.duration(ns) for ns in _ends([ns for _, ns in model.costs])))
    rates = (units.number(model.per_s(number, load)) for number in NUMBERS)
    return (words.plain(model.strategy), cost, whole(model.knee(load)), *rates)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


# Measured against predicted


def _measured_with(models: Sequence[Model]) -> str:
    numbers = sorted({number for model in models for number, _ in model.costs})
    listed = words.listed([units.count(number) for number in numbers])
    return f"The CPU time per page was measured with {listed} in flight."


def _off(found: Sequence[Checked]) -> list[str]:
    """Return the median and the largest error, with the reason for the largest one."""
    if not found:
        return ["This run measured nothing with latency or CPU work, so no prediction with these is checked here."]
    worst = found[0]
    median = statistics.median(abs(math.expm1(one.off)) for one in found)
    point = worst.point
    where = f"{point.strategy} with {of_load(point.load)} and {words.in_flight(point.in_flight)}"
    size = f"{units.number(100 * median, 2)} %, the largest {units.change(worst.off)}"
    rates = f"{units.rate(worst.predicted_per_s)} predicted, {units.rate(point.per_s)} measured"
    far = sum(abs(math.expm1(one.off)) > FAR for one in found) or "none"
    return [
        f"Checked against {words.counted(len(found), 'measured point')} of this run with latency or CPU work.",
        f"The median error of the predicted pages/s is {size}; at {far} of them it is more than {round(100 * FAR)} %.",
        f"The largest of these errors is that of {where}: {rates}.{_why(worst)}",
    ]


def _why(worst: Checked) -> str:
    """Compare the CPU time that was measured there with that of the simulator."""
    point = worst.point
    if point.cpu_ns is None:
        return ""
    cost, taken = units.duration(point.cpu_ns), units.duration(worst.cpu_ns)
    return f" A page cost {cost} of CPU time there; the simulator calculates with {taken}."


def _off_at_the_source(found: Sequence[Checked]) -> list[str]:
    """Return the largest error at no added latency, where the formula leaves out server and network."""
    if not found:
        return []
    worst = found[0].point
    where = f"{worst.strategy}, {words.in_flight(worst.in_flight)}"
    told = "At no added latency and without CPU work, where the costs were measured, the largest error is"
    return [
        f"{told} {units.change(found[0].off)} ({where}).",
        "The formula leaves out the time of server and network.",
    ]


def _checked_line(one: Checked) -> tuple[str, ...]:
    point = one.point
    return (
        words.plain(point.strategy),
        units.duration_tick(point.load.latency_ns) if point.load.latency_ns else "none",
        units.duration_tick(point.load.work_ns) if point.load.work_ns else "none",
        units.count(point.in_flight),
        units.number(one.predicted_per_s),
        units.number(point.per_s),
        units.change(one.off),
    )
