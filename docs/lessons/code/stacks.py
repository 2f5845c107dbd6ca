"""Show which functions are on the stack while a coroutine waits, and when it goes on."""

import asyncio
import inspect
from collections.abc import Coroutine
from pathlib import Path
from typing import Any


async def crawl(answer: asyncio.Future) -> None:
    await fetch(answer)


async def fetch(answer: asyncio.Future) -> None:
    await read(answer)


async def read(answer: asyncio.Future) -> None:
    await answer
    print("read goes on        real stack:   ", real_stack())


def real_stack() -> str:
    """Return the functions of this file and of asyncio that are running, the outermost first."""
    frames = [frame for frame in inspect.stack()[1:] if frame.filename == __file__ or is_asyncio(frame.filename)]
    names = ["(asyncio)" if is_asyncio(frame.filename) else frame.function for frame in reversed(frames)]
    return " > ".join(name for before, name in zip(["", *names], names, strict=False) if name != before)


def is_asyncio(file: str) -> bool:
    return Path(file).parent.name == "asyncio"


def virtual_stack(coroutine: Any) -> str:
    """Return the coroutines that wait for each other, the outermost first."""
    names = []
    while inspect.iscoroutine(coroutine):
        names.append(coroutine.__name__)
        coroutine = coroutine.cr_await
    return " > ".join(names)


def look(waiting: Coroutine) -> None:
    print("read waits          real stack:   ", real_stack())
    print("                    virtual stack:", virtual_stack(waiting))


async def main() -> None:
    answer = asyncio.get_running_loop().create_future()
    waiting = crawl(answer)
    task = asyncio.create_task(waiting)
    await asyncio.sleep(0)  # let it run to its wait
    asyncio.get_running_loop().call_soon(look, waiting)
    asyncio.get_running_loop().call_soon(answer.set_result, None)
    await task


if __name__ == "__main__":
    asyncio.run(main())
