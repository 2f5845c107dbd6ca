"""Records of probes and limits."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
from msgspec.structs import force_setattr

from inflight.bench.rows.parts import Needed, Row, Workload, refuse_gaps
from inflight.bench.rows.probes import PROBES, Probed
from inflight.bench.rows.values import Bytes, Closed, Count, Limit, Maybe, Name, Ns, Number, Open, PositiveCount, Text

Argument = Name | Count | bool


class ProbeWorkload(Workload, frozen=True, kw_only=True):
    """Workload of a probe."""

    probe: Name
    """Name of the probe; its program is in bench/measure/programs/."""
    arguments: dict[Name, Argument]
    """Arguments of the program."""


class LimitWorkload(Workload, frozen=True, kw_only=True):
    """Workload of a limit."""

    resource: Literal["threads", "descriptors", "ports", "backlog", "memory"]
    """The limited resource."""
    through_shared: bool
    """Whether the search may exhaust limits shared with other processes."""


class NextCeiling(Closed, frozen=True, kw_only=True):
    """The next limit after the one that was reached."""

    name: Name
    """The limit's name."""
    most: Limit
    """Remaining amount of the resource; below 0 if more is in use than allowed."""


class Ceiling(NextCeiling, frozen=True, kw_only=True):
    """One limit of a resource."""

    shared: bool
    """Whether other processes share the limit, so that using it up affects them."""
    evidence: Text
    """Figures of the limit, in a sentence."""
    remedy: Text
    """How to raise the limit."""


LimitNames = Text | list[Text]
"""The name of the binding limit, or several names if the cause is ambiguous."""


def limit_text(names: str | Sequence[str] | None) -> str | None:
    """Write which limit binds; None where none is known."""
    return names if names is None or isinstance(names, str) else f"ambiguous: {' or '.join(names)}"


class LimitMeasured(Open, frozen=True, kw_only=True):
    """Predicted and found amount of a resource."""

    predicted: Maybe[Limit] = None
    """Amount that the lowest limit leaves, before the search; null if no limit is known."""
    predicted_by: Maybe[LimitNames] = None
    """Name of the lowest limit, or several names if they are equally low."""
    found: Maybe[Count] = None
    """Amount that a process reached; null if nothing was tried."""
    bound_by: Maybe[LimitNames] = None
    """Name of the limit that was reached, that the search stopped short of, or that is predicted; null: none."""
    stopped_by: Maybe[
        Literal["predicted", "failure", "shared limit", "memory budget", "deadline", "died", "not tried"]
    ] = None
    """Why the search ended; predicted: nothing but a prediction was asked for."""
    ceilings: Maybe[list[Ceiling]] = None
    """All limits, the lowest first."""
    evidence: Maybe[list[Text]] = None
    """The figures behind the result, in sentences."""
    next: Maybe[NextCeiling] = None
    """The next limit; null if none is known."""
    remedy: Maybe[Text] = None
    """How to raise the limit that was reached."""
    timeline: Maybe[list[tuple[Ns, Count]]] = None
    """[nanoseconds since the start, amount reached]."""
    start_ns: Maybe[Ns] = None
    """Time to start one."""
    maps_per_thread: Maybe[Number] = None
    """Memory mappings per thread."""
    parent_could_fork: Maybe[bool] = None
    """Whether the parent process could still start another at the limit."""
    processes: Maybe[PositiveCount] = None
    """Number of processes in the search."""
    small_stack_bytes: Maybe[Bytes] = None
    """Smaller stack size that was also tried."""
    small_stack_found: Maybe[Count] = None
    """Amount that a process reached with the smaller stack."""


class LimitFound(Row, tag="limit", frozen=True, kw_only=True):
    """Amount of a resource that this machine allows a process."""

    NEEDED: ClassVar[Needed] = {"measured": ("stopped_by", "evidence")}
    IS_CHECKED = False

    stack: Literal["none"]
    workload: LimitWorkload
    measured: LimitMeasured


class Probe(Row, frozen=True, kw_only=True):
    """A small program that tests one claim."""

    IS_CHECKED = False

    stack: Literal["none"]
    workload: ProbeWorkload
    measured: Any
    """Result of the program; bench/rows/probes.py has a record for each probe."""

    def __post_init__(self) -> None:
        """Turn the result into the record of this probe. Raises ValueError if it does not fit."""
        Row.__post_init__(self)
        try:
            measured = msgspec.convert(self.measured, PROBES.get(self.workload.probe, Probed))
        except msgspec.ValidationError as error:
            raise ValueError(str(error).replace("`$", "`$.measured")) from error
        force_setattr(self, "measured", measured)
        if self.status == "ok" and not measured.is_excused:
            refuse_gaps(measured, measured.NEEDED, "measured")
