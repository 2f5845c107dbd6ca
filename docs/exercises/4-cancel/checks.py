"""Checks of exercise 4. Each URL has a port of its own at the local site, which answers when it is told to."""

import asyncio
import textwrap
from functools import partial
from types import ModuleType
from typing import Any

from lab import Counted, Wrong, fetch, local_site, need, turns

from inflight.bench.measure.server import Server
from inflight.fake_server.site import Site, SiteConfig

SITE = SiteConfig(pages=4, links=1)
PAGES = 3


def the_first_page_is_returned(answer: ModuleType) -> None:
    """All pages are requested at once, and the first one that arrives is returned."""
    page, _, _ = _one_answered(answer)
    bodies = [Site(SITE).body(number) for number in range(1, PAGES + 1)]
    need(page in bodies, f"first_of returned {page!r:.60}, which is none of the pages.")
    need(page == bodies[-1], "The last URL was answered first, and first_of returned another page.")


def nothing_is_left_after_the_first(answer: ModuleType) -> None:
    """When it returns, the other fetches have ended."""
    _, left_open, left_tasks = _one_answered(answer)
    need(
        not left_open,
        f"first_of has returned, but {left_open} fetches have not ended: their connections are open. "
        "`cancel()` only requests that a task stops. Await the task to be sure that it has stopped.",
    )
    need(not left_tasks, f"first_of has returned, but {left_tasks} of its tasks have not ended.")


def nothing_is_left_after_a_cancellation(answer: ModuleType) -> None:
    """When it is cancelled, as a time-out does, its fetches end before it ends."""
    outcome, left_open = _cancelled(answer)
    if isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
        text = textwrap.shorten(f"{type(outcome).__name__}: {outcome}", 200, placeholder=" …")
        raise Wrong(
            f"first_of was cancelled, but it raised another error than CancelledError: {text.rstrip('.')}."
        ) from outcome
    need(
        isinstance(outcome, asyncio.CancelledError),
        f"first_of was cancelled, but did not raise CancelledError: it returned {outcome!r:.60}. A caller with a "
        "time-out would use that as an answer. CancelledError must leave the function.",
    )
    need(
        not left_open,
        f"first_of was cancelled, but {left_open} of its fetches have not ended. `asyncio.wait` does not cancel the "
        "tasks that it waits for. The tasks must be ended on every way out of the function: what does `finally` do?",
    )


def _one_answered(answer: ModuleType) -> tuple[Any, int, int]:
    """Return the page, and how many fetches and tasks were open when it was returned."""

    async def main(site: Server) -> tuple[Any, int, int]:
        counted = Counted(fetch)
        async with asyncio.TaskGroup() as group:
            giver = group.create_task(_when_all_wait(counted, site, partial(site.tell, "pass", port=site.ports[-1])))
            page = await answer.first_of(_urls(site), counted)
            left = asyncio.all_tasks() - {asyncio.current_task(), giver}
            return page, counted.open, len(left)

    with local_site(SITE) as site:
        site.gates([False] * PAGES)
        return asyncio.run(main(site))


def _cancelled(answer: ModuleType) -> tuple[Any, int]:
    """Return how a cancelled call ended, and how many fetches were open then."""

    async def main(site: Server) -> tuple[Any, int]:
        counted = Counted(fetch)
        asking = asyncio.create_task(answer.first_of(_urls(site), counted))
        await _when_all_wait(counted, site, asking.cancel)
        try:
            return await asking, counted.open
        except BaseException as error:  # noqa: BLE001  (however it ended is the outcome)
            return error, counted.open

    with local_site(SITE) as site:
        site.gates([False] * PAGES)
        return asyncio.run(main(site))


async def _when_all_wait(counted: Counted, site: Server, then: Any) -> None:
    """Do something as soon as the site holds all requests. Raises Wrong if not all are made."""
    await turns(100)
    need(
        counted.open == PAGES,
        f"{len(counted.started)} of {PAGES} fetches were started. All should be in flight, so that the fastest wins.",
    )
    while site.stats()["in_flight"] < PAGES:  # noqa: ASYNC110  (the site is another process)
        await asyncio.sleep(0.001)
    then()


def _urls(site: Server) -> list[str]:
    return [f"{base}/p/{number}" for number, base in enumerate(site.bases, 1)]
