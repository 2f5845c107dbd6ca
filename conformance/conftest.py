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
from inflight.conformance.crawling import CONNECTION_USES, LONG_NS, code_of, open_what_stays_open
from inflight.conformance.exceptions import OUT_OF_REACH
from inflight.conformance.fake_site import FakeSite
from inflight.conformance.servers import Server, Servers, running
from inflight.strategies.base import Strategy

pytest.register_assert_rewrite("inflight.conformance.expecting")

from inflight.conformance.expecting import LIMITS, Expect  # noqa: E402  (its assertions must say what differs)

FIRST_TEST = "test_a_page_without_links_is_the_whole_crawl"
"""The only test of a strategy that cannot run here, which is skipped with the reason."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of rules."""
    config.addinivalue_line("markers", "rule(name): the key of RULES that a test belongs to")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test for every strategy that can run here, or for the one that ``inflight check`` checks."""
    if "name" in metafunc.fixturenames:
        check = metafunc.config.pluginmanager.get_plugin(CHECK)
        is_first = metafunc.function.__name__ == FIRST_TEST
        names = strategies.crawlers() if check is None else [check.strategy]
        runnable = [name for name in names if is_first or not strategies.describe(name).lack]
        metafunc.parametrize("name", runnable if check else [*map(with_mark, runnable)], indirect=True)


def with_mark(name: str) -> Any:
    """Leave strategies of other groups than the models to CI, if they do not need a newer Python than it runs."""
    described = strategies.describe(name)
    is_for_ci = described.group != strategies.MODELS and not described.least_python
    return pytest.param(name, marks=pytest.mark.ci) if is_for_ci else name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a test that passed except for limits of a library as an expected failure."""
    report = yield
    limits = item.stash.get(LIMITS, {})
    if report.when == "call" and report.passed and limits:
        report.outcome = "skipped"
        report.wasxfail = "; ".join(f"{path}: {reason}" for path, reason in limits.items())
    return report


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Each strategy's id in turn; one that cannot run here is skipped."""
    if lack := strategies.describe(request.param).lack:
        pytest.skip(f"{request.param} {lack}")
    return str(request.param)


@pytest.fixture
def strategy(name: str) -> Strategy:
    """Import the strategy under test."""
    return strategies.load(name)


@pytest.fixture
def is_shared(name: str) -> bool:
    """Return whether the strategy parses responses with the shared core."""
    return strategies.describe(name).stack == "shared"


@pytest.fixture
def most_in_flight(name: str) -> int:
    """Return the maximum number of fetches that the model can keep in flight."""
    return strategies.describe(name).most_in_flight or 10**6


@pytest.fixture(params=CONNECTION_USES)
def connection(request: pytest.FixtureRequest) -> str:
    """Each use of connections in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def server_process() -> Iterator[Servers]:
    """Run the process of the servers."""
    with running() as servers:
        yield servers


@pytest.fixture
def servers(server_process: Servers) -> Iterator[Servers]:
    """Return what opens servers for this test, and ends them before the next crawl of a test."""
    yield server_process
    server_process.end()


@pytest.fixture
def serve(servers: Servers) -> Callable[..., Server]:
    """Return a function that opens a server for this test."""
    return servers.serve


@pytest.fixture(scope="session")
def fake() -> Iterator[FakeSite]:
    """Start the project's fake server."""
    with fake_site.running() as site:
        yield site


@pytest.fixture
def expect(strategy: Strategy, name: str, serve: Callable[..., Server], request: pytest.FixtureRequest) -> Expect:
    """Return what compares results with what is right for the strategy."""
    return Expect(strategy, name, serve, request.node)


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


class _Complaints(logging.Handler):
    """Keeps the messages that are logged, and not the tracebacks: their frames would keep sockets open."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture(autouse=True)
def _asyncio_does_not_complain() -> Iterator[None]:
    """Fail when asyncio logs something: a task destroyed while pending, an exception that nobody asked for."""
    complaints = _Complaints()
    logging.getLogger("asyncio").addHandler(complaints)
    yield
    logging.getLogger("asyncio").removeHandler(complaints)
    if complaints.messages:
        raise BrokenRuleError("cleanup", f"asyncio logged: {complaints.messages[0]}")


ADDRESSES = {
    "refusing-first.test": ("127.0.0.2", "127.0.0.1"),
    "unreachable-first.test": ("255.255.255.255", "127.0.0.1"),
    "silent-first.test": ("127.0.0.1", "127.0.0.2"),
}


@pytest.fixture
def local_names(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Serve names to this process: ``.test`` is this machine, ``.invalid`` is nowhere."""
    if {"uvloop", "pycurl"} & set(strategies.describe(name).requires):
        pytest.skip("its library looks up names in C, where a test cannot answer it")
    if where := OUT_OF_REACH.get(name):
        pytest.skip(f"it looks up names {where}, where a test cannot answer it")
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host or ""
        if name.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        addresses = ADDRESSES.get(name, ("127.0.0.1",)) if name.endswith(".test") else (host,)
        return [found for address in addresses for found in real(address, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture
def moved_clock(
    monkeypatch: pytest.MonkeyPatch, strategy: Strategy, name: str, servers: Servers
) -> AbstractContextManager[None]:
    """Return a block in which scripts move the clocks of this process, so that it does not matter how fast anything is.

    ``late 1`` and ``late 2`` move them by more than half of a deadline each. The reply is ``passed 1`` or ``passed 2``.
    """
    described = strategies.describe(name)
    if where := OUT_OF_REACH.get(name):
        pytest.skip(f"it keeps deadlines {where}, where a test cannot move the clock")
    if {"uvloop", "gevent"} & set(described.requires):
        pytest.skip("its library keeps deadlines in C, where a test cannot move the clock")
    if described.stack == "own" and not hasattr(code_of(strategy), "crawl_in_tasks"):
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
        if clock == "perf_counter" and "trio" in described.requires:
            monkeypatch.setattr(sys.modules["trio._core._run"], clock, moved(seconds, 1e-9))
    return servers.answering({"late 1": "passed 1", "late 2": "passed 2"}, move)
