"""Idle threads and tasks: the requested number, read at rest, with nothing left afterwards."""

import json
import resource
import socket
import subprocess
import sys
from typing import get_args

import jsonschema
import psutil
import pytest

from inflight.bench.measure import host
from inflight.bench.measure.bare import run_idle
from inflight.bench.measure.preflight import shortages
from inflight.bench.measure.process import environment
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Setting
from inflight.bench.plan import bare
from inflight.bench.rows.files import SCHEMA_FILE, Row
from tests.patience import FOREVER_S, until
from tests.processes import run_to_end

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8")))
IDLE = get_args(bare.IdleName)
FEW = {name: 40 if name in bare.WITH_SOCKET or name == "thread" else 2000 for name in IDLE}


def run(fake: Server, name: str, n: int, budget_bytes: int | None = None) -> Row:
    return run_idle(
        bare.idle(name, n),
        fake,
        Setting("run", host.Cpus(None, None), lambda _: FOREVER_S, budget_bytes),
    )


@pytest.mark.parametrize("name", IDLE)
def test_the_requested_number_of_blocks_is_held_and_read(fake: Server, name: str, layers_read: dict[str, int]) -> None:
    row = run(fake, name, FEW[name])

    assert (row.status, row.reason, row.valid) == ("ok", None, True)
    assert row.measured.started == FEW[name]
    assert row.measured.held_uss_bytes > row.measured.base_uss_bytes
    assert row.measured.ps_rss_bytes == pytest.approx(row.measured.held_rss_bytes, rel=0.2)
    grown = layers_read["held_threads"] - layers_read["base_threads"]
    assert grown == (FEW[name] if name == "thread" else 0)
    connected = layers_read["held_connections"] - layers_read["base_connections"]
    assert connected == (FEW[name] if name in bare.WITH_SOCKET else 0)
    VALIDATOR.validate(json.loads(row.to_json()))


def test_nothing_of_a_block_is_left(fake: Server) -> None:
    before = {process.pid for process in psutil.Process().children(recursive=True)}

    run(fake, "thread", 50)
    run(fake, "asyncio_task_socket", 50)

    assert {process.pid for process in psutil.Process().children(recursive=True)} == before
    until(lambda: not fake.stats()["connections"])


def test_a_block_over_its_memory_budget_is_ended(fake: Server) -> None:
    row = run(fake, "asyncio_task", 400_000, budget_bytes=60_000_000)

    assert row.status == "failed"
    assert row.reason is not None
    assert row.reason.endswith("MB were used, 60 MB allowed")
    assert row.measured.base_uss_bytes > 0, "what was known is kept"
    assert row.measured.held_uss_bytes is None


def shortage_in_a_process(name: str, n: int, port: int, descriptors: int) -> tuple[int, str]:
    """Start blocks in a process with this many descriptors; return how many it started, and its message."""
    program = f"""
import os, resource
from inflight.bench.measure.idle import worker as idle
resource.setrlimit(resource.RLIMIT_NOFILE, ({descriptors}, {descriptors}))
try:
    idle.KINDS[{name!r}]({n}, {port})
except idle.ShortageError as error:
    print(error.started, error, flush=True)
    os._exit(0)
"""
    done = run_to_end([sys.executable, "-c", program])
    started, _, message = done.stdout.partition(" ")
    assert message, done.stderr
    return int(started), message.strip()


def test_a_block_that_does_not_get_its_descriptors_says_how_many_it_got(fake: Server) -> None:
    started, message = shortage_in_a_process("asyncio_task_stream", 600, fake.port, 300)

    assert 0 < started < 300
    assert message.startswith(f"only {started} could be started: ")
    assert "Too many open files" in message


def test_without_a_server_connections_are_short() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    started, message = shortage_in_a_process("asyncio_task_socket", 3, port, 50)

    assert started == 0
    assert message.startswith("only 0 could be started: ")


def test_too_many_sockets_are_refused_before_the_start() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        pytest.skip("no descriptor limit here")

    reason = next(iter(shortages(bare.idle("asyncio_task_stream", hard)).values()), None)

    assert reason is not None
    assert "RLIMIT_NOFILE" in reason
    assert f"use at most {hard - 64:,}" in reason


def test_too_many_threads_are_refused_with_the_name_of_the_limit() -> None:
    reason = next(iter(shortages(bare.idle("thread", bare.MAX_N)).values()), None)

    assert reason is not None
    assert reason.startswith("2,000,000 threads are more than ")
    assert "use at most " in reason


def test_a_million_coroutines_are_allowed() -> None:
    assert next(iter(shortages(bare.idle("asyncio_task", 1_000_000)).values()), None) is None


def test_a_worker_without_its_controller_ends_at_once_and_silently() -> None:
    command = [sys.executable, "-P", "-m", "inflight.bench.measure.idle.worker"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stderr is not None
        worker.stdin.write(
            json.dumps(
                {
                    "what": "asyncio_task",
                    "n": 20_000,
                    "port": 0,
                    "lifetime_s": FOREVER_S,
                }
            )
            + "\n"
        )
        worker.stdin.flush()
        assert json.loads(worker.stdout.readline())["event"] == "ready"
        worker.stdout.close()
        worker.stdin.write(json.dumps({"do": "start"}) + "\n")
        worker.stdin.close()
        worker.wait()

        assert "Task was destroyed" not in worker.stderr.read()
