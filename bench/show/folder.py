"""A run's folder beside its rows: the files, where the figures come from, and the machine.

``studies`` calls ``read`` once for a run. ``answer``, ``page``, ``summary``, ``ab``, ``claims`` and the tools that
write documents ask for names, dates, versions and the command. A page is also made without files that are missing or
damaged: they are named in ``Extras.missing``.
"""

import json
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from inflight.bench import units
from inflight.bench.ab import rates
from inflight.bench.claims.verdicts import JSON_FILE, ClaimsError, Report, load
from inflight.bench.rows import files
from inflight.bench.rows.files import EXPERIMENT_FILE, MACHINE_FILE, SELFTEST_FILE, VERDICT_FILE, Row, file_in
from inflight.bench.show import words
from inflight.bench.show.markdown import code, escaped
from inflight.bench.show.table import Detail, Section, Table

COMPARISON_FILE = "compare.json"
MAX_VALUE = 300
"""Maximum length of a value of the machine as it is shown, in characters."""
_NAMES = {
    "python": "Python of the harness",
    "commit": "commit of inflight",
    "somaxconn": "longest queue of listen(2)",
}
"""Names of values of ``machine.json`` whose keys would be misread."""


@dataclass(frozen=True, slots=True)
class Extras:
    """The contents of a run's folder beside rows and machine, for its page."""

    name: str
    experiment_toml: str | None = None
    claims: Report | None = None
    selftest: dict[str, Any] | None = None
    """As in ``selftest.json``."""
    verdict: dict[str, Any] | None = None
    """As ``inflight ab`` leaves it in ``verdict.json``."""
    comparison: dict[str, Any] | None = None
    """As ``inflight compare --out`` leaves it in ``compare.json``."""
    rows_path: str = ""
    """Path of the rows, shown by a page that has no room for them."""
    missing: tuple[str, ...] = ()
    """One sentence for each file that is missing or cannot be read."""


def read(folder: Path) -> tuple[dict[str, Any], Extras]:
    """Return the machine of a run (empty if unknown), and the other contents of its folder."""
    missing: list[str] = []

    def content(name: str, parse: Callable[[str], Any], *, is_needed: bool = False) -> Any:
        """Return what a file has; None, with a sentence in ``missing``, if it is damaged, or needed and absent."""
        try:
            return parse(files.content(folder / name).decode())
        except FileNotFoundError:
            missing.extend([f"{name} is missing."] if is_needed else [])
        except OSError as error:
            missing.append(f"{name} cannot be read: {error.strerror}.")
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError, ClaimsError):
            missing.append(f"{name} is damaged: it is not what inflight writes.")
        return None

    machine = content(MACHINE_FILE, _machine, is_needed=True) or {}
    return machine, Extras(
        name=folder.resolve().name,
        experiment_toml=content(EXPERIMENT_FILE, str, is_needed=True),
        claims=content(JSON_FILE, lambda _: load(folder)),
        selftest=content(SELFTEST_FILE, _selftest),
        verdict=content(VERDICT_FILE, _values),
        comparison=content(COMPARISON_FILE, _values),
        rows_path=f"{folder.resolve().name}/{file_in(folder).name}",
        missing=tuple(missing),
    )


def experiment_value(extras: Extras, key: str) -> Any:
    """Return a value of the experiment; None if it has none, or is no TOML."""
    try:
        return tomllib.loads(extras.experiment_toml or "").get(key)
    except (ValueError, RecursionError):  # it is shown as it is at the end of the page
        return None


def _values(text: str) -> dict[str, Any]:
    """Return what a file of JSON has. Raises TypeError unless it is an object."""
    values = json.loads(text)
    if not isinstance(values, dict):
        raise TypeError("not a JSON object")
    return values


def _machine(text: str) -> dict[str, Any]:
    """Return the machine. Raises TypeError if a value that others depend on has the wrong type."""
    machine = _values(text)
    command = machine.get("command") or []
    texts = [machine.get(name) or "" for name in ("host", "system", "cpu", "python")]
    is_known = isinstance(machine.get("versions") or {}, dict) and isinstance(command, list)
    if not is_known or not all(isinstance(text, str) for text in texts):
        raise TypeError("not a machine")
    return machine | {"command": list(map(str, command))}


def _selftest(text: str) -> dict[str, Any]:
    """Return the content of ``selftest.json``. Raises an error for another format."""
    values = _values(text)
    rates.sections(values)  # raises for another format
    return values


# Provenance


def knob(row: Row, name: str) -> Any:
    """Return a setting that the process of a row reported; of a swarm, that of all its processes.

    Rows of a swarm have a dict of settings, other rows a ``Knobs`` (``rows.parts``).
    """
    knobs: Any = row.knobs
    return knobs.get(name) if isinstance(knobs, dict) else getattr(knobs, name)


def source(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return one line: machine, interpreter, date, version, and the run, or how many runs."""
    runs = sorted({row.run for row in rows})
    cores = machine.get("cores")
    parts = [
        f"{machine.get('cpu') or 'unknown CPU'}, {cores or '?'} {'core' if cores == 1 else 'cores'}",
        machine.get("system") or "unknown system",
        pythons(rows, machine),
        date(rows),
        f"inflight {(machine.get('versions') or {}).get('inflight-bench') or '(version unknown)'}",
        f"{len(runs)} runs, the last of them {runs[-1]}" if len(runs) > 2 else ", ".join(runs),
    ]
    return words.plain(" · ".join(part for part in parts if part), 400)


def pythons(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return the Python versions of the workers."""
    names = set()
    for row in rows:
        if knob(row, "python") is not None:
            name = f"{knob(row, 'implementation') or 'cpython'} {knob(row, 'python')}".replace("cpython", "CPython")
            names.add(f"{name} without the global lock" if knob(row, "gil") is False else name)
    return ", ".join(sorted(names)) or str(machine.get("python") or "unknown Python")


def experiment(run: str, machine: Mapping[str, Any]) -> str:
    """Return the name of the experiment: the end of a run's name, after time and host."""
    _, _, name = run.partition(f"-{machine.get('host')}-")
    return name or run.rpartition("-")[2]


def date(rows: Sequence[Row]) -> str:
    """Return the day on which the first trial started, and that of the last one if it is another."""
    days = sorted(row.started_at[:10] for row in rows)
    return " to ".join(dict.fromkeys([days[0], days[-1]])) if days else ""


def command(machine: Mapping[str, Any]) -> str | None:
    """Return the command of the run; None if unknown.

    The program is called ``inflight``, and of each other word that is an absolute path only the last part is left.
    """
    given = machine.get("command")
    if not given:
        return None
    return shlex.join(["inflight", *(PurePath(word).name if word.startswith("/") else word for word in given[1:])])


def origin_in_markdown(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return a Markdown sentence with the command, processor and interpreter of a run, and its name."""
    made = command(machine)
    by = f"Made by {code(made)}" if made else "Made"
    names = [
        machine.get("cpu") or "unknown CPU",
        pythons(rows, machine),
        *sorted({row.run for row in rows}),
    ]
    return f"{by} on {escaped(', '.join(names), 400)}."


# The machine


def machine_section(rows: Sequence[Row], values: Mapping[str, Any]) -> Section:
    """Return the known facts about the machine, and the days and runs that the rows belong to."""
    facts = {key: value for key, value in values.items() if key not in {"command", "versions", "interpreters"}}
    facts |= {f"interpreter {name}": asked for name, asked in _mapping(values, "interpreters").items()}
    lines = [
        ("Python of the workers", pythons(rows, values)),
        *((_name(key), _value(key, value)) for key, value in facts.items()),
        *((words.plain(str(name), 60), str(version)) for name, version in _mapping(values, "versions").items()),
        ("date", date(rows)),
        ("runs", ", ".join(sorted({row.run for row in rows}))),
    ]
    title = "Machine of the run" if values else "The machine is unknown"
    table = Table(title, ("what", "value"), [line for line in lines if line[1]])
    return Section("", (table,))


def reproduce(values: Mapping[str, Any], experiment_toml: str | None) -> Section:
    """Return the command of the run, the version of inflight, and the experiment as it was run."""
    made = command(values)
    details = []
    if made:
        details.append(Detail("The command", code=(made,), is_open=True))
    if experiment_toml is not None:
        details.append(Detail("The experiment as it was run (experiment.toml)", code=(experiment_toml,)))
    version = _mapping(values, "versions").get("inflight-bench") or "(version unknown)"
    return Section(
        "",
        first=(f"inflight {version}, command: {'below' if made else 'unknown'}",),
        details=details,
    )


def _mapping(values: Mapping[str, Any], key: str) -> Mapping[Any, Any]:
    """Return a table of ``machine.json``; empty if it has none."""
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}


def _name(key: str) -> str:
    """Return what a value of ``machine.json`` is called."""
    return _NAMES.get(key) or words.plain(key, 60).removesuffix("_bytes").replace("_", " ")


def _value(key: str, value: object) -> str:
    """Write a value of ``machine.json``; of a mapping, its texts and the names of the flags that are set."""
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case int() if abs(value) < 2**63:  # a larger one may be too large for a float
            return units.size(value) if key.endswith("_bytes") else units.count(value)
        case list():
            text = ", ".join(dict.fromkeys(_value(key, item) for item in value))
        case dict():
            texts = {str(name): item for name, item in value.items() if item}
            text = ", ".join(_name(name) if item is True else str(item) for name, item in texts.items())
        case _:
            text = str(value).replace("-dirty", ", with changes that were not committed")
    return words.plain(text, MAX_VALUE)
