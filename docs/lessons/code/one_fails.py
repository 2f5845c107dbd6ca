"""Fetch two pages at once. One of them fails: see what happens to the other."""

import asyncio
from collections.abc import Awaitable, Callable


async def fetch(page: str, seconds: float) -> None:
    try:
        await asyncio.sleep(seconds)
        if page == "/bad":
            raise OSError("connection reset")
        print(f"  {page}: end")
    except asyncio.CancelledError:
        print(f"  {page}: cancelled")
        raise


async def gathered() -> None:
    await asyncio.gather(fetch("/bad", 0.1), fetch("/good", 0.5))


async def in_a_task_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(fetch("/bad", 0.1))
        group.create_task(fetch("/good", 0.5))


async def show(way: Callable[[], Awaitable[None]]) -> None:
    print(way.__name__)
    try:
        await way()
    except* OSError as group:
        print(f"  the caller gets {group.exceptions[0]!r}")
    await asyncio.sleep(0.5)


if __name__ == "__main__":
    asyncio.run(show(gathered))
    asyncio.run(show(in_a_task_group))
