"""The section of limits of this machine: a table, and as its title what ended the ramp of threads. Pure."""

from collections.abc import Sequence
from typing import Any

from inflight.bench.core import units
from inflight.bench.core.cells import of_kind
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.rows.bare import LimitFound, LimitMeasured, limit_text
from inflight.bench.rows.files import Row
from inflight.bench.rows.values import whole_values

_TITLES = {
    "failure": "{found} threads, then no more: {limit}",
    "shared limit": "{found} threads, 90 % of what is left of {limit}, which other processes share",
}
_WHAT = {
    "backlog": " connections that wait to be accepted",
    "descriptors": " open descriptors",
    "ports": " connections to one destination",
}
"""What was counted, if the name of the resource does not say it."""
_NO_LIMIT = "{found} threads, stopped by the {stopped_by}: no limit was reached"


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return a table with a line for each limit: predicted, found, and what bound; below it, the remedies."""
    found = limits(rows)
    if not found:
        return []
    main = ramp(rows)
    heads = ("", "predicted", "found", "stopped by", "bound by")
    table = Table("Limits", heads, tuple(map(_line, found)), tuple(filter(None, map(_remedy, found))))
    told = [binds(main)] if main and main.valid else []
    told += [sentence for row in found if row is not main and row.valid and (sentence := _reached(row))]
    return [Section(title(main) if main and main.valid else "", (table,), findings=tuple(told) or None)]


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the findings of each limit as JSON."""
    return [{"resource": row.strategy, "valid": row.valid} | whole_values(row.measured) for row in limits(rows)]


def limits(rows: Sequence[Row]) -> list[LimitFound]:
    """Return the rows of limits, in the order of their trials."""
    return [row for row in of_kind(rows, "limit") if isinstance(row, LimitFound)]


def ramp(rows: Sequence[Row]) -> LimitFound | None:
    """Return the row that started the most threads, a valid one if there is one."""
    found = [row for row in limits(rows) if row.strategy == "threads"]
    return min(found, key=lambda row: (not row.valid, -(row.measured.found or 0), row.round), default=None)


def title(row: LimitFound) -> str:
    """Return the number of threads that were started, and what ended the ramp."""
    measured = row.measured
    found, stopped_by = measured.found, str(measured.stopped_by)
    number = "An unknown number of" if found is None else units.count(found)
    told = {"found": number, "limit": limit_of(measured), "stopped_by": words.plain(stopped_by, 30)}
    return _TITLES.get(stopped_by, _NO_LIMIT).format(**told)


def binds(row: LimitFound) -> str:
    """Say which limit ends the ramp of threads, and what raises it."""
    measured = row.measured
    if measured.stopped_by not in _TITLES or measured.found is None:
        return f"{title(row)}."
    remedy = f" To raise it: {words.plain(measured.remedy, 300)}." if measured.remedy else ""
    return f"A process starts {title(row)}.{remedy}"


def _reached(row: LimitFound) -> str:
    """Say how much of another resource there was, and what ended it; empty if that is unknown."""
    measured, write = row.measured, units.size if row.strategy == "memory" else units.count
    if measured.stopped_by == "not tried":
        return f"{words.name(row.strategy)}: not tried, because the kernel would kill processes at the limit."
    if measured.found is None:
        return ""
    what = _WHAT.get(row.strategy, "")
    if measured.stopped_by == "shared limit":
        rest = f"90 % of what is left of {limit_of(measured)}, which other processes share"
        least = f"{words.name(row.strategy)}: at least {write(measured.found)}{what}"
        return f"{least}. The probe stopped there, at {rest}."
    limit = limit_text(measured.bound_by)
    bound = f", bound by {words.plain(limit, 70)}" if limit else ""
    return f"{words.name(row.strategy)}: {write(measured.found)}{what}{bound}."


def limit_of(measured: LimitMeasured) -> str:
    """Return the name of the limit that bound; if the ramp stopped before one, of the lowest shared limit."""
    shared = [ceiling for ceiling in measured.ceilings or () if ceiling.shared]
    name = limit_text(measured.bound_by)
    if not name and measured.stopped_by == "shared limit" and shared:
        name = min(shared, key=lambda ceiling: ceiling.most).name
    return words.plain(str(name or "a limit without a name"), 70)


def _line(row: LimitFound) -> tuple[str, ...]:
    write = units.size if row.strategy == "memory" else units.count
    numbers = ["-" if n is None else write(n) for n in (row.measured.predicted, row.measured.found)]
    stopped_by = row.measured.stopped_by or row.status
    texts = (row.strategy, 18), (stopped_by, 14), (limit_text(row.measured.bound_by) or "-", 40)
    name, stopped, bound = (words.plain(text, most) for text, most in texts)
    return name, *numbers, stopped, bound


def _remedy(row: LimitFound) -> str:
    remedy, following = row.measured.remedy, row.measured.next
    if not remedy:
        return ""
    then = f". The next limit is {words.plain(following.name, 60)}, {units.count(following.most)}" if following else ""
    return f"{words.name(row.strategy)}: {words.plain(remedy, 300)}{then}."
