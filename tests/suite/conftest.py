"""What the benchmarks are made with: the cores, one server for all of them, and each strategy in turn."""

from collections.abc import Iterator

import pytest

from inflight import strategies
from inflight.bench.measure import host, server
from inflight.bench.measure.run import beside_the_server


@pytest.fixture(scope="session")
def cpus() -> Iterator[host.Cpus]:
    """Pick cores for server and client, and keep pytest itself away from the client's."""
    chosen = host.choose_cpus(pin=True)
    with beside_the_server(chosen):
        yield chosen


@pytest.fixture(scope="session")
def site_server(cpus: host.Cpus) -> Iterator[server.Server]:
    """Start the fake server, find out how much it can give, and stop it after the last benchmark."""
    with server.running(cpus.server) as started:
        started.find_ceiling(cpus.client)
        yield started


@pytest.fixture(params=strategies.names())
def strategy(request: pytest.FixtureRequest) -> str:
    """Give each strategy's id in turn; one that cannot run here is skipped, with the reason."""
    missing = strategies.describe(request.param).missing
    if missing:
        pytest.skip(f"{request.param} requires {', '.join(missing)}")
    return str(request.param)
