"""``inflight claims`` from end to end, on the rows of the reference run."""

import json
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.claims.command import report_of, work_out
from inflight.bench.claims.verdicts import load
from inflight.bench.measure import interpreters
from inflight.bench.plan.trial import row_trials
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from tests.claims.cases import CLAIMS, REFERENCE
from tests.cli.command import call, inflight
from tests.laboratory import Laboratory, only_run, recorded
from tests.made_rows import FAILED

CHOSEN = ("async-not-faster", "spin-wastes", "races", "stack-ripping", "redirects-coalesce", "cancel-workers", "xkcd",
          "thread-megabytes")  # fmt: skip
"""Claims of every kind of trial and with every verdict; no limit of a machine forbids any."""


@pytest.fixture(scope="module")
def reference() -> list[Row]:
    return rows.read(REFERENCE)


@pytest.fixture
def lab(laboratory: Laboratory, reference: list[Row]) -> Laboratory:
    """Let each trial have the rows that it had in the reference run."""
    laboratory.answer = recorded(reference)
    return laboratory


def newest(folder: Path) -> Path:
    return max(folder.iterdir())


def test_claims_are_run_judged_and_written(lab: Laboratory, tmp_path: Path) -> None:
    done = call("claims", *CHOSEN, "--out", tmp_path)

    made = only_run(tmp_path)
    report, stored = load(made), {one.id: one for one in load(REFERENCE).claims}
    assert (done.code, done.err.splitlines()[0].split(",")[0]) == (0, f"{len(lab.asked)} trials to run")
    assert {one.id: one.word for one in report.claims} == {name: stored[name].word for name in CHOSEN}
    assert {one.verdict for one in report.claims} == {"true", "partly true", "not true here", "demonstration"}
    for verdict in report.claims:
        assert f"\n{verdict.id} " in done.out
    assert report.source == done.out.splitlines()[0]
    assert (report.reused, report.measured) == (0, len(rows.read(made)))
    assert f"inflight report {made}" in done.err


def test_stored_rows_are_reused_unless_fresh_ones_are_wanted_and_a_single_claim_is_explained(
    lab: Laboratory, tmp_path: Path
) -> None:
    assert call("claims", "stack-ripping", "races", "--out", tmp_path).code == 0
    first, asked = newest(tmp_path), len(lab.asked)

    again = call("claims", "stack-ripping", "--out", tmp_path)

    assert (again.code, len(lab.asked)) == (0, asked)
    assert again.err.startswith("0 trials to run, about 0 s\n5 rows of earlier runs are reused")
    assert {row.run for row in rows.read(newest(tmp_path))} == {first.name}
    assert "traceback lacks the starter" in again.out
    assert again.out.count("Traceback") == 2

    fresh = call("claims", "stack-ripping", "--fresh", "--json", "--out", tmp_path)

    told: dict[str, Any] = json.loads(fresh.out)
    assert [(claim["id"], claim["verdict"]) for claim in told["claims"]] == [("stack-ripping", "true")]
    assert Path(told["folder"]) == newest(tmp_path)
    assert newest(tmp_path).name.endswith("-stack-ripping-claim")
    assert "are reused" not in fresh.err
    assert {row.run for row in rows.read(newest(tmp_path))} == {newest(tmp_path).name}
    assert len(lab.asked) == asked + len(rows.read(newest(tmp_path)))


@pytest.mark.parametrize(
    ("changes", "code", "verdict", "told"),
    [
        ({"checks": (FAILED,)}, 0, "not tested", ""),
        ({"status": "failed", "reason": "it broke"}, 1, "not tested", "could not be tested: races"),
        ({"status": "skipped", "reason": "for want of it", "cause": "not installed"}, 0, "not tested", ""),
    ],
    ids=["invalid", "failed", "skipped"],
)
def test_rows_that_are_not_valid_decide_nothing(
    lab: Laboratory, reference: list[Row], tmp_path: Path, changes: dict[str, Any], code: int, verdict: str, told: str
) -> None:
    lab.answer = recorded([changed(row, **changes) for row in reference if row.kind == "probe"])

    done = call("claims", "races", "--out", tmp_path)

    (found,) = load(only_run(tmp_path)).claims
    assert (done.code, found.verdict) == (code, verdict)
    assert done.err.endswith(f"{told}\n")


def test_ctrl_c_keeps_the_rows_for_the_next_run(lab: Laboratory, tmp_path: Path) -> None:
    command, lab.interrupt_at = ("claims", "stack-ripping", "races", "--out", tmp_path), 5

    stopped = call(*command)

    assert (stopped.code, stopped.out) == (130, "")
    assert stopped.err.startswith("20 trials to run")
    assert stopped.err.splitlines()[-1] == (
        f"interrupted; rows kept in {only_run(tmp_path)}: 4; the same command without --fresh uses them again"
    )
    assert len(rows.read(only_run(tmp_path))) == 4
    lab.interrupt_at = 0
    again = call(*command)
    assert again.err.startswith("16 trials to run")
    assert (again.code, len(lab.asked)) == (0, 5 + 16)


def test_without_an_interpreter_no_gil_is_not_tested(
    lab: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "on_this_machine", list)

    done = call("claims", "no-gil", "--out", tmp_path)

    (verdict,) = load(only_run(tmp_path)).claims
    assert (done.code, verdict.verdict, lab.asked) == (0, "not tested", [])
    assert {(row.status, row.cause) for row in rows.read(only_run(tmp_path))} == {("skipped", "no interpreter")}
    assert "needs a free-threaded interpreter, such as python3.14t; give it with --python" in verdict.why


@pytest.mark.night
def test_the_verdicts_of_a_real_run_are_those_of_its_rows(tmp_path: Path) -> None:
    done = inflight("claims", "--quick", "--out", tmp_path)

    folder = only_run(tmp_path)
    report = load(folder)
    needed = work_out(sorted(CLAIMS.values(), key=lambda claim: claim.file.order), quick=True)
    assert report_of(folder, needed, report.reused) == report
    assert {row.trial for row in rows.read(folder)} == {
        part.id for trial in needed.trials.values() for part in row_trials(trial)
    }
    assert done.code == ("could not be tested" in done.err)
    for one in report.claims:
        assert f"\n{one.id} " in done.out


FREE_THREADED = next((one.executable for one in interpreters.on_this_machine() if one.free_threaded), None)

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


@pytest.mark.night
@pytest.mark.skipif(FREE_THREADED is None, reason="there is no free-threaded interpreter")
def test_one_interpreter_is_measured_with_and_without_its_lock(tmp_path: Path) -> None:
    (tmp_path / "lock.toml").write_text(TWO_BLOCKS, encoding="utf-8")

    done = inflight("run", tmp_path / "lock.toml", "--out", tmp_path / "out")

    assert done.code == 0, done.err
    found = rows.read(only_run(tmp_path / "out"))
    assert [row.reason for row in found if row.status != "ok"] == []
    locks = {(row.workload.arm.variables["PYTHON_GIL"], row.knobs.gil) for row in found}
    assert locks == {("0", False), ("1", True)}


# What is planned


def test_list_runs_nothing(lab: Laboratory, tmp_path: Path) -> None:
    done = call("claims", "--dry-run", "--quick", "--out", tmp_path / "out")
    told = json.loads(call("claims", "races", "c10k", "--quick", "--dry-run", "--json").out)

    assert (done.code, lab.asked) == (0, [])
    assert "c10k                   not part of --quick" in done.out
    assert not (tmp_path / "out").exists()
    (races,) = told["claims"]
    assert (races["id"], told["left_out"]) == ("races", ["c10k"])
    assert races["estimated_s"] > 0


MY_CLIENT = '''"""A client of a reader."""

STACK = "own"
REQUIRES = ()


def crawl(job, frontier):
    raise NotImplementedError
'''


def test_another_client_is_planned_beside_those_of_the_claim(tmp_path: Path) -> None:
    (tmp_path / "my_client.py").write_text(MY_CLIENT, encoding="utf-8")
    listed = [
        call("claims", "client-collapse", "--dry-run", *more)
        for more in ((), ("--strategy", "callbacks"), ("--strategy", tmp_path / "my_client.py"))
    ]

    assert [done.err.split()[:2] for done in listed] == [["24", "trials,"], ["36", "trials,"], ["36", "trials,"]]
