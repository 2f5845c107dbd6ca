import asyncio


async def user_page(name, fetch):
    user = await fetch(f"/user/{name}")
    orders = asyncio.create_task(fetch(f"/orders/{user}"))
    friends = await fetch(f"/friends/{user}")
    return [user, await orders, friends]
