"""Exercise 1: build the page of a user from three answers."""


async def user_page(name, fetch):
    """Return the user, the orders and the friends. The last two need the user's number."""
    user = await fetch(f"/user/{name}")
    orders = await fetch(f"/orders/{user}")
    friends = await fetch(f"/friends/{user}")
    return user, orders, friends
