"""The gate, the counts, and a control port that nothing can kill."""

import contextlib
import json
import socket
from functools import partial
from typing import Any

import psutil
import pytest

from inflight.fake_server.counters import Lateness
from inflight.fake_server.site import Site, SiteConfig
from tests.fake_server.running import Running, Start, get, read_response
from tests.patience import until


@pytest.mark.parametrize("delay", ["0", "5ms"])
def test_the_gate_holds_exactly_what_was_asked_and_then_answers_all(server: Running, delay: str) -> None:
    server.do("configure", site={"delay": delay})
    server.do("hold")
    socks = [server.connect() for _ in range(700)]
    begin_ns = server.stats()["clock_ns"]
    for n, sock in enumerate(socks):
        sock.sendall(get(f"/p/{n + 1}"))

    full = server.stats_when(lambda stats: stats["in_flight"] >= 700)

    assert (full["in_flight"], full["peak_in_flight"], full["held"]) == (700, 700, True)
    assert full["responses_by_status"] == {}
    server.do("release")
    site = Site(SiteConfig())
    for n, sock in enumerate(socks):
        assert read_response(sock)[2] == site.body(n + 1)
    stats = server.stats()
    assert (stats["in_flight"], stats["peak_in_flight"], stats["held"]) == (0, 700, False)
    assert begin_ns < full["peak_at_ns"] < full["clock_ns"]
    assert stats["peak_at_ns"] == full["peak_at_ns"]
    assert stats["responses_by_status"] == {"200": 700}
    for sock in socks:
        sock.close()


def test_stats_count_what_happened(server: Running) -> None:
    server.do("configure", site={"pages": 10, "missing": 0.3, "delay": "1ms"})
    received = 0
    with server.connect() as sock, server.connect():
        for n in range(10):
            sock.sendall(get(f"/p/{n}" if n else "/"))
            read_response(sock)
        sock.sendall(get("/p/1", headers="Connection: close\r\n"))
        received = len(b"".join(iter(lambda: sock.recv(65536), b"")))

    stats = server.stats_when(lambda stats: stats["connections"] == 0)

    assert (stats["requests"], stats["total_connections"], stats["peak_connections"]) == (11, 2, 2)
    assert stats["responses_by_status"] == {"200": 8, "404": 3}
    assert stats["bytes_sent"] > received * 8
    assert (stats["lateness_count"], stats["first_lateness_count"]) == (10, 1)
    assert sum(server.do("late")["late"].values()) == 10
    assert 0 <= stats["lateness_p50_ns"] <= stats["lateness_p90_ns"]
    assert stats["lateness_p90_ns"] <= stats["lateness_p99_ns"] <= stats["lateness_max_ns"]
    assert stats["cached_pages"] == 10
    assert stats["peak_in_flight"] == 1


def test_reset_zeroes_the_counts_but_not_what_is_open(server: Running) -> None:
    with server.connect() as sock:
        sock.sendall(get("/p/1"))
        read_response(sock)
        before = server.stats()
        server.do("reset")
        after = server.stats()

    assert (before["requests"], after["requests"], after["bytes_sent"]) == (1, 0, 0)
    assert (after["connections"], after["peak_connections"], after["total_connections"]) == (1, 1, 0)
    assert after["clock_ns"] > before["clock_ns"]
    assert after["cpu_user_ns"] + after["cpu_system_ns"] >= before["cpu_user_ns"] + before["cpu_system_ns"]


def test_the_site_cannot_change_while_requests_are_in_flight(server: Running) -> None:
    server.do("hold")
    with server.connect() as sock:
        sock.sendall(get("/p/1"))
        server.stats_when(lambda stats: stats["in_flight"] == 1)

        refused = server.do("configure", site={"pages": 5})

        assert refused == {"ok": False, "error": "1 requests are in flight: the site cannot change now"}
        server.do("release")
        assert read_response(sock)[0] == 200
        assert server.do("configure", site={"pages": 1}) == {"ok": True}
        sock.sendall(get("/p/1"))
        assert read_response(sock)[0] == 404


@pytest.mark.parametrize(
    ("site", "fewest", "most"), [({"pages": 300}, 300, 300), ({"pages": 2000, "body_bytes": 1_000_000}, 201, 299)]
)
def test_warm_renders_every_page_that_the_cache_has_room_for(
    server: Running, site: dict[str, int], fewest: int, most: int
) -> None:
    server.do("configure", site=site)
    assert server.stats()["cached_pages"] == 0

    server.do("warm")

    stats = server.stats()
    assert fewest <= stats["cached_pages"] <= most
    assert stats["cached_pages"] * site.get("body_bytes", 1200) < stats["cached_bytes"] <= 256 * 1024 * 1024
    with server.connect() as sock:
        sock.sendall(get(f"/p/{site['pages'] - 1}"))
        assert len(read_response(sock)[2]) == site.get("body_bytes", 1200)
    server.do("configure", site={})


@pytest.mark.parametrize(
    ("line", "error"),
    {
        b"{": "Expecting property name",
        b'{"do": }': "Expecting value",
        b'{"\xff\xfe": 1}': "decode",
        b"{}": "unknown command None; known: configure, stats",
        b'{"do": "explode"}': "unknown command 'explode'",
        b'{"do": ["stats"]}': "unknown command",
        b'{"do": "configure"}': 'configure needs "site"',
        b'{"do": "configure", "site": {"latecy": 1}}': 'did you mean "delay"?',
        b'{"do": "configure", "site": {"pages": 1e999}}': "pages must be a whole number",
        b'{"do":' * 100_000: "",
    }.items(),
)
def test_bad_control_lines_are_answered_and_kill_nothing(server: Running, line: bytes, error: str) -> None:
    answer: Any = server.send_line(line)

    assert answer["ok"] is False
    assert error in answer["error"]
    assert server.do("stats")["ok"] is True


@pytest.mark.parametrize(
    "line",
    [
        *('{"do": "stop"}', "", "0" * 64, '{"secret": "0"}', "\xff\x00", "POST / HTTP/1.1\r"),
        pytest.param("0" * (2 * 1024 * 1024), id="long"),
        *("{secret} ", " {secret}", "{secret}0", "{part}"),
    ],
)
def test_who_does_not_know_the_whole_secret_gets_one_answer_and_no_obedience(server: Running, line: str) -> None:
    line = line.replace("{secret}", server.secret).replace("{part}", server.secret[:-1])
    with socket.create_connection(("127.0.0.1", server.ready["control_port"])) as stranger:
        with contextlib.suppress(ConnectionError):  # it hangs up at too long a line
            stranger.sendall(line.encode("latin-1") + b'\n{"do": "stop"}\n{"do": "hold"}\n')
        with contextlib.suppress(ConnectionError):
            answers = stranger.makefile("rb").readlines()
            assert [json.loads(answer)["ok"] for answer in answers] in ([False], [])
            assert all(b"the first line of a connection must be the secret" in answer for answer in answers)

    assert server.stats()["held"] is False
    assert server.secret not in " ".join(psutil.Process(server.process.pid).cmdline())


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"", "Expecting value"),
        (b"hello", "Expecting value"),
        (b"\xff\xfe\x00", "decode"),
        (b"[]", "a command is a JSON object"),
        (b"POST / HTTP/1.1\r", "Expecting value"),
    ],
)
def test_nothing_is_obeyed_behind_a_line_that_is_no_command(start: Start, line: bytes, error: str) -> None:
    server = start()

    answer = server.send_line(line + b'\n{"do": "stop"}')

    assert error in answer["error"]
    assert server.hung_up()
    assert server.process.poll() is None


def test_quantiles_of_lateness_are_upper_edges_of_buckets() -> None:
    lateness = Lateness()
    assert lateness.quantile_ns(0.99) == 0

    for late_ns in [*[5_000] * 98, 125_000, 5_000_000_000]:
        lateness.record(late_ns)

    assert lateness.quantile_ns(0.50) == 10_000
    assert lateness.quantile_ns(0.99) == 130_000
    assert lateness.greatest_ns == 5_000_000_000
    assert lateness.count == 100
    assert lateness.counts() == {"10000": 98, "130000": 1, "5000010000": 1}


def has_more_requests_than(before: int, stats: dict[str, Any]) -> bool:
    return bool(stats["requests"] > before)


def test_the_gate_may_go_on_holding_the_ones_that_came_last(server: Running) -> None:
    server.do("hold")
    clients = [server.connect() for _ in range(5)]
    for client in clients:  # one after the other, so that it is known which came last
        before = server.stats()["requests"]
        client.sendall(get("/"))
        server.stats_when(partial(has_more_requests_than, before))

    assert server.do("release", keep=2) == {"ok": True}

    assert [read_response(client)[0] for client in clients[:3]] == [200, 200, 200]
    stats = server.stats()
    assert (stats["in_flight"], stats["held"]) == (2, True)

    clients[0].sendall(get("/"))
    server.stats_when(lambda stats: stats["in_flight"] == 3)
    server.do("release")

    assert [read_response(client)[0] for client in (*clients[3:], clients[0])] == [200, 200, 200]
    assert (server.stats()["in_flight"], server.stats()["held"]) == (0, False)
    for client in clients:
        client.close()


def test_what_is_to_be_kept_may_be_more_than_there_is(server: Running) -> None:
    server.do("hold")

    assert server.do("release", keep=10) == {"ok": True}
    with server.connect() as client:
        client.sendall(get("/"))
        server.stats_when(lambda stats: stats["in_flight"] == 1)

        server.do("release")

        assert read_response(client)[0] == 200


@pytest.mark.parametrize("keep", [-1, 1.5, "2", None, True])
def test_what_cannot_be_kept_is_refused(server: Running, keep: object) -> None:
    answer = server.do("release", keep=keep)

    assert answer["ok"] is False
    assert answer["error"].startswith('"keep" must be a whole number, 0 or more')


def test_the_server_moves_to_a_new_port_and_keeps_the_clients_that_it_has(server: Running) -> None:
    with server.connect() as old:
        old.sendall(get("/"))
        assert read_response(old)[0] == 200

        port = server.do("move")["port"]

        assert port != server.port
        old.sendall(get("/"))
        assert read_response(old)[0] == 200
        with pytest.raises(ConnectionRefusedError):
            server.connect()
        with socket.create_connection(("127.0.0.1", port)) as new:
            new.sendall(get("/"))
            assert read_response(new)[0] == 200
    assert server.do("move")["port"] != port


def test_a_server_that_cannot_move_says_why_and_stays_where_it_is(start: Start) -> None:
    server = start()
    (port,) = server.do("move")["ports"]
    process = psutil.Process(server.process.pid)
    process.rlimit(psutil.RLIMIT_NOFILE, (process.num_fds() + 1, process.rlimit(psutil.RLIMIT_NOFILE)[1]))

    refused = server.do("move", gates=[False] * 9)

    assert refused == {"ok": False, "error": "no port to listen at, Too many open files: raise it (ulimit -a)"}
    socket.create_connection(("127.0.0.1", port)).close()


def test_a_runner_that_reads_no_answers_is_obeyed_no_more(start: Start) -> None:
    """The answers to all these commands would be more than 200 MB."""
    server = start()
    commands = b'{"do":"stats"}\n' * 4096
    with socket.create_connection(("127.0.0.1", server.ready["control_port"])) as runner:
        runner.sendall(f"{server.secret}\n".encode())
        runner.setblocking(False)
        for _ in range(200):
            with contextlib.suppress(BlockingIOError):
                runner.send(commands)
            assert server.stats()["in_flight"] == 0

        assert psutil.Process(server.process.pid).memory_info().rss < 150 * 1024 * 1024


def date(sock: socket.socket) -> str:
    sock.sendall(get("/p/1"))
    return read_response(sock)[1]["date"]


def test_a_fixed_date_stays_until_the_next_site(start: Start) -> None:
    server, other = start(), start()
    with server.connect() as fixed, other.connect() as clock:
        assert server.do("fix_date") == {"ok": True}
        first, began = date(fixed), date(clock)
        until(lambda: date(clock) != began)
        second = date(clock)
        until(lambda: date(clock) != second)

        assert date(fixed) == first

        assert server.do("configure", site={}) == {"ok": True}
        present = date(fixed)
        assert present != first
        until(lambda: date(fixed) != present)
