"""Tables of the probes: a line of figures for each, and where the bytes of each idle thread or task go. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from inflight.bench.core import units
from inflight.bench.core.cells import of_kind
from inflight.bench.core.figures import spread
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Group, Line, Table
from inflight.bench.rows.bare import Probe
from inflight.bench.rows.files import Row
from inflight.bench.rows.values import plain_values

_MOST_FIGURES = 6
"""Maximum number of figures shown of a probe; the rows have the rest."""
_ABOUT_ROUNDS = "Medians over the rounds. A claim may use another figure of the same rounds, such as the largest."
_UNITS = {"_ns": units.duration, "_bytes": units.size}
_LOOKS = {
    "python": "allocated by Python, by line (tracemalloc)",
    "mappings": "in memory, by kind of mapping (smaps)",
    "tables": "page tables, and stacks in the kernel",
    "kernel": "objects of the kernel, by slab cache (slabinfo; both ends of a connection)",
}


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return the tables of the probes, if there are any."""
    found = tuple(tables(rows))
    return [Section("", found)] if found else []


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what each probe measured, as JSON."""
    return [
        {
            "probe": row.strategy,
            "arguments": row.workload.arguments,
            "valid": row.valid,
            "measured": plain_values(row.measured),
        }
        for row in _probes(rows)
    ]


def tables(rows: Sequence[Row]) -> Iterator[Table]:
    """Yield a table of all probes, with medians over the valid rounds, and one of bytes for each thread or task."""
    workloads: dict[str, list[Probe]] = {}
    idle: dict[Any, list[Probe]] = {}
    for row in _probes(rows):
        if row.strategy == "attribution" and row.valid:
            idle.setdefault(row.workload.arguments.get("idle", "thread"), []).append(row)
        else:
            workloads.setdefault(row.workload.id, []).append(row)
    if workloads:
        notes = (_ABOUT_ROUNDS,) if any(len(own) > 1 for own in workloads.values()) else ()
        yield Table("Probes", (), tuple(map(_line, workloads.values())), notes)
    for what, own in idle.items():
        title = f"Where the bytes of one {words.plain(what)} go"
        lines = (line for look, head in _LOOKS.items() for row in own for line in _pieces(row, look, head))
        yield Table(title, ("what", "bytes each"), tuple(lines))


def _pieces(row: Probe, look: str, head: str) -> Iterator[Line]:
    """Yield the largest pieces of one look, and their sum."""
    if (row.workload.arguments.get("look", "python") == "python") != (look == "python"):
        return
    yield Group(f"{head}, mean of {units.count(row.measured.n)}")
    if (pieces := getattr(row.measured, look)) is None:
        yield "not readable on this system, or by this user", "unknown"
        return
    yield from ((words.plain(what, 100), units.size(size)) for what, size in pieces)
    yield "together", units.size(sum(size for _, size in pieces))


def _probes(rows: Sequence[Row]) -> list[Probe]:
    return [row for row in of_kind(rows, "probe") if isinstance(row, Probe)]


def _line(own: Sequence[Probe]) -> tuple[str, str]:
    valid = [plain_values(row.measured) for row in own if row.valid]
    arguments = own[0].workload.arguments
    asked = ", ".join(f"{_name(key)} {value}" for key, value in arguments.items())
    names = [name for name in (valid[0] if valid else ()) if name not in arguments]
    found = {name: _over_rounds([said.get(name) for said in valid]) for name in names}
    texts = [f"{_name(name)} {_text(name, value)}" for name, value in found.items() if _is_short(value)]
    shown = "; ".join(texts[:_MOST_FIGURES]) or "; ".join(sorted({f"{row.status}: {row.reason}" for row in own}))
    return f"{words.name(own[0].strategy)} ({words.plain(asked, 70)})", words.plain(shown, 400)


def _over_rounds(values: Sequence[object]) -> object:
    """Return the median of numbers; of anything else, what the first round had."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(values):
        return values[0]
    middle = spread(numbers).median
    return round(middle) if all(isinstance(value, int) for value in numbers) else middle


def _is_short(value: object) -> bool:
    return isinstance(value, int | float | str) and 0 < len(str(value)) <= 40


def _name(key: str) -> str:
    return words.plain(key, 40).removesuffix("_ns").removesuffix("_bytes").replace("_", " ")


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return words.plain(str(value), 40)
    write = next((write for ending, write in _UNITS.items() if name.endswith(ending)), None)
    return write(value) if write else units.count(value) if isinstance(value, int) else units.number(value)
