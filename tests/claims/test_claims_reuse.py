"""Which rows of earlier runs are used again."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inflight import strategies
from inflight.bench.measure import host, interpreters
from inflight.bench.measure import run as runs
from inflight.bench.measure.interpreters import choice
from inflight.bench.plan.arm import BlockTrial
from inflight.bench.plan.trials import AnyTrial, row_trials
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, Status
from inflight.bench.rows.records import changed
from inflight.bench.rows.values import plain_values
from inflight.bench.studies import claims
from inflight.bench.studies.claims import reuse
from inflight.bench.studies.claims.cells import Key
from inflight.bench.studies.claims.command import Needed, work_out
from tests.claims.made_claim_rows import arm_rows
from tests.made_rows import FAILED, crawl_row

LATER = "2026-02-02T00:00:00.000+00:00"


@pytest.fixture(scope="module")
def needed() -> Needed:
    return work_out(
        [claims.load("races", strategies.names()), claims.load("grow-on-demand", strategies.names())], quick=True
    )


RACED = {"model": "threads"} | dict.fromkeys(("links_seen", "distinct", "fetched", "duplicates", "lost_updates"), 1)


def trial_of(needed: Needed, kind: str) -> tuple[Key, AnyTrial]:
    return next((key, trial) for key, trial in needed.trials.items() if trial.kind == kind)


def row_of(asked: AnyTrial, status: Status = "ok", *, invalid: bool = False, started_at: str | None = None) -> Row:
    (trial,) = row_trials(asked)
    made = crawl_row(trial.strategy, status=status)
    return changed(
        made,
        trial="as the other run named it",
        kind=trial.kind,
        stack=trial.stack,
        round=trial.round,
        workload=trial.values | {"id": "as the other run named it"},
        measured=RACED if trial.kind == "probe" else made.measured,
        checks=(*made.checks, FAILED) if invalid else made.checks,
        started_at=started_at or made.started_at,
    )


def make_run(out: Path, *found: Row, name: str = "one", pin: str = "pin = true", **machine: Any) -> Path:
    folder = out / name
    folder.mkdir(parents=True)
    (folder / rows.MACHINE_FILE).write_text(json.dumps(host.machine() | machine), encoding="utf-8")
    (folder / runs.EXPERIMENT_FILE).write_text(f"{pin}\n", encoding="utf-8")
    for row in found:
        rows.append(folder, changed(row, run=name))
    return folder


@pytest.mark.parametrize("kind", ["probe", "crawl"])
def test_a_valid_row_of_the_same_trial_is_reused(tmp_path: Path, needed: Needed, kind: str) -> None:
    key, trial = trial_of(needed, kind)
    make_run(tmp_path, row_of(trial))

    found = reuse.find(tmp_path, needed.trials)
    (again,) = reuse.as_rows_of(trial, found[key])

    assert set(found) == {key}
    assert (again.trial, plain_values(again.workload), again.run) == (trial.id, trial.values, "one")


def test_the_newest_valid_row_is_taken(tmp_path: Path, needed: Needed) -> None:
    key, trial = trial_of(needed, "probe")
    make_run(tmp_path, row_of(trial, started_at=LATER), name="a-later")
    make_run(tmp_path, row_of(trial), name="b-earlier")

    assert reuse.find(tmp_path, needed.trials)[key][0].run == "a-later"


@pytest.mark.parametrize("status", ["ok", "failed", "timeout", "wrong"])
def test_an_invalid_row_is_measured_once_more(tmp_path: Path, needed: Needed, status: Status) -> None:
    key, trial = trial_of(needed, "crawl")
    make_run(tmp_path, row_of(trial, status, invalid=True), name="one")
    assert reuse.find(tmp_path, needed.trials) == {}

    make_run(tmp_path, row_of(trial, status, invalid=True, started_at=LATER), name="two")
    assert reuse.find(tmp_path, needed.trials)[key][0].run == "two"


def test_a_reused_row_counts_once(tmp_path: Path, needed: Needed) -> None:
    _, trial = trial_of(needed, "crawl")
    folder = make_run(tmp_path, row_of(trial, invalid=True), name="one")
    copied = make_run(tmp_path, name="two")
    rows.append(copied, rows.read(folder)[0])

    assert reuse.find(tmp_path, needed.trials) == {}


def test_a_valid_row_is_preferred_to_newer_invalid_ones(tmp_path: Path, needed: Needed) -> None:
    key, trial = trial_of(needed, "crawl")
    make_run(tmp_path, row_of(trial), row_of(trial, invalid=True, started_at=LATER))

    assert reuse.find(tmp_path, needed.trials)[key][0].valid


@pytest.mark.parametrize(("version", "reused"), [("3.13.0", True), ("3.12.1", False)])
def test_an_arm_is_reused_if_its_interpreter_is_the_one_that_it_would_have_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, *, reused: bool
) -> None:
    needed = work_out([claims.load("newer-is-faster", strategies.names())], quick=False)
    key, block = trial_of(needed, "arm")
    assert isinstance(block, BlockTrial)
    measured = [
        changed(
            arm_rows(part.strategy, 1000)[0], workload=part.values, round=part.round,
            knobs=plain_values(arm_rows(part.strategy, 1000)[0].knobs) | {"python": version, "free_threaded": False},
        )
        for part in block.trials
    ]  # fmt: skip
    make_run(tmp_path, *measured)
    monkeypatch.setattr(choice, "path_of", lambda _name, _given: sys.executable)
    now = replace(interpreters.ask(sys.executable), version="3.13.0")
    monkeypatch.setattr(interpreters, "ask", lambda _path: now)

    assert (key in reuse.find(tmp_path, needed.trials)) is reused


def test_a_skipped_trial_is_tried_again(tmp_path: Path, needed: Needed) -> None:
    _, trial = trial_of(needed, "crawl")
    make_run(tmp_path, row_of(trial, "skipped"), row_of(trial, "skipped", started_at=LATER))

    assert reuse.find(tmp_path, needed.trials) == {}


@pytest.mark.parametrize(
    "changes",
    [{"cpu": "another"}, {"python": "CPython 2.7"}, {"versions": {}}, {"system": None}, {"usable_cores": 999}],
    ids=lambda changes: next(iter(changes)),
)
def test_rows_of_another_machine_or_version_are_not_reused(
    tmp_path: Path, needed: Needed, changes: dict[str, Any]
) -> None:
    make_run(tmp_path, row_of(trial_of(needed, "probe")[1]), **changes)

    assert reuse.find(tmp_path, needed.trials) == {}


def test_rows_of_an_unpinned_run_are_not_reused(tmp_path: Path, needed: Needed) -> None:
    make_run(tmp_path, row_of(trial_of(needed, "crawl")[1]), pin="pin = false")

    assert reuse.find(tmp_path, needed.trials) == {}


def test_other_trials_and_older_formats_are_not_reused(tmp_path: Path, needed: Needed) -> None:
    _, trial = trial_of(needed, "crawl")
    good = row_of(trial)
    make_run(tmp_path, changed(good, format=1), changed(good, round=99), changed(good, strategy="other"))

    assert reuse.find(tmp_path, needed.trials) == {}


def test_an_unreadable_run_is_ignored(tmp_path: Path, needed: Needed) -> None:
    key, trial = trial_of(needed, "probe")
    make_run(tmp_path, row_of(trial), name="good")
    broken = make_run(tmp_path, name="broken")
    (broken / rows.ROWS_FILE).write_text("rubbish\n", encoding="utf-8")
    no_machine = make_run(tmp_path, row_of(trial, started_at=LATER), name="no-machine")
    (no_machine / rows.MACHINE_FILE).write_text("{", encoding="utf-8")

    assert reuse.find(tmp_path, needed.trials)[key][0].run == "good"


def group_of(needed: Needed) -> list[Key]:
    return [key for key in needed.trials if key[0] == "crawl" and key[3] == 1]


def test_times_are_reused_from_one_run_that_has_them_all(tmp_path: Path, needed: Needed) -> None:
    group = group_of(needed)
    own = [row_of(needed.trials[key]) for key in group]
    make_run(tmp_path, *own, name="whole")
    make_run(tmp_path, *own[1:], name="younger-with-one-missing")

    found = reuse.find(tmp_path, needed.trials, [group])

    assert set(found) == set(group)
    assert {row.run for own in found.values() for row in own} == {"whole"}


def test_times_of_two_runs_are_not_combined(tmp_path: Path, needed: Needed) -> None:
    group = group_of(needed)
    own = [row_of(needed.trials[key]) for key in group]
    make_run(tmp_path, own[0], name="one")
    make_run(tmp_path, *own[1:], name="two")

    assert reuse.find(tmp_path, needed.trials, [group]) == {}
    assert set(reuse.find(tmp_path, needed.trials)) == set(group)


def test_claims_that_share_a_trial_share_the_run(tmp_path: Path, needed: Needed) -> None:
    group = group_of(needed)
    make_run(tmp_path, *(row_of(needed.trials[key]) for key in group[:2]))

    assert reuse.find(tmp_path, needed.trials, [group[:2], group[1:]]) == {}
    assert set(reuse.find(tmp_path, needed.trials, [group[:2], group[2:]])) == set(group[:2])


def test_an_invalid_time_is_measured_again_with_all_compared_trials(tmp_path: Path, needed: Needed) -> None:
    group = group_of(needed)
    own = [row_of(needed.trials[key], invalid=key == group[0]) for key in group]
    make_run(tmp_path, *own, name="one")
    assert reuse.find(tmp_path, needed.trials, [group]) == {}

    make_run(tmp_path, *(changed(row, started_at=LATER) for row in own), name="two")
    assert {row.run for own in reuse.find(tmp_path, needed.trials, [group]).values() for row in own} == {"two"}


def test_no_folder_holds_no_rows(tmp_path: Path, needed: Needed) -> None:
    assert reuse.find(tmp_path / "nowhere", needed.trials) == {}


@pytest.fixture(scope="module")
def of_blocks() -> Needed:
    return work_out([claims.load("async-not-faster", strategies.names())], quick=True)


def block_rows(block: AnyTrial, started_at: str = LATER) -> list[Row]:
    """Make the rows of all arms of a block, as another run named them."""
    made = plain_values(crawl_row().measured) | {"block": "of another run"}
    return [
        changed(
            crawl_row(part.strategy),
            trial=f"another name/{part.strategy}",
            kind=part.kind,
            round=part.round,
            workload=part.values | {"id": "another name"},
            measured=made | dict.fromkeys(ARM_FIGURES, 1) | {"windows": [], "service": {"count": 0}},
            started_at=started_at,
        )
        for part in row_trials(block)
    ]


ARM_FIGURES = ("settle_ns", "cpu_share", "requests", "held_in_flight")


def test_an_arm_is_reused_only_with_its_whole_block(tmp_path: Path, of_blocks: Needed) -> None:
    key, block = next(iter(of_blocks.trials.items()))
    own = block_rows(block)
    make_run(tmp_path, *own[1:], name="one-arm-missing")
    assert reuse.find(tmp_path, of_blocks.trials) == {}

    make_run(tmp_path, *own, name="whole")
    found = reuse.find(tmp_path, of_blocks.trials)

    assert set(found) == {key}
    assert {row.run for row in found[key]} == {"whole"}
    parts = {part.id: part.values for part in row_trials(block)}
    assert {row.trial: plain_values(row.workload) for row in reuse.as_rows_of(block, found[key])} == parts


def test_a_block_with_additional_arms_is_another_block(tmp_path: Path, of_blocks: Needed) -> None:
    own = block_rows(next(iter(of_blocks.trials.values())))
    make_run(tmp_path, *own, changed(own[-1], strategy="another", trial="another"))

    assert reuse.find(tmp_path, of_blocks.trials) == {}


def test_arms_of_two_moments_make_no_block(tmp_path: Path, of_blocks: Needed) -> None:
    block = next(iter(of_blocks.trials.values()))
    make_run(tmp_path, *block_rows(block)[:2], *block_rows(block, "2026-02-03T00:00:00.000+00:00")[2:])

    assert reuse.find(tmp_path, of_blocks.trials) == {}
