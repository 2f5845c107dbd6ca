"""Ctrl-C during a callback of libcurl ends the crawl too, although pycurl does not pass on what a callback raises."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

from inflight import strategies
from inflight.conformance.crawling import crawl
from inflight.conformance.servers import page, running

pycurl_multi = pytest.importorskip("inflight.strategies.pycurl_multi", exc_type=ImportError)

CALLBACKS = ((pycurl_multi.Loop, "watch"), (pycurl_multi.Loop, "set_timer"), (pycurl_multi.Transfer, "take_body"))


class Interrupting:
    """Count the calls of a method, and send SIGINT to this process during one of them."""

    def __init__(self, owner: type, method: str, during: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.during = during
        self.calls = 0
        monkeypatch.setattr(owner, method, self.around(getattr(owner, method)))

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls += 1
            if self.calls == self.during:
                signal.raise_signal(signal.SIGINT)
            return method(*arguments)

        return call


@pytest.mark.parametrize("connection", ["keep-alive", "per-fetch"])
@pytest.mark.parametrize(("owner", "method"), CALLBACKS, ids=[method for _, method in CALLBACKS])
def test_an_interrupt_during_a_callback_of_curl_ends_the_crawl(
    owner: type, method: str, connection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = strategies.load("pycurl_multi")
    during, is_reached = 0, True
    with running() as servers:
        server = servers.serve({"*": page("/1", "/2")})
        while is_reached:
            during += 1
            is_interrupted = False
            with monkeypatch.context() as patch:
                interrupting = Interrupting(owner, method, during, patch)
                try:
                    crawl(strategy, f"{server.url}/", connection=connection)
                except KeyboardInterrupt:
                    is_interrupted = True
            is_reached = interrupting.calls >= during
            assert is_interrupted == is_reached, f"call {during} of {method}"

    assert during > 3, "the last crawl was not interrupted, and at least three were"
