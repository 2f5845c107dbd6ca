"""The null clients: arms beside the models, which crawl the same pages and show what parts of a page cost."""

import pytest

from inflight import strategies
from inflight.bench.measure.server import Server
from inflight.bench.rows.kinds import Arm
from inflight.strategies import null_client
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ProtocolError
from tests.measure.made_engine import GOOD, GOOD_CAP, assert_good, block_of, run

PARTS = [name for name in strategies.names() if name not in strategies.crawlers()]

pytestmark = pytest.mark.skipif(
    any(strategies.describe(name).lack for name in PARTS), reason="the null clients wait with epoll"
)


def test_null_clients_are_good_arms_beside_a_model(fake: Server) -> None:
    parts = [Arm(name, name, "compared", in_flight=GOOD_CAP) for name in PARTS]

    rows = run(block_of([GOOD[0], *parts], latency="0"), fake)

    for name, row in rows.items():
        assert_good(row)
        assert row.stack == ("none" if name in PARTS else "shared")


@pytest.mark.parametrize("name", PARTS)
def test_a_null_client_refuses_new_connections_for_each_fetch(name: str) -> None:
    job = Job(("http://127.0.0.1:1/p/1",), connection="per-fetch")

    with pytest.raises(ValueError, match="endless sites only"):
        strategies.load(name).crawl(job, Frontier(job))


def test_the_null_client_refuses_other_sites() -> None:
    job = Job(("http://127.0.0.1:1/",))

    with pytest.raises(ValueError, match="endless sites only"):
        null_client.crawl(job, Frontier(job))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n\r\nContent-Length: 5",
    ],
)
def test_the_null_client_counts_whole_pages_only(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="endless sites only"):
        null_client.lengths_of(data)


def test_the_null_client_knows_the_length_of_a_page() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\n"

    assert null_client.lengths_of(head + b"hel") == (len(head) + 5, 5)
