"""Arms that raise, hang, lie or exceed the cap: each has a row that says so, and does not stop the others."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.measure.blocks import block
from inflight.bench.measure.process import Worker
from inflight.bench.measure.server import Server
from inflight.bench.rows.kinds import Arm
from tests.measure.made_engine import CYCLES, GOOD, assert_good, block_of, children, run, running
from tests.measure.workshop import Workshop
from tests.patience import FOREVER_S, until

BAD_CAP, SLOW_CAP = 2, 3
CPU_S = 0.5
WRONG = tomllib.loads(Path(__file__).with_name("endings_of_arms.toml").read_text("utf-8"))
LEFT = 9
"""Number of bad arms that may fail after the first slice."""


def test_each_failing_arm_has_a_reason_and_stops_no_other(
    fake: Server, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, ending in WRONG.items():
        workshop.add_strategy(name, "import dataclasses\n\n\n" + ending["body"])
    before, measure, speaking, slices = children(), block._slice, block._speaking, []

    def look_first(one: block.Running, **others: Any) -> None:
        until(lambda: len(running(children() - before)) <= len(GOOD) + LEFT)  # the others were killed
        slices.append(one.arm.name)
        measure(one, **others)

    def speaking_now(one: block.Running, event: str, *others: Any) -> Worker:
        with monkeypatch.context() as patch:
            if WRONG.get(one.arm.name, {}).get("silent_before") == event:
                patch.setattr(block, "_patience_s", lambda *_: 0.0)
            return speaking(one, event, *others)

    monkeypatch.setattr(block, "_patience_s", lambda pages, _: 0.0 if pages == SLOW_CAP else FOREVER_S)
    monkeypatch.setattr(block, "_slice", look_first)
    monkeypatch.setattr(block, "_speaking", speaking_now)
    bad = [
        Arm(name, name, "compared", in_flight=SLOW_CAP if "is_slow" in ending else BAD_CAP)
        for name, ending in WRONG.items()
    ]

    rows = run(replace(block_of([*GOOD, *bad]), patience_s=CPU_S), fake, workshop.folder)

    assert [check.name for check in rows["forgets_a_try"].failed_checks] == ["requests counted alike"]
    for name, ending in WRONG.items():
        row = rows.pop(name)
        assert (row.status, row.valid) == (ending["status"], False), row.reason
        assert re.search(ending["reason"], row.reason or ""), row.reason
    for row in rows.values():
        assert_good(row)
    assert all(slices.count(arm.name) == CYCLES for arm in GOOD)


def test_the_patience_with_an_arm_depends_on_its_cap_and_its_cpu_work() -> None:
    trial = block_of(GOOD, cpu="10ms")

    assert block._patience_s(3000, trial) == block.DRAIN_S + 3000 * 0.01 + 5 * 3000 * 0.01
    assert block._patience_s(10, block_of(GOOD)) == block.DRAIN_S + 0.1
