"""Where a page's figures come from: the machine, value by value, and how to make them again."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.present import provenance, words
from bench.present.markup import block, folded, paragraph, table
from bench.present.table import Table
from bench.report.files import Extras

_ABOUT_THE_RUN = frozenset({"command", "versions"})
"""What ``machine.json`` has beside the machine; told elsewhere."""


def machine(rows: Sequence[Row], values: Mapping[str, Any]) -> str:
    """Return what is known of the machine as a table, and which runs the rows are of."""
    lines = [("Python of the workers", provenance.pythons(rows, values))]
    lines += [(_name(key), _value(key, value)) for key, value in values.items() if key not in _ABOUT_THE_RUN]
    versions = values.get("versions") or {}
    lines += [(words.plain(str(name), 60), str(version)) for name, version in versions.items()]
    days = sorted({row.started_at[:10] for row in rows})
    runs = sorted({row.run for row in rows})
    told = [f"The first trial started on {days[0]}, the last on {days[-1]}."] if days else []
    told += [f"The rows are of {units.count(len(runs))} runs: {', '.join(runs)}."] if len(runs) > 1 else []
    caption = "What the run was measured on" if values else "The machine is not known"
    return table(Table(caption, ("what", "value"), tuple(lines), tuple(told)))


def reproduce(values: Mapping[str, Any], extras: Extras) -> str:
    """Return the command that made the run, its version, and the experiment as it was run."""
    made = provenance.command(values)
    parts = [block(made)] if made else [paragraph("The command that made this run is not known.")]
    version = (values.get("versions") or {}).get("inflight-bench")
    parts.append(paragraph(f"inflight {version}" if version else "The version of inflight is not known."))
    if extras.experiment_toml is not None:
        parts.append(folded("The experiment as it was run (experiment.toml)", block(extras.experiment_toml)))
    return "".join(parts)


def _name(key: str) -> str:
    return words.plain(key, 60).removesuffix("_bytes").replace("_", " ")


def _value(key: str, value: object) -> str:
    """Write a value of ``machine.json``."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return units.size(value) if key.endswith("_bytes") else units.count(value)
    if isinstance(value, list):
        return ", ".join(dict.fromkeys(_value(key, one) for one in value))
    return words.plain(str(value), 300)
