"""Find how many threads a process can have."""

from collections.abc import Sequence
from dataclasses import replace

from bench.measure.limits import diagnose, growth, look
from bench.measure.limits.attempts import answer, process
from bench.measure.limits.bounds import Bound, bounds, not_known
from bench.measure.limits.calibrate import calibrate
from bench.measure.limits.ceilings import ceilings
from bench.measure.limits.facts import Facts
from bench.measure.limits.finding import Finding, Stop, bound_by, sentences, stop, stopped_by, why
from bench.measure.limits.watch import Guard, Ramp, probing

SMALL_STACK_BYTES = 64 * 1024
MOVED = 1.1
"""The second ramp goes this much further than the first: far enough to tell whether the stack's size matters."""


def find(guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding:
    """Start threads until one is refused; name the limit while all of them still wait."""
    calibration = calibrate(guard)
    readings = calibration.readings
    known = ceilings(calibration.bounds, readings)
    end = stop(known, budget_bytes, growth.each(readings, "memory_bytes"), through_shared=through_shared)
    with probing("threads", guard) as probe:
        before = look.look(probe.pid)
        ramp = probe.ramp(end.most, known[0].most if known else end.most)
        could_fork = answer(process) == "ok" if ramp.ended == "failure" else None
        after = look.look(probe.pid)
    at_the_end = full_bounds(before, after)
    seen = (growth.reading(0, before), growth.reading(ramp.count, after)) if ramp.count else readings
    failed = ramp.ended == "failure"
    small = _small_stack(guard, ramp, end) if failed else None
    per_thread = growth.each(seen, "maps")
    return Finding(
        known,
        ramp.count,
        bound_by(ramp, end, diagnose.culprit(at_the_end, seen, ramp.symptoms)),
        stopped_by(ramp, end),
        [
            calibration.sentence,
            why(ramp, end, "threads"),
            *(_at_the_failure(ramp, could_fork=could_fork) if failed else ()),
            *(sentences(at_the_end) if after.process.threads else ()),
            *_of_small_stack(ramp, small),
            *not_known("threads", before),
        ],
        ramp.timeline,
        {
            "maps_per_thread": None if per_thread is None else round(per_thread, 3),
            "small_stack_found": small,
            "small_stack_bytes": SMALL_STACK_BYTES,
            "parent_could_fork": could_fork,
            "start_ns": ramp.ns // ramp.count if ramp.count else None,
        },
    )


def full_bounds(before: Facts, after: Facts) -> list[Bound]:
    """Return the bounds after a ramp; a control group that has counted a refusal meanwhile is marked as reached."""
    counted = {quota.file: quota.refused for quota in before.quotas}
    refused = {
        quota.file
        for quota in after.quotas
        if quota.refused is not None and quota.refused > (counted.get(quota.file) or 0)
    }
    return [replace(bound, reached=bound.name in refused) for bound in bounds("threads", after)]


def _small_stack(guard: Guard, first: Ramp, end: Stop) -> int | None:
    """Return how many threads with a small stack can be started, as far as is needed to see whether it is more.

    None where the watchdog ended it before that was clear.
    """
    most = min(end.most, int(first.count * MOVED) + 1)
    with probing("threads", guard, stack_bytes=SMALL_STACK_BYTES) as probe:
        second = probe.ramp(most, most)
    return second.count if second.ended in {"reached", "failure"} else None


def _at_the_failure(ramp: Ramp, *, could_fork: bool | None) -> Sequence[str]:
    tried = ", ".join(f"a {what} more: {how}" for what, how in ramp.symptoms.items())
    parent = "could still start a process" if could_fork else "could not start a process either"
    return [f"asked at that moment, the system answered: {tried}", f"the parent {parent}"]


def _of_small_stack(ramp: Ramp, small: int | None) -> Sequence[str]:
    if small is None:
        return []
    kib = SMALL_STACK_BYTES // 1024
    if small >= int(ramp.count * MOVED):
        return [
            f"with stacks of {kib} KiB there were more ({small:,}, and no further tried): the size of stacks matters"
        ]
    return [f"with stacks of {kib} KiB it was refused after {small:,}: the size of stacks does not matter"]
