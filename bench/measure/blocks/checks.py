"""Whether to believe an arm. Only what makes its figures wrong is red: noise widens intervals instead."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from inflight.bench.measure import checks
from inflight.bench.measure.checks import Judgement, passed_if

MOST_SERVER_SHARE = 0.90
"""Of the server's core; and beyond it, of the server's share the least that the client's core must have."""
ANY_COST = inf
"""The cost of CPU work per page depends on what else the machine does, so it is reported and not judged."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the checks go by."""

    cap: int
    """The most that the arm can have in flight."""
    cpu_ns: int
    """The CPU work that each page asks for."""
    answer_difference: str | None
    client_share: float | None
    """CPU time of the worker over its windows; None where it was not pinned to a single core."""
    measured: Mapping[str, Any]
    server: Mapping[str, Any]
    knobs: Mapping[str, Any]
    wanted_knobs: Mapping[str, Any]


def cap(evidence: Evidence) -> Judgement:
    """Check that the in-flight cap was reached and never exceeded, by the client and by what its gate held."""
    client, held = evidence.measured["peak_in_flight"], evidence.measured["held_in_flight"]
    figures = f"cap {evidence.cap}, most in flight: client {client}, held by the gate {held}"
    return passed_if(client == held == evidence.cap, figures)


def server(evidence: Evidence) -> Judgement:
    """Check that the server was not what bounded the client.

    It was not where it had a tenth of its core left. Nor was it where the client's core was as full, give or take a
    tenth: a faster server would have raised the throughput by no more than that, and CPU time per page hardly at all.
    What others take of a core, they take of both shares alike: their ratio is that of what a page costs each.
    """
    share, client = evidence.server["cpu_share"], evidence.client_share
    verdict, figures = checks.core(share, MOST_SERVER_SHARE)
    if verdict == "passed" or client is None:
        return verdict, figures
    return passed_if(client >= MOST_SERVER_SHARE * share, f"{figures}; the client used {client:.0%} of its own")


CHECKS: dict[str, Callable[[Evidence], Judgement]] = {
    "answer correct": lambda seen: checks.answer(seen.answer_difference, seen.measured["pages"]),
    "no unexpected failures": lambda seen: checks.failures(seen.measured["failed_pages"]),
    "cap reached, never exceeded": cap,
    "requests counted alike": lambda seen: checks.counted_alike(seen.measured["tries"], seen.measured["requests"]),
    "server had room": server,
    "knobs reached the worker": lambda seen: checks.knobs(seen.wanted_knobs, seen.knobs),
    "CPU work done": lambda seen: checks.work(seen.measured, seen.measured["pages"], seen.cpu_ns, ANY_COST),
}
