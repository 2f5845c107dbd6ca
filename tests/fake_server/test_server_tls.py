"""The server over TLS: what it serves, holds, refuses, and what it keeps of clients that have gone."""

import http.client
import ssl
from pathlib import Path
from typing import Any

import psutil
import pytest

from inflight.fake_server.config import CERTIFICATES
from tests.fake_server.running import Running, Start, read_all

CLIENTS = 200


@pytest.fixture(scope="module")
def shared() -> Any:
    server = Running("--tls", "--pages", "20", "--body-bytes", "1000000")
    yield server
    assert server.stop() == 0


def context() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=CERTIFICATES / "ca.pem")


def secure(server: Running, host: str = "localhost") -> ssl.SSLSocket:
    return context().wrap_socket(server.connect(), server_hostname=host, suppress_ragged_eofs=False)


def get(connection: http.client.HTTPSConnection, path: str) -> tuple[int, int]:
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, len(response.read())


def test_pages_of_any_size_come_whole_over_one_connection(shared: Running) -> None:
    connection = http.client.HTTPSConnection("localhost", shared.port, context=context())

    assert [get(connection, path) for path in ("/p/1", "/nowhere", "/p/2")] == [
        (200, 1_000_000),
        (404, 82),
        (200, 1_000_000),
    ]
    assert shared.stats()["total_connections"] == 1
    connection.close()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_the_certificate_is_for_the_names_of_this_machine(shared: Running, host: str) -> None:
    with secure(shared, host) as sock:
        assert (sock.version(), sock.selected_alpn_protocol()) == ("TLSv1.3", None)


@pytest.mark.parametrize(("certificate", "why"), [("expired", "expired"), ("wrong_host", "mismatch")])
def test_other_certificates_are_wrong_for_a_client(start: Start, certificate: str, why: str) -> None:
    server = start("--tls", "--certificate", certificate)

    with pytest.raises(ssl.SSLCertVerificationError, match=why):
        secure(server)


def test_responses_are_held_and_released(shared: Running) -> None:
    shared.do("hold")
    with secure(shared) as sock:
        sock.sendall(b"GET /p/3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        shared.stats_when(lambda stats: stats["in_flight"] == 1)
        shared.do("release")

        assert len(read_all(sock)) > 1_000_000  # it ends with a close_notify: nothing is raised


def test_a_request_that_is_refused_is_answered_and_the_connection_closed(shared: Running) -> None:
    with secure(shared) as sock:
        sock.sendall(b"NONSENSE\r\n\r\n")

        assert read_all(sock).startswith(b"HTTP/1.1 400 ")


def test_a_client_without_tls_gets_no_answer(shared: Running) -> None:
    with shared.connect() as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")

        assert b"HTTP" not in read_all(sock)


def test_what_a_client_took_that_has_gone_is_freed(start: Start) -> None:
    server = start("--tls")
    process = psutil.Process(server.process.pid)
    sizes = []
    for _ in range(2):
        for _ in range(CLIENTS):
            with secure(server) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                client.recv(1)
        server.stats_when(lambda stats: stats["connections"] == 0)
        sizes.append(process.memory_full_info().uss)

    assert sizes[1] - sizes[0] < CLIENTS * 12_000, sizes  # what is not freed are 24 kB or more for each


def test_certificates_are_marked_as_keys_of_tests() -> None:
    files = sorted(CERTIFICATES.glob("*.pem"))

    assert [file.stem for file in files] == ["ca", "expired", "right", "wrong_host"]
    assert all("A public test key of inflight" in file.read_text(encoding="ascii") for file in files)
    assert "PRIVATE" not in Path(CERTIFICATES / "ca.pem").read_text(encoding="ascii")


def test_a_server_moves_to_ports_of_https_and_back(start: Start) -> None:
    server = start("--pages", "20")
    plain, encrypted = server.do("move", gates=[False, True])["ports"]

    server.port = encrypted
    with secure(server) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        assert read_all(sock).startswith(b"HTTP/1.1 ")
    server.port = plain
    assert server.exchange(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 ")
    server.port = server.do("move", tls=True)["port"]
    with secure(server):
        pass
    assert server.do("move", gates=[1])["ok"] is False
