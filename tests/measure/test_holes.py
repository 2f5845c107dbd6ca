"""A client or a server that is stopped in mid-measurement: its row is invalid, and without the stop it is not."""

import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from inflight import strategies
from inflight.bench.frame.blocks import has_failed
from inflight.bench.measure import host
from inflight.bench.measure.blocks import block
from inflight.bench.measure.crawl import run_trial
from inflight.bench.measure.expected import longest_wait_ns
from inflight.bench.measure.process import Runtime
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Setting
from inflight.bench.measure.worker.crawl import longest_pause_ns
from inflight.bench.plan import trials as plan
from inflight.bench.plan.grid import served
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.fake_server.site import SiteConfig
from inflight.strategies.base import Job
from tests.measure.made_engine import GOOD, block_of, run
from tests.measure.workshop import Workshop
from tests.patience import FOREVER_S

MS = 1_000_000
STOP_S = 1.5
"""More than the limit of 1 s. Two fetches at a time, of a millisecond each, do not raise it on any machine."""


def assert_hole(row: Row, *, is_stopped: bool) -> None:
    """Check the verdict of a row. A machine may stand still while nobody is stopped."""
    assert row.status == "ok", row.reason
    (check,) = (check for check in row.checks if check.name == "no hole")
    is_long = row.measured.hole_ns > 1000 * MS
    assert is_long or not is_stopped
    assert check.verdict == ("failed" if is_long else "passed")


def test_a_pause_lies_between_neighbours_or_at_an_end() -> None:
    assert longest_pause_ns([5, 3, 4], (0, 6)) == 3
    assert longest_pause_ns([1, 5], (0, 6)) == 4
    assert longest_pause_ns([1, 2], (0, 9)) == 7
    assert longest_pause_ns([], (2, 9)) == 7


@pytest.mark.parametrize(
    ("site", "wait_ns"),
    [
        ({}, 0),
        ({"delay": "50ms"}, 50 * MS),
        ({"delay": "bimodal 10ms 500ms 0.05"}, 500 * MS),
        ({"delay": "bimodal 10ms 500ms 0"}, 10 * MS),
        ({"delay": "50ms", "faults": (("drip", 0.5),), "drip_ns": 3000 * MS}, 3050 * MS),
        ({"delay": "50ms", "faults": (("reset-mid", 0.5),)}, 50 * MS * Job(()).max_tries),
        ({"delay": "50ms", "endless": True}, 50 * MS),
    ],
)
def test_a_site_lets_a_fetch_wait_for_its_latency_and_its_faults(site: dict[str, Any], wait_ns: int) -> None:
    assert longest_wait_ns(SiteConfig(pages=100, **site)) == wait_ns


def test_a_site_with_rare_delays_counts_only_those_that_it_draws() -> None:
    assert longest_wait_ns(SiteConfig(pages=1, delay="bimodal 10ms 500ms 0.01")) == 10 * MS


# A stop within a crawl: the client itself stops a process at its third page, and another process lets it go on.

STOPPED = {
    "stops_nobody": "",
    "stops_the_client": "        stop(os.getpid())\n",
    "stops_the_server": "        [stop(server.pid) for server in servers()]\n",
}
BODY = f"""
def stop(pid):
    go_on = f"sleep {STOP_S}; while kill -CONT {{pid}} && kill -0 {{os.getpid()}}; do sleep {STOP_S}; done"
    silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    subprocess.Popen(["sh", "-c", go_on], **silent)
    os.kill(pid, signal.SIGSTOP)

def crawl(job, frontier):
    finish = frontier.finish
    def finish_and_stop(fetch, response):
        if len(frontier.finished) == 2:
            stop_somebody()
        return finish(fetch, response)
    frontier.finish = finish_and_stop
    honest_callbacks(job, frontier)

def stop_somebody():
    if True:
"""


@pytest.mark.ci
@pytest.mark.parametrize("name", STOPPED)
def test_a_crawl_with_a_stop_is_invalid(name: str, fake: Server, workshop: Workshop) -> None:
    workshop.add_strategy(name, BODY + (STOPPED[name] or "        pass\n"))
    described = strategies.describe(name, workshop.folder / "inflight" / "strategies")
    workload = CrawlWorkload(
        id="test", in_flight=2, connection="keep-alive", **served(SiteConfig(pages=10, links=5, delay="1ms"))
    )
    trial = plan.trial_of("crawl", 1, workload, described)
    setting = Setting(
        "run",
        host.ANY,
        lambda _: FOREVER_S,
        runtime=Runtime(strategies=workshop.folder),
    )

    row = run_trial(trial, fake, setting)

    assert_hole(row, is_stopped=name != "stops_nobody")


@pytest.mark.ci
@pytest.mark.parametrize("stopped", ["client", "server"])
def test_an_arm_is_blamed_for_a_stop_of_its_client_and_not_of_its_server(
    stopped: str, fake: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure: Callable[..., None] = block._slice

    def measure_stopped(one: block.Running, **others: Any) -> None:
        assert one.worker is not None
        pid = one.worker.pid if stopped == "client" else fake.process.pid
        if one.arm.name != "callbacks" or others["cycle"] != 1:
            measure(one, **others)
            return
        os.kill(pid, signal.SIGSTOP)
        with subprocess.Popen(["sh", "-c", f"sleep {2 * STOP_S}; kill -CONT {pid}"]):
            measure(one, **others)

    monkeypatch.setattr(block, "_slice", measure_stopped)

    row = run(block_of([replace(arm, in_flight=2) for arm in GOOD], "0"), fake)["callbacks"]

    assert [check.name for check in row.failed_checks] == ["no hole"], row.reason
    assert has_failed(row) == (stopped == "client")
