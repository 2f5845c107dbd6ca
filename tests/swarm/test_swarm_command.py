"""``inflight swarm`` and [[swarm]] tables through the command line."""

import json
import signal
from pathlib import Path

import psutil
import pytest

from inflight.bench.commands.swarm import ramp_per_s
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.show.folder import knob
from tests.cli.command import await_end, call, inflight, running
from tests.patience import until

IN_FLIGHT = 2000
SHARE, NODE = "inflight.bench.measure.worker.share", "inflight.bench.measure.swarm.node"


def rows_of(folder: Path) -> list[Row]:
    (run,) = folder.iterdir()
    return rows.read(run)


def test_a_plan_starts_nothing_and_writes_nothing(tmp_path: Path) -> None:
    done = call("swarm", "--in-flight", 1000, "--dry-run", folder=tmp_path)

    assert (done.code, done.err) == (0, "")
    assert "1,000 fetches of callbacks in flight at once\n\n1 strategy process" in done.out
    assert list(tmp_path.iterdir()) == []


def test_a_plan_as_json_has_the_layout() -> None:
    done = call("swarm", "--in-flight", 3000, "--dry-run", "--json")

    planned = json.loads(done.out)["layout"]
    assert (done.code, planned["asked"]) == (0, 3000)
    assert sum(share["count"] for share in planned["shares"]) == planned["in_flight"]


def test_too_few_descriptors_make_more_processes() -> None:
    done = inflight("swarm", "--in-flight", 1000, "--dry-run", limit=("RLIMIT_NOFILE", 200))

    assert "8 strategy processes" in done.out
    assert "of 140 for 200 descriptors" in done.out


@pytest.mark.parametrize(("text", "rate"), [("5000/s", 5000), ("5000", 5000), (" 1/s ", 1)])
def test_a_ramp_is_a_whole_number_per_second(text: str, rate: int) -> None:
    assert ramp_per_s(text) == rate


@pytest.mark.ci
def test_three_models_hold_two_thousand_fetches_confirmed_by_the_gates(tmp_path: Path) -> None:
    experiment = tmp_path / "small.toml"
    experiment.write_text(
        f"""strategies = ["callbacks", "generators", "native_asyncio"]\n[[swarm]]\nin_flight = [{IN_FLIGHT}]\n"""
    )

    done = call("run", experiment, "--out", tmp_path / "results")

    measured = rows_of(tmp_path / "results")
    assert {row.strategy for row in measured} == {"callbacks", "generators", "native_asyncio"}
    for row in measured:
        assert row.status == "ok", row.reason
        assert row.measured.held_in_flight == row.measured.pages == IN_FLIGHT
        assert row.measured.client_processes == 2
        assert row.measured.held_uss_bytes > row.measured.base_uss_bytes
        assert row.measured.locust.requests == IN_FLIGHT
        assert knob(row, "gevent") is False
        assert max(row.measured.timeline.held) == IN_FLIGHT
    assert "2,000" in done.out


def command_of(process: psutil.Process) -> str:
    """Return the command line of a process; empty if it has ended, as git does at once."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # also of a zombie
        return ""


def with_command(family: list[psutil.Process], words: str) -> list[psutil.Process]:
    """Return these processes if one of them runs this command."""
    return family if any(words in command_of(one) for one in family) else []


@pytest.mark.parametrize("when", [SHARE, pytest.param(NODE, marks=pytest.mark.ci)])
def test_ctrl_c_twice_leaves_nothing_running_and_the_folder_readable(tmp_path: Path, when: str) -> None:
    with running("swarm", "--in-flight", IN_FLIGHT, "--hold", "3600s", "--out", tmp_path) as swarm:
        family = until(lambda: with_command(swarm.family(), when))
        swarm.interrupt(whole_group=True)
        swarm.interrupt()
        done = swarm.end()

    assert done.code == 130
    assert "interrupted" in done.err
    await_end(family)
    assert rows_of(tmp_path) == []


@pytest.mark.ci
def test_a_swarm_of_its_own_is_killed_without_a_trace(tmp_path: Path) -> None:
    with running("swarm", "--in-flight", 200, "--hold", "3600s", "--out", tmp_path) as swarm:
        family = until(lambda: with_command(swarm.family(), SHARE))
        swarm.process.send_signal(signal.SIGKILL)
        swarm.process.wait()

        await_end(family)
