"""``inflight ab`` from end to end: verdict and exit code, rows and files, refusals, Ctrl-C."""

import json
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.core import rows
from inflight.bench.core.arm import Arm
from inflight.bench.core.judge import ExperimentError
from inflight.bench.measure.run import RunError, new_folder
from inflight.bench.present import words
from inflight.bench.studies.compare import read
from inflight.bench.studies.compare.command import EXITS, JSON_FILE, MARKDOWN_FILE, conclude, seconds
from inflight.bench.studies.compare.comparison import comparison
from inflight.bench.studies.compare.read import Result
from inflight.bench.studies.compare.rule import Rule
from inflight.fake_server.site import SiteConfig
from tests.ab import hurried
from tests.ab.repositories import (
    FAILS_AFTER_CALIBRATION,
    HONEST,
    NO_CONFIG,
    commit,
    new_repository,
    slow_down,
    with_mine,
)
from tests.cli import command
from tests.cli.command import Done, await_end, inflight, running
from tests.made_blocks import TIMED, Rows, block, blocks, series

SMALL = ("--cycles", 2, "--metric", "cpu_per_page")
BLAME_THE_MACHINE = ("machine under load", "outside signal", "blocks are good", "a control moved", "too noisy")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files of all that the test starts."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(command, "ENVIRONMENT", command.ENVIRONMENT | NO_CONFIG | {"TMPDIR": str(folder)})
    return folder


@pytest.fixture
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "INFLIGHT", [sys.executable, str(Path(hurried.__file__))])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository whose second commit makes ``callbacks`` several times as expensive."""
    folder = new_repository(tmp_path / "repository")
    slow_down(folder, "callbacks")
    commit(folder, "slower")
    return folder


def only_run(folder: Path) -> Path:
    (found,) = (folder / "results").iterdir()
    return found


def told(done: Done) -> dict[str, Any]:
    """Return the verdict on standard output, which is one JSON object and nothing else."""
    found: dict[str, Any] = json.loads(done.out)
    return found


def accuses_the_machine(verdict: dict[str, Any]) -> bool:
    """Return whether a verdict is left open by the machine: it says so, or the interval is wider than a factor of 2."""
    effect = verdict["effects"].get("cpu_per_page")
    is_wide = effect is not None and effect["high"] > 2 * effect["low"]
    return verdict["verdict"] == "inconclusive" and (
        is_wide or any(words in verdict["why"] for words in BLAME_THE_MACHINE)
    )


def last_line(done: Done) -> str:
    return done.err.splitlines()[-1]


@pytest.mark.usefixtures("_in_a_hurry")
def test_a_strategy_compared_with_itself_gives_a_verdict_and_keeps_its_rows(tmp_path: Path, scratch: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n", encoding="utf-8")

    done = inflight("ab", "callbacks", "callbacks", *SMALL, "--json", "--markdown", summary, folder=tmp_path)

    folder, verdict = only_run(tmp_path), told(done)
    found = rows.read(folder)
    assert done.code == EXITS[verdict["verdict"]]
    assert verdict["blocks"] == hurried.BLOCKS
    assert [(row.round, row.strategy) for row in found] == [
        (number, arm) for number in range(1, hurried.BLOCKS + 1) for arm in ("A", "B", "A again")
    ]
    assert all(row.valid and row.kind == "arm" and row.run == folder.name for row in found)
    assert {len(row.measured.windows) for row in found} == {2}
    assert set(verdict["effects"]) == {"cpu_per_page"}
    assert verdict["folder"] == str(folder.relative_to(tmp_path))
    assert json.loads((folder / JSON_FILE).read_text(encoding="utf-8")) == verdict
    written = (folder / MARKDOWN_FILE).read_text(encoding="utf-8")
    assert summary.read_text(encoding="utf-8") == "# Before\n" + written
    assert f"inflight: {verdict['verdict']}" in written
    assert [line for line in done.err.splitlines() if line.startswith(("A: ", "B: "))] == [
        "A: callbacks",
        "B: callbacks",
    ]
    assert list(scratch.iterdir()) == []


@pytest.mark.long
def test_a_commit_that_makes_a_strategy_expensive_is_a_regression(repository: Path, tmp_path: Path) -> None:
    assert_a_regression(repository, tmp_path)


@pytest.mark.usefixtures("_in_a_hurry")
def test_a_commit_that_makes_a_strategy_expensive_is_a_regression_after_a_few_blocks(
    repository: Path, tmp_path: Path
) -> None:
    assert_a_regression(repository, tmp_path)


def assert_a_regression(repository: Path, tmp_path: Path) -> None:
    """Compare the two commits, and expect a regression unless the controls accuse the machine."""
    done = inflight("ab", "callbacks@HEAD~1", "callbacks@HEAD", "--repo", repository, *SMALL, folder=tmp_path)

    verdict = json.loads((only_run(tmp_path) / JSON_FILE).read_text(encoding="utf-8"))
    assert done.code == EXITS[verdict["verdict"]]
    assert len(rows.read(only_run(tmp_path))) == 3 * (verdict["blocks"] + verdict["dropped"])
    assert verdict["failed"] == {"A": 0, "B": 0}
    assert "A: callbacks@HEAD~1, commit " in done.err
    if not accuses_the_machine(verdict):
        assert verdict["verdict"] == "regression"
        assert verdict["effects"]["cpu_per_page"]["low"] > 1.5
        assert "A: callbacks@HEAD~1\nB: callbacks@HEAD\nno added latency, 100 in flight, keep-alive" in done.out
        assert "REGRESSION: B is worse" in done.out


@pytest.mark.slow
@pytest.mark.usefixtures("_in_a_hurry")
def test_less_cpu_time_in_b_is_not_a_regression(repository: Path, tmp_path: Path) -> None:
    done = inflight("ab", "callbacks@HEAD", "callbacks@HEAD~1", "--repo", repository, *SMALL, "--json", folder=tmp_path)

    verdict = told(done)
    assert done.code == EXITS[verdict["verdict"]]
    assert verdict["verdict"] != "regression"
    if not accuses_the_machine(verdict):
        assert verdict["verdict"] == "pass"
        assert verdict["effects"]["cpu_per_page"]["high"] < 0.7


@pytest.mark.usefixtures("_in_a_hurry")
def test_a_side_that_fails_in_every_block_is_a_regression(tmp_path: Path) -> None:
    bodies = {"honest": HONEST, "fails": FAILS_AFTER_CALIBRATION}
    repositories = [with_mine(tmp_path / name, body) for name, body in bodies.items()]
    where = [word for folder in repositories for word in ("--repo", folder)]
    mark = ("--env", "", "--env", f"MARK={tmp_path / 'mark'}")

    done = inflight("ab", "mine", "mine", *where, *mark, *SMALL, "--json", folder=tmp_path)

    verdict = told(done)
    assert (done.code, verdict["verdict"]) == (EXITS["regression"], "regression")
    assert verdict["failed"] == {"A": 0, "B": 3}
    assert verdict["reasons"] == {"B: the strategy raised LookupError: not twice": 3}


# Refusals


def test_a_side_that_cannot_do_the_work_is_refused_by_name(tmp_path: Path, scratch: Path) -> None:
    folder = with_mine(tmp_path / "fork", "def crawl(job, frontier):\n    raise LookupError('nothing here')\n")

    done = inflight("ab", "mine", "mine", "--repo", folder, *SMALL, folder=tmp_path)

    assert done.code == 2
    assert last_line(done) == (
        f"inflight ab: nothing to compare: A, mine ({folder}): the strategy raised LookupError: nothing here"
    )
    assert not (tmp_path / "results").exists()
    assert list(scratch.iterdir()) == []


def test_a_budget_that_is_too_short_is_refused_with_a_sufficient_one(tmp_path: Path) -> None:
    done = inflight("ab", "callbacks", "callbacks", "--cycles", 2, "--budget", "1s", folder=tmp_path)

    assert (done.code, done.out) == (2, "")
    assert last_line(done).startswith(
        "inflight ab: --budget 1s is too short: a verdict needs at least 12 blocks, which take about "
    )
    assert last_line(done).endswith("exclude memory with --metric cpu_per_page --metric throughput")
    ((needed_s, enough_s),) = re.findall(r"about (\d+) s here; try --budget (\d+)s, or exclude", last_line(done))
    assert int(needed_s) < int(enough_s) <= 1.05 * int(needed_s) + 10
    assert int(enough_s) % 10 == 0
    assert not (tmp_path / "results").exists()


# Telling


def result_of(found: Sequence[Rows]) -> Result:
    rule = Rule(looks=(4,), shares=(1.0,))
    return Result(read.decided(blocks(found), rule), tuple(blocks(found)), rule)


def slower(change: float) -> list[Rows]:
    """Return blocks whose side B takes so much more CPU time, as a logarithm."""
    return series(4, change, 0.001, metrics=TIMED)


RED = [block(n, red=True) for n in range(1, 9)]


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Return the folder of a run that has been measured."""
    return new_folder(tmp_path / "out", comparison(Arm("A", "callbacks"), Arm("B", "generators"), SiteConfig()))


@pytest.mark.parametrize(
    ("found", "code"), [(slower(-0.2), 0), (slower(0.2), 1), (RED, 3)], ids=["pass", "regression", "inconclusive"]
)
def test_the_exit_code_is_that_of_the_verdict(
    kept: Path, capsys: pytest.CaptureFixture[str], found: list[Rows], code: int
) -> None:
    assert conclude(kept, result_of(found), None, None, as_json=True) == code
    assert EXITS[json.loads(capsys.readouterr().out)["verdict"]] == code
    assert (kept / MARKDOWN_FILE).is_file()


def test_a_summary_that_cannot_be_written_is_one_sentence_and_keeps_the_rows(kept: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "summary.md"

    with pytest.raises(RunError) as caught:
        conclude(kept, result_of(slower(0.0)), None, missing, as_json=False)

    assert str(caught.value) == f"cannot write {missing}: No such file or directory; the rows are complete"
    assert (kept / JSON_FILE).is_file()


# Ctrl-C


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_comparison_keeps_its_rows_and_leaves_nothing_behind(
    tmp_path: Path, scratch: Path, number: signal.Signals
) -> None:
    with running("ab", "callbacks", "generators", *SMALL, folder=tmp_path) as started:
        while not started.read_error_line().startswith("block  1"):
            pass
        family = started.family_when(2)
        started.process.send_signal(number)
        done = started.end()

    found = rows.read(only_run(tmp_path))
    assert (done.code, done.out) == (130, "")
    where = only_run(tmp_path).relative_to(tmp_path)
    number_told = words.counted(len(read.blocks(found)), "block")
    assert last_line(done) == f"interrupted after {number_told}; their rows are in {where}"
    assert len(found) >= 1
    await_end(family)
    assert list(scratch.iterdir()) == []


def test_an_interruption_before_the_first_block_leaves_no_run(tmp_path: Path, scratch: Path) -> None:
    folder = with_mine(tmp_path / "fork", "def crawl(job, frontier):\n    time.sleep(1000)\n")
    with running("ab", "mine", "mine", "--repo", folder, *SMALL, folder=tmp_path) as started:
        assert started.read_error_line().startswith("A: mine")
        family = started.family_when(2)
        started.interrupt(whole_group=True)
        done = started.end()

    assert done.code == 130
    assert last_line(done) == "interrupted before the first block ended"
    await_end(family)
    assert not (tmp_path / "results").exists()
    assert list(scratch.iterdir()) == []


# Times


@pytest.mark.parametrize(
    ("text", "found_s"),
    [("90s", 90), ("1.5m", 90), ("5m", 300), ("1h", 3600), ("500ms", 0.5), ("24h", 86_400)],
)
def test_a_budget_is_written_in_seconds_minutes_or_hours(text: str, found_s: float) -> None:
    assert seconds(text) == pytest.approx(found_s)


@pytest.mark.parametrize("text", ["", "m", "90", "-5m", "0", "0s", "nanm", "infh", "25h", "1d", "five", "1e400m"])
def test_an_invalid_budget_is_refused(text: str) -> None:
    with pytest.raises(ExperimentError, match=r"^--budget(:| must be) "):
        seconds(text)
