import asyncio


async def first_of(urls, fetch):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(fetch(url)) for url in urls]
        page = await next(iter(asyncio.as_completed(tasks)))
        for task in tasks:
            task.cancel()
    return page
