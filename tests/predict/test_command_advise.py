"""``inflight advise`` from a folder of results to its answer."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.commands import advise as advise_command
from inflight.bench.measure import host
from inflight.bench.measure.run import plan
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.plan.trials import estimate_ns
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.cli.command import call, inflight
from tests.laboratory import Answer, Laboratory, models, only_run
from tests.made_rows import edited, held_row
from tests.predict.test_advice import rows_of
from tests.runs.made_runs import saved

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
START_NS = 2e9
"""Time to start the program and the server, and to compute the advice."""
COSTS = {"callbacks": 20_000, "generators": 44_000, "native_asyncio": 90_000, "thread_pool": 60_000}


MEASURED = COSTS | {"sequential": 25_000, "process_pool": 100_000}


def costs_of(models: dict[str, int]) -> list[Row]:
    """Make a run with these costs of a page in nanoseconds, with few and with many in flight."""
    return [row for in_flight in (1, 10, 100) for row in rows_of(in_flight, models=models)]


def costs(**changes: Any) -> Answer:
    """Answer blocks with the costs, and memory with a line."""
    blocks = models(MEASURED, **changes)

    def answer(trial: Trial, calibrates: bool) -> Iterable[Row]:
        if trial.kind != "memory":
            return blocks(trial, calibrates)
        return [held_row(trial.name, trial.workload.in_flight, (16_000, 0, 0, 0))]

    return answer


@pytest.fixture(scope="module")
def machine() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(host.machine()))
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, machine: dict[str, Any]) -> Path:
    """Make a folder of results with a map of this machine, and newer ones of no use: noisy, or of another machine."""
    out = tmp_path_factory.mktemp("results")
    saved(out / "20260101T000000000Z-here-map", costs_of(COSTS), machine)
    saved(out / "20260102T000000000Z-here-part", costs_of({"callbacks": 9_000}), machine)
    saved(out / "20260104T000000000Z-there-map", costs_of(COSTS), machine | {"cpu": "Other 1"})
    noisy = [edited(row, measured={"others_share": 0.5}) for row in costs_of(COSTS)]
    saved(out / "20260104T000000000Z-here-map", noisy, machine)
    saved(out / "20260105T000000000Z-here-broken", [], machine)
    (out / "20260105T000000000Z-here-broken" / rows.ROWS_FILE).write_text("{}\n", encoding="utf-8")
    return out


def ask(out: Path, **changes: Any) -> int:
    options: dict[str, Any] = {
        "latency": "30ms", "cpu": "0", "in_flight": 100, "folder": None, "verify": False, "tls": False
    }  # fmt: skip
    return advise_command.run(**(options | {"as_json": True, "out": out} | changes))


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that asks, and returns the exit code and the answer."""

    def answer(out: Path, **changes: Any) -> tuple[int, dict[str, Any]]:
        code = ask(out, **changes)
        return code, json.loads(capsys.readouterr().out)

    return answer


def test_it_goes_by_the_newest_run_of_this_machine_that_has_all_strategies(results: Path, told: Any) -> None:
    code, found = told(results, latency="0")

    assert (code, found["advised"]["strategy"], found["alike"]) == (0, "callbacks", ["callbacks"])
    assert Path(found["run"]).name == "20260101T000000000Z-here-map"
    singles = [one["strategy"] for one in found["models"] if one["strategy"] != "process_pool"]
    assert singles == sorted(COSTS, key=COSTS.__getitem__)
    assert found["models"][0]["pages_per_s"][0] == pytest.approx(50_000, rel=0.02)


def test_a_run_of_another_machine_is_used_only_when_named_and_said(results: Path, told: Any) -> None:
    code, found = told(results, latency="0", folder=results / "20260104T000000000Z-there-map")

    assert code == 0
    assert found["machine_differs"] == [f"cpu Other 1, here {host.machine()['cpu']}"]


def test_a_run_that_came_with_the_project_is_used_only_when_named_and_with_its_age(
    laboratory: Laboratory, tmp_path: Path, machine: dict[str, Any]
) -> None:
    reference = saved(tmp_path / "reference" / "20260101T000000000Z-here-map", costs_of(COSTS), machine)
    laboratory.answer = costs()
    command = ("advise", "--latency", "0", "--in-flight", 100, "--out", tmp_path)

    named = call(*command, "--from", reference)

    assert re.search(
        rf"^From: +{re.escape(str(reference))}, measured on 02 Jan 2026 \(\d+ days? ago\)$", named.out, re.MULTILINE
    )
    assert not laboratory.asked
    first = f"No run of this machine in {tmp_path} has the CPU time per page at about 100 in flight: measuring it"
    assert call(*command).err.startswith(first)


def test_without_a_run_of_this_machine_it_measures_one_and_says_so_first(
    laboratory: Laboratory, tmp_path: Path, machine: dict[str, Any]
) -> None:
    saved(tmp_path / "20260104T000000000Z-there-map", costs_of(COSTS), machine | {"usable_cores": 99})
    laboratory.answer = costs()

    done = call("advise", "--latency", "0", "--in-flight", 60, "--json", "--out", tmp_path)

    found = json.loads(done.out)
    own = rows.read(Path(found["run"]))
    assert (done.code, found["advised"]["strategy"], found["alike"]) == (0, "callbacks", list(COSTS)[:1])
    assert found["advised"]["memory_bytes"] == pytest.approx(60 * 16_000, rel=0.01)
    first = f"No run of this machine in {tmp_path} has the CPU time per page at about 60 in flight: measuring it"
    assert done.err.startswith(first)
    assert "; this takes about " in done.err.splitlines()[0]
    blocks = [row for row in own if row.kind == "arm"]
    assert {(row.workload.in_flight, row.workload.mean_latency_ns) for row in blocks} == {(2, 0), (10, 0), (100, 0)}
    assert {row.strategy for row in blocks} == {*COSTS, "process_pool"}

    asked = len(laboratory.asked)
    again = call("advise", "--latency", "0", "--in-flight", 60, "--json", "--out", tmp_path)

    assert (again.code, json.loads(again.out)["run"], len(laboratory.asked)) == (0, found["run"], asked)


def test_verify_measures_the_advised_model_and_the_next_one_on_that_very_workload(
    laboratory: Laboratory, results: Path, tmp_path: Path
) -> None:
    laboratory.answer = costs(slower=1 / (1 - 0.3))
    command = ("advise", "--latency", "20ms", "--cpu", "100us", "--in-flight", 8, "--verify", "--out", tmp_path)
    run = results / "20260101T000000000Z-here-map"

    done = call(*command, "--from", run, "--json")

    told = json.loads(done.out)
    found, own = told["verified"], rows.read(Path(told["verified"]["folder"]))
    assert (done.code, found["holds"]) == (0, True)
    assert max(abs(model["off"]) for model in found["models"]) == pytest.approx(0.3, abs=0.002)
    assert {row.strategy for row in own} == {one["strategy"] for one in found["models"]}
    assert told["advised"]["strategy"] in {row.strategy for row in own}
    assert len(own) == 10
    assert {(row.workload.latency, row.workload.cpu, row.workload.in_flight) for row in own} == {("20ms", "100us", 8)}


def test_an_interrupted_measurement_keeps_its_rows_and_gives_no_advice(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.answer, laboratory.interrupt_at = costs(), 3

    done = call("advise", "--latency", "30ms", "--in-flight", 20, "--out", tmp_path)

    assert (done.code, done.out) == (130, "")
    assert {row.trial for row in rows.read(only_run(tmp_path))}


def test_the_command_answers_with_its_exit_code(results: Path) -> None:
    advised = call("advise", "--latency", "30ms", "--in-flight", 100, "--out", results)
    open_ = call(
        "advise", "--latency", "100us", "--in-flight", 2, "--json", "--from", results / "20260101T000000000Z-here-map"
    )

    assert advised.code == 0
    assert "use native_asyncio, one process with 100 in" in advised.out
    assert (open_.code, json.loads(open_.out)["advised"]) == (3, None)


def test_a_run_without_costs_near_the_number_in_flight_is_refused(results: Path) -> None:
    done = call("advise", "--latency", "0", "--in-flight", 900, "--from", results / "20260101T000000000Z-here-map")

    assert done.code == 2
    assert done.err.endswith("has no CPU time per page, without latency and CPU work, at about 900 in flight\n")


def test_over_https_costs_and_memory_over_tls_are_measured(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.answer = costs()

    done = call("advise", "--latency", "0", "--in-flight", 100, "--tls", "--json", "--out", tmp_path)

    found = json.loads(done.out)
    assert (done.code, found["tls"], found["advised"]["strategy"]) == (0, True, "callbacks")
    assert all(trial.workload.tls for trial in laboratory.asked)
    assert found["advised"]["memory_bytes"] == pytest.approx(1_600_000, rel=0.01)


@pytest.mark.parametrize(
    ("in_flight", "numbers", "is_sequential"), [(1, {1, 10}, True), (100, {10, 100}, False), (101, {100, 1000}, False)]
)
def test_costs_are_measured_on_both_sides_of_the_number_in_flight(
    in_flight: int, numbers: set[int], is_sequential: bool
) -> None:
    experiment = advise_command.costs(in_flight, tls=False)

    assert set(experiment.throughput[0].in_flight) == numbers
    assert ("sequential" in experiment.strategies) is is_sequential


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("in_flight", [1, 50, 100])
def test_the_announced_time_is_that_of_the_stored_runs(in_flight: int, tls: bool) -> None:
    stored = rows.read(max(REFERENCE.glob("*-costs-tls" if tls else "*-costs")))
    trials = plan(advise_command.costs(in_flight, tls=tls))
    planned = {part.id for trial in trials for part in row_trials(trial)}
    needed = [row for row in stored if row.trial in planned]
    took_ns = {row.measured.block if row.kind == "arm" else row.trial: row.duration_ns for row in needed}

    assert estimate_ns(trials) == pytest.approx(sum(took_ns.values()) + START_NS, rel=0.1)


@pytest.mark.night
def test_a_real_measurement_is_kept_and_gives_the_advice_of_its_rows(tmp_path: Path) -> None:
    words = ("--latency", "30ms", "--in-flight", 20, "--json", "--out", tmp_path)

    done = inflight("advise", *words, "--verify")

    told = json.loads(done.out)
    assert {Path(told["run"]).parent, Path(told["verified"]["folder"]).parent} == {tmp_path}
    assert {row.kind for row in rows.read(Path(told["run"]))} == {"arm", "memory"}
    assert done.code == (0 if told["verified"]["holds"] and told["advised"] else 3)
    again = json.loads(call("advise", *words, "--from", told["run"]).out)
    changed = {"verified": None, "available_bytes": 0}
    assert {**again, **changed} == {**told, **changed}
