"""Rows of earlier runs that can be reused: from this machine, with the same versions, of the same trials."""

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from inflight.bench.measure import host, interpreters
from inflight.bench.measure import run as runs
from inflight.bench.measure.interpreters import choice
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.plan.trials import AnyTrial, row_trials
from inflight.bench.rows import files as rows
from inflight.bench.rows import machines
from inflight.bench.rows.files import FORMAT, Row, RowsError
from inflight.bench.rows.records import changed
from inflight.bench.studies.claims.cells import Key, key_of, key_of_row, parts_of

ONCE_MORE = 2
"""Maximum number of measurements of a trial that never had a valid row."""
TIMED_PROBES = ("selectors", "spin", "thread_per_fetch")

Found = list[Row]
"""The rows of one trial in one run; of a block those of all its arms."""


def find(
    out: Path,
    wanted: Mapping[Key, AnyTrial],
    together: Iterable[Iterable[Key]] = (),
    given: tuple[str, ...] = (),
) -> dict[Key, Found]:
    """Return for each wanted trial the rows to reuse, if any: the newest valid ones.

    Without valid rows they are the newest invalid ones, if there are ONCE_MORE of them. Skipped trials are not reused:
    they may be possible now.

    ``together`` has the trials of each claim. Times of different runs are never compared (docs/method.md), because the
    load of a machine changes. So the timed trials of a claim in one round are reused if one run has all of them, as are
    those of claims that share some; else none is. A block has all its comparisons in itself.

    Rows of another interpreter than a trial would have now are not reused; ``given`` are those that the user gives.
    """
    moments: dict[tuple[str, str], dict[Key, Row]] = {}
    for row in _rows_of_this_machine(out):
        if not _has_its_interpreter(row, given):
            continue
        moments.setdefault((row.run, row.started_at), {})[key_of_row(row)] = row  # a reused row is in several folders
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
    """Tell whether a trial's figures are times that are compared with those of other trials."""
    kind, strategy, *_ = key
    return kind == "crawl" or (kind == "probe" and strategy in TIMED_PROBES)


def as_rows_of(trial: AnyTrial, found: Found) -> Found:
    """Return rows with the trial names of this run; each keeps the name of its own run."""
    parts = {key_of(part): part for part in row_trials(trial)}
    return [changed(row, trial=parts[key].id, workload=parts[key].values) for row in found for key in [key_of_row(row)]]


def _found(trial: AnyTrial, there: Mapping[Key, list[dict[Key, Row]]]) -> list[Found]:
    """Return the stored rows of a trial, the oldest first; those of a block count only if it had the same arms."""
    parts = parts_of([trial])
    moments = [moment for moment in there.get(next(iter(parts)), []) if parts <= moment.keys()]
    if trial.kind == "arm":
        moments = [moment for moment in moments if parts == moment.keys()]
    return [[moment[part] for part in parts] for moment in moments]


def _groups(together: Iterable[Iterable[Key]], wanted: Mapping[Key, AnyTrial]) -> list[set[Key]]:
    """Return groups of timed trials that are compared with each other: in a claim and round, joined if they overlap."""
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
    """Return the rows of a group from the newest run that has all of them, each valid or final."""
    runs_of = [{one[0].run: one for one in found[key] if _is_valid(one) or _is_final(one, found[key])} for key in group]
    common = set[str].intersection(*map(set, runs_of))
    if not common:
        return {}
    newest = max(common)  # a run's name begins with its time
    chosen = zip(group, (own[newest] for own in runs_of), strict=True)
    return {key: one for key, one in chosen if not _is_skipped(one)}


def _has_its_interpreter(row: Row, given: tuple[str, ...]) -> bool:
    """Tell whether a row's interpreter is the one that its trial would have now; also if none is found now."""
    arm = getattr(row.workload, "arm", None)
    if arm is None or arm.python is None or row.knobs.python is None:
        return True
    try:
        path = choice.path_of(arm.python, given)
    except ExperimentError:
        return True
    now = interpreters.ask(path or sys.executable)
    return (row.knobs.python, bool(row.knobs.free_threaded)) == (now.version, now.free_threaded)


def _is_valid(one: Found) -> bool:
    return all(row.valid for row in one)


def _is_skipped(one: Found) -> bool:
    return any(row.status == "skipped" for row in one)


def _is_final(one: Found, many: list[Found]) -> bool:
    """Tell whether invalid rows are not measured again."""
    return _is_skipped(one) or sum(not _is_valid(other) for other in many) >= ONCE_MORE


def _choose(ordered: list[Found]) -> Found | None:
    ended = [one for one in ordered if not _is_skipped(one)]
    valid = [one for one in ended if _is_valid(one)]
    if valid:
        return valid[-1]
    return ended[-1] if len(ended) >= ONCE_MORE else None


def _rows_of_this_machine(out: Path) -> Iterator[Row]:
    """Yield the rows of all runs in a folder that are comparable with runs of this machine now."""
    machine = json.loads(json.dumps(host.machine()))
    for folder in rows.folders_in(out):
        try:
            if _is_comparable(folder, machine):
                yield from (row for row in rows.read(folder) if row.format == FORMAT)
        except (OSError, ValueError, AttributeError, RecursionError, RowsError):
            continue  # an unreadable run is not reused


def _is_comparable(folder: Path, machine: Mapping[str, object]) -> bool:
    """Tell whether a run was made on this machine with pinned trials."""
    before = rows.machine(folder)
    experiment = tomllib.loads((folder / runs.EXPERIMENT_FILE).read_text(encoding="utf-8"))
    is_same = not machines.differences(before, machine) and before.get("versions") == machine.get("versions")
    return is_same and experiment.get("pin", True)
