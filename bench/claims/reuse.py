"""Rows that are there already: from runs on this machine, with these versions, of the very same trials."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from bench import rows, runs
from bench.claims.cells import Key, key_of
from bench.measure import host
from bench.plan import AnyTrial
from bench.rows import FORMAT, Row, RowsError

SAME_MACHINE = ("system", "cpu", "usable_cores", "python", "versions", "neighbour")
"""What must be equal in ``machine.json``, as for going on with an interrupted run."""
ONCE_MORE = 2
"""A row that is not valid is measured once more; when it was measured as often as this, it will not become better."""


TIMED_PROBES = ("selectors", "spin", "thread_per_fetch")


def find(out: Path, wanted: Mapping[Key, AnyTrial], together: Iterable[Iterable[Key]] = ()) -> dict[Key, Row]:
    """Return for each wanted trial the row to use again, if there is one: the newest valid one.

    Without a valid one it is the newest red or failed one, if two have come out so. A skipped trial costs nothing to
    skip again, and may be possible now.

    ``together`` has the trials of each claim. Times of different runs are never compared (docs/method.md), for no
    machine is equally busy on two days: the timed trials of a claim in one round are used again if one run has all,
    else none of them; likewise those of claims that share some.
    """
    found: dict[Key, dict[tuple[str, str], Row]] = {}
    for row in _rows_of_this_machine(out):
        key = key_of(row.kind, row.strategy, row.workload, row.round)
        if key in wanted:
            found.setdefault(key, {})[row.run, row.started_at] = row  # one that was used again is in several folders
    rows_by_key = {key: sorted(own.values(), key=lambda row: row.started_at) for key, own in found.items()}
    alone = {key: _choose(own) for key, own in rows_by_key.items() if not is_timed(key)}
    chosen = {key: row for key, row in alone.items() if row is not None}
    for group in _groups(together, wanted):
        chosen |= _of_one_run(group, rows_by_key)
    return chosen


def is_timed(key: Key) -> bool:
    """Tell whether a trial's figures are times, which depend on what else the machine does."""
    kind, strategy, *_ = key
    return kind == "crawl" or (kind == "probe" and strategy in TIMED_PROBES)


def _groups(together: Iterable[Iterable[Key]], wanted: Mapping[Key, AnyTrial]) -> list[set[Key]]:
    """Return the timed trials that are held against each other: of a claim and a round, and of what they share."""
    groups: list[set[Key]] = [{key} for key in wanted if is_timed(key)]
    for keys in together:
        own = [key for key in keys if key in wanted and is_timed(key)]
        for number in {key[3] for key in own}:
            joined = {key for key in own if key[3] == number}
            touched = [group for group in groups if group & joined]
            groups = [group for group in groups if not group & joined]
            groups.append(joined.union(*touched))
    return groups


def _of_one_run(group: set[Key], rows_by_key: Mapping[Key, list[Row]]) -> dict[Key, Row]:
    """Return the rows of a group from the newest run that has all of them, each valid or no better the second time."""
    runs_of = [
        {row.run: row for row in rows_by_key.get(key, []) if row.valid or _is_final(row, rows_by_key[key])}
        for key in group
    ]
    common = set[str].intersection(*map(set, runs_of))
    if not common:
        return {}
    newest = max(common)  # a run's name begins with its time
    chosen = zip(group, (own[newest] for own in runs_of), strict=True)
    return {key: row for key, row in chosen if row.status != "skipped"}


def _is_final(row: Row, own: list[Row]) -> bool:
    """Tell whether a row that is not valid is not worth measuring once more."""
    return row.status == "skipped" or sum(not other.valid for other in own) >= ONCE_MORE


def as_row_of(trial: AnyTrial, row: Row) -> Row:
    """Return a row under the name that its trial has in this run; it keeps the name of the run that it is of."""
    return replace(row, trial=trial.id, workload=trial.values)


def _choose(ordered: list[Row]) -> Row | None:
    ended = [row for row in ordered if row.status != "skipped"]
    valid = [row for row in ended if row.valid]
    if valid:
        return valid[-1]
    return ended[-1] if len(ended) >= ONCE_MORE else None


def _rows_of_this_machine(out: Path) -> Iterable[Row]:
    """Yield the rows of all runs below a folder that can be held against what this machine measures now."""
    machine = json.loads(json.dumps(host.machine()))
    for path in sorted(out.glob(f"*/{rows.ROWS_FILE}")):
        folder = path.parent
        if _same_machine(folder, machine) and _is_pinned(folder):
            yield from (row for row in _rows(folder) if row.format == FORMAT)


def _rows(folder: Path) -> list[Row]:
    try:
        return rows.read(folder)
    except RowsError:  # a run that cannot be read is none to use again
        return []


def _same_machine(folder: Path, machine: Mapping[str, object]) -> bool:
    try:
        before = json.loads((folder / runs.MACHINE_FILE).read_text(encoding="utf-8"))
        return all(before.get(key) == machine.get(key) for key in SAME_MACHINE)
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def _is_pinned(folder: Path) -> bool:
    """Tell whether a run's trials were pinned, as those of claims are."""
    try:
        return "\npin = false" not in "\n" + (folder / runs.EXPERIMENT_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
