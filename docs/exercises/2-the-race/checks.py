"""Checks of exercise 2. They show the race every time: one thread is stopped before each step of ``admit`` in turn."""

import asyncio
import linecache
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any
from unittest import mock

from lab import Counted, need, turns

BLOCKED_S = 0.05
"""After this time the second thread is assumed to wait for a lock. If it is only slow, this step hides a race."""


def one_thread_is_admitted(answer: ModuleType) -> None:
    """In one thread, a link is admitted the first time and not again."""
    seen = answer.Seen()
    told = [seen.admit("/p/1"), seen.admit("/p/1"), seen.admit("/p/2")]
    need(
        told == [True, False, True],
        f"For /p/1, /p/1, /p/2 in one thread, admit returned {told}, not [True, False, True].",
    )


def of_two_threads_one_is_admitted(answer: ModuleType) -> None:
    """Of two threads with the same link, exactly one is admitted, wherever the first one is interrupted."""
    for step in range(1000):
        told, stopped_at, locks = _interrupted(answer, step)
        if stopped_at is None:
            return
        line = linecache.getline(str(answer.__file__), stopped_at).strip()
        here = (
            f"One thread was interrupted in line {stopped_at}, `{line}`. A second one called admit with the same link."
        )
        advice = (
            "Each call makes a lock of its own. A lock works only if all threads use the same one."
            if locks
            else "At this point no lock stopped the second one. Check and act must be inside one block `with lock:`."
        )
        need(len(told) == 2, f"{here} Then one of the two calls did not return: is a lock not released?")
        need(told.count(True) < 2, f"{here} Both were admitted. {advice}")
        need(told.count(True) == 1, f"{here} Neither was admitted: the calls returned {told}.")


def a_page_is_fetched_once(answer: ModuleType) -> None:
    """A page that five coroutines request at once is fetched once."""
    pages, fetch, _ = asyncio.run(_asked(answer, ["/p/1"] * 5))
    need(
        len(fetch.started) == 1,
        f"The page was fetched {len(fetch.started)} times. Between the check (is it there?) and the act (store it) "
        "is an `await`. During this `await` the other coroutines run, and they do not find the page either.",
    )
    need(pages == ["page of /p/1"] * 5, f"The five got {pages}. All should get the page.")


def different_pages_do_not_wait(answer: ModuleType) -> None:
    """Three different pages are in flight together."""
    pages, fetch, _ = asyncio.run(_asked(answer, ["/p/1", "/p/2", "/p/3"]))
    need(
        fetch.peak == 3,
        f"No more than {fetch.peak} of three different pages was in flight at a time. A lock around the fetch makes "
        "all pages wait for each other. A call should wait for its own page only.",
    )
    need(pages == ["page of /p/1", "page of /p/2", "page of /p/3"], f"The three got {pages}.")


def a_known_page_is_not_fetched(answer: ModuleType) -> None:
    """A page that has arrived is not fetched again."""
    _, fetch, page = asyncio.run(_asked(answer, ["/p/1"]))
    need(page == "page of /p/1", f"The second time, get returned {page!r}.")
    need(len(fetch.started) == 1, "A page that had arrived was fetched again.")


async def _asked(answer: ModuleType, links: list[str]) -> tuple[list[Any], Counted, Any]:
    """Get all links at once, then the first one again; return the pages, the fetch, and the page of the second time."""

    async def slow(link: str) -> str:
        await turns(5)
        return f"page of {link}"

    fetch = Counted(slow)
    cache = answer.Cache(fetch)
    pages = await asyncio.gather(*(cache.get(link) for link in links))
    return pages, fetch, await cache.get(links[0])


def _interrupted(answer: ModuleType, step: int) -> tuple[list[Any], int | None, int]:
    """Stop a thread before a step of ``admit``, and let a second one call it meanwhile.

    Returns what the two calls returned, the line (None: there are fewer steps), and how many locks the calls made.
    """
    seen, told, places = answer.Seen(), [], []
    stopped, go_on = threading.Event(), threading.Event()

    def pause(frame: FrameType) -> None:
        places.append(frame.f_lineno)
        stopped.set()
        go_on.wait()

    def first() -> None:
        with _stopping(str(answer.__file__), step, pause):
            told.append(seen.admit("/p/1"))
        stopped.set()

    def second() -> None:
        told.append(seen.admit("/p/1"))

    threads = [threading.Thread(target=call, daemon=True) for call in (first, second)]
    with mock.patch.object(threading, "Lock", side_effect=threading.Lock) as made:
        threads[0].start()
        stopped.wait()
        if places:
            threads[1].start()
            threads[1].join(BLOCKED_S)
        go_on.set()
        for thread in threads[: 1 + len(places)]:
            thread.join(5)
    return told, places[0] if places else None, made.call_count


@contextmanager
def _stopping(file: str, step: int, pause: Any) -> Iterator[None]:
    """Call ``pause`` once in this thread, before a step (an instruction) of the code in a file."""
    left = step

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != file:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == -1:
                pause(frame)
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)
