"""How a crawl handles servers that are slow, endless, broken or absent."""

import contextlib
import gzip
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.context import ForkContext
from typing import Any

import pytest

from inflight import strategies
from inflight.bench.conformance.crawling import MS, Crawled, code_of, crawl
from inflight.bench.conformance.servers import Exchange, Handler, Server, beside_silent, moved, page, response, site
from inflight.strategies.base import Strategy

pytestmark = pytest.mark.rule("errors")

Event = ForkContext().Event  # the servers run in forks of this process
Serve = Callable[..., Server]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LINK = b'<a href="/linked">'


def kinds(name: str, kind: str, *others: str) -> set[str]:
    """Return the accepted kinds of an error: one for all that share a parser, similar ones for the rest."""
    return {kind} if strategies.describe(name).stack == "shared" else {kind, *others}


def by_target(answers: dict[str, Callable[[Exchange], None]]) -> Handler:
    return lambda exchange: answers[exchange.target](exchange)


# Time


MOST_CRAWLS = 3


def crawl_to_a_timeout(strategy: Strategy, root: str, **options: Any) -> Crawled:
    """Crawl a root that is right and a page that is late; do it again if not: a stall spoils one, a bug each crawl."""
    for _ in range(MOST_CRAWLS):
        crawled = crawl(strategy, root, max_tries=1, max_in_flight=1, **options)
        if sorted(crawled.outcomes().values(), key=str) == [200, "timeout"]:
            break
    return crawled


SLOW: dict[str, Callable[[Exchange], None]] = {
    "/never": Exchange.hang,
    "/header": lambda exchange: drip(exchange, HEAD + b"x: ", b"y"),
    "/body": lambda exchange: drip(exchange, HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
    "/until-close": lambda exchange: drip(exchange, HEAD + b"\r\n", b"x"),
    "/chunks": lambda exchange: drip(exchange, CHUNKED, b"1\r\nx\r\n"),
    "/interim": lambda exchange: drip(exchange, b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
}


def drip(exchange: Exchange, first: bytes, piece: bytes) -> None:
    exchange.send(first)
    exchange.send_for_ever(piece, pause=0.02)


@pytest.mark.rule("deadline")
def test_a_fetch_that_takes_too_long_is_a_timeout(strategy: Strategy, connection: str, serve: Serve) -> None:
    server = serve(by_target(SLOW))
    roots = [server.url + path for path in SLOW]

    crawled = crawl(strategy, *roots, timeout_ns=150 * MS, max_tries=1, max_in_flight=10, connection=connection)

    assert crawled.outcomes() == dict.fromkeys(SLOW, "timeout")


@pytest.mark.rule("deadline")
def test_a_timeout_is_tried_again(strategy: Strategy, serve: Serve) -> None:
    def answer(exchange: Exchange) -> None:
        if exchange.earlier_tries == 0:
            exchange.hang()
        else:
            exchange.send(page())

    server = serve(answer)

    crawled = crawl(strategy, f"{server.url}/", timeout_ns=1500 * MS, max_tries=5)

    assert crawled.outcomes() == {"/": 200}
    [found] = crawled.pages.values()
    assert 2 <= server.observed().count("/") <= found.tries


@pytest.mark.rule("deadline")
def test_a_second_connection_gets_no_second_deadline(strategy: Strategy, serve: Serve) -> None:
    def answer(exchange: Exchange) -> None:
        if exchange.target == "/":
            exchange.send(page("/slow"))
            return
        time.sleep(1)
        if exchange.request.number:  # a kept connection breaks late; the answer on a new one comes later still
            exchange.close()
        else:
            exchange.send(page())

    server = serve(answer)

    crawled = crawl_to_a_timeout(strategy, f"{server.url}/", timeout_ns=1500 * MS)

    assert crawled.outcomes() == {"/": 200, "/slow": "timeout"}


@pytest.mark.rule("deadline")
def test_a_server_that_does_not_read_is_a_timeout(strategy: Strategy, name: str, serve: Serve) -> None:
    if strategies.describe(name).stack == "own":
        pytest.skip("a client with an HTTP stack of its own may wait until all is sent before it closes a connection")

    def answer(exchange: Exchange) -> None:
        exchange.send(page("/" + 6_000_000 * "x"))
        exchange.stop_reading()

    server = serve(answer)

    crawled = crawl_to_a_timeout(strategy, f"{server.url}/", timeout_ns=2500 * MS)

    assert sorted(crawled.outcomes().values(), key=str) == [200, "timeout"]


@pytest.mark.rule("deadline")
def test_sending_and_waiting_share_one_deadline(strategy: Strategy, serve: Serve) -> None:
    def answer(exchange: Exchange) -> None:
        if exchange.target == "/":
            exchange.send(page("/" + 6_000_000 * "x"))
            time.sleep(2)  # before the next request is read
        else:
            time.sleep(2)
            exchange.send(page())

    server = serve(answer)

    crawled = crawl_to_a_timeout(strategy, f"{server.url}/", timeout_ns=3_000 * MS)

    assert sorted(crawled.outcomes().values(), key=str) == [200, "timeout"]


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


def test_a_socket_that_is_not_ready_after_all_is_waited_for(
    strategy: Strategy, connection: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(site({"/": page("/a", "/b", "/c")}))
    monkeypatch.setattr(socket, "socket", NotReadyYet)

    crawled = crawl(strategy, f"{server.url}/", max_tries=1, connection=connection)

    assert crawled.outcomes() == {"/": 200, "/a": 404, "/b": 404, "/c": 404}


# Size


ENDLESS: dict[str, Callable[[Exchange], None]] = {
    "/header-line": lambda exchange: flood(exchange, HEAD + b"x: ", b"y" * 5000),
    "/header-lines": lambda exchange: flood(exchange, HEAD, b"x: y\r\n" * 1000),
    "/body": lambda exchange: flood(exchange, HEAD + b"Content-Length: 1000000000000\r\n\r\n", b"x" * 5000),
    "/until-close": lambda exchange: flood(exchange, HEAD + b"\r\n", b"x" * 5000),
    "/chunks": lambda exchange: flood(exchange, CHUNKED, b"5\r\nhello\r\n" * 1000),
    "/chunk": lambda exchange: flood(exchange, CHUNKED + b"fffffffff\r\n", b"x" * 5000),
    "/chunk-size": lambda exchange: flood(exchange, CHUNKED, b"0" * 5000),
    "/chunk-extension": lambda exchange: flood(exchange, CHUNKED + b"5;", b"x" * 5000),
    "/trailers": lambda exchange: flood(exchange, CHUNKED + b"0\r\n", b"x: y\r\n" * 1000),
    "/length-and-chunks": lambda exchange: flood(
        exchange, CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n", b"5\r\nhello\r\n" * 1000
    ),
}


def flood(exchange: Exchange, first: bytes, piece: bytes) -> None:
    exchange.send(first)
    exchange.send_for_ever(piece)


@pytest.mark.rule("size")
def test_a_response_without_end_is_too_large(strategy: Strategy, name: str, connection: str, serve: Serve) -> None:
    server = serve(by_target(ENDLESS))

    crawled = crawl(
        strategy,
        *(server.url + path for path in ENDLESS),
        max_body_bytes=100_000,
        max_header_bytes=20_000,
        max_tries=2,
        timeout_ns=(30_000 if strategies.describe(name).stack == "shared" else 400) * MS,
        connection=connection,
    )

    allowed = kinds(name, "too large", "timeout", "malformed response", "closed early")
    assert {path: kind for path, kind in crawled.outcomes().items() if kind not in allowed} == {}
    if strategies.describe(name).stack == "shared":  # others time out first, on a busy machine
        assert all(found.tries == 1 for found in crawled.pages.values() if (found.error or "").startswith("too large"))


def framings(body: bytes) -> dict[str, bytes]:
    middle = len(body) // 2
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:middle], body[middle:]))
    return {
        "/length": HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body,
        "/chunked": CHUNKED + chunks + b"0\r\n\r\n",
        "/close": HEAD + b"Connection: close\r\n\r\n" + body,
    }


@pytest.mark.rule("size")
@pytest.mark.parametrize("limit", [1000, 200_000])
def test_a_body_may_be_as_large_as_the_limit_and_not_a_byte_larger(
    strategy: Strategy, limit: int, serve: Serve
) -> None:
    for size, expected in ((limit, 200), (limit + 1, "too large")):
        answers = framings(b"x" * size)

        def answer(exchange: Exchange, answers: dict[str, bytes] = answers) -> None:
            exchange.send(answers[exchange.target])
            if exchange.target == "/close":
                exchange.close()

        server = serve(answer)

        crawled = crawl(strategy, *(server.url + path for path in answers), max_body_bytes=limit)

        assert crawled.outcomes() == dict.fromkeys(answers, expected)
        assert all(found.tries == 1 for found in crawled.pages.values())


@pytest.mark.rule("size")
def test_a_header_section_over_the_limit_is_too_large(strategy: Strategy, name: str, serve: Serve) -> None:
    server = serve(site({"/just": page("/x", X="y" * 1500), "/over": page("/trap", X="y" * 2500)}))

    crawled = crawl(strategy, f"{server.url}/just", f"{server.url}/over", max_header_bytes=2000)

    outcomes = crawled.outcomes()
    assert outcomes.pop("/over") in kinds(name, "too large", "malformed response")
    assert outcomes == {"/just": 200, "/x": 404}


# Nobody there


def test_a_refused_connection_is_a_failed_page(strategy: Strategy, connection: str, serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server = serve(site({"/": page(nobody, f"{nobody}x", "/y")}))

    crawled = crawl(strategy, f"{server.url}/", max_tries=3, connection=connection)

    found = {url: (page.status, page.error, page.tries) for url, page in crawled.pages.items()}
    refused = (None, "connection refused", 3)
    assert found == {
        f"{server.url}/": (200, None, 1),
        f"{server.url}/y": (404, None, 1),
        nobody: refused,
        f"{nobody}x": refused,
    }


@pytest.mark.usefixtures("local_names")
@pytest.mark.parametrize("host", ["refusing-first.test", "unreachable-first.test"])
def test_all_addresses_of_a_host_are_tried(strategy: Strategy, host: str, connection: str, serve: Serve) -> None:
    server = serve(site({"/": page("/x"), "/x": page()}))

    crawled = crawl(strategy, f"http://{host}:{server.port}/", max_tries=1, connection=connection)

    assert crawled.outcomes() == {"/": 200, "/x": 200}


def send_page(exchange: Exchange) -> None:
    exchange.send(page())


@pytest.mark.rule("deadline")
@pytest.mark.usefixtures("local_names")
@pytest.mark.parametrize("answer", [Exchange.hang, send_page])
def test_all_addresses_of_a_host_share_one_deadline(
    strategy: Strategy, answer: Handler, connection: str, serve: Serve
) -> None:
    with contextlib.ExitStack() as stack:
        server = beside_silent(stack, lambda: serve(answer, host="127.0.0.2"))
        root = f"http://silent-first.test:{server.port}/"
        crawled = crawl(strategy, root, timeout_ns=700 * MS, max_tries=1, connection=connection)

    assert crawled.outcomes() == {"/": "timeout"}


# Broken connections


BREAKS: dict[str, Callable[[Exchange], None]] = {
    "/closed": Exchange.close,
    "/reset": Exchange.reset,
    "/half-header": lambda exchange: cut(exchange, HEAD),
    "/half-body": lambda exchange: cut(exchange, HEAD + b"Content-Length: 10\r\n\r\nhello"),
    "/half-chunk": lambda exchange: cut(exchange, CHUNKED + b"a\r\nhello"),
    "/no-last-chunk": lambda exchange: cut(exchange, CHUNKED + b"5\r\nhello\r\n"),
    "/no-end-of-trailers": lambda exchange: cut(exchange, CHUNKED + b"0\r\n"),
    "/interim-only": lambda exchange: cut(exchange, b"HTTP/1.1 100 Continue\r\n\r\n"),
}


def cut(exchange: Exchange, data: bytes) -> None:
    exchange.send(data)
    exchange.close()


def test_a_broken_answer_is_tried_again_and_then_a_failed_page(
    strategy: Strategy, name: str, connection: str, serve: Serve
) -> None:
    server = serve(by_target(BREAKS))

    crawled = crawl(strategy, *(server.url + path for path in BREAKS), max_tries=3, connection=connection)

    reset = crawled.outcomes().pop("/reset")
    assert reset in kinds(name, "connection reset", "closed early")
    assert set(crawled.outcomes().values()) <= {reset, *kinds(name, "closed early", "connection reset")}
    assert all(found.tries == 3 for found in crawled.pages.values())
    if connection == "per-fetch" and strategies.describe(name).stack == "shared":
        assert all(server.observed().count(path) == 3 for path in BREAKS)


@pytest.mark.parametrize("path", BREAKS)
def test_a_server_that_recovers_causes_no_failure(
    strategy: Strategy, name: str, path: str, connection: str, serve: Serve
) -> None:
    def answer(exchange: Exchange) -> None:
        if exchange.earlier_tries < 2:
            BREAKS[path](exchange)
        else:
            exchange.send(page())

    server = serve(answer)

    crawled = crawl(strategy, server.url + path, max_tries=3, connection=connection)

    assert crawled.outcomes() == {path: 200}
    assert server.observed().count(path) == 3
    if strategies.describe(name).stack == "shared":  # others may send a request again that does not count
        assert crawled.pages[server.url + path].tries == 3


# Stale connections


def close_after(exchange: Exchange) -> None:
    exchange.send(page(*(f"/{n}" for n in range(20))))
    exchange.close()


def reset_after(exchange: Exchange) -> None:
    exchange.send(page(*(f"/{n}" for n in range(20))))
    time.sleep(0.01)  # the answer has arrived by then
    exchange.reset()


def close_on_second_request(exchange: Exchange) -> None:
    if exchange.request.number:
        exchange.close()
    else:
        exchange.send(page(*(f"/{n}" for n in range(20))))


def reset_on_second_request(exchange: Exchange) -> None:
    if exchange.request.number:
        exchange.reset()
    else:
        exchange.send(page(*(f"/{n}" for n in range(20))))


@pytest.mark.rule("stale")
@pytest.mark.parametrize("answer", [close_after, reset_after, close_on_second_request, reset_on_second_request])
@pytest.mark.parametrize("cap", [1, 5])
def test_a_kept_connection_that_is_gone_costs_no_try(
    strategy: Strategy, name: str, answer: Handler, cap: int, serve: Serve
) -> None:
    server = serve(answer)
    tries = 1 if strategies.describe(name).stack == "shared" else 10  # a foreign pool may hand out one after another

    crawled = crawl(strategy, f"{server.url}/", max_tries=tries, max_in_flight=cap)

    assert crawled.outcomes() == {"/": 200, **{f"/{n}": 200 for n in range(20)}}


@pytest.mark.rule("stale")
def test_connections_that_broke_while_parked_cost_no_try(strategy: Strategy, most_in_flight: int, serve: Serve) -> None:
    cap = min(4, most_in_flight)

    def answer(exchange: Exchange) -> None:
        if exchange.target == "/slow":
            exchange.wait_at_gate(cap)
            time.sleep(0.1)  # the other connections are parked, and closed, meanwhile
            exchange.send(page(*(f"/last{n}" for n in range(cap))))
        elif exchange.target.startswith("/first"):
            exchange.wait_at_gate(cap)
            exchange.send(page())
            exchange.close()
        else:
            exchange.send(page())

    server = serve(answer)
    roots = [f"{server.url}/first{n}" for n in range(cap - 1)] + [f"{server.url}/slow"]

    crawled = crawl(strategy, *roots, max_tries=1, max_in_flight=cap)

    assert set(crawled.outcomes().values()) == {200}
    assert len(crawled.pages) == 2 * cap
    assert all(found.tries == 1 for found in crawled.pages.values())


# Idle connections


UNASKED = [response(408, b"", None, Connection="close"), response(200, b'<a href="/trap">')]


@pytest.mark.rule("responses")
@pytest.mark.parametrize("unasked", UNASKED)
@pytest.mark.parametrize("ending", ["closed", "open"])
def test_what_comes_unasked_while_another_origin_is_crawled_answers_nothing(
    strategy: Strategy, name: str, unasked: bytes, ending: str, serve: Serve
) -> None:
    if strategies.describe(name).stack == "own":
        pytest.skip(
            "a client with an HTTP stack of its own may use an unrequested response as the answer (docs/bias.md)"
        )
    is_idle, is_said = Event(), Event()

    def answer(exchange: Exchange) -> None:
        exchange.send(page())
        if exchange.target == "/first":
            is_idle.wait()
            exchange.send(unasked)
            is_said.set()
            if ending == "closed":
                exchange.close()

    server = serve(answer)

    def answer_at_last(exchange: Exchange) -> None:
        is_idle.set()
        is_said.wait()
        exchange.send(page(f"{server.url}/last"))

    other = serve(answer_at_last)

    crawled = crawl(strategy, f"{server.url}/first", f"{other.url}/other", max_in_flight=1, max_tries=1)

    assert crawled.outcomes() == {"/first": 200, "/other": 200, "/last": 200}


@pytest.mark.rule("responses")
@pytest.mark.parametrize("unasked", UNASKED)
@pytest.mark.parametrize("ending", ["closed", "open"])
def test_what_comes_unasked_while_nothing_waits_answers_nothing(
    strategy: Strategy, name: str, most_in_flight: int, unasked: bytes, ending: str, serve: Serve
) -> None:
    if strategies.describe(name).stack == "own":
        pytest.skip(
            "a client with an HTTP stack of its own may use an unrequested response as the answer (docs/bias.md)"
        )
    if most_in_flight == 1:
        pytest.skip("its connection is never idle")
    is_said, both_asked = Event(), threading.Barrier(2)

    def answer(exchange: Exchange) -> None:
        if exchange.target == "/slow":
            is_said.wait()
            exchange.send(page("/a", "/b"))
            return
        if exchange.target != "/first":
            both_asked.wait()  # so that no connection is used for both
        exchange.wait_at_gate(2)
        exchange.send(page())
        if exchange.target == "/first":
            time.sleep(0.1)  # so that the client has read this answer, and what follows is not a part of it
            exchange.send(unasked)
            is_said.set()
            if ending == "closed":
                exchange.close()

    server = serve(answer)

    crawled = crawl(strategy, f"{server.url}/first", f"{server.url}/slow", max_in_flight=2, max_tries=1)

    assert crawled.outcomes() == dict.fromkeys(("/first", "/slow", "/a", "/b"), 200)


@pytest.mark.rule("responses")
@pytest.mark.parametrize("unasked", UNASKED)
def test_what_comes_unasked_in_one_piece_with_an_answer_answers_nothing(
    strategy: Strategy, name: str, most_in_flight: int, unasked: bytes, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    if strategies.describe(name).stack == "own":
        pytest.skip(
            "a client with an HTTP stack of its own may use an unrequested response as the answer (docs/bias.md)"
        )
    if most_in_flight == 1:
        pytest.skip("its connection is never idle")
    both_asked = threading.Barrier(2)
    first = page()
    if not hasattr(code_of(strategy), "CHUNK_BYTES"):
        pytest.skip("asyncio's transport reads for it, all that has come")
    monkeypatch.setattr(code_of(strategy), "CHUNK_BYTES", len(first))  # it reads the answer, and the rest is left

    def answer(exchange: Exchange) -> None:
        if exchange.target in {"/a", "/b"}:
            both_asked.wait()  # so that no connection is used for both
        if exchange.target == "/slow":
            first_is_sent.wait()
            time.sleep(0.1)  # so that the client has read the other answer, and its connection is idle
            exchange.send(page("/a", "/b"))
        elif exchange.target == "/first":
            exchange.wait_at_gate(2)
            exchange.send(first + unasked)
            first_is_sent.set()
        else:
            exchange.send(page())

    first_is_sent = Event()
    server = serve(answer)

    crawled = crawl(strategy, f"{server.url}/first", f"{server.url}/slow", max_in_flight=2, max_tries=1)

    assert crawled.outcomes() == dict.fromkeys(("/first", "/slow", "/a", "/b"), 200)


# Nonsense


NONSENSE = {
    "/text": b"hello, this is no http\r\n\r\n",
    "/text-without-end": b"hello",
    "/bytes": bytes(range(256)),
    "/tls": b"\x15\x03\x01\x00\x02\x02\x46",
    "/version": b"HTTP/3.0 200 OK\r\n\r\n",
    "/status": b"HTTP/1.1 OK\r\n\r\n",
    "/no-colon": b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
    "/length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    "/lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "/chunk": CHUNKED + b"xyz\r\n",
    "/long-chunk": CHUNKED + b"3\r\nhello\r\n0\r\n\r\n",
}


def test_nonsense_is_a_malformed_response(strategy: Strategy, name: str, connection: str, serve: Serve) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.send(NONSENSE[exchange.target])
        exchange.hang()

    server = serve(answer)

    crawled = crawl(
        strategy,
        *(server.url + path for path in NONSENSE),
        max_tries=2,
        timeout_ns=(30_000 if strategies.describe(name).stack == "shared" else 3_000) * MS,  # some wait for more
        connection=connection,
    )

    outcomes = crawled.outcomes()
    assert {
        path: kind for path, kind in outcomes.items() if kind not in kinds(name, "malformed response", "closed early")
    } == {}
    assert all(found.tries == 2 for found in crawled.pages.values())
    assert all(len(found.error or "") <= 200 for found in crawled.pages.values()), "messages quote only the beginning"


@pytest.mark.parametrize("digits", [5000 * "0", 5000 * "9"])
def test_a_length_of_thousands_of_digits_does_not_end_the_crawl(
    strategy: Strategy, name: str, digits: str, connection: str, serve: Serve
) -> None:
    long = f"HTTP/1.1 200 OK\r\nContent-Length: {digits}\r\n\r\n".encode()
    server = serve(by_target({"/long": until_close(long), "/x": lambda exchange: exchange.send(page())}))

    crawled = crawl(strategy, f"{server.url}/long", f"{server.url}/x", connection=connection, max_tries=2)

    outcomes = crawled.outcomes()
    is_none = strategies.describe(name).stack == "own" and set(digits) == {"0"}  # other stacks may count zeros
    assert outcomes.pop("/long") in {"malformed response", *([200] if is_none else [])}
    assert outcomes == {"/x": 200}


@pytest.mark.rule("responses")
@pytest.mark.parametrize(
    "extra",
    [b"garbage", b"\r\n\r\n", response(200, b'<a href="/trap">')],
    ids=["garbage", "empty lines", "another response"],
)
def test_bytes_behind_a_response_answer_nothing(
    strategy: Strategy, name: str, extra: bytes, connection: str, serve: Serve
) -> None:
    server = serve(lambda exchange: exchange.send(page(f"{exchange.target}x") + extra))

    crawled = crawl(strategy, f"{server.url}/x", connection=connection, exclude="x{6}", max_tries=1)

    outcomes = crawled.outcomes()
    assert set(outcomes) <= {"/x", "/xx", "/xxx", "/xxxx", "/xxxxx"}
    if strategies.describe(name).stack == "shared":  # others may hold it against the response itself
        assert list(outcomes.values()) == [200] * 5


# What is odd and right


def pieces(*parts: bytes) -> Callable[[Exchange], None]:
    def answer(exchange: Exchange) -> None:
        for part in parts:
            exchange.send(part)
            time.sleep(0.005)

    return answer


def until_close(data: bytes) -> Callable[[Exchange], None]:
    return lambda exchange: cut(exchange, data)


WHOLE = b"content-LENGTH:\t18 \r\n\r\n" + LINK
ODD: dict[str, Callable[[Exchange], None]] = {
    "/byte-by-byte": pieces(*(bytes([byte]) for byte in HEAD[:20]), HEAD[20:], WHOLE[:1], WHOLE[1:]),
    "/chunks": pieces(CHUNKED, b"1;a=b\r", b"\n<", b"\r\n11\r\n", LINK[1:] + b"\r", b"\n000;x\r\nA: b\r\n", b"\r\n"),
    "/until-close": until_close(HEAD + b"\r\n" + LINK),
    "/http10": until_close(HEAD.replace(b"1.1", b"1.0") + WHOLE),
    "/http10-kept": pieces(HEAD.replace(b"1.1", b"1.0") + b"Connection: Keep-Alive\r\n" + WHOLE),
    "/http10-until-close": until_close(HEAD.replace(b"1.1", b"1.0") + b"\r\n" + LINK),
    "/close": until_close(HEAD + b"Connection: Close\r\n" + WHOLE),
    "/interim": pieces(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", HEAD + WHOLE),
    "/no-reason": pieces(b"HTTP/1.1 200\r\nContent-Type: text/html\r\n" + WHOLE),
    "/cookie": pieces(HEAD + b"Set-Cookie: a=b; Path=/\r\n" + WHOLE),
    "/big-header": pieces(HEAD + b"x: " + b"y" * 60_000 + b"\r\n" + WHOLE),
}


@pytest.mark.rule("responses")
def test_odd_responses_are_pages_like_others(strategy: Strategy, connection: str, serve: Serve) -> None:
    server = serve(by_target({**ODD, "/linked": lambda exchange: exchange.send(page())}))

    crawled = crawl(strategy, *(server.url + path for path in ODD), connection=connection, max_in_flight=2)

    assert crawled.outcomes() == dict.fromkeys((*ODD, "/linked"), 200)
    assert {crawled.pages[server.url + path].size for path in ODD} == {len(LINK)}
    assert all(found.tries == 1 for found in crawled.pages.values())
    assert not any("cookie:" in request.head.lower() for request in server.observed().requests)


@pytest.mark.rule("responses")
def test_a_coded_body_is_counted_as_it_was_sent(strategy: Strategy, serve: Serve) -> None:
    body = gzip.compress(LINK * 100)
    server = serve(site({"/": response(200, body, Content_Encoding="gzip")}))

    crawled = crawl(strategy, f"{server.url}/")

    assert [found.size for found in crawled.pages.values()] == [len(body)]


@pytest.mark.rule("responses")
@pytest.mark.parametrize("status", [204, 304])
def test_a_response_without_a_body_leaves_the_connection_for_the_next(
    strategy: Strategy, status: int, serve: Serve
) -> None:
    bare = b"HTTP/1.1 %d Bare\r\n\r\n" % status
    server = serve(site({"/": page("/1", "/2", "/3"), "/1": bare, "/2": bare, "/3": bare}))

    crawled = crawl(strategy, f"{server.url}/", max_in_flight=1)

    assert crawled.outcomes() == {"/": 200, "/1": status, "/2": status, "/3": status}
    assert server.observed().connections == 1


@pytest.mark.rule("responses")
def test_http_errors_are_results(strategy: Strategy, serve: Serve) -> None:
    statuses = (400, 401, 403, 404, 410, 429, 500, 502, 503, 599)
    server = serve(site({f"/{status}": response(status, LINK, Retry_After="0") for status in statuses}))

    crawled = crawl(strategy, *(f"{server.url}/{status}" for status in statuses))

    assert crawled.outcomes() == {f"/{status}": status for status in statuses}
    assert all((p.error, p.size, p.tries) == (None, len(LINK), 1) for p in crawled.pages.values())
    assert len(server.observed().requests) == len(statuses)


@pytest.mark.rule("redirects")
def test_a_redirect_may_come_in_any_framing(strategy: Strategy, connection: str, serve: Serve) -> None:
    server = serve(
        by_target(
            {
                "/1": until_close(b"HTTP/1.1 302 x\r\nLocation: /2\r\n\r\nmoved"),
                "/2": pieces(b"HTTP/1.1 302 x\r\nLocation: /3\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n"),
                "/3": until_close(b"HTTP/1.0 302 x\r\nLocation: /4\r\nContent-Length: 0\r\n\r\n"),
                "/4": lambda exchange: exchange.send(moved("/1")),
            }
        )
    )

    assert crawl(strategy, f"{server.url}/1", connection=connection).outcomes() == {f"/{n}": 302 for n in range(1, 5)}
