"""``inflight claims`` from end to end, on the rows of the reference run."""

import json
from pathlib import Path
from typing import Any

import pytest

from inflight import strategies
from inflight.bench.measure import interpreters
from inflight.bench.plan.trials import estimate_ns, row_trials
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.studies import claims
from inflight.bench.studies.claims import plot
from inflight.bench.studies.claims.command import estimated_ns, judge, work_out
from inflight.bench.studies.claims.verdicts import load
from tests.cli.command import call, inflight
from tests.laboratory import Laboratory, only_run, recorded
from tests.made_rows import FAILED

(REFERENCE,) = (Path(__file__).parents[2] / "results" / "reference").glob("*-claims")
CHOSEN = ("async-not-faster", "spin-wastes", "races", "stack-ripping", "redirects-coalesce", "cancel-workers", "xkcd",
          "thread-megabytes")  # fmt: skip
"""Claims of every kind of trial and with every answer that their rows can give; no limit of a machine forbids any."""


@pytest.fixture(scope="module")
def reference() -> list[Row]:
    return rows.read(REFERENCE)


@pytest.fixture
def lab(laboratory: Laboratory, reference: list[Row]) -> Laboratory:
    """Let each trial have the rows that it had in the reference run."""
    laboratory.answer = recorded(reference)
    return laboratory


@pytest.fixture
def _no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot, "save_claims", lambda *_: [])


def newest(folder: Path) -> Path:
    return max(folder.iterdir())


def test_the_rows_of_the_reference_run_have_the_verdicts_that_are_stored_with_them(
    reference: list[Row],
) -> None:
    stored = load(REFERENCE).claims
    needed = work_out([claims.load(one.id, strategies.names()) for one in stored], quick=False)

    found = {verdict.id: verdict for verdict, _ in judge(needed, reference)}

    assert {one.id: (one.verdict, one.close) for one in stored} == {
        name: (verdict.verdict, verdict.close) for name, verdict in found.items()
    }
    for one in stored:
        own = found[one.id].values
        assert {name: value for name, value in own.items() if not name.endswith("_text")} == pytest.approx(
            {name: value for name, value in one.values.items() if not name.endswith("_text")}
        )


def test_claims_are_run_judged_and_written(lab: Laboratory, tmp_path: Path) -> None:
    done = call("claims", *CHOSEN, "--out", tmp_path)

    made = only_run(tmp_path)
    report, stored = load(made), {one.id: one for one in load(REFERENCE).claims}
    assert (done.code, done.err.splitlines()[0].split(",")[0]) == (0, f"{len(lab.asked)} trials to run")
    assert {one.id: (one.verdict, one.close) for one in report.claims} == {
        name: (stored[name].verdict, stored[name].close) for name in CHOSEN
    }
    assert {one.verdict for one in report.claims} == {"holds", "holds differently", "does not hold here"}
    for verdict in report.claims:
        assert f"\n{verdict.id} " in done.out
    assert "## " not in (made / "claims.md").read_text(encoding="utf-8")
    assert (made / "plots" / "claims.png").is_file()
    assert report.source == done.out.splitlines()[0]
    assert (report.trials.reused, report.trials.measured) == (0, len(rows.read(made)))


@pytest.mark.usefixtures("_no_plots")
def test_stored_rows_are_reused_unless_fresh_ones_are_wanted_and_a_single_claim_is_explained(
    lab: Laboratory, tmp_path: Path
) -> None:
    assert call("claims", "stack-ripping", "races", "--out", tmp_path).code == 0
    first, asked = newest(tmp_path), len(lab.asked)

    again = call("claims", "stack-ripping", "--out", tmp_path)

    assert (again.code, len(lab.asked)) == (0, asked)
    assert again.err.startswith("0 trials to run")
    assert first.name in again.err
    assert {row.run for row in rows.read(newest(tmp_path))} == {first.name}
    assert "Rule: traceback lacks" in again.out
    assert any("Traceback" in line and " | " in line for line in again.out.splitlines())

    fresh = call("claims", "stack-ripping", "--fresh", "--json", "--out", tmp_path)

    told: dict[str, Any] = json.loads(fresh.out)
    assert [(claim["id"], claim["verdict"]) for claim in told["claims"]] == [("stack-ripping", "holds")]
    assert Path(told["folder"]) == newest(tmp_path)
    assert "rows are reused" not in fresh.err
    assert {row.run for row in rows.read(newest(tmp_path))} == {newest(tmp_path).name}
    assert len(lab.asked) == asked + len(rows.read(newest(tmp_path)))


@pytest.mark.usefixtures("_no_plots")
@pytest.mark.parametrize(
    ("changes", "code", "verdict", "told"),
    [
        ({"checks": (FAILED,)}, 0, "inconclusive", ""),
        ({"status": "failed", "reason": "it broke"}, 1, "inconclusive", "could not be tested: races"),
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


@pytest.mark.usefixtures("_no_plots")
def test_the_opposite_figures_have_the_opposite_verdict(lab: Laboratory, reference: list[Row], tmp_path: Path) -> None:
    """Rows of the race with no duplicate in threads, and many between coroutines."""
    opposite = {"threads": "coroutines", "coroutines": "threads"}
    probes = [row for row in reference if row.kind == "probe"]
    by_model = {(row.workload.arguments.get("model"), row.round): row for row in probes if row.strategy == "races"}
    lab.answer = recorded(
        [
            changed(row, measured=by_model[opposite[model], row.round].measured) if model in opposite else row
            for (model, _), row in by_model.items()
        ]
    )

    done = call("claims", "races", "--out", tmp_path)

    assert (done.code, load(only_run(tmp_path)).claims[0].verdict) == (0, "does not hold here")


@pytest.mark.usefixtures("_no_plots")
def test_ctrl_c_keeps_the_rows_for_the_next_run(lab: Laboratory, tmp_path: Path) -> None:
    command, lab.interrupt_at = ("claims", "stack-ripping", "races", "--out", tmp_path), 5

    stopped = call(*command)

    assert (stopped.code, stopped.out) == (130, "")
    assert stopped.err.startswith("20 trials to run")
    assert stopped.err.splitlines()[-1] == (
        f"interrupted; finished rows are kept in {only_run(tmp_path)}; the same command without --fresh uses them again"
    )
    assert len(rows.read(only_run(tmp_path))) == 4
    lab.interrupt_at = 0
    again = call(*command)
    assert again.err.startswith("16 trials to run")
    assert (again.code, len(lab.asked)) == (0, 5 + 16)


@pytest.mark.usefixtures("_no_plots")
def test_without_an_interpreter_no_gil_is_not_tested(
    lab: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "on_this_machine", list)

    done = call("claims", "no-gil", "--out", tmp_path)

    (verdict,) = load(only_run(tmp_path)).claims
    assert (done.code, verdict.verdict, lab.asked) == (0, "not tested", [])
    assert {(row.status, row.cause) for row in rows.read(only_run(tmp_path))} == {("skipped", "no interpreter")}
    assert verdict.reason.count("needs a free-threaded interpreter, such as python3.14t; give it with --python") == 1


@pytest.mark.night
def test_the_verdicts_of_a_real_run_are_those_of_its_rows(tmp_path: Path) -> None:
    done = inflight("claims", "--quick", "--out", tmp_path)

    folder = only_run(tmp_path)
    found, report = rows.read(folder), load(folder)
    needed = work_out([claims.load(one, strategies.names()) for one in claims.ids()], quick=True)
    again = {verdict.id: verdict.verdict for verdict, _ in judge(needed, found)}
    assert again == {one.id: one.verdict for one in report.claims}
    assert {row.trial for row in found} == {part.id for trial in needed.trials.values() for part in row_trials(trial)}
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
    done = call("claims", "--list", "--quick", "--out", tmp_path / "out")
    told = json.loads(call("claims", "races", "c10k", "--quick", "--list", "--json").out)

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
        call("claims", "client-collapse", "--list", *more)
        for more in ((), ("--strategy", "callbacks"), ("--strategy", tmp_path / "my_client.py"))
    ]

    assert [done.err.split()[:2] for done in listed] == [["24", "trials,"], ["36", "trials,"], ["36", "trials,"]]


def test_the_estimate_has_the_time_of_a_slow_client() -> None:
    slow = claims.load("client-collapse", strategies.names())
    needed = work_out([slow, claims.load("races", strategies.names())], quick=False)

    beyond_ns = [
        estimated_ns(needed.experiments, trials) - estimate_ns(trials)
        for trials in (list(needed.trials.values()), [one for one in needed.trials.values() if one.kind == "probe"])
    ]

    assert slow.file.slow_s > 0
    assert beyond_ns == [slow.file.slow_s * 1_000_000_000, 0]
