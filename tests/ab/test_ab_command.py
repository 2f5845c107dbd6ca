"""``inflight ab`` from end to end, on recorded and made blocks: verdict, exit code, looks, rows and files."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from scipy.stats import t as student

from inflight import strategies
from inflight.bench.ab import command as ab
from inflight.bench.ab import decide as deciding
from inflight.bench.ab.command import EXITS, conclude
from inflight.bench.ab.decide import Result
from inflight.bench.ab.rule import DESIGNED
from inflight.bench.commands.run import time_s
from inflight.bench.frame import blocks as read
from inflight.bench.measure import host
from inflight.bench.measure.run import RunError, new_folder
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.comparison import from_words
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Check, Row
from inflight.bench.rows.records import changed
from inflight.bench.show import pictures
from tests.ab.repositories import commit, new_repository, slow_down, with_mine
from tests.ab.test_decide import noise
from tests.cli.command import await_end, call, inflight, running
from tests.laboratory import Laboratory, only_run, sides
from tests.made_blocks import TIMED, block, blocks, lost, series
from tests.patience import FOREVER_S

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
CPU = ("--metric", "cpu_per_page")
FIVE = math.log(1.05)
"""The change that a pass rules out, as docs/ci.md promises it."""
pytestmark = pytest.mark.usefixtures("scratch")


@pytest.fixture
def _no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "save", lambda *_: [])


def stored(out: Path) -> dict[str, Any]:
    """Return the verdict in the only folder of results."""
    found: dict[str, Any] = json.loads((only_run(out) / "verdict.json").read_text(encoding="utf-8"))
    return found


def repeating(mean: float, sd: float) -> Callable[[Trial], dict[str, Any]]:
    """Return blocks whose twelve values of CPU time, with this mean and SD, come again and again."""
    values = noise(12, mean, sd)
    return lambda trial: {"cpu": values[(trial.round - 1) % 12]}


def always(**options: Any) -> Callable[[Trial], dict[str, Any]]:
    return lambda _trial: options


@dataclass(frozen=True)
class Ends:
    """How a comparison must end: its verdict, the good blocks that it needed, and what it says of the reason."""

    verdict: Literal["regression", "pass", "inconclusive"]
    blocks: int
    why: str


UPPER_AT_12 = float(student.ppf(1 - 0.001, 11)) / math.sqrt(12)
"""The upper bound of a pass at the first look is so many SDs above the mean: 1 % is divided 1 : 3 : 6."""
MANY: dict[str, tuple[Callable[[Trial], Mapping[str, Any]], float, Ends]] = {
    # name: (options of each block, more memory in B, the end)
    "all alike": (always(), 0.0, Ends("pass", 12, "B is not more than 5.0 % worse")),
    "less throughput": (always(throughput=0.1), 0.0, Ends("regression", 12, "throughput -9.4 %")),
    "more memory": (always(), 0.1, Ends("regression", 12, "user memory per fetch +10.0 %")),
    "a moved control": (always(placebo=0.05), 0.0, Ends("inconclusive", 48, "a control moved: placebo CPU per page")),
    "a failing B": (always(failed="B"), 0.0, Ends("regression", 0, "B failed in 3 of 3 blocks, A in none")),
    "a busy machine": (
        always(invalid=True),
        0.0,
        Ends("inconclusive", 0, "24 of 24 blocks were left out: no hole"),
    ),
    "a B that fails once": (
        lambda trial: {"failed": "B"} if trial.round == 5 else {},
        0.0,
        Ends("pass", 24, "B is not more than 5.0 % worse"),
    ),
}


@pytest.mark.usefixtures("_no_plots")
@pytest.mark.parametrize("name", MANY)
def test_every_metric_control_and_failure_counts(laboratory: Laboratory, tmp_path: Path, name: str) -> None:
    options, memory, ends = MANY[name]
    varied = noise(48, 0.0, 0.004)

    def made(trial: Trial) -> dict[str, Any]:
        moved = varied[trial.round - 1]
        own = {key: value + moved if isinstance(value, float) else value for key, value in options(trial).items()}
        return {"cpu": moved, "throughput": moved} | own

    laboratory.answer = sides(made, memory)

    done = call("ab", "callbacks", "generators", "--out", tmp_path / "out")

    verdict, found = stored(tmp_path / "out"), rows.read(only_run(tmp_path / "out"))
    assert (verdict["verdict"], verdict["blocks"], done.code) == (ends.verdict, ends.blocks, EXITS[ends.verdict])
    assert ends.why in verdict["why"]
    without_values = sum(verdict["failed"].values()) + verdict["dropped"]
    assert [row.kind for row in found].count("arm") == 3 * (ends.blocks + without_values)
    assert [row.kind for row in found].count("memory") == 4 * (min(12, ends.blocks) + without_values)


def test_rows_verdict_summary_and_plots_are_kept_and_nothing_else(
    laboratory: Laboratory, tmp_path: Path, scratch: Path
) -> None:
    laboratory.answer = sides(repeating(0.0, 0.02))
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n", encoding="utf-8")

    done = call("ab", "callbacks", "callbacks", *CPU, "--json", "--markdown", "summary.md", folder=tmp_path)

    folder = only_run(tmp_path / "results")
    verdict, found = json.loads(done.out), rows.read(folder)
    written = (folder / "verdict.md").read_text(encoding="utf-8")
    assert verdict == stored(tmp_path / "results")
    assert verdict["folder"] == str(folder.relative_to(tmp_path))
    assert set(verdict["effects"]) == {"cpu_per_page"}
    assert summary.read_text(encoding="utf-8") == "# Before\n" + written
    assert "inflight: pass" in written
    assert [(row.round, row.arm, row.run) for row in found] == [
        (number, arm, folder.name) for number in range(1, 13) for arm in ("A", "B", "A again")
    ]
    assert done.err.startswith("A: callbacks\nB: callbacks\n")
    assert "\nblock 12  CPU per page " in done.err
    assert {path.name for path in (folder / "plots").iterdir()} == {"comparison.png", "comparison.svg"}
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("folder", sorted((REFERENCE.parent / "decisions").iterdir()), ids=lambda path: path.name)
def test_the_blocks_of_every_stored_decision_decide_as_they_did(folder: Path) -> None:
    found = read.comparisons(rows.read(folder))
    lines = [json.loads(line) for line in (folder / "decisions.jsonl").read_text("utf-8").splitlines()]

    assert len(lines) >= 20
    for was in lines:
        now = deciding.decided(found[was["name"]], DESIGNED)
        assert (now.verdict, now.blocks, now.final) == (was["verdict"], was["blocks"], True), was["name"]


# Refusals


def test_a_side_that_cannot_do_the_work_is_refused_by_name(
    laboratory: Laboratory, tmp_path: Path, scratch: Path
) -> None:
    invalid = Check("requests counted alike", "failed", "1 of 2")
    cannot: dict[str, list[Row]] = {
        "A, callbacks: it broke": block(failed="A"),
        "B, generators: it broke": block(failed="B"),
        "A, callbacks: requests counted alike: 1 of 2": [changed(row, checks=(invalid,)) for row in block()],
        "the fake server died in mid-block": lost(1),
    }
    for why, found in cannot.items():
        laboratory.answer = lambda _trial, _calibrates, found=found: found  # type: ignore[misc]

        done = call("ab", "callbacks", "generators", *CPU, "--quiet", "--out", tmp_path / "out")

        assert done.sentence == f"nothing to compare: {why}"
    assert not (tmp_path / "out").exists()
    assert list(scratch.iterdir()) == []


def test_a_budget_that_is_too_short_is_refused_with_a_sufficient_one(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.answer = sides(always())

    done = call("ab", "callbacks", "callbacks", "--cycles", 2, "--budget", "1s", "--quiet", "--out", tmp_path / "out")

    assert done.sentence == (
        "--budget 1s is too short: 12 blocks take about 78 s here; try --budget 90s, or fewer metrics (--metric)"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("_no_plots")
def test_a_budget_sets_the_looks_and_ends_a_run_that_takes_half_as_long_again(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    at_once = sides(repeating(0.0, 0.001 + FIVE / UPPER_AT_12))
    laboratory.answer = at_once
    assert call("ab", "callbacks", "callbacks", *CPU, "--budget", "72s", "--out", tmp_path / "in time").code == 0
    assert (stored(tmp_path / "in time")["looks"], stored(tmp_path / "in time")["blocks"]) == ([12, 24], 24)

    laboratory.answer = lambda trial, calibrates: (
        at_once(trial, calibrates)
        if calibrates
        else [changed(row, duration_ns=10**10) for row in at_once(trial, False)]
    )
    done = call("ab", "callbacks", "callbacks", *CPU, "--budget", "72s", "--out", tmp_path / "late")
    assert (done.code, stored(tmp_path / "late")["blocks"]) == (3, 11)
    assert stored(tmp_path / "late")["why"] == ("blocks took longer than 1.5 times the budget; try --budget 130s")


def test_results_that_cannot_be_written_are_one_sentence(laboratory: Laboratory, tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    sentence = call("ab", "callbacks", "callbacks", "--out", tmp_path / "file" / "place").sentence

    assert sentence.startswith(f"cannot write results to {tmp_path / 'file' / 'place'}; ")
    assert laboratory.asked == []
    assert list(scratch.iterdir()) == []


@pytest.mark.usefixtures("_no_plots")
def test_settings_of_a_side_reach_its_arm(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.answer = sides(repeating(0.0, 0.02))
    given = ("--in-flight", "7", "--env", "X=1", "--env", "Y=2", "--b", "in_flight=8", "--b", "env=Y=3")

    done = call("ab", "callbacks", *given, *CPU, "--out", tmp_path)

    arms = {arm.name: (arm.in_flight, arm.variables) for arm in laboratory.asked[-1].arms}
    assert done.code == 0
    assert arms["A"] == arms["A again"] == (7, {"X": "1", "Y": "2"})
    assert arms["B"] == (8, {"X": "1", "Y": "3"})


def test_throughput_is_not_gated_if_only_one_side_fills_its_core(laboratory: Laboratory) -> None:
    full, waiting = block(latency="50ms", share=0.9), block(latency="50ms", share=0.2)
    for b, gated in ((waiting[1], ("cpu_per_page",)), (full[1], TIMED)):
        laboratory.answer = lambda _trial, _calibrates, b=b: [full[0], b, full[2]]  # type: ignore[misc]
        planned = from_words("callbacks", "generators", metrics=TIMED, latency="50ms")
        planned = replace(planned, models=dict.fromkeys(("A", "B", "A again"), strategies.describe("callbacks")))
        where: Any = SimpleNamespace(keeper=None, setting=lambda name: Setting(name, host.Cpus(None, None)))
        assert ab.calibrated(planned, {}, where)[0].gated == gated


def test_a_summary_that_cannot_be_written_in_the_end_is_one_sentence_and_keeps_the_rows(tmp_path: Path) -> None:
    folder, missing = (
        new_folder(tmp_path / "out", from_words("callbacks", "generators")),
        tmp_path / "no" / "summary.md",
    )
    found = tuple(blocks(series(12, 0.0, 0.001, metrics=TIMED)))

    with pytest.raises(RunError) as caught:
        conclude(folder, Result(deciding.decided(found, DESIGNED), found, DESIGNED), missing, as_json=False)

    assert str(caught.value) == f"cannot write {missing}: No such file or directory; the rows are complete"
    assert (folder / "verdict.json").is_file()


# Ctrl-C


@pytest.mark.parametrize(("trial", "finished"), [(1, 0), (2, 0), (3, 1), (6, 4)])
def test_an_interrupted_comparison_keeps_its_rows_and_leaves_nothing_behind(
    laboratory: Laboratory, tmp_path: Path, scratch: Path, trial: int, finished: int
) -> None:
    laboratory.answer, laboratory.interrupt_at = sides(repeating(0.0, 0.02)), trial

    done = call("ab", "callbacks", "generators", *CPU, "--out", tmp_path / "out")

    told = f"{finished} block" + "s" * (finished > 1)
    kept = f"after {told}; rows kept in {only_run(tmp_path / 'out')}" if finished else ""
    assert (done.code, done.out) == (130, "")
    assert done.err.splitlines()[-1] == f"interrupted {kept or 'before the first block ended'}"
    assert (tmp_path / "out").exists() == (trial > 1), "calibration has no folder"
    if finished:
        assert len(rows.read(only_run(tmp_path / "out"))) == 3 * finished
    assert list(scratch.iterdir()) == []


def test_ctrl_c_of_a_terminal_ends_every_process(tmp_path: Path, scratch: Path) -> None:
    folder = with_mine(tmp_path / "fork", f"def crawl(job, frontier):\n    time.sleep({FOREVER_S})\n")
    with running("ab", "mine", "mine", "--repo", folder, *CPU, folder=tmp_path) as started:
        assert started.read_error_line().startswith("A: mine")
        family = started.family_when(2)
        started.interrupt(whole_group=True)
        done = started.end()

    assert done.code == 130
    assert done.err.splitlines()[-1] == "interrupted before the first block ended"
    await_end(family)
    assert not (tmp_path / "results").exists()
    assert list(scratch.iterdir()) == []


# One real run


@pytest.mark.night
def test_the_verdict_of_a_real_run_is_that_of_its_rows(tmp_path: Path, scratch: Path) -> None:
    repository = new_repository(tmp_path / "repository")
    slow_down(repository, "callbacks")
    commit(repository, "slower")

    done = inflight("ab", "callbacks@HEAD~1", "callbacks@HEAD", "--repo", repository, "--cycles", 2, folder=tmp_path)

    folder = only_run(tmp_path / "results")
    verdict, found = stored(tmp_path / "results"), rows.read(folder)
    again = deciding.result(found)
    assert again is not None
    assert done.code == EXITS[verdict["verdict"]]
    assert (again.decision.verdict, again.decision.why) == (verdict["verdict"], verdict["why"])
    assert f"\n{verdict['verdict'].upper()}: " in done.out
    assert "A: callbacks@HEAD~1\nB: callbacks@HEAD\nno added latency, 100 in flight, keep-alive" in done.out
    assert "A: callbacks@HEAD~1, commit " in done.err
    assert [row.kind for row in found].count("arm") == 3 * (
        verdict["blocks"] + sum(verdict["failed"].values()) + verdict["dropped"]
    )
    assert {row.kind for row in found} == {"arm", "memory"}
    assert {row.run for row in found} == {folder.name}
    assert list(scratch.iterdir()) == []


BEFORE = "4ab07c3bb2"
"""The last commit whose workers kept every fetch of an endless crawl."""


@pytest.mark.night
def test_strategies_from_before_workers_kept_numbers_alone_are_compared_and_not_slower(tmp_path: Path) -> None:
    done = inflight(
        "ab", f"callbacks@{BEFORE}", "callbacks", "--out", tmp_path / "out", folder=Path(__file__).parents[2]
    )

    assert done.code in {EXITS["pass"], EXITS["inconclusive"]}, done.err
    assert all(row.valid for row in rows.read(only_run(tmp_path / "out")))


# Times


@pytest.mark.parametrize("text", ["", "m", "90", "-5m", "0", "0s", "nanm", "infh", "25h", "1d", "five", "1e400m"])
def test_an_invalid_budget_is_refused(text: str) -> None:
    with pytest.raises(ExperimentError, match=r"^--budget(:| must be) "):
        time_s(text, "--budget")
