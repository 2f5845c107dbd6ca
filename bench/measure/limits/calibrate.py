"""What a thread costs here: measured with a small number of them, in processes that end with the answer."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from bench.measure.limits import growth, look
from bench.measure.limits.bounds import Bound, bounds
from bench.measure.limits.facts import Facts
from bench.measure.limits.growth import Reading
from bench.measure.limits.parse import UNLIMITED
from bench.measure.limits.watch import Guard, Probe, ProbeError, probing

FEWEST, MOST = 256, 8_192
EACH_CORE = 128
"""The first 8 threads a core open arenas, whose edges leave holes for 8 stacks each: twice as many fill them."""
PART_OF_SHARED = 0.1
"""A calibration takes no more than this of what other processes share."""
USUAL_STACK_BYTES = 2 << 20
"""Of a thread where RLIMIT_STACK is unlimited (pthread_create(3))."""
MARGIN = 128
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""Without arenas there are hardly any holes between mappings: what a thread takes then is what it takes in the end."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What bounds threads, and how a process grows with them."""

    bounds: tuple[Bound, ...]
    readings: tuple[Reading, ...]
    tried: int = 0

    @property
    def sentence(self) -> str:
        """Say what the prediction rests on."""
        if not self.tried:
            return "no thread could be tried: the prediction knows only limits that count threads"
        return f"predicted from {self.tried:,} threads that were started and ended"


def calibrate(guard: Guard) -> Calibration:
    """Start threads by doubling, and return what was seen on the way and what follows for more of them."""
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
    """Return what the child takes at each number of threads that it reached."""
    readings = [growth.reading(0, before)]
    for step in wanted:
        ramp = probe.ramp(step, step)
        if ramp.count > readings[-1].threads and ramp.ended in {"reached", "failure"}:
            readings.append(growth.reading(ramp.count, look.glance(probe.pid)))
        if ramp.ended != "reached":
            break
    return readings


def _without_holes(guard: Guard, most: int, stack: float) -> list[Reading]:
    """Return how a process with no holes between its mappings grows: two readings, or one if that takes too many."""
    with probing("threads", guard, variables=ONE_ARENA) as probe:
        before = look.glance(probe.pid)
        climb(probe, before, [FEWEST])
        full = FEWEST + MARGIN + growth.in_holes(look.holes(probe.pid), stack)
        return climb(probe, before, [full, full + MARGIN] if full + MARGIN <= most else [])


def allowed(known: Sequence[Bound]) -> int:
    """Return how many threads a calibration may start: far below every limit that is shared."""
    free = [bound.limit - (bound.used or 0) for bound in known if bound.shared and bound.costs == "one"]
    return int(max(0, min([MOST, *(PART_OF_SHARED * room for room in free)])))


def steps(most: int, cores: int) -> list[int]:
    """Return the numbers of threads to look at: doubling, until all arenas are open and the holes between them full."""
    enough = min(most, max(FEWEST, EACH_CORE * cores))
    return [1 << power for power in range(3, enough.bit_length()) if 1 << power <= enough]


def stack_bytes(facts: Facts) -> float:
    """Return how much address space the stack of a thread takes."""
    soft, _ = facts.rlimits.get("RLIMIT_STACK", (UNLIMITED, UNLIMITED))
    return USUAL_STACK_BYTES if soft == UNLIMITED else soft
