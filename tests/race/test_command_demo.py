"""``inflight demo``: the race of the README in small, what is said about it, and that nothing is left behind."""

import json
import re
import signal
from pathlib import Path

import pytest

from inflight.bench.race import demo
from inflight.bench.race.lanes import races
from inflight.bench.race.page import section
from tests.cli.command import await_end, call, running
from tests.made_rows import edited
from tests.race.made_races import runner


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the demo crawl two pages one at a time."""
    monkeypatch.setattr(demo, "ALONE_PAGES", 2)


@pytest.mark.usefixtures("short")
def test_the_demo_is_the_race_and_sequential_does_not_finish_it(tmp_path: Path) -> None:
    done = call("demo", folder=tmp_path)

    assert done.code == 0, done.err
    assert re.search(r"^callbacks +(\d|invalid) +100 +300 ", done.out, re.MULTILINE)
    assert re.search(r"^sequential +(not finished|invalid) +1 +2 of 300 ", done.out, re.MULTILINE)
    assert "callbacks: 300 pages, 100 in flight ...\n" in done.err
    assert "inflight run quick" in done.err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("short")
def test_the_demo_as_json_has_the_figures_of_all_crawls() -> None:
    done = call("demo", "--json", "--quiet")

    found = json.loads(done.out)
    crawls = {one["strategy"]: one for one in found["crawls"]}
    assert (done.code, done.err) == (0, "")
    assert (found["pages"], found["latency_ns"]) == (300, 50_000_000)
    assert (crawls["callbacks"]["in_flight"], crawls["sequential"]["in_flight"]) == (100, 1)
    assert crawls["sequential"]["makespan_ns"] >= 2 * found["latency_ns"]
    fastest = max(one["pages_per_s"] for one in found["crawls"])
    assert found["times_faster"] == pytest.approx(fastest / crawls["sequential"]["pages_per_s"])


def test_a_failed_crawl_ends_the_demo_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = runner("callbacks", status="failed", reason="no route")
    monkeypatch.setattr(demo, "run_trial", lambda *_: failed)

    done = call("demo")

    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == "inflight: callbacks did not fetch all pages: no route"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_no_process_and_no_file(number: signal.Signals, tmp_path: Path) -> None:
    with running("demo", folder=tmp_path) as process:
        process.read_error_line()
        family = process.family_when(2)
        process.process.send_signal(number)
        done = process.end()

    assert (done.code, done.out, done.err.splitlines()[-1]) == (130, "", "interrupted")
    await_end(family)
    assert list(tmp_path.iterdir()) == []


def test_waiting_is_the_time_without_work_and_without_waiting_for_the_core() -> None:
    times = {"makespan_ns": 8_000_000_000, "cpu_user_ns": 40_000_000, "cpu_system_ns": 40_000_000}
    row = edited(runner("sequential", in_flight=1), measured=times)

    for delay_ns, share in ((0, 0.99), (80_000_000, 0.98)):
        (crawl,) = demo.figures([edited(row, measured={"run_delay_ns": delay_ns})])["crawls"]
        assert crawl["waiting_share"] == pytest.approx(share)


def test_failed_checks_are_named() -> None:
    rows = [runner("callbacks", invalid=True), runner("sequential", [1] * 3, in_flight=1)]

    assert demo.figures(rows)["crawls"][0]["failed_checks"] == ["no listen drops"]
    assert any('failed "no listen drops"' in note for note in section(races(rows)[0]).notes)
