"""``inflight limits`` from the command line to what it prints, keeps and leaves behind."""

import json
import platform
import resource
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from inflight import strategies
from inflight.bench import api
from inflight.bench.commands.limits import lines_of_plan
from inflight.bench.measure.limits import make_row
from inflight.bench.measure.limits.ceilings import make_figures
from inflight.bench.measure.trial import Begin
from inflight.bench.plan.bare import LimitTable
from inflight.bench.plan.experiment import load
from inflight.bench.rows import files as rows
from inflight.bench.rows.kinds import Ceiling
from tests.cli.command import await_end, call, inflight, running

LIMIT = ("RLIMIT_NOFILE", 300)


def only_run(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


@pytest.mark.parametrize(
    ("through_shared", "is_stopped"), [(False, True), (True, False)], ids=["for the sake of others", "through"]
)
def test_the_plan_says_where_it_stops(through_shared: bool, is_stopped: bool) -> None:
    private = Ceiling(name="vm.max_map_count", most=990, shared=False, evidence="maps", remedy="")
    shared = Ceiling(name="kernel.pid_max", most=1000, shared=True, evidence="ids", remedy="")

    text = str(list(lines_of_plan([private, shared], through_shared=through_shared)))

    assert "up to 990, the estimated limit of vm.max_map_count" in text
    assert ("stops at 900 on purpose, at 90 % of what kernel.pid_max leaves" in text) is is_stopped


def test_a_dry_run_lists_every_ceiling_and_tries_none() -> None:
    done = call("limits", "--dry-run", "threads", "descriptors", "--json")

    answer = json.loads(done.out)
    assert done.code == 0
    assert list(answer) == ["threads", "descriptors"]
    assert all(list(found) == ["ceilings"] for found in answer.values())
    assert done.err.startswith("threads\n"), "talk goes to standard error"
    assert "RLIMIT_NOFILE" in done.err
    assert "to raise: " in done.err
    assert "  limit " not in done.err


def test_predicted_limits_are_printed_and_stored_as_such(tmp_path: Path) -> None:
    done = inflight(
        "limits",
        "descriptors",
        "memory",
        "--through-shared",
        "--out",
        tmp_path,
        limit=LIMIT,
    )

    assert done.code == 0
    text = done.out.partition("\nmemory")[0]
    labels = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2] != " "]
    assert (labels[0], labels[1], labels[-1]) == ("limit", "bound", "next")
    assert "descriptors (predicted)" in text
    assert "RLIMIT_NOFILE is 300 descriptors" in text
    assert "\x1b" not in done.out, "not a terminal"
    folder = only_run(tmp_path)
    assert done.err == f"page:  {folder / 'report.html'}\n"
    descriptors, memory = rows.read(folder)
    assert (descriptors.kind, descriptors.strategy, descriptors.stack) == ("limit", "descriptors", "none")
    assert descriptors.trial == "limit/descriptors/through-shared/round=1"
    assert msgspec.to_builtins(descriptors.workload) == {
        "id": "limit/descriptors/through-shared",
        "resource": "descriptors",
        "through_shared": True,
    }
    assert 280 < descriptors.measured.predicted < 300
    assert descriptors.measured.bound_by == "RLIMIT_NOFILE"
    assert memory.measured.predicted > 0
    for row in (descriptors, memory):
        assert (row.status, row.measured.stopped_by, row.measured.found) == ("ok", "predicted", None)
    assert len(load(str(folder / "experiment.toml"), strategies.names()).bare[0].trials()) == 2


@pytest.fixture
def lowered() -> Iterator[int]:
    """Lower the soft limit of descriptors of this process; return the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard // 2 if soft == hard else soft, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_run_predicts_limits_without_starting_threads_up_to_them(lowered: int, tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text("[[limit]]\nresources = ['threads', 'descriptors']\npredict = true\n", "utf-8")

    api.run(path, out=tmp_path / "results", quiet=True)

    found = {row.strategy: row for row in rows.read(only_run(tmp_path / "results"))}
    assert {row.trial for row in found.values()} == {
        "limit/threads/predict/round=1",
        "limit/descriptors/predict/round=1",
    }
    for row in found.values():
        measured = row.measured
        assert (row.valid, row.workload.predict, measured.stopped_by) == (True, True, "predicted")
        assert (measured.found, measured.timeline) == (None, None)
        assert measured.predicted == measured.ceilings[0].most
        assert measured.predicted_by == measured.bound_by
        assert measured.evidence == [ceiling.evidence for ceiling in measured.ceilings]
    descriptors = found["descriptors"].measured
    if descriptors.predicted_by == "RLIMIT_NOFILE":
        assert lowered - 100 < descriptors.predicted < lowered, "a worker raises its soft limit to the hard one"


def test_a_prediction_of_nothing_is_valid() -> None:
    (trial,) = LimitTable(resources=("threads",), predict=True).trials()

    row = make_row(trial, "run", Begin.now(), make_figures([], "predicted", []))

    assert row.valid
    assert (row.measured.predicted, row.measured.predicted_by, row.measured.evidence) == (None, None, [])


@pytest.mark.skipif(platform.system() != "Linux", reason="macOS does not enforce RLIMIT_AS")
def test_what_is_found_of_threads_is_printed_after_the_plan_and_drawn(tmp_path: Path) -> None:
    done = inflight("limits", "threads", "--out", tmp_path, limit=("RLIMIT_AS", 1 << 30))

    labels = [line.split()[0] for line in done.out.splitlines() if line.startswith("  ") and line[2] != " "]
    assert labels[:3] == ["plan", "limit", "bound"]
    assert {path.name for path in (only_run(tmp_path) / "plots").glob("*.png")} == {"limits.png", "at_once.png"}
    (row,) = rows.read(only_run(tmp_path))
    assert (row.measured.stopped_by, row.measured.bound_by) == ("failure", "RLIMIT_AS")


@pytest.mark.parametrize("whole_group", [False, True], ids=["the_process", "the_terminal"])
def test_ctrl_c_leaves_nothing_behind(whole_group: bool) -> None:
    with running("limits", "threads") as started:
        family = started.family_when(1)
        started.interrupt(whole_group=whole_group)
        done = started.end()

    assert done.code == 130
    assert done.err == "interrupted: all started processes have been stopped\n"
    await_end(family)
