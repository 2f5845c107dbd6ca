"""How a crawl ends when it must end early: by a bug, by Ctrl-C; at once, as an exception, with nothing left behind."""

import signal
import subprocess
import sys
from typing import Any

import pytest

from inflight.conformance.crawling import code_of
from inflight.conformance.servers import HANG, Script, page
from inflight.conformance.sites import CONNECTION_USES
from inflight.conformance.subject import Subject
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import Response, ResponseParser

pytestmark = pytest.mark.rule("bugs")


class PlantedError(RuntimeError):
    """The bug of these tests."""


def bug_in(method: str) -> type[Frontier]:
    """Return a frontier with a bug in this method; one that gets a fetch fails at ``/bug`` only."""

    def planted(self: Frontier, *arguments: Any) -> Any:
        if not arguments or arguments[0].url.endswith("/bug"):
            raise PlantedError
        return getattr(Frontier, method)(self, *arguments)

    return type(f"BugIn{method.title()}", (Frontier,), {method: planted})


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
        **{f"/warm{n}": (("seen", 1 + len(warm)), page(f"/wait{n}" if n < others else "/bug")) for n in warm},
        **{f"/wait{n}": (HANG,) for n in range(others)},
        "/bug": (("seen", everybody), bug) if isinstance(bug, bytes) else (("seen", everybody), *bug),
    }


def check_that_the_bug_comes_out(subject: Subject, frontier: type[Frontier], bug: bytes) -> None:
    """Crawl with a planted bug in each situation; it must come out of the crawl, alone or in a group."""
    ends = {}
    for number, connection in SITUATIONS:
        others = min(number, subject.max_in_flight - 1)
        subject.servers.end()
        server = subject.serve(with_others_waiting(others, bug))
        ended = "crawl returned"
        try:
            subject.crawl(f"{server.url}/", frontier=frontier, max_in_flight=others + 1, connection=connection)
        except PlantedError:
            ended = COMES_OUT
        except BaseExceptionGroup as group:
            if group.subgroup(PlantedError) is None:
                raise
            ended = COMES_OUT
        ends[number, connection] = ended

    assert ends == dict.fromkeys(SITUATIONS, COMES_OUT)


@pytest.mark.parametrize("method", ["roots", "start", "finish", "fail"])
def test_a_bug_in_the_frontier_ends_the_crawl(subject: Subject, method: str) -> None:
    check_that_the_bug_comes_out(subject, bug_in(method), b"nonsense\r\n\r\n" if method == "fail" else page("/bug"))


def test_a_bug_in_the_parser_ends_the_crawl(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    subject.needs_shared_parser("have a parser of its own")
    subject.needs_reach("parses")
    if not hasattr(code_of(subject.strategy), "ResponseParser"):
        pytest.skip("its file does not import the parser")
    monkeypatch.setattr(code_of(subject.strategy), "ResponseParser", BuggyParser)

    check_that_the_bug_comes_out(subject, Frontier, page("planted"))


def check_that_ctrl_c_ends_it(
    subject: Subject, cap: int, scripts: dict[str, Script], enough: int, warnings: str
) -> None:
    """Crawl in a process with each use of connections, and send SIGINT when the server has seen enough requests."""
    command = [sys.executable, "-W", warnings, "-m", "inflight.conformance.crawling", subject.name, str(cap)]
    pipe = subprocess.PIPE
    lines = {}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for connection in CONNECTION_USES:
                subject.servers.end()
                process.stdin.write(f"{connection} {subject.serve(scripts).url}/\n")
                process.stdin.flush()
                subject.servers.wait_until_seen(enough, or_when=process.poll)
                process.send_signal(signal.SIGINT)
                lines[connection] = process.stdout.readline()
            process.stdin.close()
            lines["at the end"] = process.stdout.read()
        finally:
            process.kill()
    assert lines == {**dict.fromkeys(CONNECTION_USES, "interrupted, nothing left\n"), "at the end": ""}


@pytest.mark.rule("cleanup")
def test_ctrl_c_ends_a_crawl_that_waits(subject: Subject) -> None:
    cap = min(4, subject.max_in_flight)

    check_that_ctrl_c_ends_it(
        subject, cap, with_others_waiting(cap - 1, (HANG,)), 1 + 2 * cap, "always::ResourceWarning"
    )


@pytest.mark.rule("cleanup")
def test_ctrl_c_ends_a_crawl_that_is_busy(subject: Subject) -> None:
    pages: dict[str, Script] = {f"/{n or ''}": page(f"/{2 * n + 1}", f"/{2 * n + 2}") for n in range(20_000)}

    # Without the warnings: an interrupt between the making of a socket and its assignment leaves the socket to the
    # garbage collector, in any Python program. What counts is that no descriptor, thread or task is left.
    check_that_ctrl_c_ends_it(subject, 8, pages, 100, "ignore")
