"""Exercise 3: fetch many pages, with a bound on how many are in flight."""

import asyncio


async def fetch_all(urls, fetch, limit):
    """Return the pages in the order of their URLs. At most `limit` fetches are in flight at once."""
    return await asyncio.gather(*(fetch(url) for url in urls))
