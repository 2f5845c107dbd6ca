"""The validity checks of an arm of a block. Only wrong figures fail a check; noise widens intervals instead.

``blocks.run`` judges them for each arm when its block has ended. *Cap*: maximum number in flight. *Hole*: a time in
which no fetch ended.
"""

from math import inf

from inflight.bench.measure import checks
from inflight.bench.measure.blocks.block import site_of
from inflight.bench.measure.checks import Judge, Judgement, passed_if
from inflight.bench.measure.expected import longest_wait_ns
from inflight.bench.measure.trial import Observation
from inflight.bench.plan.trial import Trial

ANY_COST = inf
"""No tolerance: the cost of CPU work per page depends on other load, so it is reported and not judged."""


def cap(_trial: Trial, seen: Observation) -> Judgement:
    """Check that the in-flight cap was reached and never exceeded, as seen by client and gate.

    A client with a limit of its own reaches this limit. It may count more: fetches that wait within the client.
    """
    client, held = seen.measured["peak_in_flight"], seen.measured["held_in_flight"]
    asked = seen.outcome["asked"]
    reached = seen.measured.get("reached_in_flight") or asked
    what = "cap" if reached == asked else f"reached {reached} of"
    figures = f"{what} {asked}, most in flight: client {client}, held by the gate {held}"
    return passed_if(held == reached <= client <= asked, figures)


def hole(trial: Trial, seen: Observation) -> Judgement:
    """Check that fetches ended all the time while the arm had its turns (``checks.no_hole``).

    The usual time of a fetch is the 90 % quantile of those that ended within a slice.
    """
    assert trial.block is not None
    return checks.no_hole(seen, longest_wait_ns(site_of(trial.block)), seen.outcome["usual_ns"])


CHECKS: dict[str, Judge] = {
    "answer correct": lambda _, seen: checks.answer(seen, seen.measured["pages"]),
    "no unexpected failures": lambda _, seen: checks.failures(seen.measured["failed_pages"]),
    "cap reached, never exceeded": cap,
    "no hole": hole,
    "requests counted alike": lambda _, seen: checks.counted_alike(seen.measured["tries"], seen.measured["requests"]),
    "settings applied": checks.settings,
    "CPU work done": lambda trial, seen: checks.work(seen, seen.measured["pages"], trial.workload.cpu_ns, ANY_COST),
}
"""All checks by the name that a row has; ``show/texts.toml`` explains each name."""
