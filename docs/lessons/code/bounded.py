"""Fetch 200 pages in three ways. Count the fetches in flight, and the tasks."""

import asyncio
import time
from collections.abc import Awaitable, Callable

PAGES = range(200)
LIMIT = 20


class Site:
    """Count the fetches that are in flight, and the tasks."""

    def __init__(self) -> None:
        self.in_flight = self.most_in_flight = self.most_tasks = self.done = 0

    async def fetch(self, _page: int) -> None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.most_tasks = max(self.most_tasks, len(asyncio.all_tasks()) - 1)  # without main
        await asyncio.sleep(0.02)  # the network
        self.in_flight -= 1
        self.done += 1


async def all_at_once(site: Site) -> None:
    await asyncio.gather(*(site.fetch(page) for page in PAGES))


async def semaphore(site: Site) -> None:
    limit = asyncio.Semaphore(LIMIT)

    async def fetch(page: int) -> None:
        async with limit:
            await site.fetch(page)

    await asyncio.gather(*(fetch(page) for page in PAGES))


async def workers(site: Site) -> None:
    pages = iter(PAGES)

    async def work() -> None:
        for page in pages:
            await site.fetch(page)

    await asyncio.gather(*(work() for _ in range(LIMIT)))


async def measure(way: Callable[[Site], Awaitable[None]]) -> Site:
    site, start = Site(), time.perf_counter()
    await way(site)
    took_ms = (time.perf_counter() - start) * 1000
    print(
        f"{way.__name__:<12} {site.done} pages in {took_ms:>3.0f} ms"
        f"   at most {site.most_in_flight:>3} in flight, {site.most_tasks:>3} tasks"
    )
    return site


if __name__ == "__main__":
    for way in (all_at_once, semaphore, workers):
        asyncio.run(measure(way))
