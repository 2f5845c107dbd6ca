"""A laboratory: it answers each trial with rows, recorded or made, where the product would measure.

Commands run whole and in this process, and what they must say of these rows is known exactly.
"""

import json
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from inflight.bench.claims.trials import key_of, key_of_row
from inflight.bench.frame.statistics import bound_per_s
from inflight.bench.measure import process
from inflight.bench.measure import run as runs
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from tests.made_blocks import BASE_BYTES, HELD_BYTES, MANY, block
from tests.made_counts import EQUAL, MORE, side_row
from tests.made_rows import arm_row, crawl_row, edited, memory_row

Answer = Callable[[Trial, bool], Iterable[Row]]
"""Returns the rows of a trial, and is told whether it only calibrates; run, names and workload are set afterwards."""
WORK_UNIT_NS = 100
COSTS: dict[str, object] = {
    "unit": WORK_UNIT_NS,
    "fetch": {"with_ns": 400.0, "without_ns": 200.0, "loop_ns": 20.0},
}
"""What the programs of ``bench.measure.costs`` print."""


class Laboratory:
    """Stands where trials are measured, for one test."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.answer: Answer
        self.asked: list[Trial] = []
        """The trials so far."""
        self.interrupt_at = 0
        """Number of the trial, from 1, during which somebody presses Ctrl-C; 0: nobody does."""
        patch.setattr(runs, "measured", self.measured)
        patch.setattr(process, "output", lambda words, *_: (0, json.dumps(COSTS[words[1]])))

    def measured(self, trial: Trial, _keeper: object, setting: Setting, _prepared: object = None) -> list[Row]:
        """Answer a trial, in place of ``bench.measure.run.measured``."""
        self.asked.append(trial)
        if len(self.asked) == self.interrupt_at:
            signal.raise_signal(signal.SIGINT)
        answers = zip(row_trials(trial), self.answer(trial, setting.run == "calibration"), strict=True)
        return [
            changed(
                row, run=setting.run, trial=part.id, round=part.round, strategy=part.name, stack=part.stack,
                workload=part.workload, kind=part.kind,
            )
            for part, row in answers
        ]  # fmt: skip


@pytest.fixture
def laboratory(monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    """Let nothing be measured in this test."""
    return Laboratory(monkeypatch)


def sides(made: Callable[[Trial], Mapping[str, Any]], memory: float = 0.0) -> Answer:
    """Answer the blocks of comparisons: ``made`` returns the options of ``made_blocks.block`` for each.

    B holds more ``memory`` by this share. Controls vary a little by themselves. Calibration always succeeds.
    """

    def answer(trial: Trial, calibrates: bool) -> Iterable[Row]:
        if trial.is_block:
            options = {} if calibrates else dict(made(trial))
            for control in ("placebo", "placebo_throughput"):
                options[control] = options.get(control, 0.0) + Random(f"{control} {trial.round}").gauss(0, 0.004)
            return block(trial.round, **options)[:3]
        if trial.kind == "counts":
            is_planted = trial.arms[0].planted_loops is not None
            return [side_row(trial.name, MORE if is_planted else EQUAL)]
        if trial.kind != "memory":
            return [crawl_row()]
        held = trial.workload.in_flight
        more = memory if trial.name == "B" else 0.0
        return [memory_row(held=held, uss_bytes=BASE_BYTES + round(HELD_BYTES * (1 + more) * held / MANY))]

    return answer


def models(costs: Mapping[str, float], noise: Sequence[float] = (0.01, -0.01, 0.0), slower: float = 1.0) -> Answer:
    """Answer blocks of strategies with these CPU times per page: the formula of a closed loop, and noise by block.

    With added latency or CPU work, throughput is ``slower`` than the formula by this factor.
    """

    def answer(trial: Trial, _calibrates: bool) -> Iterable[Row]:
        assert trial.is_block
        for place, arm in enumerate(trial.arms):
            moved = 1 + noise[trial.round % len(noise)] * (1 + place / 10)
            cost_ns = costs[arm.strategy] * moved + trial.workload.cpu_ns
            latency_ns = trial.workload.mean_latency_ns
            per_s = bound_per_s(arm.in_flight, latency_ns, cost_ns) / (slower if latency_ns else 1)
            row = arm_row(
                number=trial.round, in_flight=arm.in_flight, pages_per_s=per_s, cpu_per_page_ns=round(cost_ns)
            )
            yield edited(row, measured={"block": trial.id})

    return answer


def recorded(found: Iterable[Row]) -> Answer:
    """Answer each trial with the rows that were recorded of the same one."""
    kept = {key_of_row(row): row for row in found}
    return lambda trial, _calibrates: [kept[key_of(part)] for part in row_trials(trial)]


def only_run(out: Path) -> Path:
    """Return the folder of the only run in a folder of results."""
    (found,) = out.iterdir()
    return found
