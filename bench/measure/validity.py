"""The validity checks of a crawl: one small pure function for each, and the list of them all.

``measure.crawl`` judges them at the end of each trial of kind crawl or memory. They see the trial and what was observed
(``trial.Observation``): figures of the worker, counts of the server. Only what makes figures wrong fails a check. A
full server, a late one and a core that others used are said instead.
"""

from inflight.bench.measure import checks, preflight
from inflight.bench.measure.checks import Judge, Judgement, not_applicable, passed_if
from inflight.bench.measure.expected import Answer, expected_answer, longest_wait_ns
from inflight.bench.measure.trial import Observation
from inflight.bench.plan.trial import Trial
from inflight.strategies.base import Job

NEARLY_REACHED = 0.90
"""Share of the cap that is enough without added latency."""
WORK_TOLERANCE = 0.25
"""Tolerance for the cost of CPU work, because the clock speed of processors varies."""


def expected(trial: Trial) -> Answer:
    """Return the answer that the site of a trial defines, computed without a crawl."""
    return expected_answer(trial.site, trial.workload.roots, Job(roots=()).max_redirects)


def failures_of_site(trial: Trial) -> int:
    """Return the number of pages that the site makes fail."""
    return sum(status is None for status, _ in expected(trial).values())


def cap(trial: Trial, seen: Observation) -> Judgement:
    """Check that the in-flight cap was reached and never exceeded, as seen by client and server.

    A client with a limit of its own (``reached_in_flight``) reaches this limit. Without added latency, a fetch may end
    before the last of many workers has started its first one, so reaching 90 % of the cap is enough.
    """
    workload = trial.workload
    client, server = seen.measured["peak_in_flight"], seen.server["peak_in_flight"]
    figures = f"{workload.in_flight}, most in flight: client {client}, server {server}"
    if max(client, server) > workload.in_flight:
        return Judgement("failed", f"exceeded: cap {figures}")
    if reached := seen.measured.get("reached_in_flight"):
        return Judgement("passed", f"reached {reached} of {figures}")
    waits = workload.mean_latency_ns > 0 or trial.record.IS_HELD
    nearly = 1.0 if waits else NEARLY_REACHED
    if client < nearly * trial.reachable:
        return Judgement("failed", f"not reached: cap {figures}")
    return Judgement("passed", f"cap {figures}")


def ports(_trial: Trial, seen: Observation) -> Judgement:
    """Check that the client did not run out of ports. Each connection, open or in TIME_WAIT, has its own."""
    refused = seen.measured.get("port_refusals", 0)
    if refused:
        return Judgement("failed", f"{refused} pages failed because no client port was left (EADDRNOTAVAIL)")
    opened, size = seen.server.get("total_connections"), seen.measured.get("ephemeral_ports")
    if opened is None or size is None:
        return not_applicable("the size of the port range is unknown")
    return passed_if(opened < size, f"{opened} connections opened, {size} ports in the range")


def allowances(trial: Trial, seen: Observation) -> Judgement:
    """Check that the limits on descriptors and threads allowed what the trial may need."""
    limit = seen.knobs.get("descriptor_limit")
    if limit is None:
        return not_applicable("the worker's descriptor limit is unknown")
    needed, threads = preflight.descriptors_needed(trial), preflight.threads_needed(trial)
    allowed = preflight.threads_allowed()
    enough = limit < 0 or needed <= limit  # below 0: RLIM_INFINITY, no limit
    enough_threads = allowed is None or threads <= allowed
    figures = f"{needed} descriptors needed, {'any number' if limit < 0 else limit} allowed"
    if threads:
        figures += f"; {threads} threads needed, {'unknown' if allowed is None else allowed} allowed"
    return passed_if(enough and enough_threads, figures)


def hole(trial: Trial, seen: Observation) -> Judgement:
    """Check that fetches ended all the time."""
    if trial.record.IS_HELD:
        return not_applicable("the gate holds all responses")
    usual_ns = seen.measured["service"].get("p50_ns", 0)
    return checks.no_hole(seen, longest_wait_ns(trial.site), usual_ns)


def requests(trial: Trial, seen: Observation) -> Judgement:
    """Check that the server received exactly the tries that the client counted."""
    judged = checks.counted_alike(seen.measured["tries"], seen.server["requests"])
    if failures_of_site(trial):  # a reset connection may fail a second time, as a stale one
        return not_applicable(f"faults break connections: {judged.figures}")
    return judged


CHECKS: dict[str, Judge] = {
    "answer correct": lambda _, seen: checks.answer(seen, seen.measured["pages"]),
    "no unexpected failures": lambda trial, seen: checks.failures(
        seen.measured["failed_pages"], failures_of_site(trial)
    ),
    "cap reached, never exceeded": cap,
    "no hole": hole,
    "requests counted alike": requests,
    "no listen drops": checks.drops,
    "client ports left": ports,
    "limits high enough": allowances,
    "settings applied": checks.settings,
    "CPU work done": lambda trial, seen: checks.work(
        seen, seen.measured["pages"] - seen.measured["failed_pages"], trial.workload.cpu_ns, WORK_TOLERANCE
    ),
}
"""All checks by the name that a row has; ``show/texts.toml`` explains each name."""
