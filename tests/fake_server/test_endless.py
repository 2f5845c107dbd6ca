"""Sites without an end, and gates: what blocks of arms are made of."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.fake_server.endless import EndlessPages
from inflight.fake_server.site import FIRST_LAP, Site, SiteConfig
from tests.fake_server.running import Running, get, read_response

ENDLESS = SiteConfig(pages=100, links=5, endless=True, body_spread=0.5)
HREF = re.compile(rb'<a href="([^"]*)"')


@given(n=st.integers(FIRST_LAP * 100, 999_998 * 100))
def test_every_page_of_every_lap_is_served_as_the_site_has_it(n: int) -> None:
    job = EndlessPages(Site(ENDLESS)).get(f"/p/{n}".encode())

    assert job is not None
    assert job.answer.tail[job.answer.head_bytes :] == Site(ENDLESS).body(n)


@pytest.mark.parametrize("size_bytes", [FIRST_LAP, FIRST_LAP + 1, 10 * FIRST_LAP])
def test_a_length_with_the_digits_of_a_lap_is_the_same_in_all_laps(size_bytes: int) -> None:
    pages = EndlessPages(Site(SiteConfig(pages=10, links=1, endless=True, body_bytes=size_bytes)))

    for n in (FIRST_LAP * 10, (FIRST_LAP + 1) * 10, (FIRST_LAP + 2) * 10):
        job = pages.get(f"/p/{n}".encode())
        assert job is not None
        assert f"content-length: {size_bytes}\r\n".encode() in job.answer.tail[: job.answer.head_bytes].lower()
        assert len(job.answer.tail) - job.answer.head_bytes == size_bytes


@given(n=st.integers(FIRST_LAP * 100, 999_998 * 100))
def test_a_page_links_to_itself_in_the_next_lap_and_otherwise_stays_in_its_own(n: int) -> None:
    first, *others = Site(ENDLESS).page(n).links

    assert first == n + 100
    assert len(set(others)) == 4
    assert {m // 100 for m in others} == {n // 100}


@given(n=st.integers(FIRST_LAP * 100, 999_998 * 100))
def test_the_last_pages_are_as_long_and_have_no_links(n: int) -> None:
    job = EndlessPages(Site(ENDLESS), stop=True).get(f"/p/{n}".encode())

    assert job is not None
    assert not HREF.search(job.answer.tail)
    assert len(job.answer.tail) - job.answer.head_bytes == Site(ENDLESS).page(n).body_bytes


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/p/1",
        "/p/09999901",
        "/p/1000000001",
        "/p/10000000x",
        "/q/10000001",
        "/p/",
    ],
)
def test_what_is_no_page_of_an_endless_site_is_not_found(server: Running, target: str) -> None:
    server.do("configure", site=ENDLESS.to_dict())

    with server.connect() as client:
        client.sendall(get(target))
        assert read_response(client)[0] == 404
        client.sendall(get(f"/p/{FIRST_LAP * 100}"))
        assert read_response(client)[2] == Site(ENDLESS).body(FIRST_LAP * 100)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"links": 0}, "an endless site needs links"),
        ({"pages": 250}, "an endless site has 10, 100"),
        ({"missing": 0.1}, "html pages only"),
        ({"faults": {"drip": 0.1}}, "html pages only"),
        ({"endless": 1}, "endless must be true or false"),
    ],
)
def test_an_endless_site_that_cannot_be_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SiteConfig.from_dict({"pages": 100, "endless": True} | values)


@contextmanager
def two_gates(server: Running) -> Iterator[list[tuple[int, socket.socket]]]:
    """Serve the endless site behind two gates, both shut, with a client at each."""
    server.do("configure", site=ENDLESS.to_dict())
    ports = server.do("move", gates=[False, False])["ports"]
    server.do("pass", port=None)
    clients = [socket.create_connection(("127.0.0.1", port)) for port in ports]
    try:
        yield list(zip(ports, clients, strict=True))
    finally:
        for client in clients:
            client.close()
        server.port = server.do("move")["port"]


def held(server: Running) -> list[int]:
    return [gate["held"] for gate in server.do("read")["gates"].values()]


def wait_for(server: Running, numbers: list[int]) -> None:
    while held(server) != numbers:
        pass


@pytest.mark.parametrize("over_ns", [0, 1_000_000])
def test_passing_on_opens_one_gate_and_shuts_the_others(server: Running, over_ns: int) -> None:
    page = get(f"/p/{FIRST_LAP * 100}")
    with two_gates(server) as ((one, client), (_, other)):
        for each in (client, other):
            each.sendall(page)
        wait_for(server, [1, 1])

        before = server.do("pass", port=one, over_ns=over_ns)

        assert [gate["held"] for gate in before["gates"].values()] == [1, 1]
        assert read_response(client)[0] == 200
        client.sendall(page)
        assert read_response(client)[0] == 200
        assert held(server) == [0, 1]
        assert [gate["requests"] for gate in server.do("read")["gates"].values()] == [2, 1]


def test_endless_crawls_run_out_behind_all_gates(server: Running) -> None:
    page = get(f"/p/{FIRST_LAP * 100}")
    with two_gates(server) as ((one, client), (other, neighbour)):
        server.do("pass", port=one)
        client.sendall(page)
        bodies = [read_response(client)[2]]
        server.do("run_out")
        for port, each in ((one, client), (other, neighbour)):
            server.do("pass", port=port)
            each.sendall(page)
            bodies.append(read_response(each)[2])

    assert [bool(HREF.search(body)) for body in bodies] == [True, False, False]
    assert len({len(body) for body in bodies}) == 1


@pytest.mark.parametrize("port", [1, "x"])
def test_a_port_without_a_gate_is_refused(server: Running, port: Any) -> None:
    assert server.do("pass", port=port)["ok"] is False
