"""Servers for the tests: real processes, one for each file or one for each test."""

from collections.abc import Iterator

import pytest

from tests.fake_server.running import Running, Start


@pytest.fixture
def start() -> Iterator[Start]:
    """Start servers with options; all of them must end cleanly."""
    started: list[Running] = []

    def run(*options: str) -> Running:
        started.append(Running(*options))
        return started[-1]

    yield run
    for server in started:
        if server.process.poll() is None:
            assert server.stop() == 0


@pytest.fixture(scope="module")
def shared() -> Iterator[Running]:
    """One plain server for a whole file; its counters are shared too."""
    server = Running()
    yield server
    assert server.stop() == 0


@pytest.fixture
def server(shared: Running) -> Running:
    """Return the shared server with the default site, an open gate and zeroed counters."""
    shared.do("release")
    shared.stats_when(lambda stats: not stats["in_flight"] and stats["connections"] == 0)
    assert shared.do("configure", site={}) == {"ok": True}
    shared.do("reset")
    return shared
