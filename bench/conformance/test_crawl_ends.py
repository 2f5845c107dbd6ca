"""How a crawl ends when it must end early: by a bug, by Ctrl-C; at once, as an exception, with nothing left behind."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from inflight import strategies
from inflight.bench.conformance.crawling import HANG_S, code_of, crawl
from inflight.bench.conformance.exceptions import OUT_OF_REACH
from inflight.bench.conformance.rules import BrokenRuleError
from inflight.bench.conformance.servers import Exchange, Handler, Server, page
from inflight.strategies.base import Strategy
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ProtocolError, Response, ResponseParser
from inflight.strategies.core.page import Fetch

pytestmark = pytest.mark.rule("bugs")

Serve = Callable[[Handler], Server]


class PlantedError(RuntimeError):
    """The bug of these tests."""


def plant(fetch: Fetch) -> None:
    if fetch.url.endswith("/bug"):
        raise PlantedError


class BugInRoots(Frontier):
    def roots(self) -> list[Fetch]:
        raise PlantedError


class BugInStart(Frontier):
    def start(self, fetch: Fetch) -> None:
        super().start(fetch)
        plant(fetch)


class BugInFinish(Frontier):
    def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
        plant(fetch)
        return super().finish(fetch, response)


class BugInFail(Frontier):
    def fail(self, fetch: Fetch, error: OSError | ProtocolError) -> Sequence[Fetch]:
        plant(fetch)
        return super().fail(fetch, error)


class BuggyParser(ResponseParser):
    def feed(self, data: bytes) -> Response | None:
        if b"bug" in data:
            raise PlantedError
        return super().feed(data)


@contextmanager
def planted_bug_comes_out() -> Iterator[None]:
    """Check that the ``with`` block raises the planted bug, alone or in a group. Raises BrokenRuleError."""
    try:
        yield
    except PlantedError:
        return
    except BaseExceptionGroup as group:
        if group.subgroup(PlantedError) is None:
            raise
        return
    raise BrokenRuleError("bugs", "crawl returned", "an exception, raised in the frontier or in the parser")


def with_others_waiting(others: int) -> Handler:
    """Answer ``/bug`` when that many other fetches wait for answers that never come.

    Each connection has carried a fetch before, so that the waiting ones are kept connections where there are any.
    """

    def answer(exchange: Exchange) -> None:
        if exchange.target == "/":
            exchange.send(page(*(f"/warm{n}" for n in range(others + 1))))
        elif exchange.target.startswith("/warm"):
            exchange.wait_at_gate(others + 1)
            number = int(exchange.target.removeprefix("/warm"))
            exchange.send(page(f"/wait{number}" if number < others else "/bug"))
        elif exchange.target.startswith("/wait"):
            exchange.hang()
        else:
            exchange.wait_until_in_flight(others + 1)
            exchange.send(page("/bug"))

    return answer


@pytest.mark.parametrize("others", [0, 3])
@pytest.mark.parametrize("frontier", [BugInRoots, BugInStart, BugInFinish])
def test_a_bug_in_the_frontier_ends_the_crawl(
    strategy: Strategy,
    most_in_flight: int,
    frontier: type[Frontier],
    others: int,
    connection: str,
    serve: Serve,
) -> None:
    others = min(others, most_in_flight - 1)
    server = serve(with_others_waiting(others))

    with planted_bug_comes_out():
        crawl(strategy, f"{server.url}/", frontier=frontier, max_in_flight=others + 1, connection=connection)


@pytest.mark.parametrize("others", [0, 3])
def test_a_bug_in_the_parser_ends_the_crawl(
    strategy: Strategy,
    name: str,
    most_in_flight: int,
    others: int,
    connection: str,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if strategies.describe(name).stack == "own":
        pytest.skip("it has a parser of its own")
    if where := OUT_OF_REACH.get(name):
        pytest.skip(f"it parses {where}, where a test cannot plant a bug")
    if not hasattr(code_of(strategy), "ResponseParser"):
        pytest.skip("its file does not import the parser")
    monkeypatch.setattr(code_of(strategy), "ResponseParser", BuggyParser)
    others = min(others, most_in_flight - 1)
    waiting = with_others_waiting(others)

    def answer(exchange: Exchange) -> None:
        if exchange.target == "/bug":
            exchange.wait_until_in_flight(others + 1)
            exchange.send(page("bug"))
        else:
            waiting(exchange)

    server = serve(answer)

    with planted_bug_comes_out():
        crawl(
            strategy,
            f"{server.url}/",
            max_in_flight=others + 1,
            connection=connection,
            exclude=None if others else "never",
        )


@pytest.mark.parametrize("others", [0, 3])
def test_a_bug_after_a_failed_fetch_ends_the_crawl(
    strategy: Strategy, most_in_flight: int, others: int, connection: str, serve: Serve
) -> None:
    others = min(others, most_in_flight - 1)
    waiting = with_others_waiting(others)

    def answer(exchange: Exchange) -> None:
        if exchange.target == "/bug":
            exchange.wait_until_in_flight(others + 1)
            exchange.send(b"nonsense\r\n\r\n")
        else:
            waiting(exchange)

    server = serve(answer)

    with planted_bug_comes_out():
        crawl(strategy, f"{server.url}/", frontier=BugInFail, max_in_flight=others + 1, connection=connection)


@pytest.mark.rule("cleanup")
@pytest.mark.parametrize("ending", ["reset", "close"])
def test_nothing_is_left_when_every_fetch_fails(strategy: Strategy, ending: str, connection: str, serve: Serve) -> None:
    server = serve(Exchange.reset if ending == "reset" else Exchange.close)
    roots = [f"{server.url}/{n}" for n in range(25)]

    crawled = crawl(strategy, *roots, max_in_flight=10, max_tries=2, connection=connection)

    assert len(crawled.pages) == 25
    assert all(found.status is None for found in crawled.pages.values())


# Ctrl-C


WARNINGS = ("-W", "always::ResourceWarning")


def interrupt(
    name: str, server: Server, cap: int, connection: str, enough_requests: int, flags: tuple[str, ...] = ()
) -> str:
    """Start a crawl, send it SIGINT when the server has seen enough of it, and return what it wrote."""
    command = [sys.executable, *flags, "-m", "inflight.bench.conformance.interrupted"]
    with subprocess.Popen(
        [*command, name, f"{server.url}/", str(cap), connection],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            while len(server.observed().requests) < enough_requests and process.poll() is None:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            written, _ = process.communicate(timeout=HANG_S)
        finally:
            process.kill()
    return written


NOTHING_LEFT = {"ended": "interrupted", "left": []}


@pytest.mark.rule("cleanup")
def test_ctrl_c_ends_a_crawl_that_waits(
    strategy: Strategy, name: str, most_in_flight: int, connection: str, serve: Serve
) -> None:
    others = min(3, most_in_flight - 1)

    def answer(exchange: Exchange) -> None:
        if exchange.target == "/bug":
            exchange.hang()
        else:
            waiting(exchange)

    waiting = with_others_waiting(others)
    server = serve(answer)

    written = interrupt(name, server, others + 1, connection, enough_requests=1 + 2 * (others + 1), flags=WARNINGS)

    assert json.loads(written) == NOTHING_LEFT


@pytest.mark.rule("cleanup")
def test_ctrl_c_ends_a_crawl_that_is_busy(strategy: Strategy, name: str, connection: str, serve: Serve) -> None:
    def answer(exchange: Exchange) -> None:
        number = int(exchange.target[1:] or 0)
        exchange.send(page(*(f"/{2 * number + more}" for more in (1, 2))))

    server = serve(answer)

    # Without the warnings: an interrupt between the making of a socket and its assignment leaves the socket to the
    # garbage collector, in any Python program. What counts is that no descriptor, thread or task is left.
    written = interrupt(name, server, 8, connection, enough_requests=300)

    assert json.loads(written) == NOTHING_LEFT
