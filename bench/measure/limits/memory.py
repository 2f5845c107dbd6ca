"""Find how much memory a process can have, where a limit of its own ends it; else only predict."""

from collections.abc import Sequence
from dataclasses import replace

from bench.measure.limits import look
from bench.measure.limits.bounds import Bound, bounds, not_known
from bench.measure.limits.ceilings import ALIKE, Ceiling, ceilings, named, polite
from bench.measure.limits.facts import Facts
from bench.measure.limits.finding import Finding, Stop, bound_by, sentences, stopped_by, why
from bench.measure.limits.ramps import MIB
from bench.measure.limits.watch import Guard, probing

FURTHER = 1.05
NOT_TRIED = "not tried: reaching it would get processes killed, this one or others"


def in_bytes(facts: Facts) -> list[Bound]:
    """Return what bounds memory, counted in bytes."""
    return [replace(bound, costs="one") for bound in bounds("memory", facts)]


def find(guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding:
    """Reserve memory up to a limit of the process's own, if that is within the budget; never fill what all share."""
    with probing("memory", guard) as probe:
        before = look.look(probe.pid)
        known = ceilings(in_bytes(before))
        own = next((ceiling for ceiling in known if not ceiling.shared), None)
        if own is None or own.most > _may_take(known, budget_bytes, through_shared=through_shared):
            evidence = [NOT_TRIED, *sentences(in_bytes(before)), *not_known("memory", before)]
            return Finding(known, None, None, "not tried", evidence)
        end = Stop(
            int(own.most * FURTHER) + MIB, "memory budget", f"{own.name} did not bind: stopped by itself above it"
        )
        ramp = probe.ramp(end.most, own.most)
        after = look.look(probe.pid)
    at_the_end = in_bytes(after) if ramp.ended == "failure" else []
    evidence = [why(ramp, end, "bytes"), *sentences(at_the_end), *not_known("memory", before)]
    return Finding(
        known, ramp.count, bound_by(ramp, end, culprit(at_the_end)), stopped_by(ramp, end), evidence, ramp.timeline
    )


def culprit(known: Sequence[Bound]) -> str | None:
    """Name the limit of the process's own that the next MiB would pass."""
    names = [
        bound.name
        for bound in known
        if not bound.shared and bound.used is not None and bound.used + MIB >= bound.limit * (1 - ALIKE)
    ]
    return named(names) if names else None


def _may_take(known: Sequence[Ceiling], budget_bytes: int, *, through_shared: bool) -> int:
    shared = None if through_shared else polite(known)
    return budget_bytes if shared is None else min(budget_bytes, shared[0])
