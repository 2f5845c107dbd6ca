"""``inflight claims`` from end to end."""

import json
from pathlib import Path
from typing import Any

import pytest

from inflight import strategies
from inflight.bench.core import rows
from inflight.bench.core.plan import estimate_ns
from inflight.bench.measure import interpreters
from inflight.bench.studies import claims
from inflight.bench.studies.claims.command import estimated_ns, work_out
from inflight.bench.studies.claims.verdicts import load
from tests.cli.command import Done, inflight, running

CHOSEN = ("redirects-coalesce", "stack-ripping")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("claims")


@pytest.fixture(scope="module")
def first(folder: Path) -> Done:
    return inflight("claims", *CHOSEN, "--quick", "--out", folder, calm=True)


def newest(folder: Path) -> Path:
    return max(folder.iterdir())


def test_claims_are_run_judged_and_written(first: Done, folder: Path) -> None:
    assert first.code == 0, first.err
    made = newest(folder)
    report = load(made)

    assert {verdict.id for verdict in report.claims} == set(CHOSEN)
    for verdict in report.claims:
        assert verdict.verdict == "holds", (verdict, first.err)
        assert verdict.word == ("shown here" if verdict.id == "redirects-coalesce" else "holds")
        assert f"\n{verdict.id} " in first.out
    assert "## " not in (made / "claims.md").read_text(encoding="utf-8")
    assert (made / "plots" / "claims.png").is_file()
    assert report.source == first.out.splitlines()[0]
    assert report.trials.reused == 0
    assert report.trials.measured == len(rows.read(made))


def test_stored_rows_are_reused_and_a_single_claim_is_explained(first: Done, folder: Path) -> None:
    before = newest(folder)

    again = inflight("claims", "stack-ripping", "--quick", "--out", folder, calm=True)

    assert again.code == 0, again.err
    assert before.name in again.err
    assert again.err.startswith("0 trials to run")
    found = rows.read(newest(folder))
    assert found
    assert {row.run for row in found} == {before.name}
    assert "Rule: traceback lacks" in again.out
    assert any("Traceback" in line and " | " in line for line in again.out.splitlines())


def test_fresh_measures_again_and_json_is_the_only_output(first: Done, folder: Path) -> None:
    done = inflight("claims", "stack-ripping", "--quick", "--fresh", "--json", "--out", folder)

    told: dict[str, Any] = json.loads(done.out)
    assert [claim["id"] for claim in told["claims"]] == ["stack-ripping"]
    assert Path(told["folder"]) == newest(folder)
    assert "rows are reused" not in done.err
    assert {row.run for row in rows.read(newest(folder))} == {newest(folder).name}


FREE_THREADED = next((one.executable for one in interpreters.on_this_machine() if one.free_threaded), None)


@pytest.mark.skipif(FREE_THREADED is not None, reason="there is a free-threaded interpreter")
def test_without_an_interpreter_no_gil_is_not_tested(tmp_path: Path) -> None:
    done = inflight("claims", "no-gil", "--out", tmp_path)

    assert done.code == 0
    (verdict,) = load(newest(tmp_path)).claims
    assert verdict.verdict == "not tested"
    assert {(row.status, row.cause) for row in rows.read(newest(tmp_path))} == {("skipped", "no interpreter")}
    assert verdict.reason.count("needs a free-threaded interpreter, such as python3.14t; give it with --python") == 1


TWO_BLOCKS = """
rounds = 2
strategies = ["thread_pool"]
[[throughput]]
cycles = 4
in_flight = [10]
python = "free-threaded"
variables = { PYTHON_GIL = "0" }
against = { variables = { PYTHON_GIL = "1" } }
"""


@pytest.mark.slow
@pytest.mark.skipif(FREE_THREADED is None, reason="there is no free-threaded interpreter")
def test_one_interpreter_is_measured_with_and_without_its_lock(tmp_path: Path) -> None:
    (tmp_path / "lock.toml").write_text(TWO_BLOCKS, encoding="utf-8")

    done = inflight("run", tmp_path / "lock.toml", "--out", tmp_path / "out")

    assert done.code == 0, done.err
    found = rows.read(newest(tmp_path / "out"))
    assert [row.reason for row in found if row.status != "ok"] == []
    locks = {(row.workload.arm.variables["PYTHON_GIL"], row.knobs.gil) for row in found}
    assert locks == {("0", False), ("1", True)}


def test_list_runs_nothing(tmp_path: Path) -> None:
    done = inflight("claims", "--list", "--quick", "--out", tmp_path / "out")

    assert done.code == 0
    assert "c10k                   not part of --quick" in done.out
    assert not (tmp_path / "out").exists()


def test_list_as_json_has_the_claims_and_their_times() -> None:
    told = json.loads(inflight("claims", "races", "c10k", "--quick", "--list", "--json").out)

    (races,) = told["claims"]
    assert (races["id"], told["left_out"]) == ("races", ["c10k"])
    assert races["estimated_s"] > 0


MY_CLIENT = '''"""A client of a reader."""

STACK = "own"
REQUIRES = ()


def crawl(job, frontier):
    raise NotImplementedError
'''


def test_another_client_is_planned_beside_those_of_the_claim() -> None:
    alone = inflight("claims", "client-collapse", "--list")
    more = inflight("claims", "client-collapse", "--list", "--strategy", "callbacks")

    assert [done.err.split()[:2] for done in (alone, more)] == [["24", "trials,"], ["36", "trials,"]]


def test_the_estimate_has_the_time_of_a_slow_client() -> None:
    slow = claims.load("client-collapse", strategies.names())
    needed = work_out([slow, claims.load("races", strategies.names())], quick=False)

    beyond_ns = [
        estimated_ns(needed.experiments, trials) - estimate_ns(trials)
        for trials in (list(needed.trials.values()), [one for one in needed.trials.values() if one.kind == "probe"])
    ]

    assert slow.file.slow_s > 0
    assert beyond_ns == [slow.file.slow_s * 1_000_000_000, 0]


def test_a_client_in_a_file_is_measured_beside_those_of_the_claim(tmp_path: Path) -> None:
    (tmp_path / "my_client.py").write_text(MY_CLIENT, encoding="utf-8")

    done = inflight("claims", "client-collapse", "--list", "--strategy", tmp_path / "my_client.py")

    assert done.code == 0, done.err
    assert done.err.startswith("36 trials,")


def test_ctrl_c_keeps_the_rows_for_the_next_run(tmp_path: Path) -> None:
    command = ("claims", "stack-ripping", "races", "--quick", "--out", tmp_path)
    with running(*command) as started:
        assert "10 trials to run" in started.read_error_line()
        assert "1/10" in started.read_error_line()
        started.interrupt()
        done = started.end()

    assert done.code == 130
    assert done.err.splitlines()[-1].endswith("; the same command without --fresh uses them again")
    kept = len(rows.read(newest(tmp_path)))
    assert 1 <= kept < 10
    again = inflight(*command)
    assert f"{10 - kept} trials to run" in again.err
    assert again.code == 0
