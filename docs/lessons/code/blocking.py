"""Run a clock in an event loop while another coroutine waits for 200 ms in three ways; print the clock's silence."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable

TICK_S = 0.01
WAIT_S = 0.2


async def tick(ticks: list[float]) -> None:
    """Record the time every 10 ms."""
    while True:
        ticks.append(time.perf_counter())
        await asyncio.sleep(TICK_S)


async def blocks() -> None:
    """Wait as a program without a loop would."""
    time.sleep(WAIT_S)  # noqa: ASYNC251  (the mistake that is shown)


async def gives_way() -> None:
    """Wait as a coroutine should."""
    await asyncio.sleep(WAIT_S)


async def in_a_thread() -> None:
    """Run the blocking call in a thread, and await the thread."""
    await asyncio.to_thread(time.sleep, WAIT_S)


async def longest_silence(neighbour: Callable[[], Awaitable[None]]) -> float:
    """Return the longest time between two ticks, in seconds, while the other coroutine waits."""
    ticks: list[float] = []
    clock = asyncio.create_task(tick(ticks))
    await asyncio.sleep(5 * TICK_S)
    await neighbour()
    await asyncio.sleep(5 * TICK_S)
    clock.cancel()
    return max(later - earlier for earlier, later in itertools.pairwise(ticks))


def main() -> None:
    """Print a line for each way to wait."""
    for words, neighbour in (
        ("time.sleep(0.2)", blocks),
        ("await asyncio.sleep(0.2)", gives_way),
        ("await asyncio.to_thread(time.sleep, 0.2)", in_a_thread),
    ):
        silence_s = asyncio.run(longest_silence(neighbour))
        print(f"{words:<42} the clock fell silent for {silence_s * 1000:>3.0f} ms")


if __name__ == "__main__":
    main()
