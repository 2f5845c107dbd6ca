"""The row of an observed arm."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from inflight import strategies
from inflight.bench.measure import host
from inflight.bench.measure.blocks import run as arms
from inflight.bench.measure.blocks.block import Observed, Running, Slice, TooMuchForServerError
from inflight.bench.measure.blocks.usage import Usage
from inflight.bench.measure.process import DEFAULT
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.grid import ThroughputTable
from inflight.bench.plan.trials import block_of
from inflight.bench.rows import records

SERVER = SimpleNamespace(ceiling_per_s=None, alive=True)


@pytest.mark.parametrize("latency", ["0", "10ms"])
def test_an_arm_without_pages_in_its_windows_fails(latency: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (workload,) = ThroughputTable(latency=(latency,)).workloads("throughput")
    described = strategies.describe("callbacks")
    block = block_of(workload, [described], cycles=1, number=1)
    idle = Running(
        block.arms[0],
        described,
        DEFAULT,
        port=1,
        slices=[Slice(0, Usage(10, 10, 0), Usage(20, 20, 5), 1, 10, None, 0, 5, 30)],
        outcome={"windows": [{"pages": 0, "first_ns": 10, "last_ns": 10}]},
    )
    monkeypatch.setattr(
        "inflight.bench.measure.blocks.block.observe", lambda *_: Observed([idle], "task clock", 1, None, None)
    )

    (row,) = arms.run(block, {}, cast("Server", SERVER), Setting("run", host.ANY, lambda _: 1.0))

    assert (row.status, row.reason) == ("failed", "no page was finished in any window")
    stored: Any = records.read(row.to_json())
    assert stored == row


def test_the_check_of_the_cap_has_what_the_gate_held(monkeypatch: pytest.MonkeyPatch) -> None:
    (workload,) = ThroughputTable(latency=("0",)).workloads("throughput")
    described = strategies.describe("callbacks")
    block = block_of(workload, [described], cycles=1, number=1)
    cap = block.arms[0].in_flight
    counts = {"pages": 9, "failed_pages": 0, "tries": 9, "peak_in_flight": cap, "hole_ns": 0}
    window = {"pages": 9, "first_ns": 10, "last_ns": 20}
    running = Running(
        block.arms[0],
        described,
        DEFAULT,
        port=1,
        slices=[Slice(0, Usage(10, 10, 0), Usage(20, 20, 5), 1, 10, None, 0, 5, 30)],
        outcome=counts | {"windows": [window], "gil": True, "answer": [], "usual_ns": 0, "service": {"count": 0}},
        requests=9,
        peak=cap - 1,
    )
    monkeypatch.setattr(
        "inflight.bench.measure.blocks.block.observe", lambda *_: Observed([running], "task clock", 1, None, None)
    )

    (row,) = arms.run(block, {}, cast("Server", SERVER), Setting("run", host.ANY, lambda _: 1.0))

    (check,) = (check for check in row.checks if check.name == "cap reached, never exceeded")
    assert row.measured.held_in_flight == cap - 1
    assert (check.verdict, check.detail) == (
        "failed",
        f"cap {cap}, most in flight: client {cap}, held by the gate {cap - 1}",
    )


def test_the_arms_of_a_workload_that_asks_for_too_much_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Observed:
        raise TooMuchForServerError("up to 10,000 pages/s would take it all")

    (workload,) = ThroughputTable(latency=("10ms",)).workloads("throughput")
    block = block_of(workload, [strategies.describe("callbacks")], cycles=1, number=1)
    monkeypatch.setattr("inflight.bench.measure.blocks.block.observe", refuse)

    rows = arms.run(block, {}, cast("Server", SERVER), Setting("run", host.ANY, lambda _: 1.0))

    assert {(row.status, row.cause, row.reason) for row in rows} == {
        ("skipped", "server", "up to 10,000 pages/s would take it all")
    }
    assert [row.arm for row in rows] == [arm.name for arm in block.arms]
