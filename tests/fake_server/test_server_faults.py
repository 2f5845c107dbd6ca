"""Each fault, as three parsers that share no code see it."""

import h11
import pytest

from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import Site, SiteConfig
from tests.fake_server.running import Running, get

DRIP_NS = 50_000_000
ROOT = Site(SiteConfig(pages=3)).body(0)


def faulty(kind: str) -> SiteConfig:
    return SiteConfig(pages=3, faults=((kind, 1.0),), drip_ns=DRIP_NS)


def raw(server: Running, request: bytes) -> tuple[bytes, bool]:
    """Return what came for a request, and whether a reset ended it. A request for the root ends it."""
    received, reset = b"", False
    with server.connect() as sock:
        sock.sendall(request + get("/", headers="Connection: close\r\n"))
        try:
            while data := sock.recv(65536):
                received += data
        except ConnectionResetError:
            reset = True
    if received.endswith(ROOT):
        received = received[: received.rindex(b"HTTP/1.1 200 OK\r\n")]
    return received, reset


def with_h11(received: bytes) -> tuple[int, bytes]:
    """Return status and body; raise RemoteProtocolError for anything less than a whole response."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/p/1", headers=[("Host", "test")]))
    client.send(h11.EndOfMessage())
    client.receive_data(received)
    status, body, ended = 0, b"", False
    while not isinstance(event := client.next_event(), h11.EndOfMessage):
        if event is h11.NEED_DATA:
            assert not ended
            client.receive_data(b"")
            ended = True
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
    return status, body


SURVIVABLE = [kind for kind, fault in FAULTS.items() if fault.survivable]


@pytest.mark.parametrize("survivable", SURVIVABLE)
def test_a_survivable_fault_brings_the_whole_page(server: Running, survivable: str) -> None:
    site = Site(faulty(survivable))
    server.do("configure", site=site.config.to_dict())

    received, reset = raw(server, get("/p/1"))

    assert not reset
    assert with_h11(received) == (site.page(1).status, site.body(1))
    assert len(site.body(1)) == site.page(1).body_bytes
    assert server.stats()["faults"] == {survivable: 1}


@pytest.mark.parametrize("fatal", [kind for kind in FAULTS if kind not in SURVIVABLE])
def test_a_fatal_fault_brings_no_whole_page_however_often(server: Running, fatal: str) -> None:
    server.do("configure", site=faulty(fatal).to_dict())

    for _ in range(3):
        received, _ = raw(server, get("/p/1"))
        with pytest.raises(h11.RemoteProtocolError):
            with_h11(received)

    stats = server.stats_when(lambda stats: stats["connections"] == 0)
    assert stats["faults"] == {fatal: 3}
    assert stats["in_flight"] == 0


HALF = b"\r\n\r\n" + Site(SiteConfig(pages=3)).body(1)[:600]


@pytest.mark.parametrize(
    ("kind", "begin", "end", "is_reset"),
    [
        ("reset-before", b"", b"", True),
        ("reset-mid", b"HTTP/1.1 200 OK\r\n", HALF, True),
        ("truncated", b"HTTP/1.1 200 OK\r\n", HALF, False),
    ],
)
def test_an_answer_is_broken_off_where_its_fault_says(
    server: Running, kind: str, begin: bytes, end: bytes, is_reset: bool
) -> None:
    server.do("configure", site=faulty(kind).to_dict())

    received, reset = raw(server, get("/p/1"))

    assert reset is is_reset
    assert received.startswith(begin)
    assert received.endswith(end)
    assert bool(received) is bool(begin)
    assert (b"Content-Length: 1200\r\n" in received) is bool(begin)


def test_drip_takes_its_time_by_the_clock_of_the_server(server: Running) -> None:
    server.do("configure", site=faulty("drip").to_dict())
    begin_ns = server.stats()["clock_ns"]

    assert raw(server, get("/p/1"))[0].endswith(Site(faulty("drip")).body(1))

    assert server.stats()["clock_ns"] - begin_ns >= DRIP_NS * 0.99


def test_chunked_is_not_sent_to_http_1_0(server: Running) -> None:
    server.do("configure", site=faulty("chunked").to_dict())
    assert b"Transfer-Encoding: chunked" in raw(server, get("/p/1"))[0]

    for _ in range(2):
        received, _ = raw(server, get("/p/1", version="1.0", headers="Connection: keep-alive\r\n"))
        assert b"chunked" not in received
        assert received.endswith(b"\r\n\r\n" + Site(faulty("chunked")).body(1))


@pytest.mark.parametrize("kind", ["drip", "chunked", "truncated", "error-500", "missing-length"])
def test_head_of_a_faulty_page_has_no_body(server: Running, kind: str) -> None:
    server.do("configure", site=faulty(kind).to_dict())

    received, _ = raw(server, get("/p/1", method="HEAD", headers="Connection: close\r\n"))

    assert received.endswith(b"\r\n\r\n")
    assert received.count(b"\r\n\r\n") == 1
