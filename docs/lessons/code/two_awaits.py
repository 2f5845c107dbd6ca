"""Fetch two pages in four ways, and see which of the ways wait for both at once."""

import asyncio
import time
from collections.abc import Awaitable, Callable


async def fetch(page: str) -> str:
    print(f"  {page}: begin")
    await asyncio.sleep(0.1)  # the network
    print(f"  {page}: end")
    return page


async def one_then_the_other() -> None:
    await fetch("/a")
    await fetch("/b")


async def two_coroutines() -> None:
    first, second = fetch("/a"), fetch("/b")
    await first
    await second


async def gathered() -> None:
    await asyncio.gather(fetch("/a"), fetch("/b"))


async def in_a_task_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(fetch("/a"))
        group.create_task(fetch("/b"))


async def timed(way: Callable[[], Awaitable[None]]) -> None:
    print(way.__name__)
    start = time.perf_counter()
    await way()
    print(f"  {(time.perf_counter() - start) * 1000:.0f} ms")


if __name__ == "__main__":
    for way in (one_then_the_other, two_coroutines, gathered, in_a_task_group):
        asyncio.run(timed(way))
