"""Show what a traceback still contains in each model, with a planted error in the parser.

A program of a claim (``claims.programs`` says how it is run). One fetch is in flight at a time, so the failing fetch is
the one that was started last. The probe lists functions of the strategy's file, outermost first: those on the stack
when that fetch was started, and those in the traceback of the error as it leaves ``crawl``. A callback runs long after
its callers have returned, so their names are lost, and their state has to be kept on an object. A coroutine's callers
are still on the stack, with their local variables.
"""

import inspect
import re
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inflight.strategies.core.page import Fetch

_FILE_NAME = re.compile(r'File "(?:[^"]*[/\\])?([^"/\\]+)"')
"""Matches the path of a file in a traceback."""


def shared_stack_strategies() -> tuple[str, ...]:
    """Return the strategies that use the parser of the core, where the error is planted."""
    from inflight import strategies

    return tuple(name for name in strategies.models() if strategies.describe(name).stack == "shared")


ARGUMENTS: dict[str, tuple[Any, ...]] = {"strategy": shared_stack_strategies(), "at": (1,)}
"""The arguments of the program with their usual values."""
SITE = {"pages": 50, "links": 5}
"""The site that is crawled."""

PLANTED = "planted"
"""Message of the planted error."""


def measure(base: str, strategy: str, at: int) -> dict[str, Any]:
    """Crawl until the parser fails at its ``at``-th call; return the functions, and the whole traceback.

    ``holding`` are the functions in the traceback that have the fetch in a local variable. ``names_starter`` is whether
    one of them was on the stack when the fetch was started. ``lost`` are the functions that were on that stack and are
    not in the traceback.
    """
    from inflight import strategies
    from inflight.strategies.base import Job

    model = strategies.load(strategy)
    file = model.crawl.__code__.co_filename
    frontier_class, starts = watched_frontier(file)
    plant_error(at)
    job = Job((f"{base}/",), max_in_flight=1)
    try:
        model.crawl(job, frontier_class(job))
    except (RuntimeError, BaseExceptionGroup) as error:
        if leaf(error).args != (PLANTED,):
            raise
        return compare(*starts[-1], error, file)
    raise RuntimeError(f"the crawl ended before the parser was called {at} times")


def compare(fetch: "Fetch", started_by: list[str], error: BaseException, file: str) -> dict[str, Any]:
    """Compare the traceback with the stack from which the fetch was started."""
    named = [frame.f_code.co_name for frame in traced(error, file)]
    holding = [
        frame.f_code.co_name
        for frame in traced(leaf(error), file)
        if any(value is fetch for value in frame.f_locals.values())
    ]
    return {
        "started_by": started_by,
        "traceback": named,
        "holding": holding,
        "names_starter": not set(holding).isdisjoint(started_by),
        "lost": [name for name in started_by if name not in named],
        "text": printable(error),
    }


def watched_frontier(file: str) -> tuple[type[Any], list[tuple["Fetch", list[str]]]]:
    """Return a Frontier that records each started fetch, and the functions of ``file`` that started it."""
    from inflight.strategies.core.frontier import Frontier

    starts: list[tuple[Fetch, list[str]]] = []

    class RecordingFrontier(Frontier):
        """A frontier that records the stack at the start of each fetch."""

        def start(self, fetch: "Fetch") -> None:
            """Record which functions started the fetch, and start it."""
            frames = [frame for frame in callers() if frame.f_code.co_filename == file]
            starts.append((fetch, [frame.f_code.co_name for frame in reversed(frames)]))
            super().start(fetch)

    return RecordingFrontier, starts


def callers() -> Iterator[FrameType]:
    """Yield the frames on the stack, innermost first."""
    frame = inspect.currentframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def plant_error(at: int) -> None:
    """Make the ``at``-th call of the parser fail, as a bug would."""
    from inflight.strategies.core.http1 import ResponseParser

    patched: Any = ResponseParser
    real: Callable[[Any, bytes], Any] = patched.feed
    calls = iter(range(1, at))

    def feed(parser: Any, data: bytes) -> Any:
        """Parse, or fail at the call that was asked for."""
        if next(calls, None) is None:
            raise RuntimeError(PLANTED)
        return real(parser, data)

    patched.feed = feed


def leaf(error: BaseException) -> BaseException:
    """Return the error itself: of a group, its first member."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def traced(error: BaseException, file: str) -> list[FrameType]:
    """Return the frames of ``file`` in the traceback, outermost first: of a group, also those of its first member."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return frames + traced(error.exceptions[0], file) if isinstance(error, BaseExceptionGroup) else frames


def printable(error: BaseException) -> str:
    """Return the traceback as Python prints it, files without their folders."""
    text = "".join(traceback.format_exception(error))
    return _FILE_NAME.sub(r'File "\1"', text)
