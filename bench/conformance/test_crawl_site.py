"""The seeded site, crawled by every strategy: every page and every fault has the expected result."""

import dataclasses

import pytest

from inflight import strategies
from inflight.bench.conformance.crawling import comparable, crawl
from inflight.bench.conformance.fake_site import ERRORS, MIXED, FakeSite
from inflight.fake_server.faults import FAULTS
from inflight.strategies.base import Strategy
from inflight.strategies.core.page import Page

pytestmark = pytest.mark.rule("links")

ALL_FAULTS = dict.fromkeys(FAULTS, 0.06)


@pytest.mark.parametrize("cap", [1, 100])
def test_the_answer_is_what_the_site_says(strategy: Strategy, connection: str, cap: int, fake: FakeSite) -> None:
    fake.configure(**MIXED)

    crawled = crawl(strategy, f"{fake.url}/", max_in_flight=cap, connection=connection)

    assert comparable(crawled.pages) == fake.expected()
    assert fake.stats()["requests"] == len(crawled.pages)
    assert fake.stats()["peak_in_flight"] <= cap


@pytest.mark.rule("responses")
def test_a_large_page_is_read_whole(strategy: Strategy, connection: str, fake: FakeSite) -> None:
    fake.configure(pages=5, body_bytes=3_000_000)

    crawled = crawl(strategy, f"{fake.url}/", connection=connection)

    assert comparable(crawled.pages) == fake.expected()
    assert {page.size for page in crawled.pages.values()} == {3_000_000}


@pytest.mark.rule("redirects")
@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_chains_end_where_the_site_says(strategy: Strategy, limit: int, fake: FakeSite) -> None:
    fake.configure(seed=3, pages=60, redirects=0.5, redirect_chain=4)

    crawled = crawl(strategy, f"{fake.url}/", max_redirects=limit)

    expected = fake.expected(max_redirects=limit)
    assert comparable(crawled.pages) == expected
    reached = [page.error for page in expected.values()].count("redirect limit reached")
    assert bool(reached) is (limit < 4)


@pytest.mark.rule("errors")
@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_ends_as_the_site_says(
    strategy: Strategy, connection: str, kind: str, name: str, fake: FakeSite
) -> None:
    fake.configure(pages=12, links=6, faults={kind: 0.7}, drip_ns=20_000_000)
    faulty = {fake.url + fake.site.page(n).path for n in range(12) if fake.site.page(n).fault == kind}

    crawled = crawl(strategy, f"{fake.url}/", connection=connection, max_tries=3)

    assert own_words(name, comparable(crawled.pages)) == own_words(name, fake.expected(max_tries=3))
    assert faulty & set(crawled.pages)
    for url in faulty & set(crawled.pages):
        page = crawled.pages[url]
        assert page.tries == (1 if FAULTS[kind].survivable else 3)
        assert (page.status is not None) is FAULTS[kind].survivable


def own_words(name: str, pages: dict[str, Page]) -> dict[str, Page]:
    """Accept one kind of broken connection for another from a foreign HTTP stack, which does not distinguish them."""
    if strategies.describe(name).stack == "shared":
        return pages
    breaks = {"connection reset", "closed early"}
    return {
        url: dataclasses.replace(page, error="broken" if page.error in breaks else page.error)
        for url, page in pages.items()
    }


@pytest.mark.rule("errors")
def test_a_site_with_every_fault_is_crawled_to_its_end(
    strategy: Strategy, connection: str, name: str, fake: FakeSite
) -> None:
    fake.configure(**(MIXED | {"faults": ALL_FAULTS, "drip_ns": 20_000_000}))

    crawled = crawl(strategy, f"{fake.url}/", connection=connection, max_in_flight=20, max_tries=2)

    expected = fake.expected(max_tries=2)
    assert own_words(name, comparable(crawled.pages)) == own_words(name, expected)
    assert {page.error for page in expected.values()} == {None, *ERRORS.values()}
