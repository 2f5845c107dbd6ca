"""Three clients of a real server: their counts, and their messages if something is missing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import jsonschema
import pytest

from inflight.bench.measure import host
from inflight.bench.measure.clients import run as clients
from inflight.bench.measure.server import Server, running
from inflight.bench.measure.trial import Setting
from inflight.bench.rows.files import SCHEMA_FILE, Row
from tests.patience import FOREVER_S

IN_FLIGHT = 10
SETTING = Setting("made", host.choose_cpus(pin=True), lambda _trial: FOREVER_S)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(SETTING.cpus.server) as one:
        yield one


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "callbacks" else pytest.mark.night) for name in clients.CLIENTS],
)
def test_a_client_counts_what_the_server_counts(name: str, server: Server) -> None:
    if why := clients.absent(name):
        pytest.skip(why)
    row = clients.run_client(clients.trial(name, "10ms", seconds=2, in_flight=IN_FLIGHT), server, SETTING)

    assert (row.status, row.reason, row.kind, row.strategy) == ("ok", None, "client", name)
    verdicts = {check.name: check.verdict for check in row.checks}
    assert verdicts["requests counted alike"] == verdicts["no unexpected failures"] == "passed"
    assert row.measured.completed > 0
    assert row.measured.service.p50_ns >= 10_000_000
    assert row.measured.completed_per_s <= 1.02 * IN_FLIGHT / 0.010
    assert row.measured.server_requests >= row.measured.completed
    jsonschema.validate(json.loads(row.to_json()), json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
    assert Row.from_json(row.to_json()) == row


@pytest.mark.parametrize(
    ("name", "told"), [("wrk", "wrk is not installed; get it with: apt"), ("locust", "pip install inflight-bench[loc")]
)
def test_a_client_that_is_not_installed_is_a_skipped_row_that_says_how_to_get_it(
    name: str, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    row = clients.run_client(clients.trial(name, "0", seconds=0.3), cast("Server", None), SETTING)

    assert row.status == "skipped"
    assert told in str(row.reason)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "callbacks" else pytest.mark.night) for name in clients.CLIENTS],
)
def test_a_lost_server_is_a_failed_row(name: str) -> None:
    if why := clients.absent(name):
        pytest.skip(why)
    with running(SETTING.cpus.server) as gone:
        gone.process.kill()
        row = clients.run_client(clients.trial(name, "0", seconds=0.3), gone, SETTING)

    assert row.status == "failed"
    assert "the fake server" in str(row.reason)
