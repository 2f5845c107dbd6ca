"""The figures of building blocks, layered memory, limits and probes, as JSON values."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bench.core import cells as c
from bench.core.cells import Cell, of_kind
from bench.core.figures import NoSlope, Slope, spread
from bench.core.layers import LAYERS
from bench.core.records.values import plain_values, whole_values
from bench.core.rows import Row
from bench.studies.memory.subjects import BLOCKS, Subject, added, is_layered, subjects


def memory_json(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of these tables as JSON values; sizes in bytes, durations in nanoseconds."""
    found = c.cells(rows, "memory")
    settings: list[c.Setting | None] = [*c.settings(found)] or [None]
    blocks = [row for row in rows if row.kind == "block"]
    layered = []
    for number, setting in enumerate(settings):
        own = [row for cell in found if cell.setting == setting for row in cell.rows]
        layered += [_subject_json(s, setting) for s in subjects([*(blocks if number == 0 else []), *own])]
    return {
        "layers": layered,
        "held": [held_json(cell) for cell in tops(found)],
        "limits": [
            {"resource": row.strategy, "valid": row.valid} | whole_values(row.measured)
            for row in of_kind(rows, "limit")
        ],
        "probes": [
            {
                "probe": row.strategy,
                "arguments": row.workload.arguments,
                "valid": row.valid,
                "measured": plain_values(row.measured),
            }
            for row in of_kind(rows, "probe")
        ],
    }


def tops(found: Sequence[Cell]) -> list[Cell]:
    """Return of each setting the cells with the highest number in flight, where anybody was timed."""
    tops = []
    for setting in c.settings(found):
        own = [cell for cell in found if cell.setting == setting]
        timed = [cell.in_flight for cell in own if any("reach_ns" in row.measured for row in cell.rows)]
        tops += [cell for cell in own if timed and cell.in_flight == max(timed)]
    return tops


def held_json(cell: Cell) -> dict[str, Any]:
    """Return what a cell's fetches took while they were held: of its valid rows, or of the red ones if that is all."""
    rows = cell.valid_rows or cell.red_rows
    layers = [[added(row, layer) for layer in LAYERS] for row in rows if is_layered(row)]
    totals = [sum(size for size in sizes if size is not None) for sizes in layers if None not in sizes]
    keys = ("reach_ns", "reach_cpu_ns", "reach_server_cpu_ns", "drain_ns")
    return {
        "strategy": cell.strategy,
        "connection": cell.setting.connection,
        "in_flight": cell.in_flight,
        "valid": bool(cell.valid_rows),
        **{key: _median([row.measured.get(key) for row in rows]) for key in keys},
        "added_bytes": _median(totals),
        "server_bytes": _median([row.measured.get("held_server_uss_bytes") for row in rows]),
        **{key: _worst([row.measured.get(key) for row in rows]) for key in ("listen_drops", "failed_pages")},
    }


def _subject_json(subject: Subject, setting: c.Setting | None) -> dict[str, Any]:
    cost = subject.cost
    slopes = {**cost.layers, "all layers": cost.full, "resident": cost.resident}
    return {
        "subject": subject.strategy,
        "group": subject.group,
        "connection": None if setting is None or subject.group == BLOCKS else setting.connection,
        "largest_n": cost.largest_n,
        "slopes": {name: asdict(slope) if isinstance(slope, Slope) else None for name, slope in slopes.items()},
        "reasons": {name: slope.reason for name, slope in slopes.items() if isinstance(slope, NoSlope)},
    }


def _median(values: Sequence[float | None]) -> float | None:
    known = c.present(values)
    return spread(known).median if known else None


def _worst(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None
