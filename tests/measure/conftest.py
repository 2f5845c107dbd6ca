"""Fixtures: short waits for memory to settle, one server, and one copy of the packages."""

from collections.abc import Iterator
from typing import Any

import pytest

from inflight.bench.measure import bare, held, server
from inflight.bench.measure.server import Server
from tests.measure.workshop import Workshop


@pytest.fixture(autouse=True)
def _in_no_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read memory without long waits for other programs."""
    monkeypatch.setattr(held, "REST_S", 0.2)


@pytest.fixture(scope="session")
def fake() -> Iterator[Server]:
    """Start one server for all tests, so that each test also checks the cleanup after the last one."""
    with server.running(None) as started:
        yield started


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Copy the packages once; each file of tests adds strategies of its own."""
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture
def layers_read(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what trials read beside memory, too: numbers of threads and connections, under names with the stage."""
    found: dict[str, Any] = {}
    read = held.layers

    def layers(*arguments: Any) -> dict[str, Any]:
        values = read(*arguments)
        found.update(values)
        return values

    monkeypatch.setattr(held, "layers", layers)
    monkeypatch.setattr(bare, "layers", layers)
    return found
