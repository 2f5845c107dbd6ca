"""Exercise 3: one semaphore for all. A queue, and as many workers as the limit, are right too."""

import asyncio


async def fetch_all(urls, fetch, limit):
    """Return the pages in the order of their URLs. At most `limit` fetches are in flight at once."""
    places = asyncio.Semaphore(limit)

    async def in_turn(url):
        async with places:
            return await fetch(url)

    return await asyncio.gather(*(in_turn(url) for url in urls))
