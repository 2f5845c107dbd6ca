"""What each probe found, as a table. Pure."""

from collections.abc import Sequence

from bench.core import units
from bench.core.cells import of_kind
from bench.core.figures import spread
from bench.core.rows import Row
from bench.present import words
from bench.present.table import Table

_MOST_FIGURES = 6
"""So many figures of a probe are printed; the rows have the rest."""


def grid(rows: Sequence[Row]) -> Table:
    """Return what each probe found: medians over the valid rounds, and why there is nothing where there is none."""
    workloads: dict[str, list[Row]] = {}
    for row in of_kind(rows, "probe"):
        if row.strategy == "attribution" and row.valid:  # has a text of its own
            continue
        workloads.setdefault(row.workload["id"], []).append(row)
    return Table("Probes", (), tuple(_probe_line(own) for own in workloads.values()))


def _probe_line(own: Sequence[Row]) -> tuple[str, str]:
    valid = [row for row in own if row.valid]
    arguments = own[0].workload["arguments"]
    asked = ", ".join(f"{_key(key)} {value}" for key, value in arguments.items())
    measured = {
        key: _over_rounds([row.measured.get(key) for row in valid])
        for key in (valid[0].measured if valid else ())
        if key not in arguments
    }
    figures = [f"{_key(key)} {_value(key, value)}" for key, value in measured.items() if _is_figure(value)]
    shown = "; ".join(figures[:_MOST_FIGURES]) or "; ".join(sorted({f"{row.status}: {row.reason}" for row in own}))
    return f"{words.plain(own[0].strategy, 18)} ({words.plain(asked, 70)})", words.plain(shown, 400)


def _over_rounds(values: Sequence[object]) -> object:
    """Return the median of numbers; of anything else, what the first round had."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(values):
        return values[0]
    middle = spread(numbers).median
    return round(middle) if all(isinstance(value, int) for value in numbers) else middle


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float | str) and 0 < len(str(value)) <= 40


def _key(key: str) -> str:
    return words.plain(key, 40).removesuffix("_ns").removesuffix("_bytes").replace("_", " ")


def _value(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return words.plain(
            {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value), 40
        )
    if key.endswith("_ns"):
        return units.duration(value)
    if key.endswith("_bytes"):
        return units.size(value)
    return units.count(value) if isinstance(value, int) else units.number(value)
