"""Whether to believe what one client saw of the server: one small pure function for each named check."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from inflight.bench.measure import checks
from inflight.bench.measure.checks import Judgement, not_applicable, passed_if

MOST_SERVER_SHARE = 0.70
LEAVES_OPEN = frozenset({"wrk"})
"""Clients that stop in the middle: what is in flight then was received, and is part of no client's count."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the checks go by: the client's name, its workload and what was measured."""

    name: str
    values: dict[str, Any]
    measured: dict[str, Any]


def counted(seen: Evidence) -> Judgement:
    """Check that the server received what the client sent, and that Locust's own statistics say the same."""
    requests, received = seen.measured["requests"], seen.measured["server_requests"]
    most_open = seen.values["in_flight"] if seen.name in LEAVES_OPEN else 0
    figures = f"client {requests}, server {received}" + (f", at most {most_open} left open" if most_open else "")
    fine = 0 <= received - requests <= most_open
    if "locust_requests" in seen.measured:
        figures += f", Locust's statistics {seen.measured['locust_requests']}"
        fine = fine and seen.measured["locust_requests"] == requests
    return passed_if(fine, figures)


def failures(seen: Evidence) -> Judgement:
    """Check that nothing failed: the site answers every page."""
    failed = seen.measured["failed"]
    most = next(iter(seen.measured.get("errors", {})), None)
    told = f", most of all: {most}" if most else ""
    return passed_if(not failed, f"{failed} of {seen.measured['requests']} requests{told}")


def server_had_room(seen: Evidence) -> Judgement:
    """Check that the server was not what limited the client, where a latency was added.

    Without one it is just that which the fastest client is to find.
    """
    share = seen.measured["server_cpu_share"]
    if not seen.values["mean_latency_ns"]:
        return not_applicable(f"{share:.0%} of its core: without added latency one of the two has to be full")
    return checks.core(share, MOST_SERVER_SHARE)


CHECKS: dict[str, Callable[[Evidence], Judgement]] = {
    "requests counted alike": counted,
    "no unexpected failures": failures,
    "server had room": server_had_room,
    "client had its core": lambda seen: checks.waiting(seen.measured.get("run_delay_share")),
    "no listen drops": lambda seen: checks.drops(seen.measured["listen_drops"]),
    "no CPU steal": lambda seen: checks.steal(seen.measured["steal_share"]),
}
