"""What the conformance suite does not ask of a single strategy: all leave the same records, one unit of work."""

import functools
import threading

import pytest

from inflight import strategies
from inflight.conformance.crawling import crawl
from inflight.conformance.servers import page, running
from inflight.strategies.core import work


def test_threads_work_on_their_pages_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads meet inside of their pages' work: they could not if either held the frontier's lock."""
    both = threading.Barrier(2)
    monkeypatch.setattr(work, "unit", lambda _: both.wait())

    with running() as servers:
        url = servers.serve({"*": page()}).url
        roots = (f"{url}/3", f"{url}/4")
        crawled = crawl(strategies.load("thread_pool"), *roots, max_in_flight=2, work_units=1)

    assert set(crawled.by_path()) == {"/3", "/4"}


def test_a_unit_is_the_hash_that_it_says() -> None:
    assert sorted(work.TABLE) == list(range(256))
    assert work.unit(work.own_table()) == functools.reduce(
        lambda found, byte: work.TABLE[found ^ byte],
        range(256),
        0,
    )
