"""Fixtures of the benchmarks: the cores, one server for all, and each strategy."""

from collections.abc import Iterator

import pytest

from inflight import strategies
from inflight.bench.measure import host, server
from inflight.bench.measure.run import beside_the_server


@pytest.fixture(scope="session")
def cpus() -> Iterator[host.Cpus]:
    """Choose cores for server and client, and keep pytest itself off the client's."""
    chosen = host.choose_cpus(pin=True)
    with beside_the_server(chosen):
        yield chosen


@pytest.fixture(scope="session")
def site_server(cpus: host.Cpus) -> Iterator[server.Server]:
    """Start the fake server, measure its ceiling, and stop it after the last benchmark."""
    with server.running(cpus.server) as started:
        started.find_ceiling(cpus.client)
        yield started


@pytest.fixture(params=strategies.models())
def strategy(request: pytest.FixtureRequest) -> str:
    """Return each strategy's id in turn; skip those that cannot run here, with the reason."""
    if lack := strategies.describe(request.param).lack:
        pytest.skip(f"{request.param} {lack}")
    return str(request.param)
