"""The checks of a trial's limits, run again on the reference rows, which are good real trials."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from inflight.bench.measure import validity
from inflight.bench.measure.checks import Judgement
from inflight.bench.measure.expected import longest_wait_ns
from inflight.bench.measure.validity import Evidence
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.fake_server.site import SiteConfig

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
        wait_ns=longest_wait_ns(SiteConfig.from_dict(msgspec.to_builtins(row.workload.site))),
        measured=msgspec.to_builtins(row.measured) | {"ephemeral_ports": 28_232},
        server=msgspec.to_builtins(row.server),
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


def test_a_row_that_does_not_know_when_its_fetches_ended_fails_no_check_of_holes(good: list[Row]) -> None:
    older = [row for row in good if row.measured.hole_ns is None]

    assert {validity.hole(of(row)) for row in older} == {("not applicable", "unknown when fetches ended")}
    assert {verdict for verdict, _ in map(validity.hole, map(of, good))} <= {"passed", "not applicable"}
