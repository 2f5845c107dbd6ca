"""The checks of a trial's limits, run again on the reference rows, which are good real trials."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from inflight.bench.measure import validity
from inflight.bench.measure.checks import Judgement
from inflight.bench.measure.validity import Evidence
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row

REFERENCE = Path(__file__).parents[2] / "results/reference"


def of(row: Row) -> Evidence:
    """Return the evidence that a row still has: everything that these checks need."""
    return Evidence(
        kind="crawl",
        planned_in_flight=min(row.workload.in_flight, row.workload.site.pages),
        cap=row.workload.in_flight,
        mean_latency_ns=row.workload.mean_latency_ns,
        cpu_ns=row.workload.cpu_ns or 0,
        answer_difference=None,
        pages_answered=row.measured.pages - row.measured.failed_pages,
        failures=row.measured.failed_pages,
        expected_failures=row.measured.failed_pages,
        measured=msgspec.to_builtins(row.measured),
        server=msgspec.to_builtins(row.server),
        host={"ephemeral_ports": 28_232},
        knobs=msgspec.to_builtins(row.knobs),
        wanted_knobs={},
        descriptors_needed=row.workload.in_flight,
        threads_needed=0,
        threads_allowed=None,
    )


def stored() -> Iterator[Row]:
    for name in ("quick", "claims"):
        for folder in REFERENCE.glob(f"*-{name}"):
            yield from (row for row in rows.read(folder) if row.kind == "crawl" and row.valid)


@pytest.fixture(scope="module")
def good() -> list[Row]:
    return list(stored())


@pytest.mark.parametrize("check", [validity.ports, validity.allowances])
def test_no_good_trial_fails_a_check(check: Callable[[Evidence], Judgement], good: list[Row]) -> None:
    judged = [check(of(row)) for row in good]

    assert [detail for verdict, detail in judged if verdict == "failed"] == []
    assert sum(verdict == "passed" for verdict, _ in judged) > len(good) / 4, "the check applies to many of them"
