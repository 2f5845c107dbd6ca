"""Responses that are odd and right, that nobody asked for, and connections that the server has closed."""

import gzip
import socket
from collections.abc import Callable
from typing import Any

import pytest

from inflight.conformance.crawling import LONG_NS, SHORT_NS, Row, code_of, crawl
from inflight.conformance.expecting import Expect
from inflight.conformance.servers import (
    CHUNKED,
    CLOSE,
    HEAD,
    MOMENT,
    RESET,
    Script,
    Server,
    Servers,
    by_use,
    hear,
    moved,
    page,
    pieces,
    response,
    say,
    seen,
)  # fmt: skip
from inflight.strategies.base import Strategy

pytestmark = pytest.mark.rule("responses")

Serve = Callable[..., Server]
LINK = b'<a href="/linked">'
WHOLE = b"content-LENGTH:\t18 \r\n\r\n" + LINK
HEAD_10 = HEAD.replace(b"1.1", b"1.0")
BYTES = [bytes([byte]) for byte in HEAD[:20]]
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"

ODD = {
    "/odd/byte-by-byte": Row((pieces(*BYTES, HEAD[20:], WHOLE[:1], WHOLE[1:]),)),
    "/odd/chunks": Row(
        (pieces(CHUNKED, b"1;a=b\r", b"\n<", b"\r\n11\r\n", LINK[1:] + b"\r", b"\n000;x\r\nA: b\r\n", b"\r\n"),)
    ),
    "/odd/until-close": Row((HEAD + b"\r\n" + LINK, CLOSE)),
    "/odd/http10": Row((HEAD_10 + WHOLE, CLOSE)),
    "/odd/http10-kept": Row(HEAD_10 + b"Connection: Keep-Alive\r\n" + WHOLE),
    "/odd/http10-until-close": Row((HEAD_10 + b"\r\n" + LINK, CLOSE)),
    "/odd/close": Row((HEAD + b"Connection: Close\r\n" + WHOLE, CLOSE)),
    "/odd/interim": Row((pieces(INTERIM, HEAD + WHOLE),)),
    "/odd/no-reason": Row(b"HTTP/1.1 200\r\nContent-Type: text/html\r\n" + WHOLE),
    "/odd/cookie": Row(HEAD + b"Set-Cookie: a=b; Path=/\r\n" + WHOLE),
    "/odd/big-header": Row(HEAD + b"x: " + b"y" * 60_000 + b"\r\n" + WHOLE),
    **{
        f"/odd/{status}": Row(response(status, LINK.replace(b"linked", b"a-trap"), Retry_After="0"), status)
        for status in (400, 401, 403, 404, 410, 429, 500, 502, 503, 599)
    },
    "/linked": Row(page()),
}


def test_odd_responses_are_pages_like_others(expect: Expect, connection: str) -> None:
    crawled = expect.crawl(ODD, connection=connection, max_in_flight=2)

    assert crawled.paths <= set(ODD)
    assert set(crawled.tries().values()) == {1}
    assert not any("cookie:" in request.head.lower() for request in expect.server.observed().requests)
    assert {page.size for page in crawled.pages.values() if "/odd/" in page.url} == {len(LINK)}


def test_a_coded_body_is_counted_as_it_was_sent(strategy: Strategy, serve: Serve) -> None:
    body = gzip.compress(LINK * 100)
    server = serve({"/": response(200, body, Content_Encoding="gzip")})

    crawled = crawl(strategy, f"{server.url}/")

    assert [found.size for found in crawled.pages.values()] == [len(body)]


def test_a_response_without_a_body_leaves_the_connection_for_the_next(strategy: Strategy, serve: Serve) -> None:
    bare = {f"/{status}/{n}": b"HTTP/1.1 %d Bare\r\n\r\n" % status for status in (204, 304) for n in range(3)}
    server = serve({"/": page(*bare), **bare})

    crawled = crawl(strategy, f"{server.url}/", max_in_flight=1)

    assert crawled.outcomes() == {"/": 200, **{path: int(path[1:4]) for path in bare}}
    assert server.observed().connections == 1


@pytest.mark.rule("redirects")
def test_a_redirect_may_come_in_any_framing(strategy: Strategy, connection: str, serve: Serve) -> None:
    server = serve(
        {
            "/1": (b"HTTP/1.1 302 x\r\nLocation: /2\r\n\r\nmoved", CLOSE),
            "/2": (pieces(b"HTTP/1.1 302 x\r\nLocation: /3\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n"),),
            "/3": (b"HTTP/1.0 302 x\r\nLocation: /4\r\nContent-Length: 0\r\n\r\n", CLOSE),
            "/4": moved("/1"),
        }
    )

    assert crawl(strategy, f"{server.url}/1", connection=connection).outcomes() == {f"/{n}": 302 for n in range(1, 5)}


class NotReadyYet(socket.socket):
    """A socket that is reported ready once more than it is, as select(2) says may happen."""

    premature = 1

    def recv(self, *args: Any) -> bytes:
        self.wait_in_vain()
        return super().recv(*args)

    def send(self, *args: Any) -> int:
        self.wait_in_vain()
        return super().send(*args)

    def wait_in_vain(self) -> None:
        self.premature, again = not self.premature, self.premature
        # A blocking socket that has nothing is out of time; asyncio wakes its loop over a pair of sockets, which works.
        if again and self.gettimeout() == 0 and self.family == socket.AF_INET:
            raise BlockingIOError


@pytest.mark.rule("errors")
def test_a_socket_that_is_not_ready_after_all_is_waited_for(
    strategy: Strategy, connection: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve({"/": page("/a", "/b", "/c")})
    monkeypatch.setattr(socket, "socket", NotReadyYet)

    crawled = crawl(strategy, f"{server.url}/", max_tries=1, connection=connection)

    assert crawled.outcomes() == {"/": 200, "/a": 404, "/b": 404, "/c": 404}


# Stale connections


PAGES = [f"/{n}" for n in range(20)]
FIRST = page(*PAGES)
STALE: dict[str, Script] = {
    "closed after an answer": (FIRST, CLOSE),
    "reset after an answer": (FIRST, RESET),
    "closed on the second request": by_use(new=FIRST, kept=(CLOSE,)),
    "reset on the second request": by_use(new=FIRST, kept=(RESET,)),
}


@pytest.mark.rule("stale")
@pytest.mark.parametrize("cap", [1, 5])
def test_a_kept_connection_that_is_gone_costs_no_try(
    strategy: Strategy, is_shared: bool, cap: int, serve: Serve
) -> None:
    tries = 1 if is_shared else 10  # a foreign pool may hand out one after another
    failed = {}
    # A foreign pool may leak the socket of a reset that comes right behind an answer (urllib3-future does).
    scripts = {how: script for how, script in STALE.items() if is_shared or how != "reset after an answer"}
    for how, script in scripts.items():
        crawled = crawl(strategy, f"{serve({'*': script}).url}/", max_tries=tries, max_in_flight=cap)
        failed[how] = {path for path in ("/", *PAGES) if crawled.outcomes().get(path) != 200}

    assert failed == {how: set() for how in scripts}


@pytest.mark.rule("stale")
def test_connections_that_broke_while_parked_cost_no_try(strategy: Strategy, most_in_flight: int, serve: Serve) -> None:
    cap = min(4, most_in_flight)
    first, last = [f"/first{n}" for n in range(cap - 1)], [f"/last{n}" for n in range(cap)]
    server = serve(
        {
            **dict.fromkeys(first, (seen(cap), page(), CLOSE)),
            "/slow": (seen(cap), MOMENT, page(*last)),  # the other connections are parked, and closed, meanwhile
            "*": page(),
        }
    )

    crawled = crawl(strategy, *(server.url + path for path in (*first, "/slow")), max_tries=1, max_in_flight=cap)

    assert crawled.outcomes() == dict.fromkeys([*first, "/slow", *last], 200)
    assert set(crawled.tries().values()) == {1}


# What nobody asked for


UNASKED = {
    "408": response(408, b"", None, Connection="close"),
    "page": response(200, b'<a href="/trap">'),
}
WAYS: dict[str, Script] = {
    f"{kind}, connection {ending}": (data, say("said"), *end)
    for kind, data in UNASKED.items()
    for ending, end in {"closed": (CLOSE,), "open": ()}.items()
}
OWN_STACK = "a client with an HTTP stack of its own may use an unrequested response as the answer (docs/method.md)"


def test_what_comes_unasked_while_another_origin_is_crawled_answers_nothing(
    strategy: Strategy, is_shared: bool, servers: Servers
) -> None:
    if not is_shared:
        pytest.skip(OWN_STACK)
    for way in WAYS.values():
        server = servers.serve({"/first": (page(), seen(2), *way), "*": page()})
        other = servers.serve({"/other": (hear("said"), page(f"{server.url}/last"))})

        crawled = crawl(strategy, f"{server.url}/first", f"{other.url}/other", max_in_flight=1, max_tries=1)

        assert crawled.outcomes() == {"/first": 200, "/other": 200, "/last": 200}
        servers.end()


def test_what_comes_unasked_while_nothing_waits_answers_nothing(
    strategy: Strategy, is_shared: bool, most_in_flight: int, servers: Servers
) -> None:
    if not is_shared:
        pytest.skip(OWN_STACK)
    if most_in_flight == 1:
        pytest.skip("its connection is never idle")
    for way in WAYS.values():
        server = servers.serve(
            {
                # The moment lets the client read this answer, so that what follows is not a part of it.
                "/first": (seen(2), page(), MOMENT, *way),
                "/slow": (hear("said"), page("/a", "/b")),
                "*": (seen(4), page()),  # so that no connection is used for both
            }
        )

        crawled = crawl(strategy, f"{server.url}/first", f"{server.url}/slow", max_in_flight=2, max_tries=1)

        assert crawled.outcomes() == dict.fromkeys(("/first", "/slow", "/a", "/b"), 200)
        servers.end()


def test_what_comes_unasked_in_one_piece_with_an_answer_answers_nothing(
    strategy: Strategy, is_shared: bool, most_in_flight: int, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_shared:
        pytest.skip(OWN_STACK)
    if most_in_flight == 1:
        pytest.skip("its connection is never idle")
    if not hasattr(code_of(strategy), "CHUNK_BYTES"):
        pytest.skip("asyncio's transport reads for it, all that has come")
    monkeypatch.setattr(code_of(strategy), "CHUNK_BYTES", len(page()))  # it reads the answer, and the rest is left
    for unasked in UNASKED.values():
        server = servers.serve(
            {
                "/first": (seen(2), page() + unasked, say("said")),
                "/slow": (hear("said"), MOMENT, page("/a", "/b")),  # the other connection is idle meanwhile
                "*": (seen(4), page()),  # so that no connection is used for both
            }
        )

        crawled = crawl(strategy, f"{server.url}/first", f"{server.url}/slow", max_in_flight=2, max_tries=1)

        assert crawled.outcomes() == dict.fromkeys(("/first", "/slow", "/a", "/b"), 200)
        servers.end()


BEHIND = {
    "/behind/garbage": b"garbage",
    "/behind/empty-lines": b"\r\n\r\n",
    "/behind/response": response(200, b'<a href="/trap">'),
}


def test_bytes_behind_a_response_answer_nothing(
    strategy: Strategy, is_shared: bool, expect: Expect, serve: Serve
) -> None:
    for start, extra in BEHIND.items():
        paths = [start + n * "x" for n in range(5)]
        server = serve({path: page(f"{path}x") + extra for path in paths})

        # A client with an HTTP stack of its own may hold what follows against the response itself, or wait for more.
        timeout_ns = LONG_NS if is_shared else SHORT_NS
        crawled = crawl(strategy, server.url + start, exclude="x{5}", max_tries=1, timeout_ns=timeout_ns)

        outcomes = crawled.outcomes()
        expect({start: not set(outcomes) - set(paths)}, {start: True})
        if is_shared:
            assert outcomes == dict.fromkeys(paths, 200)
