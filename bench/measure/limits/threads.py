"""Measure how many threads a process can have, after a calibration that measures what one thread costs.

``limits.find`` and ``limits.predict`` call ``find_threads`` and ``calibrate``. Each step is a child process
(``worker.threads``), which is always killed in the end; if this process is killed, the child ends by itself. A *ramp*
is a child that starts threads up to a number, or until one is refused.

Not every thread costs the same. glibc opens a malloc arena of 64 MiB for each of the first threads (8 per core,
mallopt(3), M_ARENA_MAX). CPython maps 16 KiB for the first frames of each (Python/pystate.c, DATA_STACK_CHUNK_SIZE). As
long as there are holes between mappings, these chunks fill them side by side and count as one mapping. Later each lies
between two stacks, and since Linux 6.7 (MAP_STACK sets VM_NOHUGEPAGE) it cannot be merged with them. So three numbers
are needed: the cost of a thread now, how many more fit into the holes, and the cost of a thread without holes.
"""

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inflight.bench import units
from inflight.bench.measure import procfs
from inflight.bench.measure.limits import ceilings, facts
from inflight.bench.measure.limits.ceilings import SHARED_PART, SIZES, Names, Reading, list_ceilings, slope
from inflight.bench.measure.limits.facts import Facts
from inflight.bench.measure.process import Runtime, Worker, WorkerError, running
from inflight.bench.measure.worker.threads import start_process, try_call
from inflight.bench.rows.kinds import Ceiling

CHILD = "inflight.bench.measure.worker.threads"
"""The program of the child."""
TICK_S = 0.05
"""Interval in seconds at which the bounds are checked."""
POINTS = 500
"""Number of points of a timeline."""
AVAILABLE_PART = 20
"""Divisor of the available memory. One such part is never taken; others may take as much during a ramp."""
MIN_CALIBRATION, MAX_CALIBRATION = 256, 8_192
"""Fewest and most threads of a calibration."""
EACH_CORE = 128
"""Threads per core in a calibration: the first 8 open arenas, each with holes for 8 stacks; twice as many fill them."""
PART_OF_SHARED = 0.1
"""Maximum share of what a shared limit (one that other processes have part in) leaves that a calibration uses."""
USUAL_STACK_BYTES = 2 << 20
"""Stack size of a thread where RLIMIT_STACK is unlimited (pthread_create(3))."""
FRAMES_BYTES = 16 * 1024
"""What CPython maps for the first frames of a thread."""
MARGIN, FAR = 128, 10_000
"""Threads beyond those that fill the holes; and how far readings are extended."""
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""With one arena there are hardly any holes between mappings: each thread costs what the last ones of a ramp do."""
NO_LIMIT_KNOWN = 1 << 40
"""More threads than any machine has."""


class BreachError(WorkerError):
    """A bound is exceeded; the message names it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds on the child: a deadline on the clock of time.monotonic(), and the memory that must stay available."""

    deadline_s: float
    min_available_bytes: float

    @classmethod
    def of(cls, deadline_s: float, budget_bytes: float) -> "Bounds":
        """Return bounds whose time starts now."""
        available = facts.available_bytes()
        part = available / AVAILABLE_PART
        return cls(time.monotonic() + deadline_s, max(available - budget_bytes - part, part))

    def check(self) -> None:
        """Raise BreachError if a bound is exceeded."""
        if time.monotonic() > self.deadline_s:
            raise BreachError("deadline")
        if facts.available_bytes() < self.min_available_bytes:
            raise BreachError("memory budget")


@dataclass(frozen=True, slots=True)
class Ramp:
    """One ramp: the number of threads, and why it stopped (``reached``: the number that was wanted)."""

    count: int
    ended: str
    error: str | None = None
    symptoms: Mapping[str, str] = field(default_factory=dict)
    """What other calls answered at the failure: ``ok`` or the name of an errno."""
    timeline: Sequence[Sequence[int]] = ()
    """Pairs of (nanoseconds since the start, count)."""


@contextmanager
def probing(bounds: Bounds, variables: Mapping[str, str] | None = None) -> Iterator[Worker]:
    """Run a child without threads; kill it in the end. Raises WorkerError or OSError. It needs no installed package."""
    lifetime_s = max(1.0, bounds.deadline_s - time.monotonic() + 1)
    runtime = Runtime(variables=variables or {}, flags=("-S",))
    bounds.check()
    with running((CHILD, str(os.getpid())), {}, None, lifetime_s, runtime) as child:
        child.look_s = TICK_S
        child.hear("event", bounds.check)
        yield child


def ramp(child: Worker, bounds: Bounds, most: int, expected: int = NO_LIMIT_KNOWN) -> Ramp:
    """Let the child start up to ``most`` threads; return when it has stopped or was killed. It keeps its threads."""
    points = [(0, 0)]
    try:
        bounds.check()
        child.send({"most": most, "every": min(most, expected) // POINTS + 1})
        while (event := child.hear("event", bounds.check))["event"] == "at":
            points.append((event["ns"], event["count"]))
    except WorkerError as error:
        child.kill()
        child.process.wait()
        ended = str(error) if isinstance(error, BreachError) else "died"
        return Ramp(points[-1][1], ended, str(error), timeline=points)
    ended = "reached" if event["error"] is None else "failure"
    step = len(points) // POINTS + 1
    points = [*points[::step], (event["ns"], event["count"])]
    return Ramp(event["count"], ended, event["error"], event["symptoms"], points)


def calibrate(bounds: Bounds) -> tuple[Facts, list[Reading]]:
    """Start threads in doubling steps; return the facts before, and the readings, extended to larger numbers.

    A reading is a number of threads and what the process then used. On an error the readings are empty.
    """
    try:
        with probing(bounds) as child:
            before = facts.look(child.pid)
            most = allowed(list_ceilings("threads", before))
            wanted = steps(most, os.cpu_count() or 1)
            readings = climb(child, bounds, wanted)
            soft = before["RLIMIT_STACK"]
            stack_bytes = USUAL_STACK_BYTES if soft == procfs.UNLIMITED else soft
            holes = in_holes(procfs.text_of(f"/proc/{child.pid}/maps"), stack_bytes)
        if wanted and readings[-1][0] == wanted[-1]:
            readings = extend(readings, holes, _without_holes(bounds, most, stack_bytes))
    except (WorkerError, OSError):
        return facts.look(os.getpid()), []
    return before, readings


def climb(child: Worker, bounds: Bounds, wanted: Sequence[int]) -> list[Reading]:
    """Return a reading for each number of threads that the child reached."""
    readings: list[Reading] = [(0, facts.usage(child.pid))]
    for step in wanted:
        end = ramp(child, bounds, step)
        if end.count > readings[-1][0] and end.ended in {"reached", "failure"}:
            readings.append((end.count, facts.usage(child.pid)))
        if end.ended != "reached":
            break
    return readings


def _without_holes(bounds: Bounds, most: int, stack_bytes: float) -> list[Reading]:
    """Return two readings of a process without holes between its mappings; one if two take too many threads."""
    with probing(bounds, ONE_ARENA) as child:
        climb(child, bounds, [MIN_CALIBRATION])
        full = MIN_CALIBRATION + MARGIN + in_holes(procfs.text_of(f"/proc/{child.pid}/maps"), stack_bytes)
        return climb(child, bounds, [full, full + MARGIN] if full + MARGIN <= most else [])[1:]


def allowed(known: Sequence[Ceiling]) -> int:
    """Return how many threads a calibration may start: far below every shared limit."""
    return int(min([MAX_CALIBRATION, *(PART_OF_SHARED * ceiling.most for ceiling in known if ceiling.shared)]))


def steps(most: int, cores: int) -> list[int]:
    """Return the steps of a calibration: they double until all arenas are open and the holes between them are full."""
    enough = min(most, max(MIN_CALIBRATION, EACH_CORE * cores))
    return [1 << power for power in range(3, enough.bit_length()) if 1 << power <= enough]


def in_holes(maps: str | None, stack_bytes: float) -> int:
    """Return how many threads have their first frames in holes that are too small for a stack."""
    return sum(hole // FRAMES_BYTES for hole in procfs.holes(maps) if hole < stack_bytes)


def extend(readings: Sequence[Reading], count: int, steady: Sequence[Reading]) -> list[Reading]:
    """Extend readings by ``count`` threads that cost as much as the last ones, then by threads as in ``steady``."""
    now, later = slope(readings, "maps"), slope(steady, "maps")
    if now is None or later is None or later <= now:
        return list(readings)
    threads, last = readings[-1]
    each = {cost: slope(readings, cost) or 0 for cost in ("maps", *SIZES) if cost in last}
    # What is used when the holes are full, and FAR threads later: only maps then cost more than before.
    full = {cost: last[cost] + count * each[cost] for cost in each}
    far = {cost: full[cost] + FAR * (each | {"maps": later})[cost] for cost in each}
    return [*readings, *([(threads + count, full)] if count else []), (threads + count + FAR, far)]


class Stop(NamedTuple):
    """The count at which a ramp stops on purpose, why, and the shared limit that it stays below."""

    most: int
    stopped_by: str = "not tried"
    sentence: str = ""
    """Why, for the evidence of a row."""
    name: str | None = None


def stop(predicted: Sequence[Ceiling], budget_bytes: float, each_bytes: float | None, *, through_shared: bool) -> Stop:
    """Return where a ramp stops on purpose: below the lowest shared limit, or where the memory budget is used up."""
    stops = [Stop(NO_LIMIT_KNOWN)]
    shared = [ceiling for ceiling in predicted if ceiling.shared and not through_shared]
    if shared:
        sentence = (
            f"on purpose, at {units.percent(SHARED_PART)} of what {shared[0].name} leaves, "
            "which other processes share; --through-shared goes beyond it"
        )
        stops.append(Stop(math.floor(SHARED_PART * shared[0].most), "shared limit", sentence, shared[0].name))
    if each_bytes:
        sentence = f"on purpose, as more would exceed the memory budget of {budget_bytes / 1e9:.1f} GB"
        stops.append(Stop(math.floor(budget_bytes / each_bytes), "memory budget", sentence))
    return min(stops, key=lambda candidate: candidate.most)


def find_threads(bounds: Bounds, budget_bytes: float, *, through_shared: bool) -> dict[str, Any]:
    """Start threads until one is refused; identify the limit while all of them are still waiting."""
    known, readings = calibrate(bounds)
    predicted = list_ceilings("threads", known, readings)
    aim = stop(predicted, budget_bytes, slope(readings, "memory"), through_shared=through_shared)
    with probing(bounds) as child:
        before = facts.look(child.pid)
        end = ramp(child, bounds, aim.most, predicted[0].most if predicted else NO_LIMIT_KNOWN)
        forked = try_call(start_process) if end.ended == "failure" else ""
        after = facts.look(child.pid)
    grown = [(0, before), (end.count, after)] if end.count else readings
    names: Names = (aim.name,) if end.ended == "reached" and aim.name else ()
    evidence = [f"ended at {end.count:,} threads: {end.error or aim.sentence}"]
    if end.ended == "failure":
        names = culprit(before, after, grown, end)
        tried = ", ".join(f"one more {what}: {how}" for what, how in end.symptoms.items())
        parent = "could still start a process" if forked == "ok" else "could not start a process either"
        evidence += [f"at that moment the system answered: {tried}", f"the parent {parent}"]
    evidence += [ceiling.evidence for ceiling in list_ceilings("threads", after, grown) if "threads" in after]
    stopped_by = aim.stopped_by if end.ended == "reached" else end.ended
    figures = ceilings.make_figures(predicted, stopped_by, evidence, end.count, names)
    return figures | {"timeline": [list(point) for point in end.timeline]}


def culprit(before: Facts, after: Facts, grown: Sequence[Reading], end: Ramp) -> Names:
    """Return the limits that may have refused a thread. A limit with a counted refusal rules out all others.

    ``before`` and ``after`` are the facts before the ramp and at its failure, ``grown`` the readings at both. CPython
    drops the errno of a thread that could not be started. Other calls keep theirs (mmap(2): ENOMEM for too many maps
    and for too little memory or address space; fork(2): EAGAIN for too many tasks, whichever limit counts them).
    """
    if end.symptoms.get("process") == "EAGAIN":
        costs: Sequence[str] = ("one",)
    elif end.symptoms.get("page") == "ENOMEM":
        costs = ("maps", *SIZES)
    else:
        costs = SIZES if end.symptoms.get("stack") == "ENOMEM" else ceilings.ALL_COSTS
    left = {ceiling.name: ceiling.most for ceiling in list_ceilings("threads", after, grown, costs)}
    refusals = {name: f"{name} refusals" for name in left}
    counted = tuple(name for name, key in refusals.items() if after.get(key, 0) > before.get(key, 0))
    return counted or tuple(name for name, most in left.items() if most <= 1 + ceilings.ALIKE * end.count)
