"""Fixtures: every available strategy, and servers to crawl."""

import gc
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from inflight import strategies
from inflight.strategies.base import Strategy
from tests.conformance.crawling import open_what_stays_open
from tests.conformance.servers import Server, running

CONNECTION_USES = ("keep-alive", "per-fetch")


def with_mark(name: str) -> Any:
    """Leave strategies of other groups than the models to the long tests, which the newest Python does not run."""
    described = strategies.describe(name)
    is_long = described.group != strategies.MODELS and not described.least_python
    return pytest.param(name, marks=pytest.mark.long) if is_long else name


@pytest.fixture(params=[with_mark(name) for name in strategies.crawlers()])
def name(request: pytest.FixtureRequest) -> str:
    """Each strategy's id in turn; one that cannot run here is skipped."""
    if lack := strategies.describe(request.param).lack:
        pytest.skip(f"{request.param} {lack}")
    return str(request.param)


@pytest.fixture
def strategy(name: str) -> Strategy:
    return strategies.load(name)


@pytest.fixture
def most_in_flight(name: str) -> int:
    """Return the maximum number of fetches that the model can keep in flight."""
    return strategies.describe(name).most_in_flight or 10**6


@pytest.fixture(params=CONNECTION_USES)
def connection(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server for this test."""
    with ExitStack() as stack:
        yield lambda handler, **options: stack.enter_context(running(handler, **options))


@pytest.fixture(scope="session", autouse=True)
def _small_heap() -> None:
    """Exclude loaded objects from garbage collection: each crawl is followed by a full collection."""
    open_what_stays_open()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _asyncio_does_not_complain(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail when asyncio logs something: a task destroyed while pending, an exception that nobody asked for."""
    yield
    complaints = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert not complaints


ADDRESSES = {
    "refusing-first.test": ("127.0.0.2", "127.0.0.1"),
    "unreachable-first.test": ("255.255.255.255", "127.0.0.1"),
    "silent-first.test": ("127.0.0.1", "127.0.0.2"),
}


@pytest.fixture
def local_names(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Serve names to this process: ``.test`` is this machine, ``.invalid`` is nowhere."""
    if "uvloop" in strategies.describe(name).requires:
        pytest.skip("libuv looks up names in C, where a test cannot answer it")
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host or ""
        if name.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        addresses = ADDRESSES.get(name, ("127.0.0.1",)) if name.endswith(".test") else (host,)
        return [found for address in addresses for found in real(address, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
