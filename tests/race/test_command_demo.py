"""``inflight demo``: the race of the README in small, what is said about it, and that nothing is left behind."""

import re
import signal
from pathlib import Path

import pytest

from inflight.bench.race import demo
from inflight.bench.race.lanes import races
from inflight.bench.race.page import section
from tests.cli.command import await_end, call, running
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


def test_failed_checks_are_named() -> None:
    rows = [runner("callbacks", invalid=True), runner("sequential", [1] * 3, in_flight=1)]

    assert any('failed "no listen drops"' in note for note in section(races(rows)[0]).notes)
