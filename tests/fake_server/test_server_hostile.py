"""Clients that send without end, pipeline without reading, or trickle: others are served, and memory is bounded."""

import asyncio
import contextlib
import select
import socket
from contextlib import ExitStack
from functools import partial

import psutil
import pytest
import uvloop

from inflight.fake_server.server import Server
from inflight.fake_server.site import SiteConfig
from tests.fake_server.running import Running, Start, get, parse_head, read_response
from tests.patience import FOREVER_S, until

MIB = 1024 * 1024
CHUNKED = get("/p/1", method="POST", headers="Transfer-Encoding: chunked\r\n")


def rss_bytes(server: Running) -> int:
    return int(psutil.Process(server.process.pid).memory_info().rss)


def answer_to_a_flood(server: Running, start: bytes, flood: bytes, most_bytes: int = 8 * MIB) -> bytes:
    """Send start, and flood again and again until something is answered; return all that is."""
    with server.connect() as sock:
        sock.sendall(start)
        sent_bytes = 0
        with contextlib.suppress(ConnectionError):  # it hangs up on who sends much after the refusal
            while sent_bytes < most_bytes and not select.select([sock], [], [], 0)[0]:
                sock.sendall(flood)
                sent_bytes += len(flood)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while data := sock.recv(65536):
                answer += data
        return answer


@pytest.mark.parametrize(
    ("start", "flood", "status"),
    [
        pytest.param(CHUNKED + b"0\r\nX: ", b"x" * 4000, 431, id="trailer value"),
        pytest.param(CHUNKED + b"5\r\nhello\r\n0\r\nX", b"x" * 4000, 431, id="trailer name"),
        pytest.param(CHUNKED + b"0\r\n", b"X: x\r\n" * 700, 431, id="trailers"),
        pytest.param(CHUNKED + b"5;x=", b"x" * 4000, 431, id="chunk extension"),
        pytest.param(CHUNKED, b"1;%s\r\nx\r\n" % (b"x" * 2000) * 2, 431, id="chunk extensions"),
        pytest.param(CHUNKED, b"1\r\nx\r\n" * 700, 431, id="chunks of one byte"),
        pytest.param(b"GET / HTTP/1.1\r\n", b"x" * 4000, 431, id="header name"),
        pytest.param(b"GET / HTTP/1.1\r\nX: ", b"x" * 4000, 431, id="header value"),
        pytest.param(
            b"GET / HTTP/1.1\r\nX:",
            b" " * 4000,
            431,
            id="white space before a header value",
        ),
        pytest.param(b"GET /", b"x" * 4000, 414, id="target"),
        pytest.param(CHUNKED + b"fffffff\r\n", b"x" * 4000, 413, id="chunk"),
    ],
)
def test_no_part_of_a_request_is_collected_without_a_bound(
    server: Running, start: bytes, flood: bytes, status: int
) -> None:
    answer = answer_to_a_flood(server, start, flood)

    assert parse_head(answer.partition(b"\r\n\r\n")[0])[0] == status
    assert answer.count(b"HTTP/1.1") == 1


def test_trailers_within_the_header_limit_are_accepted(server: Running) -> None:
    trailers = b"X: %s\r\nHost: other\r\n\r\n" % (b"x" * 60_000)
    with server.connect() as sock:
        for _ in range(2):
            sock.sendall(CHUNKED + b"5;name=value\r\nhello\r\n0\r\n" + trailers)
            assert read_response(sock)[0] == 405
        sock.sendall(get("/p/1"))
        assert read_response(sock)[0] == 200


@pytest.mark.parametrize(
    ("length", "status"),
    [("0" * 5000 + "5", 405), ("0" * 5000 + "1048577", 413), ("1048577", 413), ("9" * 5000, 400)],
)
def test_a_content_length_of_thousands_of_digits_is_judged_like_any_other(
    server: Running, length: str, status: int
) -> None:
    with server.connect() as sock:
        sock.sendall(get("/p/1", method="POST", headers=f"Content-Length: {length}\r\n") + b"hello")

        assert read_response(sock)[0] == status


def test_a_refused_client_that_goes_on_sending_is_hung_up_on(server: Running) -> None:
    with server.connect() as sock:
        sock.sendall(b"garbage\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for _ in range(1024):
                sock.sendall(b"x" * 65536)
            pytest.fail("the server took 64 MiB from a client that it had refused")


def test_a_trickle_of_bytes_is_no_sign_of_life(start: Start) -> None:
    """The bytes of a header, blank lines, or those of a trailer, a chunk, or a chunk's extension."""
    server = start("--idle-timeout", "300ms")

    def is_hung_up(sock: socket.socket, piece: bytes) -> bool:
        with contextlib.suppress(ConnectionError):  # a piece was on its way when the server closed
            sock.sendall(piece)
        return bool(select.select([sock], [], [], 0)[0])

    with ExitStack() as stack:
        for begin in ("GET /p/1 HTTP/1.1\r\nHost: a\r\nX: ", "", "0\r\nX: ", "100\r\n", "5;"):
            sock = stack.enter_context(server.connect())
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall((b"" if begin.startswith("GET") or not begin else CHUNKED) + begin.encode())
            until(partial(is_hung_up, sock, b"x" if begin else b"\r\n"))
            with contextlib.suppress(ConnectionResetError):
                assert sock.recv(1) == b""


def test_pages_that_wait_behind_an_unread_response_are_not_rendered(server: Running) -> None:
    """Of 100 pages of 8 MiB, 31 fit into the cache: to render all that are asked for would take 800 MiB."""
    server.do("configure", site={"body_bytes": 8 * MIB, "pages": 200})
    with server.connect() as sock:
        sock.sendall(b"".join(get(f"/p/{n}") for n in range(1, 101)))
        server.stats_when(lambda stats: stats["requests"] == 100)

        assert rss_bytes(server) < 300 * MIB


def test_clients_that_do_not_read_a_large_page_share_its_bytes(server: Running) -> None:
    server.do("configure", site={"body_bytes": 8 * MIB})
    with ExitStack() as stack:
        for _ in range(100):
            sock = stack.enter_context(server.connect())
            sock.sendall(get("/p/1"))
        server.stats_when(lambda stats: stats["requests"] == 100)

        assert rss_bytes(server) < 300 * MIB


async def next_turn() -> None:
    """Let the loop go round once."""
    await asyncio.sleep(0)


async def _answered_before(flooders: int, each: int) -> int:
    """Let clients pipeline requests, and one ask once; return how many responses were sent before that one's."""
    loop = asyncio.get_running_loop()
    server = Server(loop, SiteConfig())
    (port,) = await server.listen("127.0.0.1", 0)
    answered: asyncio.Future[int] = loop.create_future()
    with ExitStack() as stack:
        modest, *others = (
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(1 + flooders)
        )
        while server.counters.connections <= flooders:
            await next_turn()
        for sock in others:
            sock.setblocking(False)
            assert sock.send(get("/p/1") * each) == len(get("/p/1")) * each
        modest.sendall(get("/p/2"))

        def sample() -> None:
            loop.remove_reader(modest)
            answered.set_result(server.counters.statuses[200])

        loop.add_reader(modest, sample)
        try:
            return await answered
        finally:
            server.close()


def test_those_who_pipeline_take_turns_with_those_who_do_not() -> None:
    """Everything has been sent before the loop serves the first request, so that no clock decides."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        before = runner.run(_answered_before(100, 1000))

    assert before < 100 * 100, "each of 100 clients had 100 of its 1,000 requests answered first"


async def _most_closed_at_once(clients: int) -> int:
    """Let clients be silent for too long; return how many of them the server hung up on in one turn of the loop."""
    loop = asyncio.get_running_loop()
    server = Server(loop, SiteConfig(), idle_timeout_s=FOREVER_S)
    (port,) = await server.listen("127.0.0.1", 0)
    counters, most = server.counters, 0
    with ExitStack() as stack:
        for _ in range(clients):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        while counters.connections < clients:
            await next_turn()
        while counters.connections:
            server._sweep()  # as the timer does
            for _ in range(10):
                before = counters.connections
                await next_turn()
                most = max(most, before - counters.connections)
    server.close()
    return most


def test_many_silent_clients_are_not_all_looked_at_in_one_turn() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(_most_closed_at_once(600)) == 256
