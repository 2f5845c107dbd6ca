"""What the conformance suite does not ask of a single strategy: all leave the same records, one unit of work."""

import functools
import threading

import pytest

from inflight import strategies
from inflight.conformance import fake_site
from inflight.conformance.crawling import comparable, crawl, open_what_stays_open
from inflight.conformance.fake_site import MIXED
from inflight.conformance.servers import page, running
from inflight.strategies.core import work


def available() -> list[str]:
    return [name for name in strategies.crawlers() if not strategies.describe(name).lack]


def test_all_strategies_leave_the_same_records() -> None:
    open_what_stays_open()
    with fake_site.running() as fake:
        fake.configure(
            **(MIXED | {"redirects": 0.0, "faults": {"chunked": 0.1, "missing-length": 0.1, "error-500": 0.1}})
        )
        crawls = {name: crawl(strategies.load(name), f"{fake.url}/", max_in_flight=10) for name in available()}

    first, *others = crawls.values()
    for other in others:
        assert comparable(other.pages) == comparable(first.pages)
    new = {name: sum(page.num_new_urls for page in crawled.pages.values()) for name, crawled in crawls.items()}
    assert set(new.values()) == {len(first.pages) - 1}


def test_threads_work_on_their_pages_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads meet inside of their pages' work: they could not if either held the frontier's lock."""
    both = threading.Barrier(2)
    monkeypatch.setattr(work, "unit", lambda _: both.wait())

    with running() as servers:
        url = servers.serve({"*": page()}).url
        roots = (f"{url}/3", f"{url}/4")
        crawled = crawl(strategies.load("thread_pool"), *roots, max_in_flight=2, work_units=1)

    assert crawled.paths == {"/3", "/4"}


def test_a_unit_is_the_hash_that_it_says() -> None:
    assert sorted(work.TABLE) == list(range(256))
    assert work.unit(work.own_table()) == functools.reduce(lambda found, byte: work.TABLE[found ^ byte], range(256), 0)
