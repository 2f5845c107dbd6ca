"""Measure how many threads a process can have, after a calibration that measures what one thread costs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inflight.bench.measure.limits import diagnose, growth, look
from inflight.bench.measure.limits.bounds import Bound, bounds
from inflight.bench.measure.limits.ceilings import ceilings
from inflight.bench.measure.limits.facts import Facts
from inflight.bench.measure.limits.finding import Finding, Stop, found, sentences, stop
from inflight.bench.measure.limits.growth import Reading
from inflight.bench.measure.limits.ramps import answer, process
from inflight.bench.measure.limits.watch import Guard, Probe, ProbeError, Ramp, probing
from inflight.bench.measure.procfs import UNLIMITED

FEWEST, MOST = 256, 8_192
EACH_CORE = 128
"""Threads per core in a calibration: the first 8 open arenas, each with holes for 8 stacks; twice as many fill them."""
PART_OF_SHARED = 0.1
"""Maximum share of what a shared limit leaves that a calibration uses."""
USUAL_STACK_BYTES = 2 << 20
"""Stack size of a thread where RLIMIT_STACK is unlimited (pthread_create(3))."""
MARGIN = 128
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""With one arena there are hardly any holes between mappings: each thread costs what the last ones of a ramp do."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The limits on threads, and how a process grows with the number of threads."""

    bounds: tuple[Bound, ...]
    readings: tuple[Reading, ...]
    tried: int = 0

    @property
    def sentence(self) -> str:
        """The basis of the prediction, as one sentence."""
        if not self.tried:
            return "no thread could be started as a test: only limits that count threads are predicted"
        return f"predicted from {self.tried:,} threads that were started and ended"


def calibrate(guard: Guard) -> Calibration:
    """Start threads in doubling steps; return the readings, extended to larger numbers."""
    try:
        with probing("threads", guard) as probe:
            before = look.look(probe.pid)
            known = tuple(bounds("threads", before))
            most = allowed(known)
            wanted = steps(most, os.cpu_count() or 1)
            readings = climb(probe, before, wanted)
            room = growth.in_holes(look.holes(probe.pid), stack_bytes(before))
        tried = readings[-1].threads
        if wanted and tried == wanted[-1]:
            readings = growth.beyond(readings, room, _without_holes(guard, most, stack_bytes(before)))
        return Calibration(known, tuple(readings), tried)
    except ProbeError:
        return Calibration(tuple(bounds("threads", look.look(os.getpid()))), ())


def climb(probe: Probe, before: Facts, wanted: Sequence[int]) -> list[Reading]:
    """Return a reading for each number of threads that the child reached."""
    readings = [growth.reading(0, before)]
    for step in wanted:
        ramp = probe.ramp(step, step)
        if ramp.count > readings[-1].threads and ramp.ended in {"reached", "failure"}:
            readings.append(growth.reading(ramp.count, look.glance(probe.pid)))
        if ramp.ended != "reached":
            break
    return readings


def _without_holes(guard: Guard, most: int, stack: float) -> list[Reading]:
    """Return two readings of a process without holes between its mappings; one if two take too many threads."""
    with probing("threads", guard, variables=ONE_ARENA) as probe:
        before = look.glance(probe.pid)
        climb(probe, before, [FEWEST])
        full = FEWEST + MARGIN + growth.in_holes(look.holes(probe.pid), stack)
        return climb(probe, before, [full, full + MARGIN] if full + MARGIN <= most else [])


def allowed(known: Sequence[Bound]) -> int:
    """Return how many threads a calibration may start: far below every shared limit."""
    free = [bound.limit - (bound.used or 0) for bound in known if bound.shared and bound.costs == "one"]
    return int(max(0, min([MOST, *(PART_OF_SHARED * room for room in free)])))


def steps(most: int, cores: int) -> list[int]:
    """Return the steps of a calibration: they double until all arenas are open and the holes between them are full."""
    enough = min(most, max(FEWEST, EACH_CORE * cores))
    return [1 << power for power in range(3, enough.bit_length()) if 1 << power <= enough]


def stack_bytes(facts: Facts) -> float:
    """Return the size of a thread's stack."""
    soft, _ = facts.rlimits.get("RLIMIT_STACK", (UNLIMITED, UNLIMITED))
    return USUAL_STACK_BYTES if soft == UNLIMITED else soft


SMALL_STACK_BYTES = 64 * 1024
MOVED = 1.1
"""How much further than the first ramp the second one goes: enough to show whether the stack size matters."""


def find_threads(guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding:
    """Start threads until one is refused; identify the limit while all of them are still waiting."""
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
    return found(
        "threads",
        before,
        known,
        ramp,
        end,
        diagnose.culprit(at_the_end, seen, ramp.symptoms),
        [
            calibration.sentence,
            *(_at_the_failure(ramp, could_fork=could_fork) if failed else ()),
            *(sentences(at_the_end) if after.process.threads else ()),
            *_of_small_stack(ramp, small),
        ],
        {
            "maps_per_thread": None if per_thread is None else round(per_thread, 3),
            "small_stack_found": small,
            "small_stack_bytes": SMALL_STACK_BYTES,
            "parent_could_fork": could_fork,
            "start_ns": ramp.ns // ramp.count if ramp.count else None,
        },
    )


def full_bounds(before: Facts, after: Facts) -> list[Bound]:
    """Return the bounds after a ramp. A control group that counted a refusal during it is marked as reached."""
    counted = {quota.file: quota.refused for quota in before.quotas}
    refused = {
        quota.file
        for quota in after.quotas
        if quota.refused is not None and quota.refused > (counted.get(quota.file) or 0)
    }
    return [replace(bound, reached=bound.name in refused) for bound in bounds("threads", after)]


def _small_stack(guard: Guard, first: Ramp, end: Stop) -> int | None:
    """Return how many threads with a small stack can be started, up to ``MOVED`` times as many as in the first ramp.

    None where the watchdog ended the second ramp.
    """
    most = min(end.most, int(first.count * MOVED) + 1)
    with probing("threads", guard, stack_bytes=SMALL_STACK_BYTES) as probe:
        second = probe.ramp(most, most)
    return second.count if second.ended in {"reached", "failure"} else None


def _at_the_failure(ramp: Ramp, *, could_fork: bool | None) -> Sequence[str]:
    tried = ", ".join(f"one more {what}: {how}" for what, how in ramp.symptoms.items())
    parent = "could still start a process" if could_fork else "could not start a process either"
    return [f"at that moment the system answered: {tried}", f"the parent {parent}"]


def _of_small_stack(ramp: Ramp, small: int | None) -> Sequence[str]:
    if small is None:
        return []
    kib = SMALL_STACK_BYTES // 1024
    if small >= int(ramp.count * MOVED):
        return [f"with stacks of {kib} KiB there were more ({small:,}, where the test ended): the stack size matters"]
    return [f"with stacks of {kib} KiB a thread was refused after {small:,}: the stack size does not matter"]
