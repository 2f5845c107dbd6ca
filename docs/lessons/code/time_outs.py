"""Give three fetches 50 ms each, and see which of them stop."""

import asyncio
import time
from collections.abc import Awaitable, Callable


async def polite() -> None:
    try:
        await asyncio.sleep(0.5)
        print("  the fetch ends")
    finally:
        print("  the connection is closed")


async def deaf() -> None:
    try:
        await asyncio.sleep(0.5)
    except asyncio.CancelledError:
        print("  the fetch is cancelled, and tries again")
    await asyncio.sleep(0.5)
    print("  the fetch ends")


def blocking() -> None:
    time.sleep(0.5)
    print("  the thread ends")


async def in_a_thread() -> None:
    await asyncio.to_thread(blocking)


async def limited(fetch: Callable[[], Awaitable[None]]) -> None:
    print(fetch.__name__)
    try:
        async with asyncio.timeout(0.05):
            await fetch()
        print("  the caller goes on, without an error")
    except TimeoutError:
        print("  the caller gets TimeoutError")


if __name__ == "__main__":
    for fetch in (polite, deaf, in_a_thread):
        asyncio.run(limited(fetch))
