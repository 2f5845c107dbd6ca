"""Trials with a real server and real workers: the rows of successful trials."""

import json
import signal
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import jsonschema
import msgspec
import psutil
import pytest

from inflight import strategies
from inflight.bench.measure import crawl, host, process, server
from inflight.bench.measure.crawl import PROGRAM, run_trial
from inflight.bench.measure.server import Server, ServerError
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.experiment import parse
from inflight.bench.plan.trial import Trial
from inflight.bench.plan.trials import expand
from inflight.bench.rows import records
from inflight.bench.rows.files import SCHEMA_FILE, Row
from inflight.bench.rows.parts import Knobs
from inflight.fake_server.site import SiteConfig
from inflight.strategies.base import Job
from tests.measure.made_engine import assert_certain
from tests.patience import FOREVER_S, until

MEASURED = {
    "peak_threads", "uss_bytes", "rss_bytes", "pss_bytes", "cpu_user_ns", "cpu_system_ns", "makespan_ns",
    "peak_in_flight", "tries", "hole_ns", "service", "response", "steady_service", "run_delay_ns",
    "timeline", "pages", "failed_pages", "pages_per_s", "cpu_per_page_ns",
    "steal_share", "listen_drops", "ephemeral_ports", "port_refusals", "samples",
}  # fmt: skip
STEADY = {"steady_service"}
"""What a crawl has that was full for long enough."""
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
LAYERS = ("uss_bytes", "rss_bytes", "page_tables_bytes", "kernel_stack_bytes", "slab_bytes", "socket_bytes")
REACHED = {
    "held_in_flight", "held_server_uss_bytes", "reach_ns", "reach_cpu_ns", "reach_server_cpu_ns", "drain_ns",
    "peak_in_flight", "tries", "pages", "failed_pages", "timeline", "makespan_ns", "steal_share", "listen_drops",
    "ephemeral_ports", "port_refusals",
}  # fmt: skip
HELD = {f"{stage}_{layer}" for stage in ("base", "held") for layer in LAYERS} | REACHED


@pytest.fixture(params=strategies.models())
def strategy(request: pytest.FixtureRequest) -> str:
    if lack := strategies.describe(request.param).lack:
        pytest.skip(f"{request.param} {lack}")
    return str(request.param)


@pytest.fixture
def run(fake: Server) -> Callable[..., Row]:
    """Return a function that runs one trial unpinned; its options are those of a grid and of a site."""
    setting = Setting("run", host.Cpus(None, None), lambda _: FOREVER_S, unit_ns=20_000.0)
    return lambda *args, **options: run_trial(a_trial(*args, **options), fake, setting)


def a_trial(strategy: str, kind: Any = "crawl", latency: str = "0", in_flight: int = 1, **options: Any) -> Trial:
    connection = options.pop("connection", "keep-alive")
    held = {key: options.pop(key) for key in ("waves", "parked", "cpu") if key in options}
    table = {
        "latency": [latency],
        "in_flight": [in_flight],
        "connection": [connection],
        "site": {"pages": 40} | options,
    }
    experiment = parse({"strategies": [strategy], kind: [table | held]}, "x", strategies.names(), "x")
    described = strategies.describe(strategy)
    (trial,) = expand(experiment, {strategy: replace(described, most_in_flight=None)})
    return replace(trial, models={strategy: described})


def test_every_strategy_makes_a_complete_row(run: Callable[..., Row], strategy: str) -> None:
    row = run(strategy, latency="1ms", in_flight=4)

    assert_certain(row)
    assert MEASURED - STEADY <= set(msgspec.to_builtins(row.measured)) <= MEASURED
    assert (row.measured.pages, row.measured.failed_pages, row.measured.tries) == (40, 0, 40)
    assert row.measured.service.count == 40
    assert sum(row.measured.timeline.completions) == 40
    assert row.measured.makespan_ns > 0
    assert row.measured.cpu_user_ns + row.measured.cpu_system_ns > 0
    assert row.measured.service.min_ns >= 1_000_000, "the added latency is in it"
    assert row.server.requests == 40
    assert row.knobs.strategy == row.strategy == strategy
    assert set(row.knobs.versions or ()) == set(strategies.describe(strategy).requires)
    assert len(row.checks) == 10
    VALIDATOR.validate(json.loads(row.to_json()))
    assert row.stack == strategies.describe(strategy).stack
    assert records.read(row.to_json()) == row


@pytest.mark.parametrize("strategy", ["callbacks", "thread_pool"])
def test_a_row_has_the_cpu_work_of_its_pages(run: Callable[..., Row], strategy: str) -> None:
    row = run(strategy, in_flight=2, pages=30, cpu=("200us",))

    assert (row.status, row.reason) == ("ok", None)
    assert (row.workload.cpu, row.workload.cpu_ns) == ("200us", 200_000)
    assert (row.measured.work_units, row.measured.worked_pages) == (10, 30)
    assert row.measured.cpu_per_page_ns > row.measured.work_ns / 2 > 0
    VALIDATOR.validate(json.loads(row.to_json()))


def test_memory_is_read_with_exactly_the_cap_in_flight(
    run: Callable[..., Row], strategy: str, layers_read: dict[str, int]
) -> None:
    number = strategies.describe(strategy).most_in_flight or 25

    row = run(strategy, kind="memory", in_flight=number, links=0)

    assert_certain(row)
    assert set(msgspec.to_builtins(row.measured)) - {"held_disturbed"} == HELD
    assert row.measured.held_in_flight == row.server.peak_in_flight == row.measured.pages == number
    assert row.measured.held_uss_bytes > 1_000_000
    assert layers_read["held_connections"] == number
    assert layers_read["held_threads"] == 1 + number * strategies.describe(strategy).threads_each
    assert row.measured.reach_ns > 0
    assert row.measured.reach_cpu_ns > 0  # a clock of ticks of 10 ms says 0 of so short a crawl
    assert row.measured.drain_ns > 0
    VALIDATOR.validate(json.loads(row.to_json()))


def test_parked_workers_are_read_when_all_fetches_but_one_have_been_answered(
    run: Callable[..., Row], strategy: str, layers_read: dict[str, int]
) -> None:
    number = strategies.describe(strategy).most_in_flight or 20

    row = run(strategy, kind="memory", in_flight=number, links=0, connection="per-fetch", parked=True)

    assert_certain(row)
    assert row.workload.parked is True
    assert {f"parked_{layer}" for layer in LAYERS} <= set(msgspec.to_builtins(row.measured))
    assert (layers_read["held_connections"], layers_read["parked_connections"]) == (number, 1)


@pytest.mark.parametrize("strategy", ["callbacks", "thread_pool"])
def test_a_second_wave_is_fetched_when_the_gate_has_been_opened(run: Callable[..., Row], strategy: str) -> None:
    number = strategies.describe(strategy).most_in_flight or 10

    row = run(strategy, kind="memory", in_flight=number, links=0, waves=3)

    assert_certain(row)
    assert (row.measured.held_in_flight, row.measured.pages) == (number, 3 * number)
    assert row.server.total_connections == number, "the later waves go over the connections that were kept"


def test_a_trial_over_its_memory_budget_is_ended(fake: Server) -> None:
    setting = Setting("run", host.Cpus(None, None), lambda _: FOREVER_S, budget_bytes=1_000_000)

    row = run_trial(a_trial("callbacks", kind="memory", in_flight=2000, links=0), fake, setting)

    assert row.status == "failed"
    assert row.reason is not None
    assert row.reason.endswith("MB were used, 1 MB allowed")
    assert run_trial(a_trial("callbacks"), fake, setting).status == "ok", "the server goes on"


def test_a_deadline_in_the_past_is_a_timeout_at_once(fake: Server) -> None:
    row = run_trial(a_trial("callbacks"), fake, Setting("run", host.Cpus(None, None), lambda _: 0.001))

    assert row.status == "timeout"
    assert row.knobs == Knobs()


def test_the_kernel_ends_an_abandoned_worker(fake: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 1)
    fake.configure(SiteConfig(pages=1))
    fake.tell("hold")
    job = Job((f"{fake.base}/",))

    with process.running(
        [PROGRAM],
        {"strategy": "callbacks", "job": job.to_dict()},
        None,
        0,
    ) as worker:
        worker.deadline_s += FOREVER_S  # the kernel alone is to end it
        worker.send({"do": "crawl"})
        until(lambda: worker.process.poll() is not None)

        assert "killed by signal 14 (SIGALRM)" in worker.obituary()


def test_a_worker_ignores_ctrl_c(fake: Server) -> None:
    fake.configure(SiteConfig(pages=1))
    job = Job((f"{fake.base}/",))

    with process.running(
        [PROGRAM],
        {"strategy": "callbacks", "job": job.to_dict()},
        None,
        FOREVER_S,
    ) as worker:
        worker.expect("ready", "knobs")
        worker.process.send_signal(signal.SIGINT)
        worker.send({"do": "crawl"})

        assert worker.expect("crawled", "error")["error"] is None


def test_the_error_of_a_stopped_server_says_how_it_ended() -> None:
    with server.running(None) as started:
        started.tell("stop")
        started.process.wait()
        with pytest.raises(ServerError, match="the fake server exited with 0"):
            started.stats()

        assert not started.alive


def test_a_refusal_of_the_server_is_quoted(fake: Server) -> None:
    with pytest.raises(ServerError, match="the fake server refused dance: unknown command 'dance'"):
        fake.tell("dance")


def test_a_fetch_may_take_as_long_as_its_trial() -> None:
    server, setting = (
        SimpleNamespace(port=80),
        Setting(
            "run",
            host.ANY,
            lambda _: 7.5,
            unit_ns=20_000.0,
        ),
    )

    job = crawl._job(
        a_trial("callbacks", cpu=("210us",), in_flight=3),
        cast("Server", server),
        setting,
    )
    plain = crawl._job(
        a_trial("callbacks", in_flight=3, connection="per-fetch"),
        cast("Server", server),
        setting,
    )

    roots = tuple(f"http://127.0.0.1:80{path}" for path in ("/", "/p/1", "/p/2"))
    assert job == Job(roots, max_in_flight=3, timeout_ns=7_500_000_000, work_units=10)
    assert plain == Job(roots, max_in_flight=3, connection="per-fetch", timeout_ns=7_500_000_000)


class Observed:
    """A process whose figures are made up; each of its threads has used as much CPU time as there are threads."""

    pid = 7

    def __init__(self) -> None:
        self.threads = 0

    def oneshot(self) -> nullcontext[None]:
        return nullcontext()

    def num_threads(self) -> int:
        self.threads += 1
        return self.threads

    def memory_info(self) -> SimpleNamespace:
        return SimpleNamespace(rss=self.threads * 1000)


def test_samples_from_outside_are_kept_as_a_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns, observed = 5_000, Observed()
    monkeypatch.setattr(crawl, "time", SimpleNamespace(monotonic_ns=lambda: now_ns))
    monkeypatch.setattr(host, "cpu_ns", lambda pid: pid + observed.threads**2)
    sampler = crawl.Sampler(cast("psutil.Process", observed))

    for _ in range(3 * crawl.MAX_SAMPLES):
        sampler.sample()
        sampler.sample()  # not yet due
        now_ns += crawl.MIN_NS
    samples = sampler.samples()

    steps = [*range(0, 200, 4), *range(201, 400, 4), *range(403, 600, 4)]
    assert samples["at_ns"] == [step * crawl.MIN_NS for step in steps]
    assert samples["threads"][:3] + samples["threads"][-2:] == [1, 5, 9, 349, 350]
    assert samples["rss_bytes"] == [1000 * threads for threads in samples["threads"]]
    assert samples["cpu_ns"] == [threads**2 for threads in samples["threads"]]
    assert sampler.peak_threads == 350
