"""Fixtures: every available strategy, and servers to crawl."""

import gc
import logging
import signal
import socket
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from inflight import strategies
from inflight.bench.conformance import fake_site
from inflight.bench.conformance.crawling import open_what_stays_open
from inflight.bench.conformance.exceptions import OUT_OF_REACH, limit_of
from inflight.bench.conformance.fake_site import FakeSite
from inflight.bench.conformance.rules import CHECK, BrokenRuleError
from inflight.bench.conformance.servers import Server, running
from inflight.strategies.base import Strategy

CONNECTION_USES = ("keep-alive", "per-fetch")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of rules."""
    config.addinivalue_line("markers", "rule(name): the key of rules.RULES that a test belongs to")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test for every strategy, or for the one that ``inflight check`` checks."""
    if "name" in metafunc.fixturenames:
        check = metafunc.config.pluginmanager.get_plugin(CHECK)
        names = [with_mark(name) for name in strategies.crawlers()] if check is None else [check.strategy]
        metafunc.parametrize("name", names, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the failures that are limits of a library."""
    for item in items:
        is_ours = item.path.parent == Path(__file__).parent
        if is_ours and isinstance(item, pytest.Function) and "name" in item.fixturenames:
            case = item.callspec
            if limit := limit_of(str(case.params["name"]), item.originalname, case.id):
                item.add_marker(pytest.mark.xfail(reason=limit.reason, strict=limit.strict))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[Any]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that finds more than a limit of the library, such as something left behind."""
    report = yield
    if hasattr(report, "wasxfail") and call.excinfo is not None and isinstance(call.excinfo.value, BrokenRuleError):
        del report.wasxfail
        report.outcome = "failed"
    return report


def with_mark(name: str) -> Any:
    """Leave strategies of other groups than the models to the long tests, which the newest Python does not run."""
    described = strategies.describe(name)
    is_long = described.group != strategies.MODELS and not described.least_python
    return pytest.param(name, marks=pytest.mark.long) if is_long else name


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
def most_in_flight(name: str) -> int:
    """Return the maximum number of fetches that the model can keep in flight."""
    return strategies.describe(name).most_in_flight or 10**6


@pytest.fixture(params=CONNECTION_USES)
def connection(request: pytest.FixtureRequest) -> str:
    """Each use of connections in turn."""
    return str(request.param)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server for this test."""
    with ExitStack() as stack:
        yield lambda handler, **options: stack.enter_context(running(handler, **options))


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
