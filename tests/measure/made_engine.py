"""Small blocks that really run, and the checks of a good row."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from unittest.mock import patch

import psutil

from inflight import strategies
from inflight.bench.measure import host
from inflight.bench.measure.blocks import block
from inflight.bench.measure.blocks import run as arms
from inflight.bench.measure.process import ROOT, Runtime
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.grid import served
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import records
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import Arm, CrawlWorkload
from inflight.fake_server.delays import parse_duration_ns
from inflight.fake_server.site import SiteConfig
from tests.patience import FOREVER_S

CYCLES = 2
GOOD_CAP = 20
GOOD = (
    Arm("callbacks", "callbacks", "reference", in_flight=GOOD_CAP),
    Arm("thread_pool", "thread_pool", "compared", in_flight=GOOD_CAP),
)
CERTAIN = {"answer correct", "no unexpected failures", "requests counted alike", "settings applied"}
"""Checks of trials and arms that no busy machine fails."""


def block_of(members: Sequence[Arm], latency: str = "2ms", cpu: str = "0") -> Trial:
    site = served(SiteConfig(delay=latency))
    workload = CrawlWorkload(
        id="throughput/test",
        in_flight=GOOD_CAP,
        connection="keep-alive",
        cpu=cpu,
        cpu_ns=parse_duration_ns(cpu),
        **site,
    )
    models = {arm.name: strategies.describe("callbacks") for arm in members}
    models |= {arm.name: strategies.describe(arm.strategy) for arm in members if arm.strategy in strategies.names()}
    return Trial(
        "throughput/test/round=1",
        1,
        "arm",
        workload,
        0,
        tuple(members),
        models,
        cycles=CYCLES,
    )


def run(trial: Trial, fake: Server, folder: Path = ROOT) -> dict[str, Row]:
    """Run a block with the strategies of a folder, check that no process is left, and return the row of each arm.

    The server may be as slow as it likes.
    """
    before = children()
    files = folder / "inflight" / "strategies"
    models = {arm.name: strategies.describe(arm.strategy, files) for arm in trial.arms}
    runtimes = {arm.name: Runtime(strategies=folder) for arm in trial.arms}
    setting = Setting("run", host.ANY, lambda _: FOREVER_S, unit_ns=1000.0)
    with patch.object(block, "MAX_DEMAND_SHARE", inf):
        rows = arms.run(replace(trial, models=models), runtimes, fake, setting)
    assert children() <= before
    assert [row.arm for row in rows] == [arm.name for arm in trial.arms]
    assert all(records.read(row.to_json()) == row for row in rows)
    return {row.arm: row for row in rows}


def children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def running(processes: set[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that are no zombies."""
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def assert_certain(row: Row) -> None:
    """Check that a row is complete, and right as far as the machine does not decide it."""
    assert (row.status, row.reason) == ("ok", None)
    assert not {check.name for check in row.failed_checks} & CERTAIN
    assert next(check.verdict for check in row.checks if check.name == "answer correct") == "passed"


def assert_good(row: Row, cap: int = GOOD_CAP) -> None:
    """Check the row of a complete block."""
    measured = row.measured
    assert (row.status, row.reason) == ("ok", None)
    assert not row.failed_checks
    cycles = [window.cycle for window in measured.windows]
    dropped = set(range(CYCLES)).difference(cycles)
    assert cycles == [cycle for cycle in range(CYCLES) if cycle not in dropped]
    assert not dropped or measured.clock == "in band", "where a busy machine left too few samples"
    assert measured.requests == measured.tries == measured.pages > 0
    assert measured.held_in_flight == measured.peak_in_flight == cap
    assert measured.failed_pages == 0
