"""The seeded site, crawled by every strategy: every page and every fault has the expected result."""

import dataclasses
from collections.abc import Callable

import pytest

from inflight.conformance.crawling import comparable, crawl
from inflight.conformance.expecting import Expect
from inflight.conformance.fake_site import MIXED, FakeSite
from inflight.conformance.servers import CLOSE, Server, page
from inflight.fake_server.faults import FAULTS
from inflight.strategies.base import Strategy
from inflight.strategies.core import work
from inflight.strategies.core.page import Page

pytestmark = pytest.mark.rule("links")

Serve = Callable[..., Server]


@pytest.mark.parametrize(("cap", "use"), [(1, "per-fetch"), (100, "keep-alive")])
def test_the_answer_is_what_the_site_says(strategy: Strategy, use: str, cap: int, fake: FakeSite) -> None:
    fake.configure(**MIXED)

    crawled = crawl(strategy, f"{fake.url}/", max_in_flight=cap, connection=use)

    assert comparable(crawled.pages) == fake.expected()
    assert fake.stats()["requests"] == len(crawled.pages)
    assert fake.stats()["peak_in_flight"] <= cap


@pytest.mark.rule("responses")
def test_a_large_page_is_read_whole(strategy: Strategy, fake: FakeSite) -> None:
    fake.configure(pages=3, body_bytes=3_000_000)

    crawled = crawl(strategy, f"{fake.url}/")

    assert comparable(crawled.pages) == fake.expected()
    assert {page.size for page in crawled.pages.values()} == {3_000_000}


@pytest.mark.rule("redirects")
@pytest.mark.parametrize("limit", [0, 2])
def test_chains_end_where_the_site_says(strategy: Strategy, limit: int, fake: FakeSite) -> None:
    fake.configure(seed=3, pages=60, redirects=0.5, redirect_chain=4)

    crawled = crawl(strategy, f"{fake.url}/", max_redirects=limit)

    expected = fake.expected(max_redirects=limit)
    assert comparable(crawled.pages) == expected
    assert "redirect limit reached" in {page.error for page in expected.values()}


@pytest.mark.rule("errors")
def test_every_fault_ends_as_the_site_says(
    strategy: Strategy, connection: str, is_shared: bool, expect: Expect, fake: FakeSite
) -> None:
    def crawled_and_expected(faults: dict[str, float]) -> tuple[dict[str, Page], dict[str, Page]]:
        fake.configure(**(MIXED | {"faults": faults, "drip_ns": 20_000_000}))
        crawled = crawl(strategy, f"{fake.url}/", connection=connection, max_in_flight=20, max_tries=2)
        expected = fake.expected(max_tries=2)
        assert {fake.fault_of(url) for url in expected} == {None, *faults}
        return own_words(comparable(crawled.pages), is_shared=is_shared), own_words(expected, is_shared=is_shared)

    limited = expect.limited(f"fault {kind}" for kind in FAULTS)
    found, right = crawled_and_expected({kind: 0.06 for kind in FAULTS if f"fault {kind}" not in limited})

    assert found == right
    for fault in limited:  # on a site with no other faults
        found, right = crawled_and_expected({fault.removeprefix("fault "): 0.3})
        expect({fault: found == right}, {fault: True})


def own_words(pages: dict[str, Page], *, is_shared: bool) -> dict[str, Page]:
    """Accept one kind of broken connection for another from a foreign HTTP stack, which does not distinguish them."""
    if is_shared:
        return pages
    breaks = {"connection reset", "closed early"}
    return {
        url: dataclasses.replace(page, error="broken" if page.error in breaks else page.error)
        for url, page in pages.items()
    }


# CPU work


WORKED = [f"/{n}" for n in range(12)]
SITE = {"/": page(*WORKED), **dict.fromkeys(WORKED[3:], page())}
"""The first links are missing pages."""


def counted(crawled: Callable[[], object]) -> int:
    """Return for how many pages the CPU work was done during a call."""
    before = work.consumed_pages()
    crawled()
    return work.consumed_pages() - before - 1


@pytest.mark.rule("work")
def test_the_work_is_done_once_for_each_response(strategy: Strategy, connection: str, serve: Serve) -> None:
    url = f"{serve(SITE).url}/"

    assert counted(lambda: crawl(strategy, url, connection=connection, work_units=2)) == 1 + len(WORKED)


@pytest.mark.rule("work")
def test_a_page_without_a_response_asks_for_no_work(strategy: Strategy, serve: Serve) -> None:
    url = f"{serve({'/': page('/gone', '/there'), '/there': page(), '/gone': (CLOSE,)}).url}/"

    assert counted(lambda: crawl(strategy, url, max_tries=2, work_units=1)) == 2
    assert counted(lambda: crawl(strategy, url, max_tries=2)) == 0
