"""Sites crawled as a whole: those of the table, and the seeded one, with every page and every fault."""

from dataclasses import replace

import pytest

from inflight.conformance.crawling import comparable
from inflight.conformance.fake_site import MIXED, FakeSite
from inflight.conformance.sites import SITES
from inflight.conformance.subject import Subject
from inflight.fake_server.faults import FAULTS
from inflight.strategies.core.page import Page

pytestmark = pytest.mark.rule("links")

CASES = [
    pytest.param(title, use, marks=pytest.mark.rule(site.rule)) for title, site in SITES.items() for use in site.uses
]


@pytest.mark.parametrize(("site", "connection"), CASES)
def test_site(subject: Subject, site: str, connection: str) -> None:
    subject.check_site(SITES[site], connection)


@pytest.mark.parametrize(("cap", "use"), [(1, "per-fetch"), (100, "keep-alive")])
def test_the_answer_is_what_the_site_says(subject: Subject, use: str, cap: int, fake: FakeSite) -> None:
    fake.configure(**MIXED)

    crawled = subject.crawl(f"{fake.url}/", max_in_flight=cap, connection=use)

    assert comparable(crawled.pages) == fake.expected()
    assert fake.stats()["requests"] == len(crawled.pages), "requests"
    assert fake.stats()["peak_in_flight"] <= cap, "in flight"


@pytest.mark.rule("responses")
def test_a_large_page_is_read_whole(subject: Subject, fake: FakeSite) -> None:
    fake.configure(pages=3, body_bytes=3_000_000)

    crawled = subject.crawl(f"{fake.url}/")

    assert comparable(crawled.pages) == fake.expected()
    assert {page.size for page in crawled.pages.values()} == {3_000_000}


@pytest.mark.rule("redirects")
@pytest.mark.parametrize("limit", [0, 2])
def test_chains_end_where_the_site_says(subject: Subject, limit: int, fake: FakeSite) -> None:
    fake.configure(seed=3, pages=60, redirects=0.5, redirect_chain=4)

    crawled = subject.crawl(f"{fake.url}/", max_redirects=limit)

    expected = fake.expected(max_redirects=limit)
    assert comparable(crawled.pages) == expected
    assert "redirect limit reached" in {page.error for page in expected.values()}


@pytest.mark.rule("errors")
def test_every_fault_ends_as_the_site_says(subject: Subject, connection: str, fake: FakeSite) -> None:
    def words(pages: dict[str, Page]) -> dict[str, Page]:
        """Accept one kind of broken connection for another from a foreign HTTP stack, which may confuse them."""
        same = {} if subject.is_shared else {"connection reset": "closed early"}
        return {url: replace(page, error=same.get(page.error or "", page.error)) for url, page in pages.items()}

    def crawled_and_expected(faults: dict[str, float]) -> tuple[dict[str, Page], dict[str, Page]]:
        fake.configure(**(MIXED | {"faults": faults, "drip_ns": 20_000_000}))
        crawled = subject.crawl(f"{fake.url}/", connection=connection, max_in_flight=20, max_tries=2)
        expected = fake.expected(max_tries=2)
        assert {fake.fault_of(url) for url in expected} == {None, *faults}
        return words(comparable(crawled.pages)), words(expected)

    limited = subject.limited(f"fault {kind}" for kind in FAULTS)
    crawled, expected = crawled_and_expected({kind: 0.06 for kind in FAULTS if f"fault {kind}" not in limited})

    assert crawled == expected
    for fault in limited:  # on a site with no other faults
        crawled, expected = crawled_and_expected({fault.removeprefix("fault "): 0.3})
        subject.compare({fault: crawled == expected}, {fault: True})
