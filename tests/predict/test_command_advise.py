"""``inflight advise`` from a folder of results to its answer."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.commands import advise as advise_command
from inflight.bench.measure import host
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.cli.command import call, inflight
from tests.laboratory import Laboratory, models, only_run
from tests.made_rows import edited
from tests.predict.test_advice import rows_of
from tests.runs.made_runs import saved

COSTS = {"callbacks": 20_000, "generators": 44_000, "native_asyncio": 90_000, "thread_pool": 60_000}


def costs_of(models: dict[str, int]) -> list[Row]:
    """Make a run with these costs of a page in nanoseconds, with few and with many in flight."""
    return [row for in_flight in (1, 10, 100) for row in rows_of(in_flight, models=models)]


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
    options: dict[str, Any] = {"latency": "30ms", "cpu": "0", "in_flight": 100, "folder": None, "verify": False}
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

    assert (code, found["advised"], found["alike"]) == (0, "callbacks", ["callbacks"])
    assert Path(found["run"]).name == "20260101T000000000Z-here-map"
    assert [one["strategy"] for one in found["models"]] == ["callbacks", "generators", "thread_pool", "native_asyncio"]
    assert found["models"][0]["pages_per_s"][0] == pytest.approx(50_000, rel=0.02)
    assert found["left_out"] == {"sequential": "never has more than 1 in flight"}


def test_a_run_of_another_machine_is_used_only_when_named_and_said(results: Path, told: Any) -> None:
    code, found = told(results, latency="0", folder=results / "20260104T000000000Z-there-map")

    assert code == 0
    assert found["machine_differs"] == [f"cpu Other 1, here {host.machine()['cpu']}"]


def test_a_run_that_came_with_the_project_is_used_only_when_named_and_with_its_age(
    laboratory: Laboratory, tmp_path: Path, machine: dict[str, Any]
) -> None:
    reference = saved(tmp_path / "reference" / "20260101T000000000Z-here-map", costs_of(COSTS), machine)
    laboratory.answer = models(COSTS | {"sequential": 25_000})
    command = ("advise", "--latency", "0", "--in-flight", 100, "--out", tmp_path)

    named = call(*command, "--from", reference)

    assert re.search(
        rf"^From: +{re.escape(str(reference))}, measured on 02 Jan 2026 \(\d+ days? ago\)$", named.out, re.MULTILINE
    )
    assert not laboratory.asked
    assert call(*command).err.startswith(f"No run of this machine in {tmp_path} has the CPU time per page: measuring ")


def test_without_a_run_of_this_machine_it_measures_one_and_says_so_first(
    laboratory: Laboratory, tmp_path: Path, machine: dict[str, Any]
) -> None:
    saved(tmp_path / "20260104T000000000Z-there-map", costs_of(COSTS), machine | {"usable_cores": 99})
    laboratory.answer = models(COSTS | {"sequential": 25_000})

    done = call("advise", "--latency", "0", "--in-flight", 60, "--json", "--out", tmp_path)

    found = json.loads(done.out)
    own = rows.read(Path(found["run"]))
    assert (done.code, found["advised"], found["alike"]) == (0, "callbacks", list(COSTS)[:1])
    assert done.err.startswith(f"No run of this machine in {tmp_path} has the CPU time per page: measuring it with 60 ")
    assert "; this takes about " in done.err.splitlines()[0]
    assert {(row.kind, row.workload.in_flight, row.workload.mean_latency_ns) for row in own} == {("arm", 60, 0)}
    assert {row.arm for row in own} == {*COSTS, "callbacks again"}
    assert {row.round for row in own} == {1, 2, 3, 4, 5}

    asked = len(laboratory.asked)
    again = call("advise", "--latency", "0", "--in-flight", 60, "--json", "--out", tmp_path)

    assert (again.code, json.loads(again.out)["run"], len(laboratory.asked)) == (0, found["run"], asked)


def test_verify_measures_the_advised_model_and_the_next_one_on_that_very_workload(
    laboratory: Laboratory, results: Path, tmp_path: Path
) -> None:
    laboratory.answer = models(COSTS, slower=1 / (1 - 0.3))
    command = ("advise", "--latency", "20ms", "--cpu", "100us", "--in-flight", 8, "--verify", "--out", tmp_path)
    run = results / "20260101T000000000Z-here-map"

    done = call(*command, "--from", run, "--json")

    told = json.loads(done.out)
    found, own = told["verified"], rows.read(Path(told["verified"]["folder"]))
    assert (done.code, found["holds"]) == (0, True)
    assert found["off"] == pytest.approx(0.3, abs=0.002)
    assert {row.strategy for row in own} == {one["strategy"] for one in found["models"]}
    assert told["advised"] in {row.strategy for row in own}
    assert len(own) == 10
    assert {(row.workload.latency, row.workload.cpu, row.workload.in_flight) for row in own} == {("20ms", "100us", 8)}


def test_an_interrupted_measurement_keeps_its_rows_and_gives_no_advice(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.answer, laboratory.interrupt_at = models(COSTS | {"sequential": 25_000}), 3

    done = call("advise", "--latency", "30ms", "--in-flight", 20, "--out", tmp_path)

    assert (done.code, done.out) == (130, "")
    assert {row.round for row in rows.read(only_run(tmp_path))} == {1, 2}


def test_the_command_answers_with_its_exit_code(results: Path) -> None:
    advised = call("advise", "--latency", "30ms", "--in-flight", 100, "--out", results)
    open_ = call(
        "advise", "--latency", "100us", "--in-flight", 1, "--json", "--from", results / "20260102T000000000Z-here-part"
    )

    assert (advised.code, advised.out.split()[0]) == (0, "Use")
    assert (open_.code, json.loads(open_.out)["advised"]) == (3, None)


@pytest.mark.night
def test_a_real_measurement_is_kept_and_gives_the_advice_of_its_rows(tmp_path: Path) -> None:
    words = ("--latency", "30ms", "--in-flight", 20, "--json", "--out", tmp_path)

    done = inflight("advise", *words, "--verify")

    told = json.loads(done.out)
    assert {Path(told["run"]).parent, Path(told["verified"]["folder"]).parent} == {tmp_path}
    assert {row.kind for row in rows.read(Path(told["run"]))} == {"arm"}
    assert told["run_in_flight"] == 20
    assert done.code == (0 if told["verified"]["holds"] and told["advised"] else 3)
    again = json.loads(call("advise", *words, "--from", told["run"]).out)
    assert {**again, "verified": None} == {**told, "verified": None}
