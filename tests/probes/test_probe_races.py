"""Duplicate fetches: threads without a lock make some, coroutines none, unless they yield between check and act."""

import threading
from contextlib import nullcontext
from typing import Any

import pytest

from inflight.bench.claims.programs.races import BATCHES, LINKS, WORKERS, Ledger, Page, run_threads
from tests.probes.asking import ask


def race(model: str) -> dict[str, Any]:
    """Return the figures of a race in which every link was seen and every URL was fetched at least once."""
    measured = ask("races", model=model)

    assert measured["links_seen"] == WORKERS * BATCHES * LINKS
    assert measured["distinct"] == BATCHES * LINKS
    assert measured["duplicates"] == measured["fetched"] - measured["distinct"] >= 0
    assert measured["lost_updates"] >= 0
    return measured


@pytest.mark.parametrize("model", ["threads-locked", "coroutines", "asyncio"])
def test_nothing_is_done_twice_without_interruption(model: str) -> None:
    measured = race(model)

    assert (measured["duplicates"], measured["lost_updates"]) == (0, 0)


def test_coroutines_that_yield_between_check_and_act_repeat_all_work() -> None:
    measured = race("coroutines-yielding")

    assert measured["duplicates"] == (WORKERS - 1) * measured["distinct"]
    assert measured["lost_updates"] > 0


def test_threads_without_a_lock_fetch_what_another_has_just_seen() -> None:
    """Two threads meet between check and act, at each new link."""
    both = threading.Barrier(2)

    class Meeting(Ledger):
        def normal(self, page: str, href: bytes) -> str:
            both.wait()
            url = super().normal(page, href)
            both.wait()
            return url

    ledger, shares = Meeting(), [[Page(batch) for batch in range(2)] for _ in range(2)]
    run_threads(ledger, shares, nullcontext())

    assert ledger.figures()["duplicates"] == ledger.figures()["distinct"] == 2 * LINKS


def test_threads_without_a_lock_see_every_link() -> None:
    race("threads")
