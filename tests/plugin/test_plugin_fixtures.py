"""The plug-in in another project: what its fixtures give, what they refuse, and that they leave nothing behind."""

import contextlib
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest

from inflight.bench import pytest_plugin
from inflight.bench.pytest_plugin import MODEST
from tests.patience import FOREVER_S, until
from tests.plugin.projects import ENVIRONMENT, PYTEST, assert_passed, run_pytest, write

SITE = pytest.mark.synthetic_site
SITES = """
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.synthetic_site(pages=20, links=3)


def fetch(url):
    try:
        with urlopen(url) as answer:
            return answer.status, len(answer.read())
    except HTTPError as error:
        return error.code, len(error.read())


def test_every_page_is_as_expected(synthetic_site):
    assert synthetic_site.pages == len(synthetic_site.paths) == 20
    assert {path: fetch(synthetic_site.url + path) for path in synthetic_site.paths} == synthetic_site.expected
    assert synthetic_site.requests() == 20


def test_requests_count_from_the_beginning_of_the_test(synthetic_site):
    assert synthetic_site.requests() == 0
    assert fetch(synthetic_site.url)[0] == 200
    assert synthetic_site.requests() == 1


@pytest.mark.synthetic_site(missing=0.5)
def test_the_nearest_marker_adds_to_the_others(synthetic_site):
    statuses = [fetch(synthetic_site.url + path)[0] for path in synthetic_site.paths]
    assert (statuses.count(200), statuses.count(404)) == (10, 10)


@pytest.mark.synthetic_site(links=0)
def test_a_crawl_of_a_site_without_links_begins_with_all_pages(synthetic_site, crawl_with):
    assert len(synthetic_site.roots) == len(synthetic_site.expected) == 20
    assert crawl_with("sequential", in_flight=1).pages == synthetic_site.expected


@pytest.mark.synthetic_site(pages=50, delay="1ms", faults={"reset-mid": 0.2, "error-500": 0.1})
@pytest.mark.parametrize("connection", ["keep-alive", "per-fetch"])
def test_crawl_with_returns_the_right_answer(synthetic_site, crawl_with, connection):
    found = crawl_with("callbacks", in_flight=10, connection=connection)

    assert found.difference is None
    assert found.pages == synthetic_site.expected
    assert {status for status, _ in found.pages.values()} == {200, 500, None}
    assert 0 < found.peak_in_flight <= 10
    assert found.cpu_per_page_ns > 0
    assert 0 < found.pages_per_s < 10_000
    assert synthetic_site.requests() >= len(found.pages)
"""
COUNTED = """
from pathlib import Path

from inflight.bench.measure import counts

CLIENT = '''"A client of ours."

from inflight.strategies import callbacks

STACK = "shared"
REQUIRES = ()


def crawl(job, frontier):
    finish = frontier.finish

    def slower(*arguments):
        return finish(*arguments)

    frontier.finish = slower
    callbacks.crawl(job, frontier)
'''


def test_calls_are_counted_on_another_site_than_that_of_the_test(synthetic_site, crawl_with):
    crawl = crawl_with("callbacks", in_flight=10)
    before = synthetic_site.requests()

    assert 10 < crawl.calls_per_page < 40
    assert abs(sum(crawl.calls.values()) - crawl.calls_per_page) < 0.01
    assert crawl.calls["strategies/core/frontier.py:Frontier.finish"] == 1
    assert synthetic_site.requests() == before


def test_calls_are_counted_once_for_each_use_of_connections(crawl_with, monkeypatch):
    asked, crawl = [], counts.crawl

    def watched(trial, *more):
        asked.append(trial.workload.connection)
        return crawl(trial, *more)

    monkeypatch.setattr(counts, "crawl", watched)

    crawls = [crawl_with("sequential", connection=use) for use in ("keep-alive", "keep-alive", "per-fetch")]
    assert asked == []
    first, again, other = [crawl.calls_per_page for crawl in crawls]
    assert first == again != other
    assert asked == ["keep-alive", "per-fetch"]


def test_a_client_of_ours_makes_one_more_call(crawl_with):
    Path("my_client.py").write_text(CLIENT)
    usual, ours = crawl_with("callbacks"), crawl_with("./my_client.py")

    assert ours.calls_per_page == usual.calls_per_page + 1
    assert set(ours.calls) - set(usual.calls) == {"my_client.py:crawl.<locals>.slower"}
"""
DEFAULT = """
import asyncio
import sys


def test_nothing_of_the_harness_is_loaded_until_a_fixture_is_used():
    loaded = {name for name in sys.modules if name.partition(".")[0] == "inflight"}
    assert loaded == {"inflight", "inflight.bench", "inflight.bench.pytest_plugin"}


def test_coroutines_can_crawl(synthetic_site):
    async def first_line():
        reader, writer = await asyncio.open_connection(*synthetic_site.url.removeprefix("http://").split(":"))
        writer.write(b"GET / HTTP/1.1\\r\\nHost: test\\r\\n\\r\\n")
        try:
            return await reader.readline()
        finally:
            writer.close()
            await writer.wait_closed()

    assert asyncio.run(first_line()).startswith(b"HTTP/1.1 200")


def test_a_modest_site_is_the_default(synthetic_site):
    assert (synthetic_site.pages, synthetic_site.config.links) == PAGES_AND_LINKS
"""
KEPT = """
import socket

import pytest


@pytest.fixture(scope="session")
def kept():
    with socket.socket() as client:
        yield client


def ask(client):
    client.sendall(b"GET / HTTP/1.1\\r\\nHost: test\\r\\n\\r\\n")
    assert client.recv(12) == b"HTTP/1.1 200"


def test_one(synthetic_site, kept):
    kept.connect(("127.0.0.1", int(synthetic_site.url.rpartition(":")[2])))
    ask(kept)


def test_other(synthetic_site, kept):
    assert synthetic_site.requests() == 0
    with socket.create_connection(("127.0.0.1", int(synthetic_site.url.rpartition(":")[2]))) as client:
        ask(client)
    assert synthetic_site.requests() == 1
"""
WRONG = """
import pytest


@pytest.mark.synthetic_site(pagez=50)
def test_of_a_site_that_cannot_be(synthetic_site):
    pass


def test_of_something_else():
    print("told by a test")
"""
WRONG_CRAWL = """
def test_strategy(crawl_with):
    crawl_with("callback")


def test_connection(crawl_with):
    crawl_with("callbacks", connection="none")


def test_in_flight(crawl_with):
    crawl_with("callbacks", in_flight=0)


def test_deadline(crawl_with):
    crawl_with("callbacks", deadline_s=0)


def test_calls(crawl_with):
    crawl_with("process_pool").calls_per_page
"""
LEFT = """
import os
import time
from pathlib import Path

import psutil


def test_which_goes_on(synthetic_site):
    (child,) = psutil.Process().children()
    told = f"{child.pid} {synthetic_site.url.rpartition(':')[2]}"
    Path("new").write_text(told)
    Path("new").rename("told")
    time.sleep(GO_ON_S)
"""


def test_the_fixtures_follow_the_marker(tmp_path: Path) -> None:
    done = run_pytest(write(tmp_path, test_sites=SITES), "-W", "error", "--strict-markers")

    assert_passed(done, 6)


@pytest.mark.ci
def test_the_calls_of_strategies_are_counted(tmp_path: Path) -> None:
    assert_passed(run_pytest(write(tmp_path, test_counted=COUNTED), "-W", "error"), 3)


@pytest.mark.ci
def test_the_fixtures_work_in_several_processes_of_xdist(tmp_path: Path) -> None:
    assert_passed(run_pytest(write(tmp_path, test_sites=SITES), "-W", "error", "-n", "2"), 6)


@pytest.mark.ci
def test_without_a_marker_there_is_a_default_site(tmp_path: Path) -> None:
    text = DEFAULT.replace("PAGES_AND_LINKS", str((MODEST["pages"], MODEST["links"])))

    assert_passed(run_pytest(write(tmp_path, test_default=text), "-W", "error"), 3)


@pytest.mark.ci
def test_a_client_that_outlives_its_test_does_not_delay_the_next(tmp_path: Path) -> None:
    assert_passed(run_pytest(write(tmp_path, test_kept=KEPT), "-W", "error"), 2)


@pytest.mark.parametrize(
    ("mark", "sentence"),
    [
        (SITE(pagez=50), ': unknown key "pagez"; did you mean "pages"?'),
        (SITE(pages=0), ": pages must be between 1 and 1000000000, not 0"),
        (SITE(delay="soon"), ': "soon" is not a latency of at most 60 s; write one of: '),
        (SITE(faults={"rest": 0.1}), ": unknown fault 'rest'; known: reset-before, "),
        (SITE(50), " takes names and values only, such as pages=200"),
    ],
)
def test_an_invalid_site_is_refused_in_one_sentence(mark: pytest.MarkDecorator, sentence: str) -> None:
    item = Mock(nodeid="test_x.py::test_y", iter_markers=lambda _: iter([mark.mark]))

    with pytest.raises(ValueError, match=re.escape(f"test_x.py::test_y: @pytest.mark.synthetic_site{sentence}")):
        pytest_plugin._config_of(item)


@pytest.mark.ci
def test_an_invalid_site_is_refused_before_any_test_runs(tmp_path: Path) -> None:
    done = run_pytest(write(tmp_path, test_wrong=WRONG), "-s")

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in done.stderr.splitlines() if line]
    assert line.startswith("ERROR: test_wrong.py::test_of_a_site_that_cannot_be: @pytest.mark.synthetic_site: unknown")
    assert "told by a test" not in done.stdout


@pytest.mark.ci
def test_under_xdist_an_invalid_site_fails_its_test_in_one_sentence(tmp_path: Path) -> None:
    done = run_pytest(write(tmp_path, test_wrong=WRONG), "-n", "1")

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 passed, 1 error" in done.stdout
    assert (
        '\ntest_wrong.py::test_of_a_site_that_cannot_be: @pytest.mark.synthetic_site: unknown key "pagez"'
        in done.stdout
    )
    assert "Traceback" not in done.stdout
    assert "ValueError" not in done.stdout


@pytest.mark.ci
def test_an_invalid_crawl_fails_its_test_in_one_sentence(tmp_path: Path) -> None:
    done = run_pytest(write(tmp_path, test_wrong_crawl=WRONG_CRAWL))

    assert "5 failed" in done.stdout
    for sentence in (
        "unknown strategy 'callback'; did you mean \"callbacks\"?",
        "crawl_with: unknown connection use 'none'; known: keep-alive, per-fetch",
        "crawl_with: in_flight must be a whole number from 1 to 1000000, not 0",
        "crawl_with: callbacks: the worker did not finish by its deadline and was killed",
        "calls_per_page: process_pool: the strategy has child processes, and their calls are not counted",
    ):
        assert f"\n{sentence}\n" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.ci
def test_the_server_ends_with_the_session_and_its_port_is_free(tmp_path: Path) -> None:
    assert_passed(run_pytest(write(tmp_path, test_left=LEFT.replace("GO_ON_S", "0"))), 1)

    assert_gone(tmp_path)


@pytest.mark.ci
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_server_ends_when_the_session_is_interrupted_or_killed(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        PYTEST,
        cwd=write(tmp_path, test_left=LEFT.replace("GO_ON_S", str(FOREVER_S))),
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            until(lambda: (tmp_path / "told").exists() or process.poll() is not None)
            assert process.poll() is None
            os.killpg(process.pid, number)
            process.wait()
        finally:
            process.kill()

    assert_gone(tmp_path)


def assert_gone(folder: Path) -> None:
    """Check that the server whose test wrote down its process and port is no more."""
    server, port = map(int, (folder / "told").read_text("utf-8").split())
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(server).wait()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))
