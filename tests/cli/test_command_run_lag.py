"""A run that measures how late a timer fires in the loop of each model."""

import json
from pathlib import Path

import pytest

from inflight import strategies
from inflight.bench.core import rows
from tests.cli.command import inflight
from tests.cli.test_command_run import only_run

LOOPS = (
    *("callbacks", "epoll_callbacks", "generators", "await_by_hand", "pycurl_multi"),
    *("native_asyncio", "uvloop_protocol", "aiohttp_client", "trio_tasks", "gevent_greenlets"),
)
LEAST_DUE = 24
"""Due times in one window of 250 ms."""


@pytest.mark.slow
def test_the_timer_of_each_model_is_due_every_10_ms_while_it_crawls(tmp_path: Path) -> None:
    names = [name for name in (*LOOPS, "thread_pool") if not strategies.describe(name).lack]
    text = f"strategies = {json.dumps(names)}\n[[throughput]]\nin_flight = [5]\ncycles = 1\nlag = true\n"
    (tmp_path / "lag.toml").write_text(text, encoding="utf-8")

    done = inflight("run", "lag.toml", folder=tmp_path, calm=True)

    assert done.code == 0, done.err
    found = {row.strategy: row for row in rows.read(only_run(tmp_path))}
    assert set(names) <= found.keys()
    for name, row in found.items():
        assert row.status == "ok", (name, row.reason)
        assert row.workload.arm.lag is True
        assert row.measured.lag is not None, name
        assert row.measured.lag.count >= LEAST_DUE, name
    assert "Loop lag" in done.out
    told = json.loads(inflight("report", only_run(tmp_path), "--format", "json").out)["lag"]
    assert {one["strategy"] for one in told} == set(names)


@pytest.mark.slow
def test_the_lag_is_measured_only_in_the_arms_that_are_asked_for_it(tmp_path: Path) -> None:
    text = 'strategies = ["callbacks", "sequential"]\n[[throughput]]\nin_flight = [1]\ncycles = 1\n'
    text += "lag = true\nagainst = { lag = false }\n"
    (tmp_path / "lag.toml").write_text(text, encoding="utf-8")

    done = inflight("run", "lag.toml", folder=tmp_path, calm=True)

    assert done.code == 0, done.err
    found = {row.strategy: row.measured.lag for row in rows.read(only_run(tmp_path))}
    assert [name for name, lag in found.items() if lag is not None] == ["callbacks (lag=True)"]
    assert "sequential (lag=True)" in found, "a model that only blocks has no timer"
