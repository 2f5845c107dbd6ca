"""The validity checks of an open loop: one pure function each. A rate that is not kept does not fail a check."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from inflight.bench.measure import checks
from inflight.bench.measure.checks import MS, Judgement, not_applicable, passed_if
from inflight.bench.measure.open_loop.arrivals import LONGEST_SHARE, NO_ANSWER
from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import PageSpec, Site


@dataclass(slots=True)
class Seen:
    """The input of the checks, filled as the trial goes on."""

    values: dict[str, Any]
    """The workload."""
    site: Site | None = None
    """The site of the fake server; None for a target, whose right answers are unknown."""
    measured: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    knobs: dict[str, Any] = field(default_factory=dict)
    wanted_knobs: dict[str, Any] = field(default_factory=dict)
    answers: list[tuple[str, int, int, str | None, int]] = field(default_factory=list)
    """(path, status, bytes, why it is a failure or None, number of answers), including those of the warm-up."""
    window_ns: int = 0


def wrong_answer(seen: Seen) -> str | None:
    """Return a sentence with the number of wrong answers and one example; None where all are those of the site."""
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
    """Check that the pages have the status and the size of the seeded site."""
    if seen.site is None:
        return not_applicable(f"the target's right answers are unknown; it answered {_statuses(seen)}")
    return checks.answer(wrong_answer(seen), sum(times for _, _, _, fault, times in seen.answers if fault is None))


def failures(seen: Seen) -> Judgement:
    """Check that only requests failed that the site makes fail.

    If the rate was not kept, answers that took too long are part of the result.
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


def long_enough(seen: Seen) -> Judgement:
    """Check that answers take less than a third of the window: otherwise every rate would look lost."""
    times, limit_ns = seen.measured["uncorrected"], LONGEST_SHARE * seen.window_ns
    if not times["count"]:
        return not_applicable("no answer was received")
    figures = f"p90 of the service times {times['p90_ns'] / MS:,.1f} ms, limit {limit_ns / MS:,.1f} ms"
    if seen.measured["not_kept"] == "window too short":
        return "failed", f"{figures}, a third of the window"
    if times["p90_ns"] > limit_ns:
        return not_applicable(f"{figures}; queueing makes them long, not the latency")
    return "passed", figures


CHECKS: dict[str, Callable[[Seen], Judgement]] = {
    "answer correct": answer,
    "no unexpected failures": failures,
    "no listen drops": lambda seen: checks.drops(seen.measured["listen_drops"]),
    "window long enough": long_enough,
    "settings applied": lambda seen: checks.knobs(seen.wanted_knobs, seen.knobs),
}


def _statuses(seen: Seen) -> str:
    """Return the number of a target's answers by status, the most frequent first."""
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
    """Return whether every request of a page fails: with no answer, or with status 500."""
    page = _page(site, path)
    return page.status >= 500 or (page.fault is not None and not FAULTS[page.fault].survivable)
