import asyncio


async def user_page(name, fetch):
    user = await fetch(f"/user/{name}")
    orders, friends = await asyncio.gather(fetch(f"/orders/{user}"), fetch(f"/friends/{user}"))
    return user, orders, friends
