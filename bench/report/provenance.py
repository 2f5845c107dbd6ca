"""Provenance of figures: command, machine, interpreter, day and run."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from inflight.bench.present import words
from inflight.bench.present.markdown import code, escaped
from inflight.bench.rows.files import Row


def knob(row: Row, name: str) -> Any:
    """Return a setting that the process of a row reported; of a swarm, that of all its processes."""
    knobs: Any = row.knobs
    return knobs.get(name) if isinstance(knobs, dict) else getattr(knobs, name)


def source(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return one line: machine, interpreter, date, version, and the run, or how many runs."""
    cores = machine.get("cores")
    runs = sorted({row.run for row in rows})
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
    known = [row for row in rows if knob(row, "python") is not None]
    found = sorted({_build(row) for row in known})
    return ", ".join(found) or str(machine.get("python") or "unknown Python")


def _build(row: Row) -> str:
    name = f"{knob(row, 'implementation') or 'cpython'} {knob(row, 'python')}".replace("cpython", "CPython")
    return name + (" without the global lock" if knob(row, "gil") is False else "")


def experiment(run: str, machine: Mapping[str, Any]) -> str:
    """Return the name of the experiment: the end of a run's name, after time and host."""
    _, found, name = run.partition(f"-{machine.get('host')}-")
    return name if found and name else run.rpartition("-")[2]


def date(rows: Sequence[Row]) -> str:
    """Return the day on which the first trial started, and that of the last one if it is another."""
    days = sorted(row.started_at[:10] for row in rows)
    return " to ".join(dict.fromkeys([days[0], days[-1]])) if days else ""


def command(machine: Mapping[str, Any]) -> str | None:
    """Return the command of the run, without the path of the program; None if unknown."""
    if not machine.get("command"):
        return None
    return shlex.join(
        ["inflight", *(PurePath(word).name if word.startswith("/") else word for word in machine["command"][1:])]
    )


def markdown(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return a Markdown sentence with the command and the machine of a run."""
    made = command(machine)
    by = f"Made by {code(made)}" if made else "Made"
    return f"{by} on {escaped(source(rows, machine).replace(' · ', ', '))}."
