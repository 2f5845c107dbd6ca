import asyncio


async def fetch_all(urls, fetch, limit):
    pages = [None] * len(urls)
    todo = list(enumerate(urls))

    async def work():
        while todo:
            place, url = todo.pop()
            pages[place] = await fetch(url)

    await asyncio.gather(*[work() for _ in range(limit)])
    return pages
