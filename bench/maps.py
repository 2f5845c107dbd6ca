"""Stored maps: which run ``inflight advise`` goes by, and which one knows what memory costs there."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import rows
from bench.analyse import advice
from bench.analyse import cells as c
from bench.analyse.cells import Cell
from bench.analyse.observed import Wanted, observed
from bench.rows import Row, RowsError
from bench.selftests import SAME
from bench.stored_runs import MACHINE_FILE, is_run

LEAST_STRATEGIES = 3


class MapError(Exception):
    """No map to go by; the message says where it was looked for, and what makes one."""


@dataclass(frozen=True, slots=True)
class MapRun:
    """A run to go by: the cells of its largest part with the same site and use of connections."""

    folder: Path
    machine: Mapping[str, Any]
    rows: Sequence[Row]
    cells: Sequence[Cell]

    @property
    def is_whole(self) -> bool:
        """Whether several strategies were measured with several amounts of CPU work."""
        return len({cell.cpu_ns for cell in self.cells}) > 1 and len(c.strategies_of(self.cells)) >= LEAST_STRATEGIES

    def reaches(self, wanted: Wanted) -> bool:
        """Tell whether any strategy was measured around that workload."""
        names = c.strategies_of(self.cells)
        own = (observed(cell for cell in self.cells if cell.strategy == name) for name in names)
        return any(not advice.outside(points, wanted) for points in own)


def named(folder: Path) -> MapRun:
    """Return the map that a folder holds. Raises MapError when it is none, RowsError when it is no run."""
    found = _map_run(folder, rows.read(folder))
    if found is None:
        raise MapError(
            f"{folder} is no map: it has no valid crawls at several latencies and numbers in flight without CPU work; "
            "make one with `inflight run map`"
        )
    return found


def newest(out: Path, machine: Mapping[str, Any], wanted: Wanted) -> MapRun:
    """Return the map of a machine like this one to go by for a workload.

    One that reaches it before one that does not; a whole map, with CPU work, before a run that happens to have several
    latencies; then the newest. Raises MapError when there is none.
    """
    found = [
        one
        for folder in _folders((out,))
        if not differs(_machine(folder), machine) and (one := _map_run(folder, _rows(folder))) is not None
    ]
    if not found:
        raise MapError(f"no map of this machine in {out}; make one with `inflight run map`")
    return max(found, key=lambda one: (one.reaches(wanted), one.is_whole, one.folder.name))


def _folders(places: Sequence[Path]) -> Iterator[Path]:
    """Yield the run folders in folders of results and in their ``reference``, the newest first, each once."""
    found = {
        folder.resolve(): folder
        for place in places
        for pattern in ("*", "reference/*")
        for folder in place.glob(pattern)
    }
    for folder in sorted(found.values(), key=lambda path: path.name, reverse=True):
        if is_run(folder):
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


def differs(one: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[str, ...]:
    """Return in words what makes one machine another than this; nothing where they are alike."""
    return tuple(
        f"{key} {one.get(key, 'unknown')}, here {here.get(key)}" for key in SAME if one.get(key) != here.get(key)
    )


def _map_run(folder: Path, found: Sequence[Row]) -> MapRun | None:
    """Return a run's largest part that is a map: several latencies and numbers in flight without CPU work."""
    crawls = [cell for cell in c.cells(found) if cell.stack == "shared" and cell.valid_rows]
    settings = [(cell.setting.connection, cell.setting.site) for cell in crawls]
    for setting in sorted(set(settings), key=lambda one: (-settings.count(one), one)):
        own = [cell for cell in crawls if (cell.setting.connection, cell.setting.site) == setting]
        plain = [cell for cell in own if not cell.cpu_ns]
        if len({cell.mean_latency_ns for cell in plain}) > 1 and len({cell.in_flight for cell in plain}) > 1:
            return MapRun(folder, _machine(folder), found, own)
    return None


def memory(source: MapRun, places: Sequence[Path]) -> tuple[str | None, list[Cell]]:
    """Return the run of the map's machine whose memory trials know most of its strategies, and its cells.

    Of several that know as many, the map itself, or else the newest.
    """
    names, connection = set(c.strategies_of(source.cells)), source.cells[0].setting.connection
    best: tuple[str | None, list[Cell]] = (None, [])
    most = 0
    for folder in (source.folder, *_folders(places)):
        if folder != source.folder and differs(_machine(folder), source.machine):
            continue
        held = c.cells(source.rows if folder == source.folder else _rows(folder), "memory")
        own = [cell for cell in held if cell.setting.connection == connection and cell.valid_rows]
        known = len(names & set(c.strategies_of(own)))
        if known > most:
            setting = c.settings(own)[0]
            best, most = (str(folder), [cell for cell in own if cell.setting == setting]), known
    return best
