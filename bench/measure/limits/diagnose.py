"""Identify the limit that refused, from the limits that are full and from how other system calls fail. Pure.

CPython drops the errno of a thread that could not be started. Other calls keep theirs, so one more page, stack and
process are tried (mmap(2): ENOMEM for too many maps and for too little memory or address space; fork(2): EAGAIN for too
many tasks, whichever limit counts them).
"""

from collections.abc import Mapping, Sequence

from inflight.bench.measure.limits import growth
from inflight.bench.measure.limits.bounds import Bound
from inflight.bench.measure.limits.ceilings import ALIKE, Names
from inflight.bench.measure.limits.growth import Reading

_KINDS = {"maps": "maps", "vm_bytes": "size", "data_bytes": "size", "memory_bytes": "size", "one": "tasks"}


def suspects(symptoms: Mapping[str, str]) -> frozenset[str]:
    """Return the kinds of limit that fit the results of the calls tried at the failure."""
    if symptoms.get("process") == "EAGAIN":
        return frozenset({"tasks"})
    if symptoms.get("page") == "ENOMEM":
        return frozenset({"maps", "size"})
    if symptoms.get("stack") == "ENOMEM":
        return frozenset({"size"})
    return frozenset({"maps", "size", "tasks"})


def full(bound: Bound, readings: Sequence[Reading]) -> bool:
    """Return whether one more piece would not fit, or only just."""
    if bound.reached:
        return True
    one_more = growth.each(readings, bound.costs)
    return bound.used is not None and one_more is not None and bound.used + one_more >= bound.limit * (1 - ALIKE)


def culprit(bounds: Sequence[Bound], readings: Sequence[Reading], symptoms: Mapping[str, str]) -> Names:
    """Return the limits that may have refused. A limit with a counted refusal rules out all others."""
    kinds = suspects(symptoms)
    fitting = [bound for bound in bounds if _KINDS[bound.costs] in kinds]
    counted = tuple(bound.name for bound in fitting if bound.reached)
    return counted or tuple(bound.name for bound in fitting if full(bound, readings))
