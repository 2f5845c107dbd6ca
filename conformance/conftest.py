"""Fixtures: every available strategy, servers to crawl, and what is right for a strategy."""

import gc
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from inflight import strategies
from inflight.conformance import CHECK, BrokenRuleError, fake_site
from inflight.conformance.crawling import NOTHING_LEFT, code_of, open_what_stays_open
from inflight.conformance.fake_site import FakeSite
from inflight.conformance.servers import Servers, running
from inflight.conformance.sites import CONNECTION_USES, LONG_NS

pytest.register_assert_rewrite("inflight.conformance.subject")

from inflight.conformance.subject import LIMITS, Subject  # noqa: E402  (its assertions must say what differs)

FIRST_TEST = "test_a_refused_connection_is_a_failed_page"
"""The only test of a strategy that cannot run here, which is skipped with the reason."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of rules."""
    config.addinivalue_line("markers", "rule(name): the key of RULES that a test belongs to")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test for every strategy that can run here, or for the one that ``inflight check`` checks."""
    if "name" in metafunc.fixturenames:
        check = metafunc.config.pluginmanager.get_plugin(CHECK)
        names = strategies.crawlers() if check is None else [check.strategy]
        is_first = metafunc.function.__name__ == FIRST_TEST
        runnable = [name for name in names if is_first or not strategies.describe(name).lack]
        metafunc.parametrize("name", runnable if check else [*map(marked, runnable)])


def marked(name: str) -> Any:
    """Skip a strategy that cannot run; leave other groups than the models to CI, if its Python is new enough."""
    described = strategies.describe(name)
    is_for_ci = described.group != strategies.MODELS and not described.least_python
    skip = [pytest.mark.skip(f"{name} {described.lack}")] if described.lack else []
    return pytest.param(name, marks=[*skip, *([pytest.mark.ci] if is_for_ci else [])])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a test that passed except for limits of a library as an expected failure."""
    report = yield
    limits = item.stash.get(LIMITS, {})
    if report.when == "call" and report.passed and limits:
        report.outcome = "skipped"
        report.wasxfail = "; ".join(f"{path}: {reason}" for path, reason in limits.items())
    return report


@pytest.fixture(params=CONNECTION_USES)
def connection(request: pytest.FixtureRequest) -> str:
    """Each use of connections in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Run the process of the servers; those of a check lose patience, so that a client that waits gets an answer."""
    check = request.config.pluginmanager.get_plugin(CHECK)
    with running(None if check is None else check.patience_s) as process:
        yield process


@pytest.fixture
def subject(name: str, servers: Servers, request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Return the strategy under test; the servers of the test end with it. What was left behind is an error then."""
    subject = Subject(name, servers, request.node)
    yield subject
    servers.end()
    if subject.leaks:
        raise BrokenRuleError("cleanup", NOTHING_LEFT, subject.leaks[0])


@pytest.fixture(scope="session")
def fake() -> Iterator[FakeSite]:
    """Start the project's fake server."""
    with fake_site.running() as site:
        yield site


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_arrives() -> None:
    """Let child processes take SIGINT: a shell starts background jobs with SIGINT ignored, which children inherit."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _small_heap() -> None:
    """Exclude loaded objects from garbage collection: each crawl is followed by a full collection."""
    open_what_stays_open()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _asyncio_does_not_complain() -> Iterator[None]:
    """Fail when asyncio logs something: a task destroyed while pending, an exception that nobody asked for."""
    messages = []

    def note(record: logging.LogRecord) -> bool:
        if record.levelno >= logging.WARNING:
            messages.append(record.getMessage())  # the record has a traceback, whose frames would keep sockets open
        return False

    logging.getLogger("asyncio").addFilter(note)
    yield
    logging.getLogger("asyncio").removeFilter(note)
    if messages:
        raise BrokenRuleError("cleanup", "no complaint", f"asyncio logged: {messages[0]}")


ADDRESSES = {
    "refusing-first.test": ("127.0.0.2", "127.0.0.1"),
    "unreachable-first.test": ("255.255.255.255", "127.0.0.1"),
    "silent-first.test": ("127.0.0.1", "127.0.0.2"),
}


@pytest.fixture
def local_names(monkeypatch: pytest.MonkeyPatch, subject: Subject) -> None:
    """Serve names to this process: ``.test`` is this machine, ``.invalid`` is nowhere."""
    if {"uvloop", "pycurl"} & subject.requires:
        pytest.skip("its library looks up names in C, where a test cannot answer it")
    subject.needs_reach("looks up names")
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host or ""
        if name.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        addresses = ADDRESSES.get(name, ("127.0.0.1",)) if name.endswith(".test") else (host,)
        return [found for address in addresses for found in real(address, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture
def moved_clock(monkeypatch: pytest.MonkeyPatch, subject: Subject) -> AbstractContextManager[None]:
    """Return a block in which scripts move the clocks of this process, so that it does not matter how fast anything is.

    ``late 1`` and ``late 2`` move them by more than half of a deadline each. The reply is ``passed 1`` or ``passed 2``.
    """
    subject.needs_reach("keeps deadlines")
    if {"uvloop", "gevent"} & subject.requires:
        pytest.skip("its library keeps deadlines in C, where a test cannot move the clock")
    if not subject.is_shared and not hasattr(code_of(subject.strategy), "crawl_in_tasks"):
        pytest.skip("a client with an HTTP stack of its own may keep deadlines where a test cannot move the clock")
    ahead_ns = 0

    def move() -> None:
        nonlocal ahead_ns
        ahead_ns += 6 * LONG_NS // 10

    def moved(real: Callable[[], int], per_ns: float) -> Callable[[], float]:
        return lambda: real() + ahead_ns * per_ns if ahead_ns else real()

    for clock in ("perf_counter", "monotonic"):
        seconds, nanoseconds = getattr(time, clock), getattr(time, f"{clock}_ns")
        monkeypatch.setattr(time, clock, moved(seconds, 1e-9))
        monkeypatch.setattr(time, f"{clock}_ns", moved(nanoseconds, 1))
        if clock == "perf_counter" and "trio" in subject.requires:
            monkeypatch.setattr(sys.modules["trio._core._run"], clock, moved(seconds, 1e-9))
    return subject.servers.answering({"late 1": "passed 1", "late 2": "passed 2"}, move)
