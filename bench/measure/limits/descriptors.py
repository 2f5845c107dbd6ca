"""Find how many descriptors a process can have."""

import os
from collections.abc import Sequence
from dataclasses import replace

from bench.measure.limits import diagnose, look
from bench.measure.limits.bounds import Bound, bounds, not_known
from bench.measure.limits.ceilings import ceilings, named
from bench.measure.limits.finding import NO_LIMIT_KNOWN, Finding, bound_by, sentences, stop, stopped_by, why
from bench.measure.limits.watch import Guard, probing

OF_ALL = frozenset({"ENFILE"})
"""The errno that says that the system's table is full, not the process's (open(2))."""


def find(guard: Guard, budget_bytes: int, *, through_shared: bool) -> Finding:
    """Open files until one is refused."""
    own = look.look(os.getpid())
    with probing("descriptors", guard) as probe:
        # The child has raised its soft limit, as the harness's workers do; the evidence tells what it was before.
        before = replace(look.look(probe.pid), rlimits=own.rlimits)
        known = ceilings(bounds("descriptors", before))
        end = stop(known, budget_bytes, None, through_shared=through_shared)
        ramp = probe.ramp(end.most, known[0].most if known else NO_LIMIT_KNOWN)
        after = replace(look.look(probe.pid), rlimits=own.rlimits)
    at_the_end = bounds("descriptors", after) if ramp.ended in {"failure", "reached"} else []
    return Finding(
        known,
        ramp.count,
        bound_by(ramp, end, culprit(at_the_end, ramp.errno)),
        stopped_by(ramp, end),
        [why(ramp, end, "descriptors"), *sentences(at_the_end), *not_known("descriptors", before)],
        ramp.timeline,
    )


def culprit(known: Sequence[Bound], errno: str | None) -> str | None:
    """Name the limit of the process or of the system, as the errno says, that is full."""
    names = [bound.name for bound in known if bound.shared == (errno in OF_ALL) and diagnose.full(bound, ())]
    return named(names) if names else None
