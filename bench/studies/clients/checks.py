"""Whether to believe what one client saw of the server: one small pure function for each named check."""

from collections.abc import Callable
from typing import Any

from bench.core.rows import Check
from bench.measure.validity import MOST_RUN_DELAY_SHARE, MOST_SERVER_SHARE, Judgement, drops_of, steal_of

LEAVES_OPEN = frozenset({"wrk"})
"""Clients that stop in the middle: what is in flight then was received, and is part of no client's count."""


def counted(name: str, values: dict[str, Any], measured: dict[str, Any]) -> Judgement:
    """Check that the server received what the client sent, and that Locust's own statistics say the same."""
    requests, received = measured["requests"], measured["server_requests"]
    most_open = values["in_flight"] if name in LEAVES_OPEN else 0
    figures = f"client {requests}, server {received}" + (f", at most {most_open} left open" if most_open else "")
    fine = 0 <= received - requests <= most_open
    if "locust_requests" in measured:
        figures += f", Locust's statistics {measured['locust_requests']}"
        fine = fine and measured["locust_requests"] == requests
    return ("passed" if fine else "failed"), figures


def failures(_name: str, _values: dict[str, Any], measured: dict[str, Any]) -> Judgement:
    """Check that nothing failed: the site answers every page."""
    failed = measured["failed"]
    most = next(iter(measured.get("errors", {})), None)
    told = f", most of all: {most}" if most else ""
    return ("failed" if failed else "passed"), f"{failed} of {measured['requests']} requests{told}"


def server_had_room(_name: str, values: dict[str, Any], measured: dict[str, Any]) -> Judgement:
    """Check that the server was not what limited the client, where a latency was added.

    Without one it is just that which the fastest client is to find.
    """
    share = measured["server_cpu_share"]
    if not values["mean_latency_ns"]:
        return "not applicable", f"{share:.0%} of its core: without added latency one of the two has to be full"
    return ("passed" if share <= MOST_SERVER_SHARE else "failed"), f"{share:.0%} of its core, limit 70%"


def client_had_its_core(_name: str, _values: dict[str, Any], measured: dict[str, Any]) -> Judgement:
    """Check that nothing else ran on the client's core: its thread hardly ever waited for it."""
    share = measured.get("run_delay_share")
    if share is None:
        return "not applicable", "this system does not say"
    figures = f"waited {share:.1%} of the time for its core, limit {MOST_RUN_DELAY_SHARE:.0%}"
    return ("failed" if share > MOST_RUN_DELAY_SHARE else "passed"), figures


def listen_drops(_name: str, _values: dict[str, Any], measured: dict[str, Any]) -> Judgement:
    """Check that no connection was lost in a full listen queue."""
    return drops_of(measured["listen_drops"])


def steal(_name: str, _values: dict[str, Any], measured: dict[str, Any]) -> Judgement:
    """Check that the hypervisor did not take the cores away."""
    return steal_of(measured["steal_share"])


CHECKS: dict[str, Callable[[str, dict[str, Any], dict[str, Any]], Judgement]] = {
    "requests counted alike": counted,
    "no unexpected failures": failures,
    "server had room": server_had_room,
    "client had its core": client_had_its_core,
    "no listen drops": listen_drops,
    "no CPU steal": steal,
}


def check(name: str, values: dict[str, Any], measured: dict[str, Any]) -> tuple[Check, ...]:
    """Make every check of one client's trial: its workload and what was measured."""
    return tuple(Check(check_name, *judge(name, values, measured)) for check_name, judge in CHECKS.items())
