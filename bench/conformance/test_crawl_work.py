"""The CPU work of a page: done once for each response, whatever its status, by every strategy, and under no lock."""

from collections.abc import Callable

import pytest

from inflight.bench.conformance.crawling import crawl
from inflight.bench.conformance.servers import Exchange, Handler, Server, page
from inflight.strategies.base import Strategy
from inflight.strategies.core import work

pytestmark = pytest.mark.rule("work")

Serve = Callable[[Handler], Server]
LINKS = [f"/{n}" for n in range(12)]


def answer(exchange: Exchange) -> None:
    if exchange.target == "/":
        exchange.send(page(*LINKS))
    elif exchange.target in LINKS[:3]:
        exchange.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    else:
        exchange.send(page())


def counted(crawled: Callable[[], object]) -> int:
    """Return for how many pages the CPU work was done during a call."""
    before = work.consumed_pages()
    crawled()
    return work.consumed_pages() - before - 1


def test_the_work_is_done_once_for_each_response(strategy: Strategy, connection: str, serve: Serve) -> None:
    url = f"{serve(answer).url}/"

    assert counted(lambda: crawl(strategy, url, connection=connection, work_units=2)) == 1 + len(LINKS)


def test_without_work_none_is_counted(strategy: Strategy, serve: Serve) -> None:
    url = f"{serve(answer).url}/"

    assert counted(lambda: crawl(strategy, url)) == 0


def test_a_page_without_a_response_asks_for_no_work(strategy: Strategy, serve: Serve) -> None:
    def hang_up(exchange: Exchange) -> None:
        if exchange.target == "/":
            exchange.send(page("/gone", "/there"))
        elif exchange.target == "/there":
            exchange.send(page())
        else:
            exchange.close()

    url = f"{serve(hang_up).url}/"

    assert counted(lambda: crawl(strategy, url, max_tries=2, work_units=1)) == 2
