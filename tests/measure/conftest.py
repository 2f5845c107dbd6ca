"""Fixtures: short waits for memory to settle, and one server for all tests of a file."""

from collections.abc import Iterator

import pytest

from inflight.bench.measure import held, server
from inflight.bench.measure.server import Server


@pytest.fixture(autouse=True)
def _in_no_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read memory without long waits for other programs."""
    monkeypatch.setattr(held, "REST_S", 0.2)


@pytest.fixture(scope="module")
def fake() -> Iterator[Server]:
    """Start one server for all tests of a file, so that each test also checks the cleanup after the last one."""
    with server.running(None) as started:
        yield started
