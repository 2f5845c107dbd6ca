"""Memory trials of one arm go up in size, and the larger ones of a slow client are left out."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from inflight.bench.commands import run as commands
from inflight.bench.measure import run as runs
from inflight.bench.plan.experiment import Experiment
from inflight.bench.plan.grid import MemoryTable
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.laboratory import Answer, Laboratory
from tests.made_rows import edited, memory_row

S = 1_000_000_000
SIZES = (850, 150, 1500, 300, 500)
WHY = "500 in flight took 13 s; larger sizes are left out above 10 s"


def an_experiment(rounds: int = 1, strategies: tuple[str, ...] = ("callbacks", "aiohttp_client")) -> Experiment:
    tables = (
        MemoryTable(in_flight=SIZES, site={"links": 0}),
        MemoryTable(in_flight=(400, 200), connection=("per-fetch",), site={"links": 0}),
    )
    return Experiment(name="x", strategies=strategies, rounds=rounds, seed=5, memory=tables)


def times(seconds: Mapping[int, float]) -> Answer:
    """Answer memory trials that take so long by the number in flight: those of callbacks, all others half a second."""

    def answer(trial: Trial, _calibrates: bool) -> Iterable[Row]:
        took_s = seconds.get(trial.workload.in_flight, 0.5) if trial.name == "callbacks" else 0.5
        return [edited(memory_row(held=trial.workload.in_flight), duration_ns=round(took_s * S))]

    return answer


def measure(laboratory: Laboratory, folder: Path, seconds: Mapping[int, float], rounds: int = 1) -> list[Row]:
    """Run the experiment, and return the rows of callbacks."""
    experiment = an_experiment(rounds)
    laboratory.answer = times(seconds)
    results = runs.new_folder(folder, experiment)
    runs.execute(results, experiment, runs.plan(experiment), lambda *_: None)
    return [row for row in rows.read(results) if row.arm == "callbacks"]


def skipped(many: Iterable[Row]) -> list[tuple[int, int]]:
    """Return round and number in flight of the rows that were skipped, in their order."""
    return [(row.round, row.workload.in_flight) for row in many if row.status == "skipped"]


@pytest.mark.parametrize("seed", range(5))
def test_the_sizes_of_an_arm_ascend_in_each_round_and_others_stay_shuffled(seed: int) -> None:
    experiment = replace(an_experiment(rounds=2), seed=seed)
    trials = runs.all_trials(experiment)

    for strategy in experiment.strategies:
        for number in (1, 2):
            of = [trial for trial in trials if (trial.name, trial.round) == (strategy, number)]
            for connection, sizes in (("keep-alive", sorted(SIZES)), ("per-fetch", [200, 400])):
                order = [trial.workload.in_flight for trial in of if trial.workload.connection == connection]
                assert order == sizes
    first = [trial.name for trial in trials if trial.round == 1]
    assert first != sorted(first)


def test_larger_sizes_of_a_slow_client_are_left_out_with_the_reason(laboratory: Laboratory, tmp_path: Path) -> None:
    found = measure(laboratory, tmp_path, {300: 3, 500: 13, 850: 57}, rounds=2)

    assert skipped(found) == [(1, 850), (1, 1500), (2, 850), (2, 1500)]
    assert {row.reason for row in found if row.status == "skipped"} == {WHY}
    assert {row.cause for row in found} == {None}
    assert not commands.bad_rows(found)


def test_three_sizes_are_measured_however_long_they_take(laboratory: Laboratory, tmp_path: Path) -> None:
    assert skipped(measure(laboratory, tmp_path, dict.fromkeys(SIZES, 99))) == [(1, 850), (1, 1500)]


def test_no_size_is_left_out_of_a_client_of_usual_speed(laboratory: Laboratory, tmp_path: Path) -> None:
    assert not skipped(measure(laboratory, tmp_path, dict.fromkeys(SIZES, 9.9)))


def test_a_model_that_is_expected_to_take_long_is_not_left_out() -> None:
    chosen = Experiment(
        name="x", strategies=("thread_pool",), memory=(MemoryTable(in_flight=(9000, 7000, 8000, 10_000)),)
    )
    trials = runs.all_trials(chosen)
    held = runs._HeldTimes(trials, [])

    for trial in trials:
        assert held.reasons_to_skip(trial) == {}
        held.note(trial, [edited(memory_row(), duration_ns=30 * S)])


def test_a_resumed_run_knows_what_took_long(laboratory: Laboratory, tmp_path: Path) -> None:
    experiment = an_experiment(strategies=("callbacks",))
    planned = runs.plan(experiment)
    laboratory.answer = times({500: 13})
    folder = runs.new_folder(tmp_path, experiment)
    largest = [trial for trial in planned if trial.workload.in_flight <= 500]
    runs.execute(folder, experiment, largest, lambda *_: None)

    runs.execute(folder, experiment, planned, lambda *_: None)

    assert skipped(rows.read(folder)) == [(1, 850), (1, 1500)]
