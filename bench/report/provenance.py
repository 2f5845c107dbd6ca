"""Where figures come from: the command, the machine, the interpreter, the day and the run."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from inflight.bench.core.cells import knob
from inflight.bench.core.rows import Row
from inflight.bench.present import words
from inflight.bench.present.markdown import code, escaped


def source(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return one line: machine, interpreter, date, version, run."""
    cores = machine.get("cores")
    parts = [
        f"{machine.get('cpu') or 'unknown CPU'}, {cores or '?'} {'core' if cores == 1 else 'cores'}",
        machine.get("system") or "unknown system",
        pythons(rows, machine),
        date(rows),
        f"inflight {(machine.get('versions') or {}).get('inflight-bench') or '(version unknown)'}",
        ", ".join(sorted({row.run for row in rows})),
    ]
    return words.plain(" · ".join(part for part in parts if part), 400)


def pythons(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return which Pythons the workers ran on."""
    known = [row for row in rows if knob(row, "python") is not None]
    found = sorted({f"{knob(row, 'implementation') or 'cpython'} {knob(row, 'python')}" for row in known})
    text = ", ".join(found).replace("cpython", "CPython") or str(machine.get("python") or "unknown Python")
    return text + (", no GIL" if any(knob(row, "gil") is False for row in known) else "")


def experiment(run: str, machine: Mapping[str, Any]) -> str:
    """Return the experiment's name, with which the name of a run ends, behind the time and the host."""
    _, found, name = run.partition(f"-{machine.get('host')}-")
    return name if found and name else run.rpartition("-")[2]


def date(rows: Sequence[Row]) -> str:
    """Return the day on which the first trial started."""
    return min((row.started_at for row in rows), default="")[:10]


def command(machine: Mapping[str, Any]) -> str | None:
    """Return the command that made the run, without where the program was installed."""
    if not machine.get("command"):
        return None
    return shlex.join(
        ["inflight", *(PurePath(word).name if word.startswith("/") else word for word in machine["command"][1:])]
    )


def markdown(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return by which command a run was made, and on which machine."""
    made = command(machine)
    by = f"Made by {code(made)}" if made else "Made"
    return f"{by} on {escaped(source(rows, machine).replace(' · ', ', '))}."
