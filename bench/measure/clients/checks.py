"""The validity checks of one client's measurements: one pure function each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from inflight.bench import units
from inflight.bench.measure import checks
from inflight.bench.measure.checks import Judgement, not_applicable, passed_if

MOST_SERVER_SHARE = 0.70
LEAVES_OPEN = frozenset({"wrk"})
"""Clients that stop with requests in flight, which the server has received and the client does not count."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The input of the checks: the client's name, its workload and its measurements."""

    name: str
    values: dict[str, Any]
    measured: dict[str, Any]


def counted(seen: Evidence) -> Judgement:
    """Check that the server received as many requests as the client sent, and that Locust's statistics agree."""
    requests, received = seen.measured["requests"], seen.measured["server_requests"]
    most_open = seen.values["in_flight"] if seen.name in LEAVES_OPEN else 0
    figures = f"client {requests}, server {received}" + (f", at most {most_open} left open" if most_open else "")
    fine = 0 <= received - requests <= most_open
    if "locust_requests" in seen.measured:
        figures += f", Locust's statistics {seen.measured['locust_requests']}"
        fine = fine and seen.measured["locust_requests"] == requests
    return passed_if(fine, figures)


def failures(seen: Evidence) -> Judgement:
    """Check that no request failed: the site has no faults."""
    failed = seen.measured["failed"]
    most = next(iter(seen.measured.get("errors", {})), None)
    common = f", most frequent: {most}" if most else ""
    return passed_if(not failed, f"{failed} of {seen.measured['requests']} requests{common}")


def server_had_room(seen: Evidence) -> Judgement:
    """Check that the server did not limit the client, if a latency was added.

    Without one, the limit of the server is what the fastest client measures.
    """
    share = seen.measured["server_cpu_share"]
    if not seen.values["mean_latency_ns"]:
        used = f"{units.percent(share)} of its core"
        return not_applicable(f"{used}; without added latency, server or client must be full")
    return checks.core(share, MOST_SERVER_SHARE)


CHECKS: dict[str, Callable[[Evidence], Judgement]] = {
    "requests counted alike": counted,
    "no unexpected failures": failures,
    "server had room": server_had_room,
    "no listen drops": lambda seen: checks.drops(seen.measured["listen_drops"]),
}
