"""Models that use several cores: their arms in a plan, and the CPU time and the memory of all their processes."""

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any
from unittest.mock import Mock

import psutil
import pytest

from inflight.bench.measure.server import Server
from inflight.bench.plan.experiment import Experiment, parse
from inflight.bench.plan.trial import Trial
from inflight.bench.plan.trials import expand
from inflight.bench.rows.kinds import Arm
from inflight.strategies import describe, process_pool
from inflight.strategies.base import Job
from inflight.strategies.core.http1 import Response
from tests.measure.made_engine import assert_good, block_of, run, running
from tests.patience import until

CAP = 4
TABLE = {"cores": [1, 2], "cpu": ["0", "1ms"], "in_flight": [10]}


def experiment(table: dict[str, Any], **others: Any) -> Experiment:
    values = {"strategies": ["thread_pool", "callbacks"], "throughput": [table], **others}
    return parse(values, "x", ["thread_pool", "callbacks"], "x.toml")


def blocks(asked: Experiment) -> list[Trial]:
    described = {name: describe(name) for name in asked.strategies}
    return [trial for trial in expand(asked, described) if trial.is_block]


def test_each_strategy_has_an_arm_with_each_number_of_cores_in_one_block() -> None:
    first, second = blocks(experiment(TABLE))

    assert {first.workload.cpu, second.workload.cpu} == {"0", "1ms"}
    assert [(arm.name, arm.cores, arm.role) for arm in first.arms] == [
        ("callbacks", 1, "reference"),
        ("callbacks again", 1, "placebo"),
        ("thread_pool", 1, "compared"),
        ("callbacks (cores=2)", 2, "compared"),
        ("thread_pool (cores=2)", 2, "compared"),
    ]


def test_cores_are_crossed_with_interpreters() -> None:
    first, _ = blocks(experiment(TABLE, python={"3.11": "python3.11", "3.13": "python3.13"}))

    assert {arm.name for arm in first.arms if arm.strategy == "thread_pool"} == {
        "thread_pool 3.11",
        "thread_pool 3.11 (cores=2)",
        "thread_pool 3.13",
        "thread_pool 3.13 (cores=2)",
    }


def test_a_list_of_cores_is_written_as_it_was_read() -> None:
    asked = experiment(TABLE)

    assert list(asked.to_dict()["throughput"][0]["cores"]) == [1, 2]
    assert parse(asked.to_dict(), "x", ["thread_pool", "callbacks"], "x.toml").grids == asked.grids


def test_the_rows_of_an_arm_count_all_its_processes(fake: Server) -> None:
    arms = [
        Arm("callbacks", "callbacks", "reference", in_flight=CAP),
        Arm("process_pool", "process_pool", "compared", in_flight=CAP),
    ]
    processes = 1 + len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None

    rows = run(block_of(arms, latency="0", cpu="200us"), fake)

    for row in rows.values():
        assert_good(row, CAP)
        assert row.measured.worked_pages == row.measured.pages
        assert row.measured.beside_server is None
    one, pool = rows["callbacks"].measured, rows["process_pool"].measured
    assert (one.processes, pool.processes) == (None, processes)
    assert one.rss_bytes is not None
    assert pool.rss_bytes is None
    if one.pss_bytes is not None:
        assert pool.pss_bytes > one.pss_bytes
    # Almost all its CPU time is that of the children, which do the work of the pages.
    assert pool.cpu_per_page_ns > pool.work_ns / 2


_CRAWL = """
import sys
from inflight.strategies import load
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
job = Job((sys.argv[1],), max_in_flight=8)
load("process_pool").crawl(job, Frontier(job))
"""


def test_the_processes_of_a_pool_end_when_their_parent_is_killed(fake: Server) -> None:
    fake.tell("hold")
    with subprocess.Popen([sys.executable, "-c", _CRAWL, f"{fake.base}/"]) as crawl:
        try:
            until(lambda: fake.stats()["in_flight"] or crawl.poll() is not None)
            assert crawl.poll() is None
            pool = set(psutil.Process(crawl.pid).children(recursive=True))
            assert pool
        finally:
            crawl.send_signal(signal.SIGKILL)
    try:
        until(lambda: not running(pool))
    finally:
        fake.tell("release")


def test_a_member_of_a_pool_lets_its_loop_have_a_turn_between_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    monkeypatch.setattr(process_pool, "consume", lambda _job: events.append("page"))
    monkeypatch.setattr(process_pool, "TURN_S", 0)

    async def turn() -> None:
        for _ in range(3):
            events.append("turn")
            await asyncio.sleep(0)

    async def work() -> None:
        home = process_pool.Home()
        home.transport = Mock()
        for number in range(3):
            home.arrived.put_nowait((number, Mock(spec_set=Response)))
        working = asyncio.create_task(process_pool.work_on_pages(home, Mock(spec_set=Job)))
        await turn()
        working.cancel()

    asyncio.run(work())

    assert events == ["turn", "page", "turn", "page", "turn", "page"]
