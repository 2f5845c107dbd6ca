"""Trials that do not wait long for other programs to be at rest, and a server that serves one after another."""

from collections.abc import Iterator

import pytest

from inflight.bench.measure import held, server
from inflight.bench.measure.server import Server


@pytest.fixture(autouse=True)
def _in_no_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take readings of memory soon: what others do meanwhile is part of a row, and no test's business."""
    monkeypatch.setattr(held, "REST_S", 0.2)


@pytest.fixture(scope="module")
def fake() -> Iterator[Server]:
    """Start the one server of a file's tests: from what one of them leaves behind, the next must not suffer."""
    with server.running(None) as started:
        yield started
