"""The validity checks of an arm. Only wrong figures fail a check; noise widens intervals instead."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from inflight.bench.core import units
from inflight.bench.measure import checks
from inflight.bench.measure.checks import Judgement, passed_if

MOST_SERVER_SHARE = 0.90
"""Maximum share of the server's core. Above it, the minimum ratio of the client's share to the server's."""
ANY_COST = inf
"""No tolerance: the cost of CPU work per page depends on other load, so it is reported and not judged."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Input of the checks."""

    cap: int
    """Maximum number of fetches that the arm can have in flight."""
    cpu_ns: int
    """CPU work per page."""
    answer_difference: str | None
    client_share: float | None
    """CPU time of the worker over its windows; None where it was not pinned to a single core."""
    measured: Mapping[str, Any]
    server: Mapping[str, Any]
    knobs: Mapping[str, Any]
    wanted_knobs: Mapping[str, Any]
    is_part: bool = False
    """Whether the arm is no model, but measures a part of a page."""


def cap(evidence: Evidence) -> Judgement:
    """Check that the in-flight cap was reached and never exceeded, as seen by client and gate."""
    client, held = evidence.measured["peak_in_flight"], evidence.measured["held_in_flight"]
    figures = f"cap {evidence.cap}, most in flight: client {client}, held by the gate {held}"
    return passed_if(client == held == evidence.cap, figures)


def server(evidence: Evidence) -> Judgement:
    """Check that the server was not the bottleneck.

    It was not if it had a tenth of its core left. Nor was it if the client's core was as full, within a tenth: a faster
    server would have raised the throughput by no more than that, and hardly changed the CPU time per page. Other load
    on a core lowers both shares alike, so it does not change their ratio. A part of a page may fill the server: its CPU
    time counts, and its throughput is the server's.
    """
    share, client = evidence.server["cpu_share"], evidence.client_share
    verdict, figures = checks.core(share, MOST_SERVER_SHARE)
    if verdict == "passed" or client is None:
        return verdict, figures
    if evidence.is_part:
        return checks.not_applicable(f"{figures}, which a part of a page may fill; its pages/s are the server's")
    figures += f"; the client used {units.percent(client)} of its own"
    return passed_if(client >= MOST_SERVER_SHARE * share, figures)


CHECKS: dict[str, Callable[[Evidence], Judgement]] = {
    "answer correct": lambda seen: checks.answer(seen.answer_difference, seen.measured["pages"]),
    "no unexpected failures": lambda seen: checks.failures(seen.measured["failed_pages"]),
    "cap reached, never exceeded": cap,
    "requests counted alike": lambda seen: checks.counted_alike(seen.measured["tries"], seen.measured["requests"]),
    "server had room": server,
    "settings applied": lambda seen: checks.knobs(seen.wanted_knobs, seen.knobs),
    "CPU work done": lambda seen: checks.work(seen.measured, seen.measured["pages"], seen.cpu_ns, ANY_COST),
}
