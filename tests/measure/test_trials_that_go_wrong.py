"""Strategies that crash, hang or lie: each leaves a row that says so, and harms no other trial."""

import errno
import json
import math
import signal
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import psutil
import pytest

from inflight import strategies
from inflight.bench.measure import held, host, process, server
from inflight.bench.measure.crawl import run_trial
from inflight.bench.measure.process import Runtime, Worker, WorkerError
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Setting
from inflight.bench.measure.worker.crawl import cause_of
from inflight.bench.plan import trials as plan
from inflight.bench.plan.grid import served
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import records
from inflight.bench.rows.files import SCHEMA_FILE, Row
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.fake_server.site import SiteConfig
from tests.measure.workshop import Workshop, experiment
from tests.patience import FOREVER_S, until

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8")))

ENDINGS = tomllib.loads(Path(__file__).with_name("endings_of_trials.toml").read_text("utf-8"))
NEEDS = {"needs_what_is_not_there": ("no-such-distribution", "psutil")}
SEED = 60
"""Puts trials after that which kills the server; the test says if it no longer does."""


@pytest.fixture(scope="module")
def endings(workshop: Workshop) -> dict[str, Row]:
    """Return the rows in the order in which they were made: each strategy is one file, without registration."""
    for name, ending in ENDINGS.items():
        workshop.add_strategy(name, ending["body"], NEEDS.get(name, ()))
    return {row.strategy: row for row in workshop.measure(experiment(*ENDINGS, seed=SEED))}


def test_each_end_of_a_worker_has_its_reason(endings: dict[str, Row]) -> None:
    assert endings.keys() == ENDINGS.keys()
    for name, ending in ENDINGS.items():
        row, status, words = endings[name], ending["status"], ending.get("reason")
        assert row.status == status, (name, row.reason)
        assert row.valid is False or status == "ok"
        assert row.reason is None if words is None else words in (row.reason or ""), (name, row.reason)
        assert "\n" not in row.to_json()
        assert records.read(row.to_json()) == row
        VALIDATOR.validate(json.loads(row.to_json()))


def test_a_wrong_answer_keeps_its_figures_and_has_an_invalid_check(endings: dict[str, Row]) -> None:
    for name in ("forgets_one", "lies_about_the_size", "fails_all"):
        row = endings[name]
        assert row.measured.makespan_ns > 0
        assert "answer correct" in [check.name for check in row.failed_checks]


def test_failed_pages_are_no_throughput(endings: dict[str, Row]) -> None:
    measured = endings["fails_all"].measured

    assert (measured.pages, measured.failed_pages, measured.pages_per_s) == (1, 1, 0)
    assert "no unexpected failures" in [check.name for check in endings["fails_all"].failed_checks]


def test_what_was_known_before_a_crash_is_kept(endings: dict[str, Row]) -> None:
    skipped = endings["needs_what_is_not_there"]

    assert endings["raises"].knobs.strategy == "raises"
    assert '"knobs":{}' in endings["does_not_import"].to_json()
    assert all(f'"{part}":{{}}' in skipped.to_json() for part in ("measured", "server", "knobs"))


def test_a_server_that_died_is_replaced(endings: dict[str, Row]) -> None:
    order = list(endings)

    later = order[order.index("kills_the_server") + 1 :]

    assert {"ok", "wrong"} < {endings[name].status for name in later}


def trial_of(workshop: Workshop, strategy: str, kind: Any = "crawl", in_flight: int = 1) -> Trial:
    site = SiteConfig(pages=5, links=2 if kind == "crawl" else 0)
    workload = CrawlWorkload(id="test", in_flight=in_flight, connection="keep-alive", **served(site))
    described = strategies.describe(strategy, workshop.folder / "inflight" / "strategies")
    return plan.trial_of(kind, 1, workload, replace(described, most_in_flight=None))


def setting_of(workshop: Workshop) -> Setting:
    return Setting("run", host.ANY, lambda _: FOREVER_S, runtime=Runtime(strategies=workshop.folder))


def test_a_worker_that_hangs_is_killed_at_its_deadline_with_its_children(
    fake: Server, workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    workshop.add_strategy(
        "hangs_with_children",
        "def crawl(job, frontier):\n"
        "    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):\n"
        "        signal.signal(number, signal.SIG_IGN)\n"
        "    waiting = [sys.executable, '-c', 'import signal; signal.pause()']\n"
        "    children = [subprocess.Popen(waiting) for _ in range(2)]\n"
        "    if not (child := os.fork()):\n"
        "        signal.pause()\n"
        f"    with open('{pids}.new', 'w') as file:\n"
        "        file.write(repr([os.getpid(), child, *(child.pid for child in children)]))\n"
        f"    os.replace('{pids}.new', '{pids}')\n"
        "    signal.pause()",
    )
    clock = SimpleNamespace(monotonic=lambda: math.inf if pids.exists() else 0.0)  # the deadline comes when it hangs
    monkeypatch.setattr(process, "time", clock)

    row = run_trial(trial_of(workshop, "hangs_with_children"), fake, setting_of(workshop))

    assert (row.status, row.reason) == ("timeout", "the worker did not finish by its deadline and was killed")
    assert row.knobs.strategy == "hangs_with_children"
    family = json.loads(pids.read_text("utf-8"))
    assert len(family) == 4
    until(lambda: not any(map(_runs, family)))


def test_a_failed_memory_trial_does_not_close_the_gate_for_the_next(
    fake: Server, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(_base: object, _stage: str, worker: Worker, _server: Server) -> dict[str, Any]:
        worker.process.kill()
        raise WorkerError(worker.obituary())

    def run(strategy: str, kind: str) -> tuple[str, str | None]:
        row = run_trial(trial_of(workshop, strategy, kind, in_flight=3), fake, setting_of(workshop))
        return row.status, row.reason

    with monkeypatch.context() as patch:
        patch.setattr(held, "layers_since", kill)
        assert run("callbacks", "memory") == ("failed", "the worker was killed by signal 9 (SIGKILL)")
    with monkeypatch.context() as patch:
        seen = [0]
        clock = SimpleNamespace(
            monotonic=lambda: math.inf if seen[-1] else 0.0,  # the deadline comes when one is held
            monotonic_ns=int,
            sleep=lambda _: seen.append(fake.stats()["in_flight"]),
        )
        patch.setattr(held, "time", clock)
        too_few = "only 1 of 3 fetches were in flight at the deadline"
        assert run("sequential", "memory") == ("timeout", too_few)
    assert run("callbacks", "memory") == run("callbacks", "crawl") == ("ok", None)


def test_a_server_that_does_not_answer_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LAST_S", 0)
    with server.running(None, answer_s=0.1) as silent:
        silent.process.send_signal(signal.SIGSTOP)

        with pytest.raises(server.ServerError, match="the fake server does not answer"):
            silent.stats()

        until(lambda: not silent.alive)


def test_a_server_that_was_killed_is_named_with_its_signal_even_if_it_left_a_command_unread() -> None:
    with server.running(None) as killed:
        killed.process.send_signal(signal.SIGSTOP)
        killed.control.sendall(b'{"do": "stats"}\n')
        killed.process.kill()
        killed.process.wait()

        with pytest.raises(server.ServerError) as lost:
            killed.stats()

        assert str(lost.value) == "the fake server was killed by signal 9 (SIGKILL)"


def _runs(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("bug", "cause"),
    [
        (MemoryError(), "limit"),
        (RuntimeError("can't start new thread"), "limit"),
        (OSError(errno.EMFILE, "too many"), "limit"),
        (ExceptionGroup("many", [OSError(errno.EMFILE, "too many"), ValueError()]), "limit"),
        (OSError(errno.ECONNRESET, "reset"), None),
        (RuntimeError("another"), None),
    ],
    ids=repr,
)
def test_a_limit_of_the_machine_is_distinguished_from_a_bug(bug: Exception, cause: str | None) -> None:
    assert cause_of(bug) == cause
