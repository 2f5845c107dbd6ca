"""The checks of a trial's limits, run again on the reference rows, which are good real trials."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inflight.bench.measure import run as runs
from inflight.bench.measure import validity
from inflight.bench.measure.checks import Judge, Judgement
from inflight.bench.measure.trial import Observation
from inflight.bench.plan.experiment import parse
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row

REFERENCE = Path(__file__).parents[2] / "results/reference"


def judged(check: Judge, row: Row) -> Judgement:
    """Return what a check finds in a row, which has all that these checks need."""
    workload = msgspec.to_builtins(row.workload)
    table: dict[str, Any] = {name: [workload[name]] for name in ("in_flight", "latency", "connection")}
    table["site"] = {key: value for key, value in workload["site"].items() if key != "delay"}
    (trial,) = runs.all_trials(
        parse(
            {"strategies": ["callbacks"], "crawl": [table]},
            "x",
            ["callbacks"],
            "test",
        )
    )
    measured, server, knobs = map(msgspec.to_builtins, (row.measured, row.server, row.knobs))
    return check(trial, Observation(measured | {"ephemeral_ports": 28_232}, server, knobs))


def stored() -> Iterator[Row]:
    for name in ("quick", "claims"):
        for folder in REFERENCE.glob(f"*-{name}"):
            yield from (row for row in rows.read(folder) if row.kind == "crawl" and row.valid)


@pytest.fixture(scope="module")
def good() -> list[Row]:
    return list(stored())


@pytest.mark.parametrize("check", [validity.ports, validity.allowances])
def test_no_good_trial_fails_a_check(check: Judge, good: list[Row]) -> None:
    found = [judged(check, row) for row in good]

    assert [each.figures for each in found if each.verdict == "failed"] == []
    assert sum(each.verdict == "passed" for each in found) > len(good) / 4, "the check applies to many of them"


def test_a_row_that_does_not_know_when_its_fetches_ended_fails_no_check_of_holes(good: list[Row]) -> None:
    older = [row for row in good if row.measured.hole_ns is None]

    assert {judged(validity.hole, row).figures for row in older} == {"unknown when fetches ended"}
    assert {judged(validity.hole, row).verdict for row in good} <= {"passed", "not applicable"}
