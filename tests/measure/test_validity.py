"""Each check on both sides of its bound, on made-up figures."""

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.measure import preflight, validity
from inflight.bench.measure import run as runs
from inflight.bench.measure.checks import MS, judge
from inflight.bench.measure.trial import Observation
from inflight.bench.measure.validity import CHECKS
from inflight.bench.plan.experiment import parse
from inflight.bench.plan.trial import Trial
from inflight.bench.rows.files import Check

SOUND = Observation(
    measured={
        "pages": 5000,
        "failed_pages": 0,
        "peak_in_flight": 10,
        "tries": 5000,
        "port_refusals": 0,
        "work_ns": 2_100_000,
        "worked_pages": 5000,
        "hole_ns": 60 * MS,
        "service": {"count": 5000, "p50_ns": 50 * MS},
        "cpu_per_page_ns": MS,
        "listen_drops": 0,
        "ephemeral_ports": 28_232,
    },
    server={
        "peak_in_flight": 10,
        "requests": 5000,
        "total_connections": 10,
        "lateness_max_ns": 2 * MS,
        "first_lateness_max_ns": 3 * MS,
    },
    knobs={"strategy": "thread_pool", "cpus": [1], "gil": True, "descriptor_limit": 1024},
    wanted={"strategy": "thread_pool", "cpus": [1]},
)


def trial_of(kind: str = "crawl", strategy: str = "thread_pool", **changes: Any) -> Trial:
    """Return a planned trial."""
    table = {"in_flight": [10], "latency": ["50ms"]} | changes
    if kind == "crawl":
        table = {"pages": 5000, "cpu": ["2ms"]} | table
    (trial,) = runs.all_trials(
        parse(
            {"strategies": [strategy], kind: [table]},
            "x",
            [strategy],
            "test",
        )
    )
    return trial


def checks(
    trial: dict[str, Any] | None = None,
    wrong: str | None = None,
    failing: int = 0,
    threads_allowed: int | None = 30_000,
    **changes: dict[str, Any],
) -> tuple[Check, ...]:
    """Return the checks of a good trial with changes: ``server={"requests": 1}``. Its site makes ``failing`` fail."""
    seen = copy.deepcopy(SOUND)
    seen.wrong = wrong
    for part, values in changes.items():
        getattr(seen, part).update(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validity, "failures_of_site", lambda _trial: failing)
        patch.setattr(preflight, "threads_allowed", lambda: threads_allowed)
        return judge(CHECKS, trial_of(**trial or {}), seen)


BOTH_SIDES = tomllib.loads(Path(__file__).with_name("validity.toml").read_text("utf-8"))


def known(value: Any) -> Any:
    """Return a value of the table, in which a text stands for null."""
    if isinstance(value, dict):
        return {name: known(each) for name, each in value.items()}
    return None if value == "unknown" else value


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in BOTH_SIDES.items() for case in cases])
def test_a_check_applies_its_bound_and_reports_its_figures_and_fails_no_other(name: str, case: dict[str, Any]) -> None:
    changes = {part: known(value) for part, value in case.items() if part not in {"verdict", "says"}}
    made = {check.name: check for check in checks(**changes)}

    assert made[name].verdict == case["verdict"]
    assert case["says"] in made[name].detail
    assert [check.name for check in made.values() if check.verdict == "failed"] == [name] * (
        case["verdict"] == "failed"
    )


def test_every_check_is_tested_on_both_sides() -> None:
    assert list(BOTH_SIDES) == [check.name for check in checks() if check.verdict == "passed"] == list(CHECKS)
    assert all(any(case["verdict"] == "failed" for case in cases) for cases in BOTH_SIDES.values())


def test_a_crawl_without_pages_can_be_checked() -> None:
    nothing = {"pages": 0, "peak_in_flight": 0, "tries": 0, "worked_pages": 0}
    idle = {"peak_in_flight": 0, "requests": 0}

    made = checks(measured=nothing, server=idle, wrong="10 pages missing")

    invalid = {found.name for found in made if found.verdict == "failed"}
    assert invalid == {"answer correct", "cap reached, never exceeded"}
