"""Recorded rows with some values changed, which makes the cases that no recording has."""

import json
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any, Literal

from inflight.bench.claims.evaluate import chosen, read
from inflight.bench.rows import records
from inflight.bench.rows.files import Row

Ending = Literal["gone", "invalid", "limit", "memory budget", "not installed", "failed"]
Change = tuple[str, dict[str, Any] | Ending]
"""Which trials, as a query on the frame, and their values or how they ended.

A value that is a float is a factor, a function is called with the row's own value, all else replaces it. A name without
a dot is a figure, or a key of the row itself; ``workload.in_flight`` is in another part of the row. ``name`` is that
of the strategy.
"""
FAILED = {"name": "no listen drops", "verdict": "failed", "detail": "40 in /proc/net/netstat during the trial"}


def varied(rows: Sequence[Row], *changes: Change) -> list[Row]:
    """Return the rows with the changes, one after another. Each query must select some."""
    for query, change in changes:
        places = set(chosen(read(rows), query).index)
        assert places, query
        if change == "gone":
            rows = [row for place, row in enumerate(rows) if place not in places]
        else:
            rows = [_changed(row, change) if place in places else row for place, row in enumerate(rows)]
    return list(rows)


def _changed(row: Row, change: dict[str, Any] | str) -> Row:
    values = json.loads(row.to_json())
    match change:
        case "invalid":
            values["checks"].append(FAILED)
        case "failed":
            values |= {"status": "failed", "reason": "it broke", "measured": {}}
        case str():
            ended = {"reason": f"for want of {change}", "cause": change, "checks": []}
            values |= {"status": "skipped", **ended, "measured": {}, "knobs": {}}
        case _:
            for name, value in change.items():
                _set(values, name, value)
    return records.read(json.dumps(values))


def _set(values: dict[str, Any], name: str, value: Any) -> None:
    measured = values["measured"]
    if name in {"round", "trial", "run", "stack", "started_at"}:
        values[name] = value
    elif name == "name":
        values["strategy"] = value
        if "arm" in values["workload"]:
            values["workload"]["arm"] |= {"name": value, "strategy": value, "label": value}
    elif name == "held":  # all memory beyond the base
        for key in (key for key in measured if key.startswith("base_") and key.endswith("_bytes")):
            base, held = measured[key], key.replace("base_", "held_")
            measured[held] = max(0, round(base + value * (measured[held] - base)))
    elif name in {"cost", "rate"}:  # CPU time per page, or pages per second at the same cost; of the windows, too
        figure, of_windows = (
            ("cpu_per_page_ns", ("cpu_ns",)) if name == "cost" else ("pages_per_s", ("pages", "cpu_ns"))
        )
        measured[figure] = _value(measured[figure], value)
        for window, part in product(measured["windows"], of_windows):
            window[part] = _value(window[part], value)
    elif name == "windows" and not callable(value):
        measured["windows"] = [each | {"pages": each["pages"] * value} for each in measured["windows"]]
    else:
        *parts, last = name.split(".") if "." in name else ("measured", name)
        own = reduce(dict.__getitem__, parts, values)
        own[last] = _value(own.get(last), value)


def _value(old: Any, new: Any) -> Any:
    if isinstance(new, Callable):  # type: ignore[arg-type]
        return new(old)
    if not isinstance(new, float) or not isinstance(old, int | float):
        return new
    return round(old * new) if isinstance(old, int) else old * new
