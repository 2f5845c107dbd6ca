"""Rows of earlier runs that can be reused: on this machine, with these versions, of the same trials."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from inflight.bench.core import rows
from inflight.bench.core.plan import AnyTrial, row_trials
from inflight.bench.core.records import changed
from inflight.bench.core.rows import FORMAT, Row, RowsError
from inflight.bench.measure import host
from inflight.bench.measure import run as runs
from inflight.bench.studies.claims.cells import Key, key_of, key_of_row, parts_of

SAME_MACHINE = ("system", "cpu", "usable_cores", "python", "versions", "neighbour")
"""What must be equal in ``machine.json``, as for going on with an interrupted run."""
ONCE_MORE = 2
"""A row that is not valid is measured once more; when it was measured as often as this, it will not become better."""
TIMED_PROBES = ("selectors", "spin", "thread_per_fetch")

Found = list[Row]
"""The rows of one trial, of one moment of one run: of a block those of all its arms."""


def find(out: Path, wanted: Mapping[Key, AnyTrial], together: Iterable[Iterable[Key]] = ()) -> dict[Key, Found]:
    """Return for each wanted trial the rows to use again, if there are some: the newest valid ones.

    Without valid ones they are the newest red or failed ones, if two have come out so. A skipped trial costs nothing to
    skip again, and may be possible now.

    ``together`` has the trials of each claim. Times of different runs are never compared (docs/method.md), for no
    machine is equally busy on two days: the timed trials of a claim in one round are used again if one run has all,
    else none of them; likewise those of claims that share some. A block holds all that is compared in it.
    """
    moments: dict[tuple[str, str], dict[Key, Row]] = {}
    for row in _rows_of_this_machine(out):
        moments.setdefault((row.run, row.started_at), {})[key_of_row(row)] = row  # used again, it is in several folders
    there: dict[Key, list[dict[Key, Row]]] = {}
    for _, moment in sorted(moments.items(), key=lambda item: item[0][1]):
        for part in moment:
            there.setdefault(part, []).append(moment)
    found = {key: _found(trial, there) for key, trial in wanted.items()}
    chosen = {key: one for key, many in found.items() if not is_timed(key) and (one := _choose(many))}
    for group in _groups(together, wanted):
        chosen |= _of_one_run(group, found)
    return chosen


def is_timed(key: Key) -> bool:
    """Tell whether a trial's figures are times that are held against those of other trials."""
    kind, strategy, *_ = key
    return kind == "crawl" or (kind == "probe" and strategy in TIMED_PROBES)


def as_rows_of(trial: AnyTrial, found: Found) -> Found:
    """Return rows under the names that their trial has in this run; they keep the name of the run that they are of."""
    parts = {key_of(part): part for part in row_trials(trial)}
    return [changed(row, trial=parts[key].id, workload=parts[key].values) for row in found for key in [key_of_row(row)]]


def _found(trial: AnyTrial, there: Mapping[Key, list[dict[Key, Row]]]) -> list[Found]:
    """Return what there is of a trial, the oldest first; a block counts only if just its own arms were in it."""
    parts = parts_of([trial])
    moments = [moment for moment in there.get(next(iter(parts)), []) if parts <= moment.keys()]
    if trial.kind == "arm":
        moments = [moment for moment in moments if parts == moment.keys()]
    return [[moment[part] for part in parts] for moment in moments]


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


def _of_one_run(group: set[Key], found: Mapping[Key, list[Found]]) -> dict[Key, Found]:
    """Return the rows of a group from the newest run that has all of them, each valid or no better the second time."""
    runs_of = [{one[0].run: one for one in found[key] if _is_valid(one) or _is_final(one, found[key])} for key in group]
    common = set[str].intersection(*map(set, runs_of))
    if not common:
        return {}
    newest = max(common)  # a run's name begins with its time
    chosen = zip(group, (own[newest] for own in runs_of), strict=True)
    return {key: one for key, one in chosen if not _is_skipped(one)}


def _is_valid(one: Found) -> bool:
    return all(row.valid for row in one)


def _is_skipped(one: Found) -> bool:
    return any(row.status == "skipped" for row in one)


def _is_final(one: Found, many: list[Found]) -> bool:
    """Tell whether what is not valid is not worth measuring once more."""
    return _is_skipped(one) or sum(not _is_valid(other) for other in many) >= ONCE_MORE


def _choose(ordered: list[Found]) -> Found | None:
    ended = [one for one in ordered if not _is_skipped(one)]
    valid = [one for one in ended if _is_valid(one)]
    if valid:
        return valid[-1]
    return ended[-1] if len(ended) >= ONCE_MORE else None


def _rows_of_this_machine(out: Path) -> Iterator[Row]:
    """Yield the rows of all runs below a folder that can be held against what this machine measures now."""
    machine = json.loads(json.dumps(host.machine()))
    for path in sorted(out.glob(f"*/{rows.ROWS_FILE}")):
        try:
            if _is_comparable(path.parent, machine):
                yield from (row for row in rows.read(path.parent) if row.format == FORMAT)
        except (OSError, ValueError, AttributeError, RecursionError, RowsError):
            continue  # a run that cannot be read is none to use again


def _is_comparable(folder: Path, machine: Mapping[str, object]) -> bool:
    """Tell whether a run was made on this machine, and its trials were pinned, as those of claims are."""
    before = json.loads((folder / rows.MACHINE_FILE).read_text(encoding="utf-8"))
    experiment = tomllib.loads((folder / runs.EXPERIMENT_FILE).read_text(encoding="utf-8"))
    return experiment.get("pin", True) and all(before.get(key) == machine.get(key) for key in SAME_MACHINE)
