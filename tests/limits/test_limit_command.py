"""``inflight limits`` from the command line to what it prints, keeps and leaves behind."""

import json
from io import StringIO
from pathlib import Path

import pytest

from inflight import strategies
from inflight.bench.commands.limits import Printer
from inflight.bench.measure.limits import RESOURCES, Ceiling
from inflight.bench.plan import bare
from inflight.bench.plan.experiment import load
from inflight.bench.rows import files as rows
from inflight.bench.rows.values import plain_values
from tests.cli.command import await_end, call, inflight, running

LIMIT = ("RLIMIT_NOFILE", 300)


def only_run(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


@pytest.mark.parametrize(
    ("through_shared", "words"),
    [
        (False, "stops at 900 threads: 90 % of what kernel.pid_max leaves"),
        (True, "does not stop at limits that other processes share"),
    ],
)
def test_the_plan_says_where_it_stops_for_the_sake_of_others(through_shared: bool, words: str) -> None:
    told = StringIO()
    private = Ceiling("vm.max_map_count", 990, shared=False, evidence="maps", remedy="")
    shared = Ceiling("kernel.pid_max", 1000, shared=True, evidence="ids", remedy="")

    Printer(told).plan("threads", [private, shared], through_shared=through_shared)

    assert "up to 990 threads, the estimated limit of vm.max_map_count" in told.getvalue()
    assert words in told.getvalue()


def test_the_resources_of_experiments_are_those_that_can_be_found() -> None:
    assert bare.RESOURCES == RESOURCES


def test_a_prediction_lists_every_ceiling_and_tries_none() -> None:
    done = call("limits", "--predict", "descriptors", "backlog")

    assert done.code == 0
    assert "RLIMIT_NOFILE" in done.out
    assert "listen(2) backlog" in done.out
    assert "to raise: " in done.out
    assert "found" not in done.out


def test_a_prediction_of_everything_is_one_json_object() -> None:
    done = call("limits", "--predict", "--json")

    answer = json.loads(done.out)
    assert tuple(answer) == RESOURCES
    assert all(list(found) == ["ceilings"] for found in answer.values())
    assert done.err.startswith("threads\n"), "talk goes to standard error"


def test_what_is_found_is_said_after_the_plan_and_kept_as_rows_of_a_run(tmp_path: Path) -> None:
    done = inflight("limits", "descriptors", "memory", "--out", tmp_path, limit=LIMIT)

    assert done.code == 0
    said = done.out.partition("\nmemory")[0]
    labels = [line.split()[0] for line in said.splitlines() if line.startswith("  ") and line[2] != " "]
    assert labels[:3] == ["plan", "found", "bound"]
    assert labels[-1] == "next"
    assert "about to open files, up to 29" in said
    assert "RLIMIT_NOFILE is 300 descriptors" in said
    assert "\x1b" not in done.out, "not a terminal"
    folder = only_run(tmp_path)
    assert done.err == f"rows:  {folder / rows.ROWS_FILE}\nplot:  {folder / 'plots' / 'limits.png'}\n"
    descriptors, memory = rows.read(folder)
    assert (descriptors.kind, descriptors.strategy, descriptors.stack) == ("limit", "descriptors", "none")
    assert descriptors.trial == "limit/descriptors/round=1"
    assert plain_values(descriptors.workload) == {
        "id": "limit/descriptors",
        "resource": "descriptors",
        "through_shared": False,
    }
    assert descriptors.measured.bound_by == "RLIMIT_NOFILE"
    assert memory.measured.stopped_by == "not tried"
    assert {row.status for row in (descriptors, memory)} == {"ok"}
    assert len(load(str(folder / "experiment.toml"), strategies.names()).bare[0].trials()) == 2


def test_going_through_shared_limits_is_kept_in_the_row(tmp_path: Path) -> None:
    inflight("limits", "descriptors", "--through-shared", "--out", tmp_path, limit=LIMIT)

    (row,) = rows.read(only_run(tmp_path))
    assert row.workload.through_shared is True


@pytest.mark.parametrize("whole_group", [False, True], ids=["the_process", "the_terminal"])
def test_ctrl_c_leaves_nothing_behind(whole_group: bool) -> None:
    with running("limits", "threads") as started:
        family = started.family_when(1)
        started.interrupt(whole_group=whole_group)
        done = started.end()

    assert done.code == 130
    assert done.err == "interrupted: all started processes have been stopped\n"
    await_end(family)
