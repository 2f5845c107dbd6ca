import asyncio


async def worker(queue, fetch, pages):
    while True:
        number, url = await queue.get()
        pages[number] = await fetch(url)
        queue.task_done()


async def fetch_all(urls, fetch, limit):
    queue = asyncio.Queue()
    for number, url in enumerate(urls):
        queue.put_nowait((number, url))
    pages = {}
    workers = [asyncio.create_task(worker(queue, fetch, pages)) for _ in range(limit)]
    await queue.join()
    for one in workers:
        one.cancel()
    return [pages[number] for number in range(len(urls))]
