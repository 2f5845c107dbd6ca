"""Blocks with real workers and a real server: a row for each arm, whatever happens to workers and server."""

from typing import Any

import pytest

from inflight.bench.core.arm import Arm, placebo
from inflight.bench.core.records.values import plain_values
from inflight.bench.measure import server
from inflight.bench.measure.blocks import block
from inflight.bench.measure.server import Server
from tests.measure.made_engine import GOOD, GOOD_CAP, assert_good, block_of, run


@pytest.mark.parametrize(("latency", "cpu"), [("0", "0"), ("2ms", "0"), ("0", "100us")])
def test_every_arm_of_a_block_has_a_row_with_all_windows(fake: Server, latency: str, cpu: str) -> None:
    alone = Arm("sequential", "sequential", in_flight=GOOD_CAP)

    rows = run(block_of([*GOOD, placebo(GOOD[0]), alone], latency, cpu), fake)

    for row in rows.values():
        assert_good(row, cap=1 if row.strategy == "sequential" else GOOD_CAP)
        assert row.measured.worked_pages == (row.measured.pages if cpu != "0" else None)


def test_a_window_with_too_few_pages_is_extended(fake: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    measure, seen = block._slice, []

    def watch(one: block.Running, **others: Any) -> None:
        measure(one, **others)
        seen.append(one.slices[-1])

    monkeypatch.setattr(block, "_slice", watch)
    monkeypatch.setattr(block, "lengths", lambda *_, **__: block.Lengths(0, 25 * block.MS))
    monkeypatch.setattr(block, "MOST_WINDOWS", 1000)  # a stalled machine gives few pages in many windows

    run(block_of(GOOD, latency="50ms"), fake)  # 20 in flight: a page each 2.5 ms

    assert all(each.requests >= block.PAGES for each in seen)
    assert all(each.end_ns - each.begin_ns >= 2 * 25 * block.MS for each in seen)


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
        assert plain_values(row.measured) == {"server_lost": True}
