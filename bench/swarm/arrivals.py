"""An open loop's arithmetic: when requests are due, what has waited, what that does to response times. Pure.

In a closed loop a slow answer delays the next question, and the delay is in no measurement: coordinated omission (Gil
Tene). Here each request has an intended start that no answer can move. Its *response time* counts from there, its
*service time* from when it was really sent; what lies between is what a closed loop leaves out.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import sqrt
from typing import Any, NamedTuple

from strategies.core import record

MOMENTS = 300
"""So many times within the window the backlog is looked at."""
JITTER_S = 0.02
"""What a busy machine may delay anything by now and then: as many arrivals more or less are no trend."""
NOISE = 3.0
"""Standard deviations of a Poisson count, which the requests in flight are where latencies are random."""
NO_ANSWER = "no answer in time"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Arrivals at a constant rate: number 0 is due at ``begin_ns``."""

    rate_per_s: float
    begin_ns: int

    def due_ns(self, number: int) -> int:
        """Return when an arrival is due; exact, however long it goes on."""
        requests, seconds = self.rate_per_s.as_integer_ratio()
        return self.begin_ns + number * 10**9 * seconds // requests

    def due_by(self, at_ns: int) -> int:
        """Return how many arrivals are due at this time or earlier."""
        requests, seconds = self.rate_per_s.as_integer_ratio()
        return max(0, -(-(at_ns - self.begin_ns + 1) * requests // (10**9 * seconds)))


class Span(NamedTuple):
    """One request that was sent."""

    intended_ns: int
    started_ns: int
    finished_ns: int | None
    """None: it was given up."""
    fault: str | None
    """Why it is a failure; None: it is not."""


@dataclass(slots=True)
class Recorder:
    """Collects what became of arrivals, and sums up those of the window [begin_ns, end_ns).

    The window begins without debts: what the warm-up could not send by then is never sent.
    """

    schedule: Schedule
    begin_ns: int
    end_ns: int
    spans: list[Span] = field(default_factory=list)

    def note(self, intended_ns: int, started_ns: int, finished_ns: int | None, fault: str | None = None) -> None:
        """Note a request that was sent, also one of the warm-up."""
        self.spans.append(Span(intended_ns, started_ns, finished_ns, fault))

    def outcome(self) -> dict[str, Any]:
        """Return what an open row has measured, but for what only an observer from outside can say.

        An arrival that was never sent has no response time. It is the difference of ``arrivals`` and ``started``.
        """
        inside = self._inside()
        good = [(span, span.finished_ns) for span in inside if span.finished_ns is not None and span.fault is None]
        window_ns = self.end_ns - self.begin_ns
        in_time = sum(
            span.fault is None and span.finished_ns is not None and self.begin_ns <= span.finished_ns < self.end_ns
            for span in self.spans
        )
        fine, why = self.kept()
        return {
            "offered_per_s": self.schedule.rate_per_s,
            "arrivals": self.schedule.due_by(self.end_ns - 1) - self.schedule.due_by(self.begin_ns - 1),
            "started": len(inside),
            "completed": len(good),
            "failed": len(inside) - len(good),
            "completed_per_s": in_time / window_ns * 1e9,
            "peak_in_flight": peak_in_flight(self.spans),
            "corrected": record.summary([finished_ns - span.intended_ns for span, finished_ns in good]),
            "uncorrected": record.summary([finished_ns - span.started_ns for span, finished_ns in good]),
            "backlog": self.backlog(),
            "kept": fine,
            "why": why,
            "errors": dict(Counter(fault for span in inside if (fault := _fault(span)) is not None)),
        }

    def backlog(self) -> dict[str, list[int]]:
        """Return how many arrivals of the window were due and not yet sent, from its begin to its end."""
        moments = _moments(self.begin_ns, self.end_ns)
        waiting = self._left_at([span.started_ns for span in self._inside()], moments)
        return {"at_ns": [moment - self.begin_ns for moment in moments], "waiting": waiting}

    def kept(self) -> tuple[bool, str | None]:
        """Tell whether the rate was kept, with a sentence where it was not.

        The backlog alone does not tell: as long as there are users to spare, what a slow server owes piles up as
        requests in flight. So it is what was due and has no answer yet that must not grow by more than noise. A rate is
        lost where it grew within the last third of the window, and since the first: what has to fill first is filled
        by then, a stall that was made up for is over, and means over a thirtieth of the window let a hiccup pass.
        """
        inside = self._inside()
        if inside and all(_fault(span) is not None for span in inside):
            fault, _ = Counter(map(_fault, inside)).most_common(1)[0]
            return False, f"cannot keep the rate: not one request was answered as it should be ({fault})"
        finished_ns = [span.finished_ns for span in inside if span.finished_ns is not None]
        unanswered = self._left_at(finished_ns, _moments(self.begin_ns, self.end_ns))
        third, moment = MOMENTS // 3, MOMENTS // 30
        first, then, last = (
            _mean(part) for part in (unanswered[:third], unanswered[-third:][:moment], unanswered[-moment:])
        )
        noise = max(1 + NOISE * sqrt(2 * max(0.0, first)), self.schedule.rate_per_s * JITTER_S)
        if last - then <= noise or last - first <= noise:
            return True, None
        return False, (
            f"cannot keep the rate: {unanswered[-1]:,} requests were due and had no answer at the end, "
            f"{first:,.0f} in the first third"
        )

    def _inside(self) -> list[Span]:
        return [span for span in self.spans if self.begin_ns <= span.intended_ns < self.end_ns]

    def _left_at(self, done_ns: Sequence[int], moments: Sequence[int]) -> list[int]:
        """Return how many arrivals of the window are due and not done at each moment, given when each was done."""
        ordered, before = sorted(done_ns), self.schedule.due_by(self.begin_ns - 1)
        return [self.schedule.due_by(moment) - before - bisect_right(ordered, moment) for moment in moments]


def peak_in_flight(spans: Sequence[Span]) -> int:
    """Return the most requests that were sent and not answered at a time; one given up is never answered."""
    steps = [(span.started_ns, 1) for span in spans]
    steps += [(span.finished_ns, -1) for span in spans if span.finished_ns is not None]
    return max(accumulate(step for _, step in sorted(steps)), default=0)


def _moments(begin_ns: int, end_ns: int) -> list[int]:
    last_ns = end_ns - 1  # what is due at the end itself is not of this window, and never sent
    return [begin_ns + (last_ns - begin_ns) * place // MOMENTS for place in range(MOMENTS + 1)]


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)


def _fault(span: Span) -> str | None:
    return NO_ANSWER if span.finished_ns is None else span.fault
