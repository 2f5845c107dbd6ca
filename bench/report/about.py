"""The parts of a report about its run: the machine, and how to reproduce it."""

from collections.abc import Mapping, Sequence
from typing import Any

from inflight.bench import units
from inflight.bench.present import words
from inflight.bench.present.section import Detail, Section
from inflight.bench.present.table import Table
from inflight.bench.report import provenance
from inflight.bench.rows.files import Row

_ABOUT_THE_RUN = frozenset({"command", "versions"})
"""Values of ``machine.json`` that do not describe the machine; shown elsewhere."""
_NAMES = {"python": "Python of the harness", "commit": "commit of inflight", "somaxconn": "longest queue of listen(2)"}
"""Names of values of ``machine.json`` whose keys would be misread."""


def machine(rows: Sequence[Row], values: Mapping[str, Any]) -> Section:
    """Return the known facts about the machine, and the runs that the rows belong to."""
    lines = [("Python of the workers", provenance.pythons(rows, values))]
    lines += [line for key, value in values.items() if key not in _ABOUT_THE_RUN for line in _lines(key, value)]
    versions = values.get("versions") or {}
    lines += [(words.plain(str(name), 60), str(version)) for name, version in versions.items()]
    days = sorted({row.started_at[:10] for row in rows})
    runs = sorted({row.run for row in rows})
    told = [f"The first trial started on {days[0]}, the last on {days[-1]}."] if len(days) > 1 else []
    told += [f"All trials started on {days[0]}."] if len(days) == 1 else []
    told += [f"The rows belong to {units.count(len(runs))} runs: {', '.join(runs)}."] if len(runs) > 1 else []
    caption = "Machine of the run" if values else "The machine is unknown"
    return Section("", (Table(caption, ("what", "value"), tuple(lines)),), tuple(told))


def reproduce(values: Mapping[str, Any], experiment_toml: str | None) -> Section:
    """Return the command of the run, the version of inflight, and the experiment as it was run."""
    made, version = provenance.command(values), (values.get("versions") or {}).get("inflight-bench")
    told = [f"inflight {version}" if version else "The version of inflight is unknown."]
    details = [Detail("The command", code=(made,), is_open=True)] if made else []
    told += [] if made else ["The command of this run is unknown."]
    if experiment_toml is not None:
        details.append(Detail("The experiment as it was run (experiment.toml)", code=(experiment_toml,)))
    return Section("", first=tuple(told), details=tuple(details))


def _lines(key: str, value: object) -> list[tuple[str, str]]:
    """Return the lines of a value: one, or one for each interpreter."""
    if key == "interpreters" and isinstance(value, Mapping):
        return [(f"interpreter {words.plain(str(name), 40)}", _facts(one)) for name, one in value.items()]
    return [(_name(key), _value(key, value))]


def _facts(values: object) -> str:
    """Write what is known of an interpreter: texts, and the names of the flags that are set."""
    if not isinstance(values, Mapping):
        return _value("", values)
    told = [_name(str(key)) if value is True else str(value) for key, value in values.items() if value]
    return words.plain(", ".join(told), 300)


def _name(key: str) -> str:
    return _NAMES.get(key) or words.plain(key, 60).removesuffix("_bytes").replace("_", " ")


def _value(key: str, value: object) -> str:
    """Write a value of ``machine.json``."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return units.size(value) if key.endswith("_bytes") else units.count(value)
    if key == "ephemeral_ports":
        return " to ".join(str(value).split())
    if key == "commit":
        return words.plain(str(value).replace("-dirty", ", with changes that were not committed"), 100)
    if isinstance(value, list):
        return ", ".join(dict.fromkeys(_value(key, one) for one in value))
    return words.plain(str(value), 300)
