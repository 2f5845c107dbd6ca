"""Exercise 1: two tasks in a group. `asyncio.gather` is right too."""

import asyncio


async def user_page(name, fetch):
    """Return the user, the orders and the friends. The last two need the user's number."""
    user = await fetch(f"/user/{name}")
    async with asyncio.TaskGroup() as group:
        orders = group.create_task(fetch(f"/orders/{user}"))
        friends = group.create_task(fetch(f"/friends/{user}"))
    return user, orders.result(), friends.result()
