"""``inflight swarm`` and [[swarm]] tables through the command line, with 2,000 in flight."""

import json
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.show.folder import knob
from tests.cli.command import INFLIGHT, await_end, call, running
from tests.patience import until
from tests.ports import free_port

IN_FLIGHT = 2000


def rows_of(folder: Path) -> list[Row]:
    (run,) = folder.iterdir()
    return rows.read(run)


@pytest.mark.ci
def test_three_models_hold_two_thousand_fetches_confirmed_by_the_gates(tmp_path: Path) -> None:
    experiment = tmp_path / "small.toml"
    experiment.write_text(
        f"""strategies = ["callbacks", "generators", "native_asyncio"]\n[[swarm]]\nin_flight = [{IN_FLIGHT}]\n"""
    )

    done = call("run", experiment, "--out", tmp_path / "results")

    found = rows_of(tmp_path / "results")
    assert {row.strategy for row in found} == {"callbacks", "generators", "native_asyncio"}
    for row in found:
        assert row.status == "ok", row.reason
        assert row.measured.held_in_flight == row.measured.pages == IN_FLIGHT
        assert row.measured.client_processes == 2
        assert row.measured.held_uss_bytes > row.measured.base_uss_bytes
        assert row.measured.locust.requests == IN_FLIGHT
        assert knob(row, "gevent") is False
        assert max(row.measured.timeline.held) == IN_FLIGHT
    assert "2,000" in done.out


@pytest.mark.night
def test_a_locust_worker_that_joins_takes_its_part(tmp_path: Path) -> None:
    port = free_port()
    swarm = ("swarm", "--in-flight", IN_FLIGHT, "--expect", 1, "--port", port, "--json", "--out", tmp_path)
    with running(*swarm) as master:
        while "waiting" not in master.read_error_line():
            pass
        joining = subprocess.run(
            [*INFLIGHT, "swarm", "--join", f"127.0.0.1:{port}"],
            capture_output=True,
            text=True,
            check=False,
        )
        done = master.end()

    assert joining.returncode == 0, joining.stderr
    assert f"joined 127.0.0.1:{port}" in joining.stderr
    assert "1,000 fetches" in joining.stderr
    (row,) = rows_of(tmp_path)
    assert done.code == (0 if row.valid else 1), done.err
    assert row.status == "ok"
    assert row.measured.nodes == 2
    assert row.measured.held_in_flight == IN_FLIGHT
    assert json.loads(done.out)


@pytest.mark.night
def test_a_worker_that_never_joins_is_one_sentence_and_a_row(tmp_path: Path) -> None:
    done = call("swarm", "--in-flight", 100, "--expect", 1, "--wait", "10s", "--port", free_port(), "--out", tmp_path)

    assert done.code == 1
    assert "only 1 of 2 Locust workers joined the master at 127.0.0.1:" in done.err
    (row,) = rows_of(tmp_path)
    assert row.status == "failed"


def command_of(process: psutil.Process) -> str:
    """Return the command line of a process; empty if it has ended, as git does at once."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # also of a zombie
        return ""


def with_command(family: list[psutil.Process], words: str) -> list[psutil.Process]:
    """Return these processes if one of them runs this command."""
    return family if any(words in command_of(one) for one in family) else []


@pytest.mark.parametrize(
    "when",
    [
        "inflight.bench.measure.worker.share",
        pytest.param("inflight.bench.measure.locust.node", marks=pytest.mark.ci),
    ],
)
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
        family = until(lambda: with_command(swarm.family(), "inflight.bench.measure.worker.share"))
        swarm.process.send_signal(signal.SIGKILL)
        swarm.process.wait()

        await_end(family)
