"""Checks of exercise 2. No luck is needed: one thread is stopped between any two steps of ``admit``, in turn."""

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
"""After this time the second thread is taken to wait for a lock. One that is only slow hides a race at this step."""


def one_thread_is_admitted(answer: ModuleType) -> None:
    """A link is admitted once, and known after that."""
    seen = answer.Seen()
    told = [seen.admit("/p/1"), seen.admit("/p/1"), seen.admit("/p/2")]
    need(told == [True, False, True], f"For /p/1, /p/1, /p/2 in one thread, admit returned {told}.")


def of_two_threads_one_is_admitted(answer: ModuleType) -> None:
    """Of two threads that come with the same link, one is admitted, wherever the other one is interrupted."""
    for step in range(1000):
        told, stopped_at, locks = _interrupted(answer, step)
        if stopped_at is None:
            return
        line = linecache.getline(str(answer.__file__), stopped_at).strip()
        here = (
            f"One thread was interrupted in line {stopped_at}, `{line}`. Another one called admit with the same link."
        )
        advice = (
            "Each call makes a lock of its own. A lock protects only what all threads do with the same lock."
            if locks
            else "At this point no lock kept the other one out. The look and the act must be under one lock together."
        )
        need(len(told) == 2, f"{here} Then one of them did not return: is a lock not released?")
        need(told.count(True) < 2, f"{here} Both were admitted. {advice}")
        need(told.count(True) == 1, f"{here} Neither was admitted: they returned {told}.")


def a_page_is_fetched_once(answer: ModuleType) -> None:
    """A page that five coroutines ask for is fetched once."""
    pages, fetch, _ = asyncio.run(_asked(answer, ["/p/1"] * 5))
    need(
        len(fetch.started) == 1,
        f"The page was fetched {len(fetch.started)} times. Between the look (is it there?) and the act (put it there) "
        "is an `await`. There the others run, and they do not find the page either.",
    )
    need(pages == ["page of /p/1"] * 5, f"The five got {pages}. All should get the page.")


def different_pages_do_not_wait(answer: ModuleType) -> None:
    """Three different pages are in flight together."""
    pages, fetch, _ = asyncio.run(_asked(answer, ["/p/1", "/p/2", "/p/3"]))
    need(
        fetch.peak == 3,
        f"Only {fetch.peak} of three different pages was in flight at a time. A lock around the fetch makes all pages "
        "wait for each other: what must be waited for is the same page only.",
    )
    need(pages == ["page of /p/1", "page of /p/2", "page of /p/3"], f"The three got {pages}.")


def a_known_page_is_not_fetched(answer: ModuleType) -> None:
    """A page that is there is not fetched again."""
    _, fetch, page = asyncio.run(_asked(answer, ["/p/1"]))
    need(page == "page of /p/1", f"The second time, get returned {page!r}.")
    need(len(fetch.started) == 1, "A page that had come was fetched once more.")


async def _asked(answer: ModuleType, links: list[str]) -> tuple[list[Any], Counted, Any]:
    """Ask for all links at once, then for the first one again; return what came, the fetch, and what came then."""

    async def slow(link: str) -> str:
        await turns(5)
        return f"page of {link}"

    fetch = Counted(slow)
    cache = answer.Cache(fetch)
    pages = await asyncio.gather(*(cache.get(link) for link in links))
    return pages, fetch, await cache.get(links[0])


def _interrupted(answer: ModuleType, step: int) -> tuple[list[Any], int | None, int]:
    """Stop a thread before a step of ``admit``, and let another one call it meanwhile.

    Returns what the two were told, the line (None: there are fewer steps), and the number of locks made by the calls.
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
