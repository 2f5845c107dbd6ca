"""Whether to believe an open loop: one small pure function for each named check. A rate that is lost is no fault."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from inflight.bench.core.arrivals import LONGEST_SHARE, NO_ANSWER
from inflight.bench.measure import checks
from inflight.bench.measure.checks import MS, Judgement, not_applicable, passed_if
from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import PageSpec, Site


@dataclass(slots=True)
class Seen:
    """What the checks go by; empty until the trial has brought it."""

    values: dict[str, Any]
    """The workload."""
    site: Site | None = None
    """What the server serves; None: the target is not ours, and nobody knows what it should answer."""
    measured: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    knobs: dict[str, Any] = field(default_factory=dict)
    wanted_knobs: dict[str, Any] = field(default_factory=dict)
    answers: list[tuple[str, int, int, str | None, int]] = field(default_factory=list)
    """(path, status, bytes, why it is a failure or None, how often), of the warm-up too."""
    window_ns: int = 0


def wrong_answer(seen: Seen) -> str | None:
    """Say in a sentence how many answers are not those of the seeded site, with one example; None where all are."""
    if seen.site is None:
        return None
    wrong = []
    for path, status, size, fault, times in seen.answers:
        page = _page(seen.site, path)
        if fault is None and (page.status, page.body_bytes) != (status, size):
            wrong.append((path, page, status, size, times))
    if not wrong:
        return None
    path, page, status, size, _ = wrong[0]
    return (
        f"{sum(times for *_, times in wrong)} wrong answers; for example {path}: expected status {page.status} with "
        f"{page.body_bytes} bytes, got status {status} with {size} bytes"
    )


def answer(seen: Seen) -> Judgement:
    """Check that the pages have the status and the size that the seeded site says."""
    if seen.site is None:
        return not_applicable(f"what the target should answer is not known; it answered {_statuses(seen)}")
    return checks.answer(wrong_answer(seen), sum(times for _, _, _, fault, times in seen.answers if fault is None))


def failures(seen: Seen) -> Judgement:
    """Check that only those requests failed that the site makes fail.

    Where the rate was not kept, answers that took too long are part of the result.
    """
    failed = [(path, fault, times) for path, _, _, fault, times in seen.answers if fault is not None]
    late = sum(times for _, fault, times in failed if fault == NO_ANSWER)
    others = [(path, fault, times) for path, fault, times in failed if fault != NO_ANSWER]
    unplanned = [(fault, times) for path, fault, times in others if seen.site is None or not _fails(seen.site, path)]
    bad = sum(times for _, times in unplanned) + (late if seen.measured["kept"] else 0)
    figures = f"{sum(times for *_, times in failed)} failed, {bad} of them unexpectedly"
    if unplanned:
        figures += f", for example: {unplanned[0][0]}"
    return passed_if(not bad, figures)


def latency(seen: Seen) -> Judgement:
    """Check that the added latency was what was asked for, by a quantile that the samples allow."""
    if seen.site is None:
        return not_applicable("the target's latency is its own")
    verdict, figures = checks.lateness(seen.server, seen.values["mean_latency_ns"])
    if verdict != "not applicable" and not seen.measured["kept"]:
        return not_applicable(f"the rate was not kept: a server that is asked for too much is late; {figures}")
    return verdict, figures


def client_core(seen: Seen) -> Judgement:
    """Check that nothing else ran on the client's core."""
    delay_ns = seen.measured["run_delay_ns"]
    if delay_ns is not None and "cpus" not in seen.wanted_knobs:
        return not_applicable("it has no core of its own")
    return checks.waiting(None if delay_ns is None else delay_ns / seen.window_ns)


def long_enough(seen: Seen) -> Judgement:
    """Check that answers came within a third of the window: else it only fills, and any rate looks lost."""
    times, limit_ns = seen.measured["uncorrected"], LONGEST_SHARE * seen.window_ns
    if not times["count"]:
        return not_applicable("no answer came")
    figures = f"p90 of the service times {times['p90_ns'] / MS:,.1f} ms, limit {limit_ns / MS:,.1f} ms"
    if seen.measured["not_kept"] == "window too short":
        return "failed", f"{figures}, a third of the window"
    if times["p90_ns"] > limit_ns:
        return not_applicable(f"{figures}; what waited, and not the latency, makes them long")
    return "passed", figures


CHECKS: dict[str, Callable[[Seen], Judgement]] = {
    "answer correct": answer,
    "no unexpected failures": failures,
    "no listen drops": lambda seen: checks.drops(seen.measured["listen_drops"]),
    "added latency exact": latency,
    "client had its core": client_core,
    "no CPU steal": lambda seen: checks.steal(seen.measured["steal_share"]),
    "enough samples for each quantile": lambda seen: checks.quantiles(seen.measured["corrected"]["count"]),
    "long enough to tell": long_enough,
    "knobs reached the worker": lambda seen: checks.knobs(seen.wanted_knobs, seen.knobs),
}


def _statuses(seen: Seen) -> str:
    """Name the statuses of a target's answers, how often each came, the most frequent first."""
    counts: Counter[int] = Counter()
    for _, status, _, _, times in seen.answers:
        counts[status] += times
    told = [f"{f'status {status}' if status else 'nothing'} {n:,} times" for status, n in counts.most_common()]
    return ", ".join(told) or "nothing"


def _page(site: Site, path: str) -> PageSpec:
    number = site.number(path)
    assert number is not None, path  # the client makes its paths from the number of pages
    return site.page(number)


def _fails(site: Site, path: str) -> bool:
    """Tell whether a page brings no answer, or 500, at every try."""
    page = _page(site, path)
    return page.status >= 500 or (page.fault is not None and not FAULTS[page.fault].survivable)
