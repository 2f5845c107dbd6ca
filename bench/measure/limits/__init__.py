"""Limits of this machine: predicted from its settings; of threads also measured, by driving a process into them.

::

    facts.look --> Facts --ceilings--> [Ceiling]                         predict
                                           |
    threads.calibrate, ramp <--> child ----+--> culprit --> figures      find

``ceilings`` is pure, and reads all limits from one table. The child is ``worker.threads``.
"""

import math
import resource
from collections.abc import Collection
from os import getpid
from typing import Any

from inflight.bench.measure.limits.ceilings import ALIKE, list_ceilings, lowest, make_figures
from inflight.bench.measure.limits.facts import available_bytes, look
from inflight.bench.measure.limits.threads import Bounds, BreachError, calibrate, find_threads
from inflight.bench.measure.process import TrialError, WorkerError
from inflight.bench.measure.trial import Begin, Observation, Setting, conduct
from inflight.bench.plan.trial import Trial
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import Ceiling

CALIBRATION_S = 30
"""Maximum time in seconds to measure what a thread costs."""
PREDICTION_S = 3
"""The same, of a prediction in a run. Without all readings, it is less exact, or only of limits that count threads."""
RESERVE = 64
"""Descriptors that a process needs besides its connections: standard streams, selector, listening sockets, files."""


def run_limit(trial: Trial, setting: Setting) -> Row:
    """Find how much of a resource a process gets, within the budget and deadline of the setting; return the row.

    A trial that only predicts has a deadline of its own.
    """
    begin, resource = Begin.now(), trial.workload.resource
    if trial.workload.predict:
        figures = make_prediction(resource)
    else:
        figures = find(
            resource,
            through_shared=trial.workload.through_shared,
            memory_budget_bytes=setting.budget_bytes,
            deadline_s=setting.deadline_s(trial),
        )
    return make_row(trial, setting.run, begin, figures)


def make_row(trial: Trial, run: str, begin: Begin, figures: dict[str, Any]) -> Row:
    """Return the row of what was measured. If the process died, its figures are no result."""

    def observe(seen: Observation) -> None:
        """Take the figures over; they are no result if the process died."""
        seen.measured = figures
        if figures["stopped_by"] == "died":
            raise TrialError("the process that looked for the limit died")

    return conduct(trial, run, observe, begin=begin)


def find(
    resource: str, *, through_shared: bool = False, memory_budget_bytes: float | None = None, deadline_s: float = 60
) -> dict[str, Any]:
    """Return how much of a resource a process can have, ready for JSON: predicted, and of threads also measured.

    A child process starts threads until one is refused. It stops earlier at 90 % of what other processes share (unless
    ``through_shared``), when the available memory has shrunk by the budget (by default half of it), and at the
    deadline.
    """
    if resource != "threads":
        return make_prediction(resource)
    budget = available_bytes() / 2 if memory_budget_bytes is None else memory_budget_bytes
    try:
        return find_threads(Bounds.of(deadline_s, budget), budget, through_shared=through_shared)
    except (WorkerError, OSError) as error:
        stopped_by = str(error) if isinstance(error, BreachError) else "not tried"
        return make_figures(known(resource), stopped_by, [f"no process for the threads could be started: {error}"])


def make_prediction(resource: str) -> dict[str, Any]:
    """Return the same figures, predicted only, within PREDICTION_S."""
    predicted = predict(resource, PREDICTION_S)
    evidence = [ceiling.evidence for ceiling in predicted]
    return make_figures(predicted, "predicted", evidence, bound_by=lowest(predicted))


def predict(resource: str, calibration_s: float = CALIBRATION_S) -> list[Ceiling]:
    """Return how much of a resource each limit leaves to this process, the lowest first.

    For threads, a child process starts some to measure what one costs.
    """
    if resource == "threads":
        return list_ceilings("threads", *calibrate(Bounds.of(calibration_s, available_bytes() / 2)))
    return known(resource)


def known(resource: str) -> list[Ceiling]:
    """Return the same without starting threads: of the limits on threads, only those that count threads."""
    return list_ceilings(resource, look(getpid(), sockets=resource == "ports"))


def thread_shortage(threads_wanted: int) -> str | None:
    """Describe the limit that forbids starting this many more threads, and the remedy; None when none does."""
    predicted = predict("threads")
    most = math.floor(predicted[0].most * (1 - ALIKE)) if predicted else math.inf  # the prediction is no more exact
    if threads_wanted <= most:
        return None
    return (
        f"{threads_wanted:,} threads are more than {' or '.join(lowest(predicted))} allows "
        f"({predicted[0].evidence}); use at most {most:,}, or raise it: {predicted[0].remedy}"
    )


def descriptors_needed(in_flight: int, *, per_fetch: bool) -> int:
    """Return how many descriptors a process needs to have this many connections open.

    With per-fetch connections, each fetch may need two: an event loop closes a connection one turn later, when the next
    one may be open already.
    """
    return (2 if per_fetch else 1) * in_flight + RESERVE


def descriptor_shortage(in_flight: int, *, per_fetch: bool) -> str | None:
    """Describe the limit that forbids this many open connections, and the remedy; None when none does."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(0, hard - RESERVE) // (2 if per_fetch else 1)
    remedy = f"use at most {most:,}, or raise the limit" if most else "raise the limit"
    return _shortage(f"{in_flight:,} in flight need", descriptors_needed(in_flight, per_fetch=per_fetch), remedy)


def server_shortage(arms: Collection[tuple[int, bool]]) -> str | None:
    """Describe the limit that keeps the server from holding all arms of a block, and the remedy; None when none does.

    An arm is given as its maximum number in flight, and whether it opens a connection for each fetch.
    """
    needed = RESERVE + sum((1 + per_fetch) * in_flight for in_flight, per_fetch in arms)
    subject = f"the {len(arms)} arms of a block are alive at once, and their server needs"
    return _shortage(subject, needed, "compare fewer strategies, lower in_flight, or raise the limit")


def _shortage(subject: str, needed: int, remedy: str) -> str | None:
    """Describe a shortage of descriptors. Worker and server raise their own soft limit, so the hard one counts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or needed <= hard:
        return None
    return f"{subject} {needed:,} descriptors, but RLIMIT_NOFILE (ulimit -Hn) is {hard:,}; {remedy}"
