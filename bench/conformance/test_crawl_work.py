"""The CPU work of a page: done once for each response, whatever its status, by every strategy, and under no lock."""

from collections.abc import Callable

import pytest

from inflight.bench.conformance.crawling import crawl
from inflight.bench.conformance.servers import CLOSE, Server, page
from inflight.strategies.base import Strategy
from inflight.strategies.core import work

pytestmark = pytest.mark.rule("work")

Serve = Callable[..., Server]
LINKS = [f"/{n}" for n in range(12)]
PAGES = {"/": page(*LINKS), **dict.fromkeys(LINKS[3:], page())}
"""The first links are missing pages."""


def counted(crawled: Callable[[], object]) -> int:
    """Return for how many pages the CPU work was done during a call."""
    before = work.consumed_pages()
    crawled()
    return work.consumed_pages() - before - 1


def test_the_work_is_done_once_for_each_response(strategy: Strategy, connection: str, serve: Serve) -> None:
    url = f"{serve(PAGES).url}/"

    assert counted(lambda: crawl(strategy, url, connection=connection, work_units=2)) == 1 + len(LINKS)


def test_a_page_without_a_response_asks_for_no_work(strategy: Strategy, serve: Serve) -> None:
    url = f"{serve({'/': page('/gone', '/there'), '/there': page(), '/gone': (CLOSE,)}).url}/"

    assert counted(lambda: crawl(strategy, url, max_tries=2, work_units=1)) == 2
    assert counted(lambda: crawl(strategy, url, max_tries=2)) == 0
