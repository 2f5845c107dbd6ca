"""Checks of exercise 6. The pages come from the local site, over real sockets."""

import ast
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from lab import Wrong, local_site, need

from inflight.fake_server.site import Site, SiteConfig

PAGES = 10
SITE = Site(SiteConfig(pages=PAGES + 1, links=1))
PATIENCE_S = 5
"""How long the site holds its answers for requests that do not come: only an answer that is wrong waits for it."""
MANY_LOOKS = 500


def no_loop_is_borrowed(answer: ModuleType) -> None:
    """The loop is yours: asyncio is not imported."""
    tree = ast.parse(Path(str(answer.__file__)).read_text(encoding="utf-8"))
    named = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    named += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    need(not [name for name in named if name.partition(".")[0] == "asyncio"], "The file imports asyncio.")


def a_coroutine_without_waits_runs(answer: ModuleType) -> None:
    """Coroutines that never wait run to their end, and run returns their results in order."""

    async def number(value: int) -> int:
        return value

    results = answer.Loop().run(*map(number, (1, 2, 3)))
    need(
        results == [1, 2, 3],
        f"run returned {results!r}, not [1, 2, 3]. The result of a coroutine is the `value` of its StopIteration.",
    )


def a_future_passes_its_result(answer: ModuleType) -> None:
    """A coroutine waits for a future until another one resolves it, and gets its result."""
    order: list[str] = []

    async def waits(future: Any) -> Any:
        order.append("waits")
        return await future

    async def resolves(future: Any) -> None:
        order.append("resolves")
        future.resolve("the result")

    future = answer.Future()
    results = answer.Loop().run(waits(future), resolves(future))
    need(order == ["waits", "resolves"], f"The coroutines ran in the order {order}.")
    need(results == ["the result", None], f"run returned {results!r}. The value of `await` is what __await__ returns.")


def a_resolved_future_is_no_wait(answer: ModuleType) -> None:
    """Awaiting a future that is already resolved does not wait."""

    async def late() -> Any:
        future = answer.Future()
        future.resolve(5)
        return await future

    results = answer.Loop().run(late())
    need(results == [5], f"A future was resolved with 5 and then awaited. run returned {results!r}, not [5].")


def an_error_comes_out(answer: ModuleType) -> None:
    """An error in a coroutine is raised by run."""

    async def fails() -> None:
        raise ValueError("on purpose")

    try:
        results = answer.Loop().run(fails())
    except ValueError:
        return
    raise Wrong(f"A coroutine raised ValueError, but run returned {results!r}.")


def a_page_comes(answer: ModuleType) -> None:
    """Pages are fetched from the local site, one after another in the same loop."""
    with local_site(SITE.config) as site:
        loop = answer.Loop()
        for number in (1, 2):
            (page,) = loop.run(answer.fetch(loop, site.port, f"/p/{number}"))
            need(
                isinstance(page, bytes) and page.endswith(SITE.body(number)),
                f"The answer for page {number} was {page!r:.60}, without the page at its end.",
            )


def ten_pages_are_in_flight_at_once(answer: ModuleType) -> None:
    """Ten pages are in flight at once, in one thread, and the loop sleeps while it waits for them."""
    with local_site(SITE.config) as site:
        site.tell("hold")
        loop = answer.Loop()
        looks = _counted_looks(loop.selector)
        over = threading.Event()
        opener = threading.Thread(target=_open_when_all_wait, args=(site, over, looks))
        opener.start()
        try:
            pages = loop.run(*(answer.fetch(loop, site.port, f"/p/{n}") for n in range(1, PAGES + 1)))
        finally:
            over.set()
            opener.join()
        peak = site.stats()["peak_in_flight"]
    need(
        peak == PAGES,
        f"The site holds its answers until ten requests are there. It saw {peak} at once. "
        "Does something wait for one socket before all tasks have had their first step?",
    )
    need([page.endswith(SITE.body(n)) for n, page in enumerate(pages, 1)] == [True] * PAGES, "Some pages are wrong.")
    need(
        len(looks) < MANY_LOOKS,
        f"While ten pages were in flight, the loop called `select` {len(looks)} times. It should call it once, "
        "and sleep there until a socket is ready: `select()` without a time-out does that.",
    )


def _counted_looks(selector: Any) -> list[None]:
    """Return a list that grows with each call of the selector's ``select``."""
    looks: list[None] = []
    select = selector.select

    def counted(timeout: float | None = None) -> Any:
        looks.append(None)
        return select(timeout)

    selector.select = counted
    return looks


def _open_when_all_wait(site: Any, over: threading.Event, looks: list[None]) -> None:
    """Let the site answer when all requests wait there and a busy loop has had time to show; or after a while."""
    for _ in range(int(PATIENCE_S / 0.01)):
        if site.stats()["in_flight"] == PAGES or over.is_set():
            break
        over.wait(0.01)
    for _ in range(20):
        if len(looks) > MANY_LOOKS:
            break
        over.wait(0.01)
    site.tell("release")
