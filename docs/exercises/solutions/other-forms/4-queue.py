import asyncio


async def first_of(urls, fetch):
    come = asyncio.Queue()

    async def fetch_one(url):
        await come.put(await fetch(url))

    tasks = [asyncio.create_task(fetch_one(url)) for url in urls]
    try:
        return await come.get()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
