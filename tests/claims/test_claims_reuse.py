"""Which rows of earlier runs are used again."""

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inflight.bench.claims.command import Needed, work_out
from inflight.bench.claims.trials import Key, as_rows_of, find_rows
from inflight.bench.measure import host, interpreters
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, Status
from inflight.bench.rows.records import changed
from tests.claims.cases import CLAIMS
from tests.made_rows import FAILED, crawl_row

LATER = "2026-02-02T00:00:00.000+00:00"
ANOTHER = "as the other run named it"
RACED = {"model": "threads"} | dict.fromkeys(("links_seen", "distinct", "fetched", "duplicates", "lost_updates"), 1)
ARM = dict.fromkeys(("cpu_share", "requests", "held_in_flight"), 1) | {"windows": [], "block": ANOTHER}


@pytest.fixture(scope="module")
def needed() -> Needed:
    return work_out([CLAIMS["races"], CLAIMS["grow-on-demand"]], quick=True)


@pytest.fixture(scope="module")
def of_blocks() -> Needed:
    return work_out([CLAIMS["async-not-faster"]], quick=True)


def trial_of(needed: Needed, kind: str) -> tuple[Key, Trial]:
    return next((key, trial) for key, trial in needed.trials.items() if trial.kind == kind)


def group_of(needed: Needed) -> list[Key]:
    return [key for key in needed.trials if key[0] == "crawl" and key[3] == 1]


def rows_of(asked: Trial, status: Status = "ok", started_at: str | None = None, *, invalid: bool = False) -> list[Row]:
    """Make the rows of a trial, as another run named them."""
    found = []
    for part in row_trials(asked):
        made = crawl_row(part.name, status=status)
        more = {"probe": RACED, "arm": msgspec.to_builtins(made.measured) | ARM | {"service": {"count": 0}}}
        found.append(
            changed(
                made,
                trial=f"{ANOTHER}/{part.name}",
                kind=part.kind,
                stack=part.stack,
                round=part.round,
                workload=msgspec.structs.replace(part.workload, id=ANOTHER),
                measured=more.get(part.kind, made.measured),
                checks=(*made.checks, FAILED) if invalid else made.checks,
                started_at=started_at or made.started_at,
            )
        )
    return found


def make_run(out: Path, found: Iterable[Row], name: str = "one", pin: str = "pin = true", **machine: Any) -> Path:
    folder = out / name
    folder.mkdir(parents=True)
    (folder / rows.MACHINE_FILE).write_text(json.dumps(host.machine() | machine), encoding="utf-8")
    (folder / rows.EXPERIMENT_FILE).write_text(f"{pin}\n", encoding="utf-8")
    for row in found:
        rows.append(folder, changed(row, run=name))
    return folder


def found_in(out: Path, needed: Needed, *together: list[Key]) -> dict[Key, str]:
    """Return the run of the rows that are used again, by trial."""
    found = find_rows(out, needed.trials, together or [[key] for key in needed.trials])
    return {key: own[0].run for key, own in found.items()}


@pytest.mark.parametrize("kind", ["probe", "crawl", "arm"])
def test_valid_rows_of_the_same_trial_are_reused(tmp_path: Path, needed: Needed, of_blocks: Needed, kind: str) -> None:
    of_kind = of_blocks if kind == "arm" else needed
    key, trial = trial_of(of_kind, kind)
    make_run(tmp_path, rows_of(trial))

    found = find_rows(tmp_path, of_kind.trials, [[key]])
    again = as_rows_of(trial, found[key])

    assert set(found) == {key}
    assert {row.trial: msgspec.to_builtins(row.workload) for row in again} == {
        p.id: msgspec.to_builtins(p.workload) for p in row_trials(trial)
    }
    assert {row.run for row in again} == {"one"}


@pytest.mark.parametrize("kind", ["probe", "crawl"])
def test_the_newest_valid_row_is_taken(tmp_path: Path, needed: Needed, kind: str) -> None:
    key, trial = trial_of(needed, kind)
    make_run(tmp_path, rows_of(trial), "a-earlier")
    make_run(tmp_path, rows_of(trial, started_at=LATER), "b-later")
    make_run(tmp_path, rows_of(trial, "skipped", LATER), "c-skipped")

    assert found_in(tmp_path, needed).get(key) == ("b-later" if kind == "probe" else None)


@pytest.mark.parametrize("status", ["ok", "failed", "timeout", "wrong"])
def test_an_invalid_row_is_measured_once_more(tmp_path: Path, needed: Needed, status: Status) -> None:
    key, trial = trial_of(needed, "crawl")
    folder = make_run(tmp_path, rows_of(trial, status, invalid=True), "one")
    copied = make_run(tmp_path, [], "copied")
    rows.append(copied, rows.read(folder)[0])  # a reused row counts once
    assert found_in(tmp_path, needed) == {}

    make_run(tmp_path, rows_of(trial, status, LATER, invalid=True), "two")
    assert found_in(tmp_path, needed) == {key: "two"}


def test_a_valid_row_is_preferred_to_newer_invalid_ones(tmp_path: Path, needed: Needed) -> None:
    key, trial = trial_of(needed, "probe")
    make_run(tmp_path, [*rows_of(trial), *rows_of(trial, started_at=LATER, invalid=True)], "one")
    make_run(tmp_path, rows_of(trial, started_at=LATER, invalid=True), "two")

    assert found_in(tmp_path, needed) == {key: "one"}


@pytest.mark.parametrize(("version", "is_reused"), [("3.13.0", True), ("3.12.1", False)])
def test_an_arm_is_reused_if_its_interpreter_is_the_one_that_it_would_have_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, *, is_reused: bool
) -> None:
    needed = work_out([CLAIMS["newer-is-faster"]], quick=False)
    key, block = trial_of(needed, "arm")
    then = {"python": version, "free_threaded": False}
    make_run(tmp_path, [changed(row, knobs=msgspec.to_builtins(row.knobs) | then) for row in rows_of(block)])
    monkeypatch.setattr(interpreters, "path_of", lambda _name, _given: sys.executable)
    now = replace(interpreters.ask(sys.executable), version="3.13.0")
    monkeypatch.setattr(interpreters, "ask", lambda _path: now)

    assert (key in found_in(tmp_path, needed)) is is_reused


@pytest.mark.parametrize(
    "changes",
    [{"cpu": "another"}, {"python": "CPython 2.7"}, {"versions": {}}, {"system": None}, {"usable_cores": 999},
     {"pin": "pin = false"}],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_rows_of_another_machine_version_or_core_are_not_reused(
    tmp_path: Path, needed: Needed, changes: dict[str, Any]
) -> None:
    make_run(tmp_path, rows_of(trial_of(needed, "probe")[1]), **changes)

    assert found_in(tmp_path, needed) == {}


def test_other_trials_older_formats_and_skipped_ones_are_not_reused(tmp_path: Path, needed: Needed) -> None:
    _, trial = trial_of(needed, "crawl")
    (good,) = rows_of(trial)
    make_run(tmp_path, [changed(good, format=1), changed(good, round=99), changed(good, strategy="other")])
    make_run(tmp_path, [*rows_of(trial, "skipped"), *rows_of(trial, "skipped", LATER)], "skipped")

    assert found_in(tmp_path, needed) == found_in(tmp_path / "nowhere", needed) == {}


def test_an_unreadable_run_is_ignored(tmp_path: Path, needed: Needed) -> None:
    key, trial = trial_of(needed, "probe")
    make_run(tmp_path, rows_of(trial), "good")
    broken = make_run(tmp_path, [], "broken")
    (broken / rows.ROWS_FILE).write_text("rubbish\n", encoding="utf-8")
    no_machine = make_run(tmp_path, rows_of(trial, started_at=LATER), "no-machine")
    (no_machine / rows.MACHINE_FILE).write_text("{", encoding="utf-8")

    assert found_in(tmp_path, needed) == {key: "good"}


def test_times_are_reused_from_one_run_that_has_them_all(tmp_path: Path, needed: Needed) -> None:
    group = group_of(needed)
    own = [rows_of(needed.trials[key])[0] for key in group]
    make_run(tmp_path, own[1:], "two-with-one-missing")
    assert found_in(tmp_path, needed, group) == {}

    make_run(tmp_path, own[:1], "three-with-the-other")
    assert found_in(tmp_path, needed, group) == {}

    make_run(tmp_path, own, "one")
    assert found_in(tmp_path, needed, group) == dict.fromkeys(group, "one")
    assert found_in(tmp_path, needed, group[:1], group[1:])[group[1]] == "two-with-one-missing"


def test_an_invalid_time_is_measured_again_with_all_compared_trials(tmp_path: Path, needed: Needed) -> None:
    group = group_of(needed)
    own = [rows_of(needed.trials[key], invalid=key == group[0])[0] for key in group]
    make_run(tmp_path, own, "one")
    assert found_in(tmp_path, needed, group) == {}

    make_run(tmp_path, [changed(row, started_at=LATER) for row in own], "two")
    assert found_in(tmp_path, needed, group) == dict.fromkeys(group, "two")


def test_a_skipped_time_is_tried_again_and_the_others_of_its_run_are_reused(tmp_path: Path, needed: Needed) -> None:
    group = group_of(needed)
    make_run(tmp_path, [rows_of(needed.trials[key], "skipped" if key == group[0] else "ok")[0] for key in group])

    assert found_in(tmp_path, needed, group) == dict.fromkeys(group[1:], "one")


def test_an_arm_is_reused_only_with_its_whole_block(tmp_path: Path, of_blocks: Needed) -> None:
    key, block = trial_of(of_blocks, "arm")
    own = rows_of(block)
    make_run(tmp_path, own[1:], "one-arm-missing")
    make_run(tmp_path, [*own, changed(own[-1], strategy="another", trial="another")], "one-arm-more")
    make_run(tmp_path, [*own[:2], *rows_of(block, started_at=LATER)[2:]], "of-two-moments")
    assert found_in(tmp_path, of_blocks) == {}

    make_run(tmp_path, own, "whole")
    assert found_in(tmp_path, of_blocks) == {key: "whole"}
