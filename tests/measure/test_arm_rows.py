"""The row of an observed arm."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from inflight import strategies
from inflight.bench.core.grid import Grid
from inflight.bench.core.plan import block_of
from inflight.bench.core.rows import Row
from inflight.bench.measure import host
from inflight.bench.measure.blocks import run as arms
from inflight.bench.measure.blocks.block import Running, Slice
from inflight.bench.measure.blocks.sides import Prepared
from inflight.bench.measure.process import DEFAULT
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Setting

SERVER = SimpleNamespace(ceiling_per_s=None, alive=True)


@pytest.mark.parametrize("latency", ["0", "10ms"])
def test_an_arm_without_pages_in_its_windows_fails(latency: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (workload,) = Grid("throughput", (latency,)).workloads("throughput")
    described = strategies.describe("callbacks")
    block = block_of(workload, [described], cycles=1, number=1)
    idle = Running(
        block.arms[0],
        Prepared(block.arms[0], described, DEFAULT, None),
        port=1,
        slices=[Slice(cycle=0, begin_ns=10, end_ns=20, cpu_ns=5, server_cpu_ns=1, requests=0)],
        outcome={"windows": [[0, 10, 10]]},
    )
    monkeypatch.setattr("inflight.bench.measure.blocks.block.observe", lambda *_: [idle])

    (row,) = arms.run(block, {}, cast("Server", SERVER), Setting("run", host.ANY, lambda _: 1.0))

    assert (row.status, row.reason) == ("failed", "no page was finished in any window")
    stored: Any = Row.from_json(row.to_json())
    assert stored == row
