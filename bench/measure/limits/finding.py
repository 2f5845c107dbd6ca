"""The result for one resource: the prediction, how many pieces a process really got, and what stopped it. Pure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from inflight.bench import units
from inflight.bench.measure.limits.bounds import Bound, not_known
from inflight.bench.measure.limits.ceilings import SHARED_PART, Ceiling, Names, following, lowest, polite
from inflight.bench.measure.limits.facts import Facts
from inflight.bench.measure.limits.watch import Ramp

NO_LIMIT_KNOWN = 1 << 40
StoppedBy = Literal["failure", "shared limit", "memory budget", "deadline", "died", "not tried"]


@dataclass(frozen=True, slots=True)
class Stop:
    """The count at which a ramp stops on purpose, and the reason."""

    most: int
    why: StoppedBy
    sentence: str
    name: str | None = None
    """The shared limit that the ramp stays below."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The prediction and the result for one resource."""

    ceilings: Sequence[Ceiling]
    found: int | None
    bound_by: Names
    stopped_by: StoppedBy
    evidence: Sequence[str]
    timeline: Sequence[Sequence[int]] = ()
    """Pairs of (nanoseconds since the start, count)."""
    extras: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of a row."""
        predicted_by = lowest(self.ceilings)
        then = following(self.ceilings, self.bound_by or predicted_by)
        return {
            "predicted": self.ceilings[0].most if self.ceilings else None,
            "predicted_by": _of_row(predicted_by),
            "found": self.found,
            "bound_by": _of_row(self.bound_by),
            "stopped_by": self.stopped_by,
            "ceilings": [asdict(ceiling) for ceiling in self.ceilings],
            "evidence": list(self.evidence),
            "next": None if then is None else {"name": then.name, "most": then.most},
            "remedy": None if self.stopped_by == "died" else remedy(self.ceilings, self.bound_by or predicted_by),
            "timeline": [list(point) for point in self.timeline],
            **self.extras,
        }


def stop(ceilings: Sequence[Ceiling], budget_bytes: int, each_bytes: float | None, *, through_shared: bool) -> Stop:
    """Return where a ramp stops on purpose: below the lowest shared limit, or where the memory budget is used up."""
    stops = [Stop(NO_LIMIT_KNOWN, "not tried", "no limit is known")]
    shared = None if through_shared else polite(ceilings)
    if shared is not None:
        most, ceiling = shared
        sentence = (
            f"stopped on purpose at {most:,}: {units.percent(SHARED_PART)} of what {ceiling.name} leaves, "
            f"which other processes share; --through-shared goes beyond it"
        )
        stops.append(Stop(most, "shared limit", sentence, ceiling.name))
    if each_bytes:
        most = int(budget_bytes / each_bytes)
        sentence = f"stopped on purpose at {most:,}: they fill the memory budget of {budget_bytes / 1e9:.1f} GB"
        stops.append(Stop(most, "memory budget", sentence))
    return min(stops, key=lambda candidate: candidate.most)


def found(
    resource: str,
    before: Facts,
    known: Sequence[Ceiling],
    ramp: Ramp,
    end: Stop,
    culprit: Names,
    evidence: Sequence[str],
    extras: dict[str, Any] | None = None,
) -> Finding:
    """Return the result of a ramp: the count, the limit that stopped it, and the evidence."""
    return Finding(
        known,
        ramp.count,
        bound_by(ramp, end, culprit),
        stopped_by(ramp, end),
        [why(ramp, end, _PIECES[resource]), *evidence, *not_known(resource, before)],
        ramp.timeline,
        extras or {},
    )


_PIECES = {
    "threads": "threads",
    "descriptors": "descriptors",
    "ports": "ports",
    "backlog": "connections",
    "memory": "bytes",
}


def stopped_by(ramp: Ramp, end: Stop) -> StoppedBy:
    """Return what ended a ramp."""
    if ramp.ended == "reached":
        return end.why
    return ramp.ended


def bound_by(ramp: Ramp, end: Stop, culprit: Names) -> Names:
    """Return the limits that may have refused, or the one below which the ramp stopped."""
    if ramp.ended == "failure":
        return culprit
    return (end.name,) if ramp.ended == "reached" and end.name is not None else ()


def why(ramp: Ramp, end: Stop, what: str) -> str:
    """Describe the end of a ramp in one sentence."""
    return {
        "reached": end.sentence,
        "failure": f"after {ramp.count:,} {what} the next was refused: {ramp.error}"
        f"{f' ({ramp.errno})' if ramp.errno else ''}",
        "died": f"after {ramp.count:,} {what} {ramp.error}",
        "deadline": f"ended at {ramp.count:,} {what}: the deadline had passed",
        "memory budget": f"ended at {ramp.count:,} {what}: too little memory was left on this machine",
    }[ramp.ended]


def remedy(ceilings: Sequence[Ceiling], names: Names) -> str | None:
    """Return what to raise for these limits."""
    found = [ceiling.remedy for ceiling in ceilings if ceiling.name in names]
    return "; and ".join(dict.fromkeys(found)) or None


def _of_row(names: Names) -> str | list[str] | None:
    """Return names as a row has them: null for none, a text for one, a list for several."""
    return list(names) if len(names) > 1 else names[0] if names else None


def sentences(bounds: Sequence[Bound]) -> list[str]:
    """Return the evidence of each limit, the fullest limit first."""
    return [bound.sentence for bound in sorted(bounds, key=_fullness, reverse=True)]


def _fullness(bound: Bound) -> float:
    return (bound.used or 0) / bound.limit if bound.limit else 1.0
