"""Exercise 4: on every way out of the function, its tasks are cancelled and awaited."""

import asyncio


async def first_of(urls, fetch):
    """Fetch all URLs at once and return the page that comes first.

    When this function returns, or is cancelled, nothing of it is in flight any more.
    """
    tasks = [asyncio.create_task(fetch(url)) for url in urls]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
