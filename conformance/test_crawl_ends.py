"""How a crawl ends when it must end early: by a bug, by Ctrl-C; at once, as an exception, with nothing left behind."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from inflight.conformance.crawling import CONNECTION_USES, code_of, crawl
from inflight.conformance.exceptions import OUT_OF_REACH
from inflight.conformance.servers import CLOSE, HANG, RESET, Script, Servers, page, seen
from inflight.strategies.base import Strategy
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ProtocolError, Response, ResponseParser
from inflight.strategies.core.page import Fetch

pytestmark = pytest.mark.rule("bugs")


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
        if b"planted" in data:
            raise PlantedError
        return super().feed(data)


SITUATIONS = ((0, "keep-alive"), (3, "keep-alive"), (3, "per-fetch"))
"""How many other fetches wait when the bug strikes, and the use of connections."""
COMES_OUT = "an exception, raised in the frontier or in the parser"


def with_others_waiting(others: int, bug: Script) -> dict[str, Script]:
    """Answer ``/bug`` when that many other fetches wait for answers that never come.

    Each connection has carried a fetch before, so that the waiting ones are kept connections where there are any.
    """
    warm = range(others + 1)
    everybody = 1 + 2 * len(warm)
    return {
        "/": page(*(f"/warm{n}" for n in warm)),
        **{f"/warm{n}": (seen(1 + len(warm)), page(f"/wait{n}" if n < others else "/bug")) for n in warm},
        **{f"/wait{n}": (HANG,) for n in range(others)},
        "/bug": (seen(everybody), bug) if isinstance(bug, bytes) else (seen(everybody), *bug),
    }


def check_that_the_bug_comes_out(
    strategy: Strategy, most_in_flight: int, servers: Servers, frontier: type[Frontier] = Frontier, bug: bytes = b""
) -> None:
    """Crawl with a planted bug in each situation; it must come out of the crawl, alone or in a group."""
    found = {}
    for number, connection in SITUATIONS:
        others = min(number, most_in_flight - 1)
        servers.end()
        server = servers.serve(with_others_waiting(others, bug or page("/bug")))
        ended = "crawl returned"
        try:
            crawl(strategy, f"{server.url}/", frontier=frontier, max_in_flight=others + 1, connection=connection)
        except PlantedError:
            ended = COMES_OUT
        except BaseExceptionGroup as group:
            if group.subgroup(PlantedError) is None:
                raise
            ended = COMES_OUT
        found[f"{number} others wait, {connection}"] = ended

    assert found == {f"{number} others wait, {connection}": COMES_OUT for number, connection in SITUATIONS}


@pytest.mark.parametrize("frontier", [BugInRoots, BugInStart, BugInFinish])
def test_a_bug_in_the_frontier_ends_the_crawl(
    strategy: Strategy, most_in_flight: int, frontier: type[Frontier], servers: Servers
) -> None:
    check_that_the_bug_comes_out(strategy, most_in_flight, servers, frontier)


def test_a_bug_in_the_parser_ends_the_crawl(
    strategy: Strategy,
    name: str,
    is_shared: bool,
    most_in_flight: int,
    servers: Servers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not is_shared:
        pytest.skip("it has a parser of its own")
    if where := OUT_OF_REACH.get(name):
        pytest.skip(f"it parses {where}, where a test cannot plant a bug")
    if not hasattr(code_of(strategy), "ResponseParser"):
        pytest.skip("its file does not import the parser")
    monkeypatch.setattr(code_of(strategy), "ResponseParser", BuggyParser)

    check_that_the_bug_comes_out(strategy, most_in_flight, servers, bug=page("planted"))


def test_a_bug_after_a_failed_fetch_ends_the_crawl(strategy: Strategy, most_in_flight: int, servers: Servers) -> None:
    check_that_the_bug_comes_out(strategy, most_in_flight, servers, BugInFail, b"nonsense\r\n\r\n")


@pytest.mark.rule("cleanup")
def test_nothing_is_left_when_every_fetch_fails(strategy: Strategy, connection: str, servers: Servers) -> None:
    server = servers.serve({f"/{n}": (RESET if n % 2 else CLOSE,) for n in range(25)})
    roots = [f"{server.url}/{n}" for n in range(25)]

    crawled = crawl(strategy, *roots, max_in_flight=10, max_tries=2, connection=connection)

    assert [found.status for found in crawled.pages.values()] == [None] * 25


# Ctrl-C


def check_that_ctrl_c_ends_it(
    name: str, cap: int, servers: Servers, scripts: dict[str, Script], enough: int, flags: Sequence[str] = ()
) -> None:
    """Crawl in a process with each use of connections, and send SIGINT when the server has seen enough requests."""
    command = [sys.executable, *flags, "-m", "inflight.conformance.interrupted", name, str(cap)]
    pipe = subprocess.PIPE
    found = {}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for connection in CONNECTION_USES:
                servers.end()
                process.stdin.write(f"{connection} {servers.serve(scripts).url}/\n")
                process.stdin.flush()
                servers.wait_until_seen(enough, or_when=process.poll)
                process.send_signal(signal.SIGINT)
                found[connection] = process.stdout.readline()
            process.stdin.close()
            found["at the end"] = process.stdout.read()
        finally:
            process.kill()
    nothing_left = json.dumps({"ended": "interrupted", "left": []}) + "\n"
    assert found == {**dict.fromkeys(CONNECTION_USES, nothing_left), "at the end": ""}


@pytest.mark.rule("cleanup")
def test_ctrl_c_ends_a_crawl_that_waits(strategy: Strategy, name: str, most_in_flight: int, servers: Servers) -> None:
    cap = min(4, most_in_flight)
    scripts = with_others_waiting(cap - 1, (HANG,))

    check_that_ctrl_c_ends_it(name, cap, servers, scripts, 1 + 2 * cap, ("-W", "always::ResourceWarning"))


@pytest.mark.rule("cleanup")
def test_ctrl_c_ends_a_crawl_that_is_busy(strategy: Strategy, name: str, servers: Servers) -> None:
    pages: dict[str, Script] = {f"/{n or ''}": page(f"/{2 * n + 1}", f"/{2 * n + 2}") for n in range(20_000)}

    # Without the warnings: an interrupt between the making of a socket and its assignment leaves the socket to the
    # garbage collector, in any Python program. What counts is that no descriptor, thread or task is left.
    check_that_ctrl_c_ends_it(name, 8, servers, pages, 300, ("-W", "ignore"))
