"""Run one open loop: Locust sends at a constant rate from a process of its own; this module watches the server.

``run_open`` is the function of the kind open (``measure.run``); the process is ``arrivals``, its arithmetic
``schedule``. Requests start when they are due, whether or not earlier ones were answered. A rate that is not kept is a
result, and does not fail a check.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from inflight.bench import units
from inflight.bench.measure import checks, host
from inflight.bench.measure.checks import MS, Judge, Judgement, judge, not_applicable, passed_if
from inflight.bench.measure.expected import longest_wait_ns
from inflight.bench.measure.server import Server, counted_between
from inflight.bench.measure.swarm.schedule import LONGEST_SHARE, NO_ANSWER
from inflight.bench.measure.trial import Observation, Setting, on_server, working
from inflight.bench.plan.trial import Trial
from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import PageSpec, Site

PROGRAM = "inflight.bench.measure.swarm.arrivals"
"""The program of the client."""
FULL_CLIENT_SHARE = 0.90
"""Minimum CPU share at which the client's core counts as full."""
FULL_SERVER_SHARE = 0.70
"""Minimum CPU share at which the server's core counts as full."""


@on_server
def run_open(trial: Trial, server: Server, setting: Setting, seen: Observation) -> None:
    """Send at a trial's rate for its time. A row whose rate was not kept can be valid.

    The fake server is not used if the workload has a target of its own.
    """
    workload, site, served = trial.workload, site_of(trial), None
    parts = urlsplit(workload.target or server.base)
    command = {name: getattr(workload, name) for name in ("rate_per_s", "seconds", "users")}
    command |= {"base": f"{parts.scheme}://{parts.netloc}", "pages": None}
    command["path"] = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if site is not None:
        server.configure(site.config)
        command |= {"base": server.base, "pages": site.config.pages}
    with working(trial, setting, PROGRAM, command, seen) as worker:
        worker.send({"do": "go"})
        worker.expect("begun", "clock_ns")
        if site is not None:  # a target does not report its counts
            server.tell("reset")
            served = server.stats()
        disturbed, waited_ns = host.disturbances(setting.cpus), host.run_delay_ns(worker.pid)
        worker.expect("ended", "clock_ns")
        if served is not None:
            seen.server = counted_between(served, server.stats())
        seen.measured = host.disturbances(setting.cpus).since(disturbed)
        delay_ns = host.since(waited_ns, host.run_delay_ns(worker.pid))
        outcome = worker.expect("outcome", "measured")
    seen.measured |= outcome["measured"] | {
        "client_cpu_share": outcome["cpu_ns"] / outcome["window_ns"],
        "server_cpu_share": seen.server.get("cpu_share"),
        "run_delay_ns": delay_ns,
        "locust": outcome["locust"],
    }
    seen.wanted = {"users": workload.users}
    if setting.cpus.client is not None:
        seen.wanted["cpus"] = sorted(setting.cpus.client)
    if seen.measured["not_kept"] == "too slow":
        seen.measured["why"] += who_was_full(seen.measured, workload.users)
    # Answers, also of the warm-up: (path, status, bytes, why it is a failure or None, number of answers).
    seen.outcome = {name: outcome[name] for name in ("answers", "window_ns")}
    seen.wrong = wrong_answer(trial, seen)
    seen.checks = judge(CHECKS, trial, seen)


def site_of(trial: Trial) -> Site | None:
    """Return the site of the fake server; None for a target, whose right answers are unknown."""
    return None if trial.workload.site is None else Site(trial.site)


def who_was_full(measured: dict[str, Any], users: int) -> str:
    """Return a clause that says which of client, server and users were full; empty if none was."""
    full = []
    if measured["client_cpu_share"] >= FULL_CLIENT_SHARE:
        full.append("the client's core was full")
    if (measured["server_cpu_share"] or 0) >= FULL_SERVER_SHARE:
        full.append(f"the server's core was {units.percent(measured['server_cpu_share'])} busy")
    if not full and measured["peak_in_flight"] >= users:
        full.append(f"all {users} users were waiting for responses")
    return f"; {' and '.join(full)}" if full else ""


def wrong_answer(trial: Trial, seen: Observation) -> str | None:
    """Return a sentence with the number of wrong answers and one example; None where all are those of the site."""
    if (site := site_of(trial)) is None:
        return None
    wrong = []
    for path, status, size, fault, times in seen.outcome["answers"]:
        page = _page(site, path)
        if fault is None and (page.status, page.body_bytes) != (status, size):
            wrong.append((path, page, status, size, times))
    if not wrong:
        return None
    path, page, status, size, _ = wrong[0]
    return (
        f"{sum(times for *_, times in wrong)} wrong answers; for example {path}: expected status {page.status} with "
        f"{page.body_bytes} bytes, got status {status} with {size} bytes"
    )


def answer(trial: Trial, seen: Observation) -> Judgement:
    """Check that the pages have the status and the size of the seeded site."""
    answers = seen.outcome["answers"]
    if site_of(trial) is None:
        return not_applicable(f"the target's right answers are unknown; it answered {_statuses(answers)}")
    return checks.answer(seen, sum(times for _, _, _, fault, times in answers if fault is None))


def failures(trial: Trial, seen: Observation) -> Judgement:
    """Check that only requests failed that the site makes fail.

    If the rate was not kept, answers that took too long are part of the result.
    """
    site, answers = site_of(trial), seen.outcome["answers"]
    failed = [(path, fault, times) for path, _, _, fault, times in answers if fault is not None]
    late = sum(times for _, fault, times in failed if fault == NO_ANSWER)
    others = [(path, fault, times) for path, fault, times in failed if fault != NO_ANSWER]
    unplanned = [(fault, times) for path, fault, times in others if site is None or not _fails(site, path)]
    bad = sum(times for _, times in unplanned) + (late if seen.measured["kept"] else 0)
    figures = f"{sum(times for *_, times in failed)} failed, {bad} of them unexpectedly"
    if unplanned:
        figures += f", for example: {unplanned[0][0]}"
    return passed_if(not bad, figures)


def long_enough(_trial: Trial, seen: Observation) -> Judgement:
    """Check that answers take less than a third of the window: otherwise every rate would look lost.

    ``uncorrected`` are the service times: from the actual start of a request, not from when it was due. Answers can be
    long for two reasons. With a long latency of the target the window is too short, and the check fails. Where requests
    queue in the server, a longer window would not help, and the check does not apply.
    """
    times, limit_ns = seen.measured["uncorrected"], LONGEST_SHARE * seen.outcome["window_ns"]
    if not times["count"]:
        return not_applicable("no answer was received")
    figures = f"p90 of the service times {times['p90_ns'] / MS:,.1f} ms, limit {limit_ns / MS:,.1f} ms"
    if seen.measured["not_kept"] == "window too short":
        return Judgement("failed", f"{figures}, a third of the window")
    if times["p90_ns"] > limit_ns:
        return not_applicable(f"{figures}; queueing makes them long, not the latency")
    return Judgement("passed", figures)


def no_hole(trial: Trial, seen: Observation) -> Judgement:
    """Check that client and server never stood still: requests ended all the time, whether the rate was kept or not."""
    if (site := site_of(trial)) is None:
        return not_applicable("the target's latencies are unknown")
    measured = seen.measured
    gap_ns, usual_ns = 1e9 / measured["offered_per_s"], measured["uncorrected"].get("p50_ns", 0)
    limit_ns = checks.max_hole_ns(longest_wait_ns(site.config) + gap_ns, usual_ns)
    hole, limit = map(units.duration, (measured["hole_ns"], limit_ns))
    return passed_if(measured["hole_ns"] <= limit_ns, f"no request ended for {hole}, limit {limit}")


CHECKS: dict[str, Judge] = {
    "answer correct": answer,
    "no unexpected failures": failures,
    "no hole": no_hole,
    "no listen drops": checks.drops,
    "window long enough": long_enough,
    "settings applied": checks.settings,
}
"""All checks by the name that a row has; ``show/texts.toml`` explains each name."""


def _statuses(answers: Iterable[tuple[str, int, int, str | None, int]]) -> str:
    """Return the number of a target's answers by status, the most frequent first."""
    counts: Counter[int] = Counter()
    for _, status, _, _, times in answers:
        counts[status] += times
    texts = []
    for status, number in counts.most_common():
        answered = f"status {status}" if status else "nothing"
        texts.append(f"{answered} {number:,} times")
    return ", ".join(texts) or "nothing"


def _page(site: Site, path: str) -> PageSpec:
    """Return the page of the site at a path that the client has requested."""
    number = site.number(path)
    assert number is not None, path  # the client makes its paths from the number of pages
    return site.page(number)


def _fails(site: Site, path: str) -> bool:
    """Return whether every request of a page fails: with no answer, or with status 500."""
    page = _page(site, path)
    return page.status >= 500 or (page.fault is not None and not FAULTS[page.fault].survivable)
