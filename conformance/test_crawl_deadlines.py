"""Deadlines and sizes: servers that are slow, endless, or do not read.

A fetch that times out here is never answered, or only after its deadline by a clock that the test has moved. So it
does not matter how fast the machine is.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from inflight.conformance.crawling import LONG_NS, MS, SHORT_NS, Row, crawl
from inflight.conformance.expecting import Expect
from inflight.conformance.servers import (
    CHUNKED,
    CLOSE,
    HANG,
    HEAD,
    Server,
    by_try,
    by_use,
    drip,
    flood,
    hear,
    page,
    say,
    silent,
)  # fmt: skip
from inflight.strategies.base import Strategy

pytestmark = pytest.mark.rule("deadline")

Serve = Callable[..., Server]
LONG_PATH = "/" + 6_000_000 * "x"
"""More than the kernel takes before the server reads."""

DRIPS = {
    "header": (HEAD + b"x: ", b"y"),
    "body": (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
    "until-close": (HEAD + b"\r\n", b"x"),
    "chunks": (CHUNKED, b"1\r\nx\r\n"),
    "interim": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
}
SLOW = {f"/slow/{name}": Row((first, drip(piece)), "timeout") for name, (first, piece) in DRIPS.items()}
SLOW["/slow/never"] = Row((HANG,), "timeout")


def test_a_fetch_that_takes_too_long_is_a_timeout(expect: Expect, connection: str) -> None:
    expect.crawl(SLOW, timeout_ns=SHORT_NS, max_tries=1, max_in_flight=10, connection=connection)


def test_a_timeout_is_tried_again(strategy: Strategy, serve: Serve) -> None:
    server = serve({"/": by_try((HANG,), page())})

    # A machine that stalls costs tries, of which there are many.
    crawled = crawl(strategy, f"{server.url}/", timeout_ns=1000 * MS, max_tries=100)

    assert crawled.outcomes() == {"/": 200}
    assert 2 <= server.observed().targets["/"] <= crawled.tries()["/"]


MOST, MORE = (say("late 1"), hear("passed 1")), (say("late 2"), hear("passed 2"))
"""Each is more than half of a deadline, by a clock that the test moves."""


def test_a_second_connection_gets_no_second_deadline(
    strategy: Strategy, expect: Expect, serve: Serve, moved_clock: AbstractContextManager[None]
) -> None:
    late = "/late/second-connection"
    server = serve({"/": page(late), late: by_use(new=page(), kept=(*MOST, *MORE, CLOSE))})

    with moved_clock:
        crawled = crawl(strategy, f"{server.url}/", max_tries=1, max_in_flight=1, timeout_ns=LONG_NS)

    expect(crawled.outcomes(), {"/": 200, late: "timeout"})


UNREAD = "a client with an HTTP stack of its own may wait until all is sent before it closes a connection"


def test_sending_and_waiting_share_one_deadline(
    strategy: Strategy, is_shared: bool, serve: Serve, moved_clock: AbstractContextManager[None]
) -> None:
    if not is_shared:
        pytest.skip(UNREAD)
    # A whole answer could come in time, by the real clock. After half of one, the strategy looks at the moved clock.
    server = serve({LONG_PATH: (*MORE, HEAD, HANG)}, early=MOST)

    with moved_clock:
        crawled = crawl(strategy, server.url + LONG_PATH, max_tries=1, max_in_flight=1, timeout_ns=LONG_NS)

    assert list(crawled.outcomes().values()) == ["timeout"]


def test_a_server_that_does_not_read_is_a_timeout(strategy: Strategy, is_shared: bool, serve: Serve) -> None:
    if not is_shared:
        pytest.skip(UNREAD)
    server = serve({LONG_PATH: page()}, early=(hear("the end of the test"),))

    crawled = crawl(strategy, server.url + LONG_PATH, timeout_ns=SHORT_NS, max_tries=1)

    assert list(crawled.outcomes().values()) == ["timeout"]


@pytest.mark.usefixtures("local_names")
def test_all_addresses_of_a_host_share_one_deadline(strategy: Strategy, expect: Expect, serve: Serve) -> None:
    with silent() as port:
        serve({"/": page()}, host="127.0.0.2", port=port)
        crawled = crawl(strategy, f"http://silent-first.test:{port}/", timeout_ns=700 * MS, max_tries=1)

    expect({"silent-first.test": crawled.outcomes()["/"]}, {"silent-first.test": "timeout"})


# Size


OVER = ("timeout", "malformed response", "closed early")
"""What may come of a response without end in a client that reads on, or has limits of its own."""
FLOODS = {
    "header-line": (HEAD + b"x: ", b"y" * 5000),
    "header-lines": (HEAD, b"x: y\r\n" * 1000),
    "body": (HEAD + b"Content-Length: 1000000000000\r\n\r\n", b"x" * 5000),
    "until-close": (HEAD + b"\r\n", b"x" * 5000),
    "chunks": (CHUNKED, b"5\r\nhello\r\n" * 1000),
    "chunk": (CHUNKED + b"fffffffff\r\n", b"x" * 5000),
    "chunk-size": (CHUNKED, b"0" * 5000),
    "chunk-extension": (CHUNKED + b"5;", b"x" * 5000),
    "trailers": (CHUNKED + b"0\r\n", b"x: y\r\n" * 1000),
    "length-and-chunks": (CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n", b"5\r\nhello\r\n" * 1000),
}
ENDLESS = {f"/endless/{name}": Row((first, flood(piece)), "too large", OVER) for name, (first, piece) in FLOODS.items()}


@pytest.mark.rule("size")
def test_a_response_without_end_is_too_large(expect: Expect, is_shared: bool) -> None:
    crawled = expect.crawl(
        ENDLESS,
        max_body_bytes=100_000,
        max_header_bytes=20_000,
        max_tries=2 if is_shared else 1,
        max_in_flight=len(ENDLESS),
        timeout_ns=LONG_NS if is_shared else SHORT_NS,
    )

    if is_shared:  # others time out first
        assert crawled.tries() == dict.fromkeys(ENDLESS, 1)


def framings(size: int, expected: int | str) -> dict[str, Row]:
    """Return a table with a body of this size in each framing."""
    body = b"x" * size
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[: size // 2], body[size // 2 :]))
    return {
        f"/length/{size}": Row(HEAD + b"Content-Length: %d\r\n\r\n" % size + body, expected),
        f"/chunked/{size}": Row(CHUNKED + chunks + b"0\r\n\r\n", expected),
        f"/close/{size}": Row((HEAD + b"Connection: close\r\n\r\n" + body, CLOSE), expected),
    }


@pytest.mark.rule("size")
def test_a_body_may_be_as_large_as_the_limit_and_not_a_byte_larger(expect: Expect) -> None:
    for limit in (1000, 200_000):
        rows = framings(limit, 200) | framings(limit + 1, "too large")

        crawled = expect.crawl(rows, max_body_bytes=limit)

        assert crawled.tries() == dict.fromkeys(rows, 1)


@pytest.mark.rule("size")
def test_a_header_section_over_the_limit_is_too_large(expect: Expect) -> None:
    rows = {
        "/header/just": Row(page("/x", X="y" * 1500)),
        "/header/over": Row(page("/trap", X="y" * 2500), "too large", ("malformed response",)),
    }

    crawled = expect.crawl(rows, max_header_bytes=2000)

    assert crawled.paths - set(rows) == {"/x"}
