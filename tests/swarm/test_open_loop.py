"""Real open loops of a second at most: Locust in a process of its own, against a real fake server."""

import json
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Self

import jsonschema
import pytest

from inflight.bench.commands import open_loop as open_loop_command
from inflight.bench.commands.run import REFUSALS
from inflight.bench.measure import host
from inflight.bench.measure.checks import MS, judge
from inflight.bench.measure.server import Server, running
from inflight.bench.measure.swarm.open_loop import CHECKS, long_enough, no_hole, run_open, wrong_answer
from inflight.bench.measure.swarm.schedule import NO_ANSWER
from inflight.bench.measure.trial import Observation, Setting
from inflight.bench.plan.judge import convert
from inflight.bench.plan.scale import OpenTable
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import files as rows
from inflight.bench.rows import parts, records
from inflight.bench.rows.files import Row
from tests.patience import FOREVER_S
from tests.ports import free_port

VALIDATOR = jsonschema.Draft202012Validator(json.loads(rows.SCHEMA_FILE.read_text("utf-8")))
SETTING = Setting("run", host.Cpus(None, None), lambda _: FOREVER_S)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(None) as started:
        yield started


def measured(server: Server, **table: Any) -> Row:
    (trial,) = convert(table, OpenTable, "test").trials()
    row = run_open(trial, server, SETTING)
    VALIDATOR.validate(json.loads(row.to_json()))
    assert records.read(row.to_json()) == row
    return row


def verdict(row: Row, name: str) -> str:
    return next(check.verdict for check in row.checks if check.name == name)


@pytest.mark.ci
def test_every_arrival_of_a_low_rate_is_counted(server: Server) -> None:
    site = {"pages": 30, "missing": 0.2, "redirects": 0.2, "faults": {"truncated": 0.2}}

    row = measured(server, rates=[50], seconds=1, users=20, latency=["5ms"], site=site)

    told = row.measured
    assert (row.status, row.strategy, row.stack, row.kind) == ("ok", "locust", "own", "open")
    assert told.kept is (told.why is None), "which of the two, the machine decides"
    assert told.completed + told.failed == told.started <= told.arrivals == 50
    assert told.corrected.min_ns >= told.uncorrected.min_ns >= 5_000_000
    assert verdict(row, "answer correct") == verdict(row, "settings applied") == "passed"
    assert row.knobs.users == 20, "all users are free when the schedule begins"
    assert told.started <= told.locust.requests <= 100  # the second of warm-up is in Locust's own count
    assert 0 < told.client_cpu_share < 1
    assert "locust" not in sys.modules


def test_a_target_without_answers_makes_failures_and_an_invalid_row(server: Server) -> None:
    port = free_port()

    row = measured(
        server,
        rates=[20],
        seconds=0.2,
        users=2,
        target=f"http://127.0.0.1:{port}/where?x=1",
    )

    assert row.status == "ok"
    assert row.measured.failed == row.measured.started <= row.measured.arrivals == 4
    assert [key.split(":")[0] for key in row.measured.errors] == ["ConnectionRefusedError"]
    assert verdict(row, "no unexpected failures") == "failed"
    assert verdict(row, "answer correct") == "not applicable"
    assert row.measured.server_cpu_share is None
    assert row.server == parts.ServerCounts()


class Curt:
    """A server that closes each connection: at once, or after one answer with keep-alive."""

    def __init__(self, *, answers: int) -> None:
        self.requests = self.connections = 0
        self._answers = answers
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.target = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"
        self._thread = Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                with connection, suppress(OSError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        for _ in range(self._answers):
            self.requests += bool(connection.recv(4096))
            # The end of the connection is in the same segment: no request can come between the two.
            answer = b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"
            connection.send(answer, socket.MSG_MORE)
            connection.shutdown(socket.SHUT_WR)


@pytest.mark.ci
def test_a_target_that_closes_every_connection_gets_only_the_requests_of_the_schedule(server: Server) -> None:
    with Curt(answers=0) as curt:
        row = measured(server, rates=[20], seconds=0.2, users=2, target=curt.target)

    assert row.measured.failed == row.measured.started
    assert curt.connections == row.measured.locust.requests <= 24  # a second of warm-up and the window
    assert row.measured.not_kept == "too slow"


@pytest.mark.ci
def test_a_kept_connection_that_was_closed_meanwhile_is_replaced_and_statuses_are_named(server: Server) -> None:
    with Curt(answers=1) as curt:
        row = measured(server, rates=[20], seconds=0.2, users=2, target=curt.target)

    assert (row.measured.failed, row.measured.completed) == (0, row.measured.started)
    assert 0 < curt.requests == curt.connections <= 24
    (told,) = [check.detail for check in row.checks if check.name == "answer correct"]
    assert f"status 302 {curt.requests} times" in told


def seen_of(measured: dict[str, Any], *answers: tuple[str, int, int, str | None, int]) -> Observation:
    """Return what was seen in a window of three seconds."""
    return Observation(measured, outcome={"answers": answers, "window_ns": 3_000_000_000})


def trial_on(delay: str = "0") -> Trial:
    """Return a trial on a site of five pages."""
    (trial,) = OpenTable(rates=(1,), latency=(delay,), site={"pages": 5}).trials()
    return trial


(ON_A_TARGET,) = OpenTable(rates=(1,), target="http://127.0.0.1/").trials()


def test_the_check_of_the_window_uses_the_measured_times() -> None:
    def judged(not_kept: str | None, **times: Any) -> str:
        return long_enough(ON_A_TARGET, seen_of({"not_kept": not_kept, "uncorrected": times}))[0]

    assert judged(None, count=20, p90_ns=1_000_000_000) == "passed"
    assert judged("window too short", count=20, p90_ns=1_100_000_000) == "failed"
    assert judged("too slow", count=20, p90_ns=1_100_000_000) == "not applicable"
    assert judged("too slow", count=0) == "not applicable"


@pytest.mark.parametrize(
    ("delay", "rate_per_s", "usual_ms", "longest_ms"),
    [
        ("0", 100.0, 1, 1010),
        ("50ms", 100.0, 51, 1080),
        ("2s", 0.5, 2001, 44_020),
        ("0", 100.0, 60, 1210),
    ],
)
def test_no_request_ends_for_longer_than_site_rate_and_load_explain(
    delay: str, rate_per_s: float, usual_ms: int, longest_ms: int
) -> None:
    measured = {"offered_per_s": rate_per_s, "uncorrected": {"p50_ns": usual_ms * MS}}

    for hole_ns, verdict in ((longest_ms * MS, "passed"), (longest_ms * MS + 1, "failed")):
        assert no_hole(trial_on(delay), seen_of({**measured, "hole_ns": hole_ns}))[0] == verdict
    assert no_hole(ON_A_TARGET, seen_of({**measured, "hole_ns": 99 * longest_ms * MS}))[0] == "not applicable"


def test_a_wrong_answer_is_reported_with_an_example() -> None:
    seen = seen_of({}, ("/p/1", 200, 1200, None, 3), ("/p/2", 200, 7, None, 2))

    assert wrong_answer(trial_on(), seen) == (
        "2 wrong answers; for example /p/2: expected status 200 with 1200 bytes, got status 200 with 7 bytes"
    )


@pytest.mark.parametrize(("kept", "judged"), [(True, "failed"), (False, "passed")])
def test_late_answers_are_unexpected_unless_the_rate_was_lost(kept: bool, judged: str) -> None:
    told: dict[str, Any] = {"kept": kept, "not_kept": None, "listen_drops": 0}
    told |= {"corrected": {"count": 5}, "uncorrected": {"count": 0}}
    seen = seen_of(told, ("/", 0, 0, NO_ANSWER, 2))

    (late,) = [one for one in judge(CHECKS, ON_A_TARGET, seen) if one.name == "no unexpected failures"]
    assert late.verdict == judged


def ask(out: Path, **changes: Any) -> int:
    options: dict[str, Any] = {
        "rates": (5.0,),
        "duration": "1s",
        "latency": None,
        "in_flight": 10,
        "target": None,
    }
    more = {"not_loopback": False, "rounds": 1, "out": out, "as_json": False}
    return open_loop_command.run(**(options | more | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rates": (0.0,)}, "--rate: each value of rates must be a number > 0, not [0.0]"),
        ({"rates": (0.5,)}, "--rate: at 0.5 a second nothing arrives in 1 s"),
        ({"latency": "soon"}, '--latency: "soon" is not a latency'),
        ({"latency": "80"}, "--latency: 80 has no unit; write 80ms or 80s"),
        ({"duration": "5"}, "--duration: 5 has no unit; write 5ms or 5s"),
        ({"duration": "2h"}, "--duration must be longer than 0 and at most 1h, not 2h"),
        ({"target": "ftp://127.0.0.1/"}, "must be an http URL"),
        ({"target": "http://192.0.2.1/"}, "permission of whoever owns 192.0.2.1"),
        ({"target": "http://127.0.0.1:1/"}, "no server answers at 127.0.0.1:1"),
        ({"target": "http://[::1]:1/"}, "no server answers at [::1]:1"),
        ({"target": "http://127.0.0.1:0/"}, "nothing listens on port 0"),
        ({"target": "http://127.0.0.1:1/", "latency": "5ms"}, "leave out --latency"),
    ],
)
def test_an_invalid_request_is_refused_before_anything_is_written(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(REFUSALS) as refused:
        ask(tmp_path / "results", **changes)

    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "results").exists()


def test_more_users_than_descriptors_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 100))

    with pytest.raises(REFUSALS, match=r"^200 in flight need .*use at most 36, or raise the limit"):
        ask(tmp_path / "results", in_flight=200)

    assert not (tmp_path / "results").exists()
