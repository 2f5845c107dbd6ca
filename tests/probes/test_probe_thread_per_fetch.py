"""The same answer from a pool and from a thread for each fetch."""

from collections.abc import Callable

import pytest

from inflight.bench.claims.programs._shared import WrongAnswerError
from inflight.bench.claims.programs.thread_per_fetch import SITE, measure
from tests.probes.asking import ask

Serve = Callable[[str], str]


@pytest.mark.parametrize(
    ("how", "connection"),
    [
        ("pool", "keep-alive"),
        ("pool", "per-fetch"),
        ("thread-per-fetch", "per-fetch"),
    ],
)
def test_every_page_is_fetched_whichever_way(serve: Serve, how: str, connection: str) -> None:
    measured = ask(
        "thread_per_fetch",
        serve("thread_per_fetch"),
        how=how,
        connection=connection,
        in_flight=6,
    )

    assert measured["pages"] == SITE["pages"]
    assert 0 < measured["peak_in_flight"] <= 6
    assert measured["threads_started"] == (6 if how == "pool" else SITE["pages"])


def test_a_thread_for_each_fetch_has_no_connection_to_keep(serve: Serve) -> None:
    measured = ask(
        "thread_per_fetch",
        serve("thread_per_fetch"),
        how="thread-per-fetch",
        connection="keep-alive",
    )

    assert "no connection to keep" in measured["not_applicable"]


@pytest.mark.parametrize("how", ["pool", "thread-per-fetch"])
def test_an_incomplete_crawl_has_no_price(how: str) -> None:
    with pytest.raises(WrongAnswerError, match="fetched 0 of 1500 pages: connection refused"):
        measure("http://127.0.0.1:1", how, "per-fetch", 10)
