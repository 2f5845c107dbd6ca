"""Blocks with real workers and a real server: a row for each arm, whatever happens to workers and server."""

from collections.abc import Sequence
from random import Random
from typing import Any, cast

import msgspec
import pytest

from inflight import strategies
from inflight.bench.measure import server
from inflight.bench.measure.blocks import block
from inflight.bench.measure.blocks.usage import TaskClock, Usage, is_task_clock_permitted
from inflight.bench.measure.process import DEFAULT, Worker
from inflight.bench.measure.server import Server
from inflight.bench.plan.trial import placebo
from inflight.bench.rows.kinds import Arm
from inflight.strategies import describe
from tests.measure.made_engine import GOOD, GOOD_CAP, assert_good, block_of, run


def test_every_arm_of_a_block_has_a_row_with_all_windows(fake: Server) -> None:
    alone = Arm("sequential", "sequential", "compared", in_flight=GOOD_CAP)

    rows = run(block_of([*GOOD, alone], latency="0", cpu="100us"), fake)

    for row in rows.values():
        assert_good(row, cap=1 if row.arm == "sequential" else GOOD_CAP)
        assert row.measured.worked_pages == row.measured.pages


@pytest.mark.parametrize(
    ("several", "permitted", "clocks"),
    [
        (False, True, {"in band", "process clock"}),  # the latter if no window of an arm has four samples
        (True, True, {"task clock"}),
        (True, False, {"process clock"}),
    ],
    ids=["one core each", "perhaps several processes", "perhaps several processes, not permitted"],
)
def test_all_arms_of_a_block_are_read_by_one_clock(
    several: bool, permitted: bool, clocks: set[str], fake: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    if several:
        monkeypatch.setattr(block, "SEVERAL_CORES", strategies.MODELS)
    if several and permitted and not is_task_clock_permitted():
        pytest.skip("this system does not permit the task clock")
    monkeypatch.setattr(block, "is_task_clock_permitted", lambda: permitted)

    rows = run(block_of(GOOD), fake)

    (clock,) = {row.measured.clock for row in rows.values()}
    assert clock in clocks
    for row in rows.values():
        assert_good(row)
        assert row.measured.cpu_per_page_ns > 0
        assert row.measured.clock_step_ns > 0
        assert row.measured.late_ns is not None
        assert row.server.cpu_share is not None
        assert all(window.pages > 0 for window in row.measured.windows)


class Scripted:
    """A server with one gate, at which requests have come in at each reading as they were told in advance."""

    def __init__(self, requests: Sequence[int]) -> None:
        self.requests, self.told, self.clock_ns, self.limits = iter(requests), list[Any](), 0, set[int]()

    def tell(self, command: str, **values: Any) -> dict[str, Any]:
        self.told.append((command, values))
        self.clock_ns += 1000
        if command == "late":
            return {"late": {"90000": self.clock_ns}}
        gate = {"requests": next(self.requests), "held": GOOD_CAP}
        return {"clock_ns": self.clock_ns, "server_cpu_ns": self.clock_ns * 2, "gates": {"1": gate}}

    def read(self) -> Usage:
        """Return the usage of the arm, whose meter this is, too."""
        return Usage(self.clock_ns, self.clock_ns, self.clock_ns * 3)


@pytest.mark.parametrize(
    ("counted", "windows"),
    [
        ([5, 100, 121, 121, 121], 1),
        ([5, 100, 120, 120 + 1, 122, 125], 2),
        ([5, 100, *range(101, 101 + block.MAX_WINDOWS), 119, 119], block.MAX_WINDOWS),
    ],
    ids=["enough", "extended", "never enough"],
)
def test_a_window_with_too_few_pages_is_extended_up_to_a_limit(
    counted: list[int], windows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    server = Scripted(counted)
    one = block.Running(GOOD[0], describe("callbacks"), DEFAULT, 1, worker=cast("Worker", ()))
    one.lengths, one.meter = block.Lengths(settle_ns=7, window_ns=11), cast("TaskClock", server)
    monkeypatch.setattr(block, "_sleep_ns", slept.append)

    block._slice(one, block_of(GOOD, "50ms"), cast("Server", server), 3, Random(1))

    assert slept == [7, *[11] * windows]
    assert server.told[0] == ("pass", {"port": 1, "over_ns": 50 * block.MS})
    assert [command for command, _ in server.told[1:]] == ["late", *["read"] * (1 + windows), "pass", "late", "read"]
    begin_ns, end_ns = 3000, 3000 + 1000 * windows
    assert one.slices == [
        block.Slice(
            cycle=3, begin=Usage(begin_ns, begin_ns, 3 * begin_ns),
            end=Usage(end_ns, end_ns, 3 * end_ns),
            server_cpu_ns=2 * (end_ns - begin_ns) + 2000, server_wall_ns=end_ns - begin_ns + 1000, late_ns=90_000,
            latest_ns=90_000, open_ns=1000, rest_ns=end_ns + 3000,
        )
    ]  # fmt: skip


def test_a_worker_that_dies_during_a_block_does_not_harm_the_others(
    fake: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = block._slice

    def kill_one(one: block.Running, **others: Any) -> None:
        if one.arm.role == "placebo" and others["cycle"] == 1:
            assert one.worker is not None
            one.worker.process.kill()
        measure(one, **others)

    monkeypatch.setattr(block, "_slice", kill_one)

    rows = run(block_of([*GOOD, placebo(GOOD[0])]), fake)

    died = rows.pop("callbacks again")
    assert (died.status, died.reason) == ("failed", "the worker was killed by signal 9 (SIGKILL)")
    assert died.measured.windows is None
    for row in rows.values():
        assert_good(row)


def test_a_server_that_dies_during_a_block_fails_all_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = block._slice
    with server.running(None) as doomed:

        def kill_first(one: block.Running, **others: Any) -> None:
            doomed.process.kill()
            measure(one, **others)

        monkeypatch.setattr(block, "_slice", kill_first)

        rows = run(block_of(GOOD), doomed)

    for row in rows.values():
        assert row.status == "failed"
        assert "the fake server died during the trial" in (row.reason or "")
        assert "was killed by signal 9" in (row.reason or "")
        assert msgspec.to_builtins(row.measured) == {"server_lost": True}
