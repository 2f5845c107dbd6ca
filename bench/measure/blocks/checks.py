"""The validity checks of an arm. Only wrong figures fail a check; noise widens intervals instead."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from inflight.bench.measure import checks
from inflight.bench.measure.checks import Judgement, passed_if

ANY_COST = inf
"""No tolerance: the cost of CPU work per page depends on other load, so it is reported and not judged."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Input of the checks."""

    cap: int
    """Maximum number of fetches that the arm may have in flight."""
    cpu_ns: int
    """CPU work per page."""
    wait_ns: int
    """Longest time that the site lets a fetch wait."""
    usual_ns: int
    """Time for which a fetch is open within a slice, 90 % quantile."""
    answer_difference: str | None
    measured: Mapping[str, Any]
    server: Mapping[str, Any]
    knobs: Mapping[str, Any]
    wanted_knobs: Mapping[str, Any]


def cap(evidence: Evidence) -> Judgement:
    """Check that the in-flight cap was reached and never exceeded, as seen by client and gate.

    A client with a limit of its own reaches this limit. It may count more: fetches that wait within the client.
    """
    client, held = evidence.measured["peak_in_flight"], evidence.measured["held_in_flight"]
    reached = evidence.measured.get("reached_in_flight") or evidence.cap
    what = "cap" if reached == evidence.cap else f"reached {reached} of"
    figures = f"{what} {evidence.cap}, most in flight: client {client}, held by the gate {held}"
    return passed_if(held == reached <= client <= evidence.cap, figures)


CHECKS: dict[str, Callable[[Evidence], Judgement]] = {
    "answer correct": lambda seen: checks.answer(seen.answer_difference, seen.measured["pages"]),
    "no unexpected failures": lambda seen: checks.failures(seen.measured["failed_pages"]),
    "cap reached, never exceeded": cap,
    "no hole": lambda seen: checks.no_hole(seen.measured, seen.server, seen.wait_ns, seen.usual_ns),
    "requests counted alike": lambda seen: checks.counted_alike(seen.measured["tries"], seen.measured["requests"]),
    "settings applied": lambda seen: checks.knobs(seen.wanted_knobs, seen.knobs),
    "CPU work done": lambda seen: checks.work(seen.measured, seen.measured["pages"], seen.cpu_ns, ANY_COST),
}
