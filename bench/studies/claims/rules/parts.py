"""The parts of a claim, each true, false or unknown, and the verdict that follows from them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inflight.bench.core import units
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules.evidence import Figure, Range
from inflight.bench.studies.claims.verdicts import Outcome, Value, Word

How = Literal["at least", "below", "not clearly above", "not clearly below"]
"""What a figure must be. The first two need the whole interval; the others fail only if all of it is beyond."""
_BEYOND = {"at least": "below", "below": "above", "not clearly above": "above", "not clearly below": "below"}
_ARGUMENTS = {"at": "error at parser call"}
"""Arguments of probes whose names would be misread."""
_ANSWERS = {True: "yes", False: "no", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a claim: whether it is true here (None: unknown), and its figure."""

    name: str
    so: bool | None
    figure: str = ""
    of: str = ""
    """What the figure is of, shared by several parts."""
    rule: str = ""
    """What the figure must be."""
    core: str = ""
    """The claim does not hold if all parts with the same core are false."""
    close: bool = False
    """Near the rule's boundary."""
    why: str = ""
    """Why it is unknown."""


def compared(
    name: str, found: Figure, how: How, edge: float, core: str = "", *, of: str = "", near: bool = True
) -> Part:
    """Compare a figure with a boundary; ``near``: whether the part can be close to it."""
    if not isinstance(found, Range):
        return Part(name, None, str(found), of, how, core, why=found.reason)
    side, limit = found.side_of(edge), found.unit.edge(edge)
    surely = how in {"at least", "below"}
    so = None if surely and side == "across" else side != _BEYOND[how]
    why = f"the interval includes {limit}" if so is None else ""
    return Part(name, so, str(found), of, f"{how} {limit}", core, near and found.is_close_to(edge), why)


def outcome(
    rows: Sequence[Row], parts: Sequence[Part], values: Mapping[str, Value], figures: Iterable[str] = ()
) -> Outcome:
    """Return the outcome of a claim's parts; without a verdict ``inconclusive``, or ``not tested`` if no trial started.

    ``figures`` are shown after those of the parts. The values get ``undecided``: the unknown parts with the reasons.
    """
    word = verdict(parts)
    reason = "; ".join([*_answers(parts), *([] if word else missing(rows))])
    return Outcome(
        verdict=word or ("inconclusive" if any(row.status != "skipped" for row in rows) else "not tested"),
        figures="; ".join([*_figures(parts), *filter(None, figures)]) or reason,
        region=region(rows),
        values={**values, "undecided": _undecided(parts)},
        reason=reason,
        close=word is not None and any(part.close for part in parts),
    )


def _figures(parts: Iterable[Part]) -> Iterator[str]:
    """Yield each figure with its name; the first of several has what they are of before it."""
    before = ""
    shown = dict.fromkeys((part.of, f"{part.name}: {part.figure}") for part in parts if part.figure)
    for of, figure in shown:
        yield f"{of}, {figure}" if of not in {"", before} else figure
        before = of


def _undecided(parts: Iterable[Part]) -> str | None:
    told = (f"{part.name} ({part.why})" if part.why else part.name for part in parts if part.so is None)
    return "; ".join(dict.fromkeys(told)) or None


def _answers(parts: Iterable[Part]) -> list[str]:
    """Return each rule with the answers of its parts."""
    found: dict[str, list[str]] = {}
    for part in parts:
        found.setdefault(f"{part.of} {part.rule}".strip(), []).append(f"{part.name} {_ANSWERS[part.so]}")
    return [f"{rule}: {', '.join(answers)}" for rule, answers in found.items()]


def verdict(parts: Sequence[Part]) -> Word | None:
    """Return the verdict; None if unknown parts could change it."""
    cores: dict[str, list[bool | None]] = {}
    for part in parts:
        if part.core:
            cores.setdefault(part.core, []).append(part.so)
    answers = {part.so for part in parts}
    if any(set(own) == {False} for own in cores.values()):
        return "does not hold here"
    if not all(True in own for own in cores.values()):
        return None
    if False in answers:
        return "holds differently"
    return "holds" if answers == {True} else None


def missing(rows: Sequence[Row]) -> list[str]:
    """Return why rows are invalid, the most frequent reasons first, and how many are disturbed."""
    bad = [row for row in rows if not row.valid]
    kinds = Counter(kind for row in bad for kind in _reasons(row))
    told = "; ".join(f"{kind}{f' ({number} times)' if number > 1 else ''}" for kind, number in kinds.most_common(3))
    disturbed = sum(getattr(row.measured, "held_disturbed", None) is not None for row in rows if row.valid)
    return [
        *([] if rows else ["no trial was run"]),
        *([f"{len(bad)} of {len(rows)} rows are not valid: {told}"] if bad else []),
        *([f"in {disturbed} of {len(rows)} rows other processes changed the kernel's counts"] if disturbed else []),
    ]


def _reasons(row: Row) -> list[str]:
    """Return why a row is invalid: how it ended, or its failed checks."""
    if row.status != "ok":
        return [f"{row.status}: {row.reason}" if row.status != "skipped" else str(row.reason)]
    return [f'"{check.name}" failed' for check in row.failed_checks]


def region(rows: Iterable[Row]) -> str:
    """Return the values of the workloads; numbers as a range."""
    found: dict[str, dict[Any, None]] = {}
    for row in rows:
        for name, value in _asked(row).items():
            found.setdefault(name, {})[value] = None
    return "; ".join(f"{name}: {_between(list(values))}" for name, values in found.items()) or "nothing"


def _asked(row: Row) -> dict[str, Any]:
    workload = row.workload
    match row.kind:
        case "limit":
            return {"limit": row.strategy}
        case "idle":
            return {row.strategy: workload.n}
        case "probe":
            return {_ARGUMENTS.get(name, name.replace("_", " ")): v for name, v in workload.arguments.items()}
    asked = {
        "in flight": workload.in_flight,
        "added latency": "none" if workload.latency == "0" else units.latency(workload.latency),
        "connections": workload.connection,
        "pages": workload.site.pages if row.kind == "crawl" else None,
        "redirects": units.percent(workload.site.redirects) if workload.site.redirects else None,
        "CPU work": units.latency(workload.cpu) if workload.cpu_ns else None,
        "cores": workload.arm and workload.arm.cores,
        "Python": _python(row) if workload.arm and workload.arm.python else None,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _python(row: Row) -> str | None:
    """Return the version of a worker's interpreter; None if it never reported it."""
    version = row.knobs.python
    return f"{version} free-threaded" if version and row.knobs.free_threaded else version


def _between(values: Sequence[Any]) -> str:
    numbers = sorted(value for value in values if isinstance(value, int))
    texts = [units.count(n) for n in numbers if n in {numbers[0], numbers[-1]}]
    return " to ".join(texts) if numbers else ", ".join(map(str, values))
