"""What was found of the limits of this machine: a table, and what ended the ramp of threads. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.core import units
from bench.core.cells import of_kind
from bench.core.rows import Row
from bench.present import words
from bench.present.table import Table


def grid(rows: Sequence[Row]) -> Table:
    """Return a line for each limit: what was predicted, what was found, and what bound."""
    lines, notes = [], []
    for row in of_kind(rows, "limit"):
        measured = row.measured
        found = [measured.get(key) for key in ("predicted", "found")]
        write = units.size if row.strategy == "memory" else units.count
        numbers = [write(n) if isinstance(n, int) else "-" for n in found]
        stopped = words.plain(str(measured.get("stopped_by") or row.status), 14)
        bound = measured.get("bound_by")
        lines.append((words.plain(row.strategy, 18), *numbers, stopped, words.plain(str(bound or "-"), 40)))
        if measured.get("remedy"):
            notes.append(
                f"{words.plain(row.strategy, 18)}: {words.plain(str(measured['remedy']), 300)}{_then(measured)}"
            )
    return Table("Limits", ("", "predicted", "found", "stopped by", "bound by"), tuple(lines), tuple(notes))


def _then(measured: dict[str, Any]) -> str:
    following = measured.get("next")
    if not following:
        return "."
    most = following.get("most")
    at = f" at {units.count(most)}" if isinstance(most, int) else ""
    return f"; then {words.plain(str(following.get('name')), 60)} binds{at}."


def of_ramp(measured: Mapping[str, Any]) -> str:
    """Say how many threads could be started, and what ended the ramp."""
    found, bound_by = measured.get("found"), limit_of(measured)
    number = f"{units.count(found)} threads" if isinstance(found, int) else "an unknown number of threads"
    number_first = number[0].upper() + number[1:]
    match measured.get("stopped_by"):
        case "failure" if bound_by.startswith("ambiguous"):
            return f"{number_first}, then no more; which limit bound is {bound_by}"
        case "failure":
            return f"{number_first}, then no more: {bound_by} is what binds"
        case "shared limit":
            return f"Stopped by itself at {number}: 90 % of what is left of {bound_by}, which other processes share"
        case stopped_by:
            return f"Stopped at {number} by the {words.plain(str(stopped_by), 30)}: no limit was reached"


def limit_of(measured: Mapping[str, Any]) -> str:
    """Return the name of the limit that bound; of a ramp that kept off it, of the lowest one that others share."""
    ceilings = measured.get("ceilings") or []
    shared = [ceiling for ceiling in ceilings if ceiling.get("shared")]
    name = measured.get("bound_by")
    if not name and measured.get("stopped_by") == "shared limit" and shared:
        name = min(shared, key=lambda ceiling: ceiling["most"])["name"]
    return words.plain(str(name or "a limit without a name"), 70)
