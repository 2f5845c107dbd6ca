"""A fake server for the probes that crawl."""

import importlib
from collections.abc import Callable, Iterator

import pytest

from inflight.bench.measure import server
from inflight.bench.measure.server import Server
from inflight.bench.plan.bare import PROBES
from inflight.fake_server.site import SiteConfig


@pytest.fixture(scope="session")
def _server() -> Iterator[Server]:
    with server.running(None) as running:
        yield running


@pytest.fixture
def serve(_server: Server) -> Callable[[str], str]:
    """Return a function that serves a probe's site and returns its base."""

    def serve(name: str) -> str:
        _server.configure(SiteConfig.from_dict(importlib.import_module(PROBES[name]).SITE))
        return _server.base

    return serve
