"""``inflight run`` from end to end: what it prints and leaves, its exit codes, and what limits do to it."""

import csv
import json
import os
import signal
import sys
from copy import deepcopy
from datetime import datetime, tzinfo
from io import StringIO
from pathlib import Path

import pytest

from inflight import load as load_run
from inflight.bench.commands import run as run_command
from inflight.bench.commands import so_far
from inflight.bench.commands.run import experiment_of, interruptible, save, strictly
from inflight.bench.measure import host
from inflight.bench.measure.run import RunError, new_folder
from inflight.bench.plan.experiment import load
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.show.studies import Studies
from inflight.strategies import describe, models, names
from tests.cli.command import Done, call, inflight
from tests.made_rows import crawl_row
from tests.real_run import EXPERIMENT, RealRun
from tests.runs.made_runs import saved

LATE = "strategies = ['callbacks', 'thread_pool']\ndeadline_s = 0.001\n[[crawl]]\npages = 5\n"
FINISHED = "strategies = ['callbacks', 'thread_pool']\nrounds = 1\n[[crawl]]\npages = 5000\nin_flight = [100]\n"
MOST_IN_FLIGHT = 236
"""The most that fit into 300 descriptors."""
LIMITED = f"""
strategies = ["callbacks", "native_asyncio", "thread_pool"]
rounds = 1

[[memory]]
in_flight = [{MOST_IN_FLIGHT}]
site = {{ links = 0 }}

[[memory]]
strategies = ["callbacks"]
in_flight = [5000]

[[idle]]
what = ["generator"]
n = [100, 500000]
"""


def only_run(folder: Path) -> Path:
    (found,) = (folder / "results").iterdir()
    return found


def code_of(found: list[Row]) -> int:
    """Return the exit code for these rows; which of them are valid depends on the machine."""
    return 0 if any(row.valid for row in found) else 1


# ------------------------------------------------------------------------------------------------ a real run


def test_a_run_prints_tables_and_its_progress(real_run: RealRun) -> None:
    done = real_run.done

    assert done.code == code_of(real_run.rows)
    total = done.err.split(maxsplit=1)[0]
    for name in (
        "callbacks",
        "thread_pool",
        "CPU time per page",
        "pages/s",
        "memory",
    ):
        assert name in done.out
    assert f" 1/{total}  " in done.err
    assert f"{total}/{total}  " in done.err
    assert f"/{total}  " not in done.out, "progress is talk"
    assert "\x1b" not in done.out + done.err, "no colour where there is no terminal"


def test_a_run_leaves_its_folder(real_run: RealRun) -> None:
    folder, start = real_run.folder, real_run.folder.parents[1]

    assert {"experiment.toml", "machine.json", "rows.jsonl", "rows.csv", "plots", "report.html"} == {
        path.name for path in folder.iterdir()
    }
    assert folder.name.endswith("-everything")
    assert f"page:  {folder.relative_to(start)}/report.html\n" in real_run.done.err
    plots = {path.name for path in (folder / "plots").iterdir()}
    assert {"throughput.svg", "memory.svg", "ladder.svg"} <= plots
    for path in (folder / "plots").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
        assert path.with_suffix(".svg").is_file()


def test_a_run_has_a_row_for_every_trial_and_arm(real_run: RealRun, tmp_path: Path) -> None:
    found = real_run.rows
    (tmp_path / "everything.toml").write_text(EXPERIMENT, encoding="utf-8")
    listed = call("run", "everything.toml", "--dry-run", "--json", folder=tmp_path).out

    assert [row.trial for row in found] == json.loads(listed)["rows"]
    assert [row.reason for row in found if row.status != "ok"] == []
    assert {row.run for row in found} == {real_run.folder.name}
    table = list(csv.DictReader(StringIO((real_run.folder / "rows.csv").read_text(encoding="utf-8"))))
    assert [line["trial"] for line in table] == [row.trial for row in found]
    assert {line["in_flight"] for line in table if line["strategy"] == "thread"} == {"40", "80", "120", "160", "200"}
    assert all(int(line["held_page_tables_bytes"]) > 0 for line in table if line["kind"] in {"memory", "idle"})


def test_an_arm_has_the_busy_thread_and_the_timer_that_it_was_asked_for(real_run: RealRun) -> None:
    found = {row.workload.arm.name: row for row in real_run.rows if row.kind == "arm"}
    quiet, busy = found["callbacks (busy_threads=0, lag=False)"], found["callbacks (busy_threads=1, lag=True)"]

    assert busy.measured.peak_threads == quiet.measured.peak_threads + 1
    assert quiet.measured.lag is None
    assert busy.measured.lag.count > 0


@pytest.mark.ci
def test_the_timer_of_each_model_is_due_while_it_crawls_in_blocks(tmp_path: Path) -> None:
    known = {name: describe(name) for name in models()}
    chosen = [name for name, one in known.items() if not one.lack and (one.most_in_flight or 5) >= 5]
    text = f"strategies = {json.dumps(chosen)}\n[[throughput]]\nin_flight = [5]\ncycles = 1\nlag = true\n"
    (tmp_path / "lag.toml").write_text(text, encoding="utf-8")

    done = call("run", "lag.toml", folder=tmp_path)

    found = {row.arm: row for row in rows.read(only_run(tmp_path))}
    assert set(chosen) <= found.keys()
    for name, row in found.items():
        assert row.status == "ok", (name, row.reason)
        assert row.measured.lag is not None, name
        assert row.measured.lag.count > 0, name
    assert "Lateness of a timer" in done.out
    told = json.loads(call("report", only_run(tmp_path), "--format", "json").out)
    assert {one["line"] for one in told["lag"]} == set(chosen)


# ----------------------------------------------------------------------------------------- a run without a valid row


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path, list[tuple[int, str]]]:
    """Run two trials that cannot meet their deadline, and write the page of the unfinished run as early as possible.

    Return how it ended, its folder, and the number of rows with the sentence when a page was written.
    """
    place = tmp_path_factory.mktemp("late")
    (place / "late.toml").write_text(LATE, encoding="utf-8")
    pages: list[tuple[int, str]] = []

    def written(folder: Path, sentence: str) -> list[str]:
        pages.append((len(rows.read(folder)), sentence))
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(so_far, "FIRST_NS", 0)
        patch.setattr(so_far, "written", written)
        done = call("run", "late.toml", "--strict", "--quiet", "--disturbed", "spin", folder=place)
    return done, only_run(place), pages


def test_a_run_without_a_valid_row_exits_with_1_and_quiet_prints_only_what_is_wrong(
    late: tuple[Done, Path, object],
) -> None:
    done, folder, _ = late

    assert done.code == 1
    assert [row.status for row in rows.read(folder)] == ["timeout", "timeout"]
    assert [line.split()[:2] for line in done.err.splitlines()] == [["strict:", "2"]] * 2
    assert "callbacks" in done.out
    assert "strict" not in done.out


def test_a_run_is_beside_the_neighbour_that_was_asked_for(late: tuple[Done, Path, object]) -> None:
    done, folder, _ = late

    assert "Another program (spin) ran on the same cores for half of the time, on purpose" in " ".join(done.out.split())
    assert folder.name.endswith("-late-disturbed")
    assert json.loads((folder / "machine.json").read_text(encoding="utf-8"))["neighbour"] == "spin"


def test_the_page_of_an_unfinished_run_is_written_between_two_trials(
    late: tuple[Done, Path, list[tuple[int, str]]],
) -> None:
    _, folder, pages = late

    assert [number for number, _ in pages] == [1]
    assert "1 of 2 steps" in pages[0][1]
    assert "not complete" not in (folder / "report.html").read_text(encoding="utf-8")


def test_resuming_a_finished_run_from_inside_its_folder_changes_nothing(late: tuple[Done, Path, object]) -> None:
    _, folder, _ = late
    before = (folder / rows.ROWS_FILE).read_bytes()

    done = call("run", "--resume", ".", folder=folder)

    assert done.code == 1
    assert (folder / rows.ROWS_FILE).read_bytes() == before
    assert "/2 " not in done.err
    assert "strict" not in done.err
    assert "timeout" in done.err.splitlines()[-1]
    assert "(spin)" in done.out, "it has the neighbour it began with"


def test_a_report_without_a_valid_row_names_the_reason_and_a_folder_of_runs_a_run(
    late: tuple[Done, Path, object],
) -> None:
    _, folder, _ = late
    done = call("report", folder, "--format", "csv")

    assert (done.code, done.out.count("\n")) == (0, 3)
    assert "timeout" in done.err
    assert "answer()" in repr(load_run(folder))
    assert folder.name in call("report", folder.parent).sentence


# ----------------------------------------------------------------------------------------------- a finished run


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """Return the folder of a run whose two trials have valid rows: --resume presents it."""
    found = [crawl_row(), crawl_row("thread_pool")]
    return saved(tmp_path / "finished", found, host.machine("memory"), FINISHED)


def test_the_last_screen_has_the_tables_that_the_experiment_names(tmp_path: Path) -> None:
    found = [crawl_row(), crawl_row("thread_pool")]
    saved(tmp_path / "lesson", found, host.machine(), f'tables = ["cpu"]\n{FINISHED}')

    done = call("run", "--resume", "lesson", folder=tmp_path)

    assert done.code == 0
    assert "CPU time per page\n" in done.out
    assert "Pages per second" not in done.out
    assert "ratio" not in done.out
    assert done.out.endswith("Valid trials: 2 of 2, rounds: 1.\n")


def test_json_prints_the_summary(finished: Path, tmp_path: Path) -> None:
    done = call("run", "--resume", "finished", "--json", "--strict", folder=tmp_path)

    summary = json.loads(done.out)
    assert done.code == 0
    assert tmp_path / summary["folder"] == finished
    assert summary["plots"]
    assert all((tmp_path / path).is_file() for path in summary["plots"])
    assert summary["neighbour"] == "memory"


def test_output_that_cannot_be_encoded_is_no_error(finished: Path) -> None:
    done = inflight("report", finished, "--format", "terminal", PYTHONIOENCODING="ascii")

    assert done.code == 0
    assert done.out.isascii()
    assert "?" in done.out, "or nothing needed encoding"
    assert "callbacks" in done.out


def test_files_that_cannot_be_written_at_the_end_are_one_sentence(finished: Path) -> None:
    (finished / "plots").touch()

    with pytest.raises(RunError, match=r"cannot write .*finished.*: [^\n]+; the rows are complete"):
        save(finished, Studies(rows.read(finished)))


def test_a_run_never_overwrites_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(datetime):
        """A clock that stands still."""

        @classmethod
        def now(cls, zone: tzinfo | None = None) -> "Stopped":
            return cls(2026, 11, 20, tzinfo=zone)

    monkeypatch.setattr("inflight.bench.measure.run.datetime", Stopped)
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")
    experiment, machine = load(str(tmp_path / "late.toml"), names()), host.machine()
    folder = new_folder(tmp_path / "other" / "place", experiment, machine)

    with pytest.raises(RunError, match="File exists"):
        new_folder(tmp_path / "other" / "place", experiment, machine)
    assert sorted(path.name for path in folder.iterdir()) == ["experiment.toml", "machine.json", "rows.jsonl"]


def test_a_new_folder_leaves_the_machine_of_its_caller_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")
    experiment, machine = experiment_of(str(tmp_path / "late.toml"), pythons=[sys.executable]), host.machine()
    before = deepcopy(machine)

    folder = new_folder(tmp_path, experiment, machine)

    assert machine == before
    assert list(rows.machine(folder)["interpreters"]) == list(experiment.pythons)


# -------------------------------------------------------------------------------------------------- verdicts


SKIPPED = crawl_row("client", status="skipped", reason="not installed: aiohttp")


def test_strict_counts_failed_checks_and_names_skipped_trials() -> None:
    found = [crawl_row(), crawl_row(invalid=True), crawl_row(invalid=True), crawl_row(status="timeout"), SKIPPED]

    assert strictly(found) == [
        "strict: 3 of 5 trials are not valid",
        'strict: "no listen drops" failed 2 times',
        "strict: 1 trial ended as timeout",
        "strict: 1 trial skipped: not installed: aiohttp",
    ]
    assert strictly([crawl_row()]) == []


def test_strict_exits_with_1_where_one_row_of_two_is_invalid(finished: Path) -> None:
    text = crawl_row().to_json() + "\n" + crawl_row("thread_pool", invalid=True).to_json() + "\n"
    (finished / rows.ROWS_FILE).write_text(text, encoding="utf-8")

    codes = [call("run", "--resume", finished, *options).code for options in (["--strict"], [])]

    assert codes == [1, 0]


# ----------------------------------------------------------------------------------------------------- limits


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    """Run with 300 descriptors and a memory budget, which stop some trials."""
    place = tmp_path_factory.mktemp("limited")
    (place / "limited.toml").write_text(LIMITED, encoding="utf-8")
    done = inflight("run", "limited.toml", "--memory-budget", "80MB", folder=place, limit=("RLIMIT_NOFILE", 300))
    return done, only_run(place)


def test_a_trial_beyond_a_limit_is_announced_and_becomes_a_skipped_row(limited: tuple[Done, Path]) -> None:
    done, folder = limited

    first, *_ = done.err.splitlines()
    assert all(part in first for part in ("1 trial", "5,064 descriptors", "RLIMIT_NOFILE", f"at most {MOST_IN_FLIGHT}"))
    (skipped,) = [row for row in rows.read(folder) if row.status == "skipped"]
    assert (skipped.workload.in_flight, skipped.reason) == (5000, first.partition(": ")[2])
    assert done.code == code_of(rows.read(folder))


def test_the_suggested_number_in_flight_runs(limited: tuple[Done, Path]) -> None:
    found = [row for row in rows.read(limited[1]) if row.kind == "memory" and row.workload.in_flight == MOST_IN_FLIGHT]

    assert {row.strategy: row.reason for row in found} == dict.fromkeys(("callbacks", "native_asyncio", "thread_pool"))


def test_the_memory_budget_stops_a_trial_and_the_others_continue(limited: tuple[Done, Path]) -> None:
    done, folder = limited

    by_n = {row.workload.n: row for row in rows.read(folder) if row.strategy == "generator"}
    assert by_n[100].status == "ok"
    assert by_n[500_000].status == "failed"
    assert str(by_n[500_000].reason).endswith("MB were used, 80 MB allowed")
    assert "stopped by the memory budget" in done.err


def test_a_full_disk_is_one_sentence_and_finished_rows_are_kept(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")

    done = inflight("run", "late.toml", "--rounds", 8, folder=tmp_path, limit=("RLIMIT_FSIZE", 5_000))

    folder = only_run(tmp_path)
    *lines, _ = done.err.splitlines()
    kept = rows.read(folder)
    assert 1 <= len(kept) == len([line for line in lines if "/16 " in line]) < 16
    assert (done.code, done.out) == (2, "")
    assert f"cannot write {folder.relative_to(tmp_path)}/rows.jsonl: File too large" in done.refusal
    assert "all earlier rows are saved" in done.refusal


@pytest.mark.parametrize("number", run_command.INTERRUPTS)
def test_a_run_ends_on_each_signal_and_ignores_the_next(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # nohup starts a process that ignores SIGHUP

    def heard_twice() -> None:
        with interruptible():
            try:
                os.kill(os.getpid(), number)
            finally:
                os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        heard_twice()
    signal.signal(number, before)
