"""The null client measures the maximum throughput of a real server."""

import socket

from inflight.bench.measure import costs
from inflight.bench.measure.host import choose_cpus
from inflight.bench.measure.server import running


def test_the_null_client_measures_the_ceiling_of_a_server() -> None:
    cpus = choose_cpus(pin=True)

    with running(cpus.server) as server:
        server.find_ceiling(cpus.client)
        stats = server.stats()

    assert server.ceiling_per_s is not None
    assert server.ceiling_per_s > 0
    assert stats["responses_by_status"].keys() == {"200"}
    assert stats["requests"] >= server.ceiling_per_s * costs.SECONDS * 0.9
    assert stats["peak_connections"] == costs.CONNECTIONS


def test_the_null_client_knows_the_size_of_a_response() -> None:
    with running(None) as server, socket.create_connection(("127.0.0.1", server.port)) as sock:
        expected = costs.response_length(server.port)
        sock.sendall(costs.REQUEST * 2)
        received = b""
        while len(received) < 2 * expected:
            received += sock.recv(65536)

        assert len(received) == 2 * expected
        assert received[expected:].startswith(b"HTTP/1.1 200 OK\r\n")
