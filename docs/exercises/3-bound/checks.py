"""Checks of exercise 3. The pages come from the local site, over real sockets."""

import asyncio
from types import ModuleType
from typing import Any
from unittest import mock

from lab import Counted, fetch, local_site, need, turns

from inflight.fake_server.site import Site, SiteConfig

PAGES, LIMIT = 40, 10
SITE = SiteConfig(pages=PAGES, links=1)


def pages_come_in_order(answer: ModuleType) -> None:
    """All pages are returned in the order of their URLs, and each is fetched once."""
    pages, counted = _fetched(answer)
    need(isinstance(pages, list | tuple), f"fetch_all returned {type(pages).__name__}, not a list of pages.")
    need(len(pages) == PAGES, f"{PAGES} pages were requested, and {len(pages)} were returned.")
    expected = [Site(SITE).body(number) for number in range(PAGES)]
    need(sorted(map(str, pages)) == sorted(map(str, expected)), "The returned values are not the bodies of the pages.")
    need(
        list(pages) == expected,
        "The pages were returned, but not in the order of their URLs. (They do not arrive in it.)",
    )
    need(len(counted.started) == PAGES, f"{len(counted.started)} fetches were made for {PAGES} pages.")


def never_more_than_the_limit(answer: ModuleType) -> None:
    """At most ten fetches are in flight at once."""
    semaphore = asyncio.Semaphore
    with mock.patch.object(semaphore, "acquire", autospec=True, side_effect=semaphore.acquire) as acquire:
        _, counted = _fetched(answer)
    if 0 < acquire.call_count < len(counted.started):
        advice = (
            f"Places were taken for {acquire.call_count} of {len(counted.started)} fetches. Each fetch needs a place "
            "of its own: put `async with semaphore:` into the coroutine that fetches one URL, not around all fetches."
        )
    else:
        advice = "A semaphore limits only what is inside its `async with`, and all fetches must use the same semaphore."
    need(counted.peak <= LIMIT, f"{counted.peak} fetches were in flight at once; {LIMIT} are allowed. {advice}")


def the_limit_is_used(answer: ModuleType) -> None:
    """Ten fetches are in flight at once when there is enough to do."""
    _, counted = _fetched(answer)
    need(
        counted.peak == LIMIT,
        f"No more than {counted.peak} of the {LIMIT} allowed fetches were in flight at once. "
        "Does a loop await each fetch before it starts the next one?",
    )


def a_slow_page_holds_up_nobody(answer: ModuleType) -> None:
    """While one page is slow, all others are fetched in the remaining nine places."""
    waiting = []

    def slow(counted: Counted) -> Any:
        async def fetch_slowly(url: str) -> bytes:
            page = await fetch(url)
            if not url.endswith("/p/1"):
                return page
            while counted.open > 1:  # this page is slow: it comes when it is alone
                await asyncio.sleep(0)
                if counted.open == 1:
                    await turns(100)  # time for the next ones to start
            waiting.append(PAGES - len(counted.started))
            return page

        return fetch_slowly

    _fetched(answer, slow)
    need(
        waiting == [0],
        f"Only one slow page was in flight while {sum(waiting)} pages waited for it. "
        "The next fetch should start as soon as any fetch ends, and not when a whole batch has ended.",
    )


def _fetched(answer: ModuleType, made: Any = lambda _: fetch) -> tuple[Any, Counted]:
    """Return what came and the fetch that counted; ``made`` returns what it calls for each URL."""

    async def main(base: str) -> tuple[Any, Counted]:
        counted = Counted(fetch)
        counted.fetch = made(counted)
        urls = [f"{base}/"] + [f"{base}/p/{number}" for number in range(1, PAGES)]
        return await answer.fetch_all(urls, counted, LIMIT), counted

    with local_site(SITE) as site:
        return asyncio.run(main(site.base))
