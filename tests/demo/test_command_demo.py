"""``inflight demo``: two real crawls, what is said about them, and that nothing is left behind."""

import json
import os
import pty
import re
import signal
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from inflight.bench.present import section
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.studies.demo import command as demo_command
from inflight.bench.studies.demo import live, show
from inflight.bench.studies.demo.run import CRAWLS, SITE, trials
from inflight.fake_server.site import SiteConfig
from tests.cli.command import ENVIRONMENT, INFLIGHT, await_end, call, running
from tests.made_rows import FAILED, crawl_row, edited


def said(*found: Row) -> str:
    return section.text(show.section(found), 100).plain


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> SiteConfig:
    """Let the demo crawl a smaller site."""
    site = replace(SITE, pages=40)
    monkeypatch.setattr(demo_command, "trials", lambda: trials(site))
    return site


def test_the_demo_measures_both_crawls_and_says_what_to_do_next(small: SiteConfig, tmp_path: Path) -> None:
    done = call("demo", folder=tmp_path)

    assert done.code == 0, done.err
    for name, in_flight in CRAWLS.items():
        assert re.search(rf"^{name} +{in_flight} +{small.pages} ", done.out, re.MULTILINE)
        assert f"{name}, {live.at_once(in_flight)}: fetching {small.pages} pages ..." in done.err
    assert "inflight run quick" in done.err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_the_demo_as_json_has_the_figures_of_both_crawls(small: SiteConfig) -> None:
    done = call("demo", "--json", "--quiet")

    found = json.loads(done.out)
    slow, fast = found["crawls"]
    assert (done.code, done.err) == (0, "")
    assert (found["pages"], found["latency_ns"]) == (small.pages, 20_000_000)
    assert {one["strategy"]: one["in_flight"] for one in (slow, fast)} == CRAWLS
    assert slow["makespan_ns"] >= small.pages * found["latency_ns"]
    assert found["times_faster"] == pytest.approx(slow["makespan_ns"] / fast["makespan_ns"])


def test_an_interrupted_demo_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    with running("demo", folder=tmp_path) as demo:
        assert demo.read_error_line().startswith("sequential, 1 page at a time: ")
        family = demo.family_when(2)
        demo.interrupt(whole_group=True)
        done = demo.end()

    assert (done.code, done.out) == (130, "")
    assert done.err.splitlines()[-1] == "interrupted"
    await_end(family)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.ci
def test_a_terminal_shows_bars_that_move_and_are_removed() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*INFLIGHT, "demo"], env=ENVIRONMENT | {"TERM": "xterm"}, stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    shown = read_to_end(ours)
    out, _ = process.communicate()

    assert process.returncode == 0
    assert len(set(re.findall(r"(\d+) of 400 pages", shown))) > 2
    assert "\x1b[?25h" in shown, "the cursor is there"
    assert "callbacks was " in out, "400 pages one after another take eight seconds at least"


def read_to_end(terminal: int) -> str:
    parts = []
    with suppress(OSError):  # on Linux the end of a terminal is an error
        while data := os.read(terminal, 65536):
            parts.append(data)
    os.close(terminal)
    return b"".join(parts).decode()


def test_the_demo_ends_on_sigterm_too(tmp_path: Path) -> None:
    with running("demo", folder=tmp_path) as demo:
        demo.read_error_line()
        demo.process.send_signal(signal.SIGTERM)
        assert demo.end().code == 130


# ------------------------------------------------------------------------------------------- made-up figures


def crawled(strategy: str, *, makespan_ns: int, cpu_ns: int) -> Row:
    row = crawl_row(strategy, latency="10ms", in_flight=CRAWLS[strategy], pages=400)
    times = {"makespan_ns": makespan_ns, "cpu_user_ns": cpu_ns // 2, "cpu_system_ns": cpu_ns // 2}
    return edited(row, measured=times)


SLOW = crawled("sequential", makespan_ns=8_000_000_000, cpu_ns=80_000_000)
FAST = crawled("callbacks", makespan_ns=125_000_000, cpu_ns=50_000_000)


def test_waiting_is_the_time_without_work_and_without_waiting_for_the_core() -> None:
    assert show.waiting_share(SLOW) == pytest.approx(0.99)
    assert show.waiting_share(edited(SLOW, measured={"run_delay_ns": 80_000_000})) == pytest.approx(0.98)


def test_the_title_says_how_many_times_faster() -> None:
    assert said(SLOW, FAST).startswith("callbacks was 64 times faster than sequential.")


def test_failed_checks_are_told() -> None:
    failed = changed(FAST, checks=[FAILED])

    assert "rough" not in said(SLOW, FAST)
    assert "The figures are rough" in said(SLOW, failed)
    assert "server had room" not in said(SLOW, failed)
    assert show.figures([SLOW, failed])["crawls"][1]["failed_checks"] == ["server had room"]
