"""Arithmetic of an open loop: due times of requests, backlog, and response times. Pure; ``arrivals`` uses it.

In a closed loop a slow answer delays the next request, and no measurement contains this delay: coordinated omission
(Gil Tene). Here each request (*arrival*) has an intended start that no answer can move. Its *response time* counts from
the intended start (corrected), its *service time* from the actual start (uncorrected). A closed loop omits the
difference. The *backlog* are arrivals that are due and not yet sent. All times are in nanoseconds of one clock.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import sqrt
from statistics import fmean
from typing import Any, Literal, NamedTuple

from inflight.bench.measure.worker.crawl import longest_pause_ns
from inflight.strategies.core import record

MOMENTS = 300
"""Number of moments in the window at which the backlog is computed."""
JITTER_S = 0.02
"""Delay that a busy machine may cause now and then; a change by the arrivals in this time is no trend."""
NOISE = 3.0
"""Number of standard deviations of a Poisson count: with random latencies, the number in flight is one."""
LATE_SHARE = 0.02
"""Mean lateness of starts, as a share of the window, that is more than a hiccup."""
STEP_SHARE = 0.1
"""Growth from quarter to quarter, as a share of the last quarter, from which it is steady growth. With a steady excess
each quarter adds over a fourth."""
LONGEST_SHARE = 1 / 3
"""Maximum time of an answer as a share of the window; above it the window is too short for a steady state."""
GROWTH_SHARE = 0.1
"""Growth of service times, as a share of the window, that shows a queue in the server rather than its latency."""
NotKept = Literal["too slow", "window too short"]
"""Why a rate was not kept, as a code of rows."""
_WORDS: dict[NotKept, str] = {
    "too slow": "cannot keep the rate",
    "window too short": "cannot tell whether the rate is kept",
}
"""The same in words."""
NO_ANSWER = "no answer in time"
"""The fault of a request that was given up."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Arrivals at a constant rate: number 0 is due at ``begin_ns``.

    The rate is taken as a fraction of whole numbers, so that no due time has a rounding error that grows.
    """

    rate_per_s: float
    begin_ns: int

    def due_ns(self, number: int) -> int:
        """Return when an arrival is due, exactly."""
        requests, seconds = self.rate_per_s.as_integer_ratio()
        return self.begin_ns + number * 10**9 * seconds // requests

    def due_by(self, at_ns: int) -> int:
        """Return the number of arrivals due at this time or earlier."""
        requests, seconds = self.rate_per_s.as_integer_ratio()
        return max(0, -(-(at_ns - self.begin_ns + 1) * requests // (10**9 * seconds)))


class Span(NamedTuple):
    """One request that was sent."""

    intended_ns: int
    """When it was due, which no answer can move."""
    started_ns: int
    """When it was sent."""
    finished_ns: int | None
    """None: the request was given up."""
    fault: str | None
    """Why the request failed; None: it did not."""


@dataclass(slots=True)
class Recorder:
    """Collect the requests that were sent, and summarise those of the window [begin_ns, end_ns).

    The window starts without a backlog: requests that the warm-up could not send by then are never sent.
    """

    schedule: Schedule
    begin_ns: int
    end_ns: int
    spans: list[Span] = field(default_factory=list)

    def note(self, intended_ns: int, started_ns: int, finished_ns: int | None, fault: str | None = None) -> None:
        """Record a request that was sent, including those of the warm-up."""
        self.spans.append(Span(intended_ns, started_ns, finished_ns, fault))

    def outcome(self) -> dict[str, Any]:
        """Return the figures of an open row, except those that are measured from outside.

        An arrival that was never sent has no response time; the number of them is ``arrivals - started``.
        """
        inside = self._inside()
        good = [(span, span.finished_ns) for span in inside if span.finished_ns is not None and span.fault is None]
        window_ns = self.end_ns - self.begin_ns
        ends = [
            (span.finished_ns, span.fault)
            for span in self.spans
            if span.finished_ns is not None and self.begin_ns <= span.finished_ns < self.end_ns
        ]
        in_time = sum(fault is None for _, fault in ends)
        lost = self.lost()
        return {
            "offered_per_s": self.schedule.rate_per_s,
            "arrivals": self._arrivals(),
            "started": len(inside),
            "completed": len(good),
            "failed": len(inside) - len(good),
            "completed_per_s": in_time / window_ns * 1e9,
            "hole_ns": longest_pause_ns([end_ns for end_ns, _ in ends], (self.begin_ns, self.end_ns)),
            "peak_in_flight": peak_in_flight(self.spans),
            "corrected": record.summary([finished_ns - span.intended_ns for span, finished_ns in good]),
            "uncorrected": record.summary([finished_ns - span.started_ns for span, finished_ns in good]),
            "backlog": self.backlog(),
            "kept": lost is None,
            "not_kept": lost and lost[0],
            "why": lost and f"{_WORDS[lost[0]]}: {lost[1]}",
            "errors": dict(Counter(fault for span in inside if (fault := _fault(span)) is not None)),
        }

    def backlog(self) -> dict[str, list[int]]:
        """Return the number of arrivals due and not yet sent, at moments from the begin to the end of the window."""
        moments = _moments(self.begin_ns, self.end_ns)
        waiting = self._left_at([span.started_ns for span in self._inside()], moments)
        return {"at_ns": [moment - self.begin_ns for moment in moments], "waiting": waiting}

    def lost(self) -> tuple[NotKept, str] | None:
        """Return why the rate was not kept, as a code and in words; None if it was kept.

        The rate is lost if no answer is right, if arrivals were never sent, if they were sent later and later, or if
        more and more have no answer. The answer is unknown if answers take too long for the window.
        """
        inside = self._inside()
        faults = Counter(map(_fault, inside))
        if inside and None not in faults:
            return "too slow", f"no request got a right answer ({faults.most_common(1)[0][0]})"
        if never := self._arrivals() - len(inside):
            return "too slow", f"{never:,} of {self._arrivals():,} due requests were never sent"
        lag_ns = self._quarters(inside, lambda span: span.started_ns - span.intended_ns)
        if _grows(lag_ns, self._late_ns):  # at low rates, fewer requests wait than the noise of a count
            late = f"{lag_ns[-1] / 1e9:.2g} s late on average in the last quarter of the window"
            return "too slow", f"requests were sent later and later: {late}"
        return self._too_long(inside) or self._owing_more(inside)

    def _too_long(self, inside: Sequence[Span]) -> tuple[NotKept, str] | None:
        """Return a reason if the window is too short for the answers, else None.

        An overloaded server also answers late, but later and later; this is not reported here.
        """
        window_ns, answered = self.end_ns - self.begin_ns, [span for span in inside if span.finished_ns is not None]
        if not answered or fmean([span.started_ns - span.intended_ns for span in inside]) > self._late_ns:
            return None
        p90_ns = record.summary([_service_ns(span) for span in answered])["p90_ns"]
        service_ns = self._quarters(answered, _service_ns)
        growth_ns = [mean_ns - service_ns[0] for mean_ns in service_ns]
        if p90_ns <= LONGEST_SHARE * window_ns or _grows(growth_ns, GROWTH_SHARE * window_ns):
            return None
        return "window too short", (
            f"one in ten answers took {p90_ns / 1e9:.3g} s or more, and the window lasted "
            f"{window_ns / 1e9:.3g} s; it must last {p90_ns / LONGEST_SHARE / 1e9:.3g} s at least"
        )

    def _owing_more(self, inside: Sequence[Span]) -> tuple[NotKept, str] | None:
        """Return a reason if more and more requests were due without an answer, else None.

        The backlog alone is not enough: while users are free, unanswered requests pile up in flight. The rate is lost
        if the number of unanswered requests grew by more than noise since the first third of the window, and was still
        growing at the end: within the last third by more than noise, or from quarter to quarter throughout, because a
        small excess adds less than the noise in a third of a short window. By the last third, initial filling is
        complete and a stall that was caught up is over. Means over a thirtieth of the window hide a hiccup.
        """
        finished_ns = [span.finished_ns for span in inside if span.finished_ns is not None]
        unanswered = self._left_at(finished_ns, _moments(self.begin_ns, self.end_ns))
        third, quarter, moment = MOMENTS // 3, MOMENTS // 4, MOMENTS // 30
        first, then, last = map(fmean, (unanswered[:third], unanswered[-third:][:moment], unanswered[-moment:]))
        noise = max(1 + NOISE * sqrt(2 * max(0.0, first)), self.schedule.rate_per_s * JITTER_S)
        throughout = _grows([fmean(unanswered[begin:][:quarter]) for begin in range(0, MOMENTS, quarter)], noise)
        if last - first <= noise or (last - then <= noise and not throughout):
            return None
        return "too slow", f"{unanswered[-1]:,} due requests had no answer at the end, {first:,.0f} in the first third"

    @property
    def _late_ns(self) -> float:
        """Lateness above which starts are late, and no hiccup."""
        return max(LATE_SHARE * (self.end_ns - self.begin_ns), JITTER_S * 1e9)

    def _arrivals(self) -> int:
        """Return how many requests were due in the window."""
        return self.schedule.due_by(self.end_ns - 1) - self.schedule.due_by(self.begin_ns - 1)

    def _quarters(self, spans: Sequence[Span], value_of: Callable[[Span], int]) -> list[float]:
        """Return the means over the quarters of the window, by due time; empty if a quarter has no request."""
        parts: list[list[int]] = [[], [], [], []]
        for span in spans:
            parts[4 * (span.intended_ns - self.begin_ns) // (self.end_ns - self.begin_ns)].append(value_of(span))
        return [fmean(part) for part in parts] if all(parts) else []

    def _inside(self) -> list[Span]:
        """Return the requests that were due in the window, and were sent."""
        return [span for span in self.spans if self.begin_ns <= span.intended_ns < self.end_ns]

    def _left_at(self, done_ns: Sequence[int], moments: Sequence[int]) -> list[int]:
        """Return the number of arrivals due and not done at each moment, from the times when they were done."""
        ordered, before = sorted(done_ns), self.schedule.due_by(self.begin_ns - 1)
        return [self.schedule.due_by(moment) - before - bisect_right(ordered, moment) for moment in moments]


def peak_in_flight(spans: Sequence[Span]) -> int:
    """Return the maximum number of requests sent and not answered at a time; one given up is never answered."""
    steps = [(span.started_ns, 1) for span in spans]
    steps += [(span.finished_ns, -1) for span in spans if span.finished_ns is not None]
    return max(accumulate(step for _, step in sorted(steps)), default=0)


def _moments(begin_ns: int, end_ns: int) -> list[int]:
    """Return the moments of a window at which the backlog is computed."""
    last_ns = end_ns - 1  # what is due at the end itself is not of this window, and never sent
    return [begin_ns + (last_ns - begin_ns) * place // MOMENTS for place in range(MOMENTS + 1)]


def _grows(quarters: Sequence[float], least: float) -> bool:
    """Return whether the values grew to more than ``least``, from quarter to quarter of the window by STEP_SHARE."""
    return (
        bool(quarters)
        and quarters[-1] > least
        and all(after - before >= STEP_SHARE * quarters[-1] for before, after in pairwise(quarters))
    )


def _service_ns(span: Span) -> int:
    """Return how long an answered request took from its actual start."""
    assert span.finished_ns is not None
    return span.finished_ns - span.started_ns


def _fault(span: Span) -> str | None:
    """Return why a request failed; None if it did not."""
    return NO_ANSWER if span.finished_ns is None else span.fault
