"""The validity checks of a swarm, judged by ``swarm.run`` at its end: each has a name, a verdict and figures.

A *share* (``layout.Share``) is the part of the site's pages that one strategy process fetches; ``crowd.ShareState`` is
what became of it. (In ``..._share``, the end of a figure's name, a share is a ratio from 0 to 1.) A *loss* is a process
that ended too early (``rows.kinds.Loss``).
"""

from collections.abc import Sequence
from typing import Any

from inflight.bench import units
from inflight.bench.measure import checks
from inflight.bench.measure.checks import Judge, Judgement, not_applicable, passed_if
from inflight.bench.measure.swarm.crowd import ShareState
from inflight.bench.measure.swarm.layout import Share
from inflight.bench.measure.trial import Observation
from inflight.bench.measure.worker.share import digest
from inflight.bench.plan.trial import Trial
from inflight.fake_server.site import Site

MAX_REPORTING_SHARE = 0.01
"""Maximum share of the strategy processes' CPU time for reporting to Locust."""
MIN_CPU_NS = 500_000_000
"""Minimum CPU time to judge that share: the first report of a process costs more than the others."""


def wrong_answer(seen: Observation) -> str | None:
    """Say what is missing from the answer, and which processes were lost; None when its check has passed.

    ``swarm.run`` calls it when the checks are judged; a sentence makes the row wrong.
    """
    answer = next(check for check in seen.checks if check.name == ANSWER)
    if answer.verdict == "passed":
        return None
    losses = [describe_loss(loss) for loss in seen.measured["lost"]]
    return "; ".join([answer.detail, *losses])


def common_knobs(settings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of all strategy processes: one value where all agree, else a sorted list of the values."""
    common = {}
    for name, value in settings[0].items():
        kinds = {repr(knobs.get(name)) for knobs in settings}
        common[name] = value if len(kinds) == 1 else sorted(kinds)
    common.pop("pid", None)  # each process has another
    return common


def expected_digest(site: Site, share: Share) -> str:
    """Return the digest of a share's right answer, from the seeded site alone."""
    pages = (site.page(n) for n in range(share.first, share.first + share.count))
    return digest((page.path, page.status, page.body_bytes) for page in pages)


def _answer(trial: Trial, seen: Observation) -> Judgement:
    """Check that each share returned its pages and no others, with the statuses and sizes of the site."""
    shares: Sequence[ShareState] = seen.outcome["shares"]
    site, whole = Site(trial.site), 0
    for state in shares:
        if state.outcome is not None and state.outcome["error"] is None:
            whole += state.outcome["digest"] == expected_digest(site, state.share)
    raised = sorted({state.outcome["error"] for state in shares if state.outcome and state.outcome["error"]})
    figures = f"{whole} of {len(shares)} shares are complete" + (f"; raised: {raised[0]}" if raised else "")
    return passed_if(whole == len(shares), figures)


def _failures(_trial: Trial, seen: Observation) -> Judgement:
    """Check that no page failed; quote the errors of those that did."""
    failed, errors = seen.measured["failed_pages"], seen.measured["errors"]
    kinds = ", ".join(f"{count:,} x {text}" for text, count in sorted(errors.items()))
    return passed_if(not failed, f"{failed:,} pages failed" + (f": {kinds}" if kinds else ""))


def _confirmed(_trial: Trial, seen: Observation) -> Judgement:
    """Check that the gates of all servers together held all planned fetches at the same time."""
    held, planned = seen.measured.get("held_in_flight", 0), seen.measured["planned_in_flight"]
    return passed_if(held == planned, f"the gates held {held:,} of {planned:,}")


def _nobody_lost(_trial: Trial, seen: Observation) -> Judgement:
    """Check that no process was lost."""
    lost = seen.measured["lost"]
    return passed_if(not lost, "; ".join(map(describe_loss, lost)) or "no process was lost")


def describe_loss(loss: dict[str, Any]) -> str:
    """Return a clause about a lost process: which, how, and with how many fetches in flight.

    ``loss`` has the values of ``rows.kinds.Loss``; its ``share`` is an index, None for a Locust worker.
    """
    where = "" if loss["share"] is None else f" of share {loss['share']}"
    return f"a {loss['what']}{where} {loss['how']}, {loss['in_flight']:,} fetches in flight"


def _locust_counts(_trial: Trial, seen: Observation) -> Judgement:
    """Check that Locust's statistics have as many requests and failures as the strategy processes."""
    if seen.measured["lost"]:
        return not_applicable("only Locust's statistics have the reports of a lost process")
    locust, ours = seen.measured["locust"], (seen.measured["pages"], seen.measured["failed_pages"])
    same = (locust["requests"], locust["failures"]) == ours
    figures = f"requests {locust['requests']:,} and {ours[0]:,}, failures {locust['failures']:,} and {ours[1]:,}"
    return passed_if(same, figures)


def _requests(_trial: Trial, seen: Observation) -> Judgement:
    """Check that the servers received as many requests as the strategy processes counted tries."""
    if seen.measured["lost"]:
        return not_applicable("the counts of the lost processes are unknown")
    return checks.counted_alike(seen.measured["tries"], seen.server["requests"])


def _reporting(_trial: Trial, seen: Observation) -> Judgement:
    """Check that the reports to Locust took little of the CPU time of the strategy processes."""
    taken = seen.measured["reporting_share"]
    if seen.measured["client_cpu_ns"] < MIN_CPU_NS:
        return not_applicable(f"{units.percent(taken, 2)}, but too little CPU time for a verdict")
    limit = units.percent(MAX_REPORTING_SHARE)
    figures = f"{units.percent(taken, 2)} of the strategy processes' CPU time, limit {limit}"
    return passed_if(taken <= MAX_REPORTING_SHARE, figures)


def _ports(_trial: Trial, seen: Observation) -> Judgement:
    """Check that no fetch found all client ports in use."""
    refused = seen.measured["port_refusals"]
    figures = f"{refused} fetches found no client port (EADDRNOTAVAIL); {seen.outcome['ports_each']} ports per server"
    return passed_if(not refused, figures)


ANSWER = "answer correct"
"""Name of the check of the answer."""
CHECKS: dict[str, Judge] = {
    ANSWER: _answer,
    "no unexpected failures": _failures,
    "all in flight, confirmed": _confirmed,
    "all processes survived": _nobody_lost,
    "requests counted alike": _requests,
    "no listen drops": checks.drops,
    "Locust counted alike": _locust_counts,
    "reporting overhead low": _reporting,
    "settings applied": checks.settings,
    "client ports left": _ports,
}
"""All checks by the name that a row has; ``show/texts.toml`` explains each name."""
