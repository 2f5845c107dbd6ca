"""Checks of exercise 1. The fetch is a fake that answers after a few turns of the loop."""

import asyncio
import inspect
from types import ModuleType

from lab import Counted, need, turns

ANSWERS = {"/user/ada": 7, "/orders/7": "three orders", "/friends/7": "two friends"}


def answer_is_right(answer: ModuleType) -> None:
    """The page has the user, the orders and the friends, in this order."""
    page, fetch, _ = _page(answer)
    need(isinstance(page, tuple | list), f"user_page returned {page!r}. It should return three answers.")
    for name, part in zip(("user", "orders", "friends"), page, strict=False):
        need(
            not inspect.isawaitable(part),
            f"For the {name}, user_page returned a {type(part).__name__} and not an answer. Await it, or use the "
            "result() of a task that has ended.",
        )
    need(tuple(page) == tuple(ANSWERS.values()), f"user_page returned {page!r}, not {tuple(ANSWERS.values())!r}.")
    need(len(fetch.started) == 3, f"Three answers are needed, and {len(fetch.started)} were fetched: {fetch.started}.")


def orders_and_friends_are_in_flight_together(answer: ModuleType) -> None:
    """The orders and the friends are in flight together."""
    _, fetch, in_tasks = _page(answer)
    need(
        fetch.peak == 2,
        "Never more than one fetch was in flight: the friends were requested after the orders had arrived. "
        "`await` stops this function until the answer is there. "
        + ("This is also true for a task that is made in the same line. " if in_tasks else "")
        + "Start both fetches, then wait for them.",
    )


def _page(answer: ModuleType) -> tuple[object, Counted, bool]:
    """Return the page, the fetch, and whether a fetch ran in a task of its own."""
    tasks = set()

    async def slow(path: str) -> object:
        tasks.add(asyncio.current_task())
        need(path in ANSWERS, f"fetch was called with {path!r}. The paths are {', '.join(ANSWERS)}.")
        await turns(5)
        return ANSWERS[path]

    async def main() -> tuple[object, Counted, bool]:
        fetch = Counted(slow)
        page = await answer.user_page("ada", fetch)
        return page, fetch, tasks != {asyncio.current_task()}

    return asyncio.run(main())
