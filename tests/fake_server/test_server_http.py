"""What the server says on the wire, byte by byte where it matters."""

import asyncio
import socket
from types import SimpleNamespace

import pytest

from inflight.fake_server import server as server_module
from inflight.fake_server.site import Site, SiteConfig
from tests.fake_server.running import Running, Start, get, parse_head, read_all, read_response

SITE = {
    "pages": 40,
    "redirects": 0.2,
    "redirect_chain": 2,
    "missing": 0.2,
    "non_html": 0.2,
    "body_spread": 0.5,
}


def status_of(response: bytes) -> int:
    return int(response.split()[1])


def test_every_page_is_served_as_the_site_says(server: Running) -> None:
    server.do("configure", site=SITE)
    site = Site(SiteConfig.from_dict(SITE))

    with server.connect() as sock:
        for n in [*range(40), *range(40)]:  # the second time from the cache
            page = site.page(n)
            sock.sendall(get(page.path))
            status, headers, body = read_response(sock)
            assert (status, body) == (page.status, site.body(n))
            assert headers["content-type"] == page.content_type
            assert headers.get("location") == page.location


def test_the_date_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "time", SimpleNamespace(time=lambda: 784_111_777.5))

    async def opening() -> bytes:
        started = server_module.Server(asyncio.get_running_loop(), SiteConfig())
        try:
            return started.opening(200, "")
        finally:
            started.close()

    assert b"\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n" in asyncio.run(opening())


def test_a_request_may_arrive_split_at_every_byte(server: Running) -> None:
    request = get("/p/3", headers="Accept: */*\r\n")
    expected = Site(SiteConfig()).body(3)

    with server.connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for cut in range(1, len(request)):
            sock.sendall(request[:cut])
            server.stats()  # answered by the same loop, which reads the first part meanwhile
            sock.sendall(request[cut:])
            assert read_response(sock)[2] == expected
        for byte in request:
            sock.sendall(bytes([byte]))
        assert read_response(sock)[2] == expected


def test_pipelined_requests_are_answered_in_order(server: Running) -> None:
    server.do("configure", site={"delay": "uniform 0ms 5ms"})
    site = Site(SiteConfig(delay="uniform 0ms 5ms"))
    numbers = [*range(1, 100), 5000, *range(100, 130)]

    answer = server.exchange(b"".join(get(f"/p/{n}") for n in numbers) + get("/", headers="Connection: close\r\n"))

    position = 0
    for n in numbers[:99]:
        position = answer.index(site.body(n), position)
    assert answer.count(b"HTTP/1.1 ") == len(numbers) + 1
    assert answer.endswith(site.body(0))
    assert server.stats_when(lambda stats: stats["connections"] == 0)["in_flight"] == 0


def test_head_is_get_without_the_body(server: Running) -> None:
    one, two = get("/p/1"), get("/p/1", method="HEAD", headers="Connection: close\r\n")

    answer = server.exchange(one + two)

    _, _, rest = answer.partition(Site(SiteConfig()).body(1))
    status, headers = parse_head(rest.removesuffix(b"\r\n\r\n"))
    assert status == 200
    assert headers["content-length"] == "1200"
    assert rest.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_bytes", "connection"),
    [
        (get("/p/1", headers="Connection: close\r\n"), "close"),
        (get("/p/1", headers="connection: Close\r\n"), "close"),
        (get("/p/1", version="1.0"), "close"),
        (get("/p/1", version="1.0", headers="Connection: keep-alive\r\n"), "keep-alive"),
        (b"GET /p/1 HTTP/1.0\r\n\r\n", "close"),
        (get("/p/1"), None),
        (get("/p/1", headers="Upgrade: websocket\r\nConnection: Upgrade\r\n"), "close"),
    ],
)
def test_the_connection_lives_as_long_as_the_client_wants(
    server: Running, request_bytes: bytes, connection: str | None
) -> None:
    for _ in range(2):  # the second time is free to take another path through the server
        with server.connect() as sock:
            sock.sendall(request_bytes)
            status, headers, body = read_response(sock)
            assert (status, len(body)) == (200, 1200)
            assert headers.get("connection") == connection
            if connection == "close":
                assert sock.recv(1) == b""
            else:
                sock.sendall(get("/p/2"))
                assert read_response(sock)[0] == 200


@pytest.mark.parametrize(
    "target",
    [
        "/p/0",
        "/p/007",
        "/p/1000",
        "/p/1?x=1",
        "/trap/404",
        "*",
        "http://test/p/0",
    ],
)
def test_what_is_no_page_is_not_found_and_the_connection_lives_on(server: Running, target: str) -> None:
    with server.connect() as sock:
        for _ in range(2):
            sock.sendall(get(target))
            assert read_response(sock)[0] == 404
        sock.sendall(get("/p/1"))
        assert read_response(sock)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_not_allowed(server: Running, method: str) -> None:
    with server.connect() as sock:
        sock.sendall(
            get(
                "/p/1",
                method=method,
                headers="Content-Length: 5\r\n",
            )
            + b"hello"
            + get("/p/1")
        )
        answer = sock.recv(65536)
        while answer.count(b"HTTP/1.1") < 2:
            answer += sock.recv(65536)

    assert status_of(answer) == 405
    assert b"\r\nAllow: GET, HEAD\r\n" in answer
    assert b"HTTP/1.1 200 OK" in answer


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /p/1 HTTP/1.1\r\n\r\n", 400),
        (b"GET /p/1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /p/1 HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET /p/1 HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (get("/" + "x" * 8192), 414),
        (get("/" + "x" * 200_000), 414),
        (get("/p/1", headers=f"X: {'x' * 70_000}\r\n"), 431),
        (get("/p/1", headers="X: 1234567890\r\n" * 6000), 431),
        (get("/p/1", headers="X: " + "x" * 300_000), 431),  # and no end
        (get("/p/1", method="POST", headers="Content-Length: 2000000\r\n"), 413),
        (
            get("/p/1", method="POST", headers="Transfer-Encoding: chunked\r\n")
            + b"20000\r\n%s\r\n" % (b"x" * 0x20000) * 9,
            413,
        ),
    ],
)
def test_a_bad_request_is_refused_and_the_connection_ends(server: Running, request_bytes: bytes, status: int) -> None:
    with server.connect() as sock:
        sock.sendall(get("/p/1"))
        assert read_response(sock)[0] == 200
        sock.sendall(request_bytes)
        answer = read_all(sock)

    assert status_of(answer) == status
    assert answer.count(b"HTTP/1.1") == 1
    assert b"\r\nConnection: close\r\n" in answer


def test_what_comes_before_garbage_is_answered_first(server: Running) -> None:
    server.do("configure", site={"delay": "5ms"})

    answer = server.exchange(get("/p/1") + get("/p/2") + b"garbage\r\n\r\n" + get("/p/3"))

    statuses = [int(part.split()[0]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200, 200, 400]


def test_the_largest_target_and_header_block_are_accepted(server: Running) -> None:
    with server.connect() as sock:
        sock.sendall(get("/" + "x" * 8191, headers=f"X: {'x' * 65_000}\r\n"))
        assert read_response(sock)[0] == 404


def test_silent_clients_are_closed_but_not_those_that_wait_for_us(start: Start) -> None:
    server = start("--idle-timeout", "500ms", "--latency", "2s")
    waiting, half = server.connect(), server.connect()
    waiting.sendall(get())
    half.sendall(b"GET / HTTP/1.1\r\nHo")
    with server.connect() as silent, half, waiting:
        assert read_all(silent) == b""
        assert read_all(half) == b""
        assert read_response(waiting)[0] == 200


def test_clients_that_leave_while_they_wait_are_forgotten(server: Running) -> None:
    server.do("configure", site={"delay": "1s"})
    socks = [server.connect() for _ in range(20)]
    for sock in socks:
        sock.sendall(get("/p/1"))
    server.stats_when(lambda stats: stats["requests"] == 20)

    for sock in socks:
        sock.close()
    stats = server.stats_when(lambda stats: stats["connections"] == 0)

    assert stats["in_flight"] == 0
    answered = stats["responses_by_status"].get("200", 0)  # none, unless this process was stopped for a second
    with server.connect() as sock:  # outlives the timers of those who left
        sock.sendall(get("/p/1"))
        assert read_response(sock)[0] == 200
    assert server.stats()["responses_by_status"] == {"200": answered + 1}


def test_no_answer_comes_before_its_delay(server: Running) -> None:
    server.do("configure", site={"delay": "uniform 1ms 20ms"})
    site = Site(SiteConfig(delay="uniform 1ms 20ms"))

    with server.connect() as sock:
        for n in range(50):
            begin_ns = server.stats()["clock_ns"]
            sock.sendall(get(site.url_path(n)))
            read_response(sock)
            assert server.stats()["clock_ns"] - begin_ns >= site.page(n).delay_ns
