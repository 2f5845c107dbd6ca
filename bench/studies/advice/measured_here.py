"""Runs of one machine in a folder of results: which one has the CPU time per page, and which one the memory."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core import cells as c
from bench.core import rows
from bench.core.figures import Slope
from bench.core.rows import MACHINE_FILE, Row, RowsError
from bench.core.selftests import SAME
from bench.core.stored_runs import is_run
from bench.studies.advice import read as advice
from bench.studies.advice.read import Costs
from fake_server.site import SiteConfig

SITE = SiteConfig()
"""The site on which the CPU time per page is measured."""


@dataclass(frozen=True, slots=True)
class Source:
    """A run that the CPU time per page is from."""

    folder: Path
    machine: Mapping[str, Any]
    in_flight: int
    """How many were in flight."""
    costs: Costs


def source(folder: Path, in_flight: int) -> Source | None:
    """Return what a run tells of the CPU time per page; None where it tells nothing. Raises RowsError if it is no run.

    ``in_flight`` is the number that is asked about.
    """
    found = advice.nearest(rows.read(folder), in_flight, SITE.to_dict())
    return None if found is None else Source(folder, _machine(folder), *found)


def newest(out: Path, machine: Mapping[str, Any], in_flight: int, names: Collection[str]) -> Source | None:
    """Return the newest run of a machine like this one that tells the CPU time per page of all these strategies."""
    for folder in _runs_of(out, machine):
        found = advice.nearest(_rows(folder), in_flight, SITE.to_dict())
        if found is not None and found[1].keys() >= set(names):
            return Source(folder, machine, *found)
    return None


def memory(out: Path, machine: Mapping[str, Any], names: Collection[str]) -> tuple[Path | None, dict[str, Slope]]:
    """Return the newest run of that machine that knows the memory per fetch of all these strategies, and these."""
    for folder in _runs_of(out, machine):
        held = [cell for cell in c.cells(_rows(folder), "memory") if cell.setting.connection == "keep-alive"]
        for setting in c.settings(held):
            own = [cell for cell in held if cell.setting == setting]
            slopes = {name: slope for name in names if isinstance(slope := c.memory_of(own, name), Slope)}
            if slopes.keys() >= set(names):
                return folder, slopes
    return None, {}


def differs(one: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[str, ...]:
    """Return in words what makes one machine another than this; nothing where they are alike."""
    return tuple(
        f"{key} {one.get(key, 'unknown')}, here {here.get(key)}" for key in SAME if one.get(key) != here.get(key)
    )


def _runs_of(out: Path, machine: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the runs of a machine in a folder of results and in its ``reference``, the newest first."""
    folders = [folder for pattern in ("*", "reference/*") for folder in out.glob(pattern)]
    for folder in sorted(folders, key=lambda path: path.name, reverse=True):
        if is_run(folder) and not differs(_machine(folder), machine):
            yield folder


def _rows(folder: Path) -> list[Row]:
    """Return a run's rows; none of one that cannot be read, which is passed over."""
    try:
        return rows.read(folder)
    except RowsError:
        return []


def _machine(folder: Path) -> dict[str, Any]:
    try:
        machine = json.loads((folder / MACHINE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return machine if isinstance(machine, dict) else {}
