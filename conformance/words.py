"""How the suite writes what went wrong: what was expected, what was observed, and an exception with its line.

A place is a line of the client's file, such as ``my_client.py:12``. Frames are (file, line, function), the innermost
first.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Any, NamedTuple

from inflight import strategies
from inflight.strategies.core.frontier import REDIRECTS
from inflight.strategies.core.page import Page

LIBRARY = str(Path(os.__file__).parent)
OURS = (str(Path(strategies.__file__).parent), str(Path(__file__).parent))
NOTHING = "nothing"
RULES_OF: dict[object, str] = {
    **dict.fromkeys(REDIRECTS, "redirects"),
    "redirect limit reached": "redirects",
    "timeout": "deadline",
    "too large": "size",
}
"""Expected outcome of a page -> the rule that is broken by any other one, in whatever test."""


class Frame(NamedTuple):
    """A line that runs, or that an exception went through."""

    file: str
    line: int
    function: str


class Difference(NamedTuple):
    """What differs first between two values."""

    path: str
    """Where; empty if the values are no mappings."""
    expected: Any
    observed: Any


def first_difference(observed: Any, expected: Any, path: str = "") -> Difference:
    """Return what differs first between two values that are not equal, within mappings and records of pages."""
    if isinstance(observed, Page) and isinstance(expected, Page):
        if outcome_of(observed) != outcome_of(expected):  # first, because other fields follow from it
            return Difference(path, outcome_of(expected), outcome_of(observed))
        name = next(name for name in asdict(expected) if getattr(observed, name) != getattr(expected, name))
        return Difference(f"{name} of {path}", getattr(expected, name), getattr(observed, name))
    if isinstance(observed, set) and isinstance(expected, set):
        return Difference(path, expected - observed or "no others", observed - expected or "without these")
    if not isinstance(observed, Mapping) or not isinstance(expected, Mapping):
        return Difference(path, expected, observed)
    for key in {**expected, **observed}:
        left, right = observed.get(key, NOTHING), expected.get(key, NOTHING)
        if left != right:
            return first_difference(left, right, path_of(str(key)))
    return Difference(path, expected, observed)


def outcome_of(page: Page) -> object:
    """Return the error of a page; its status if there is none."""
    return page.error or page.status


def path_of(url: str) -> str:
    """Return the path of a URL with its query; of anything else, itself."""
    return url[url.index("/", len("https://")) :] if "://" in url else url


def located(error: BaseException, group: BaseException | None = None) -> str:
    """Return an exception as one line: its class, the innermost one among its causes, and its place.

    A member of a group may have no place: it is then that of the group.
    """
    innermost = [*causes(error)][-1]
    name = class_name(error)
    if innermost is not error:
        name += f" from {class_name(innermost)}"
    trace = error.__traceback__
    if trace is None and group is not None:
        trace = group.__traceback__
    place = place_of(frames_of(walk_tb(trace))[::-1])
    return f"{name}: {innermost} ({place})" if place else f"{name}: {innermost}"


def class_name(error: BaseException) -> str:
    """Return the class of an exception, with its module unless it is a part of Python."""
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Iterate over an exception and what it was raised from, the exception first; a library may make circles."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def members(error: BaseException) -> list[BaseException]:
    """Return the exceptions that a group contains, and those of its groups; of any other exception, itself."""
    if isinstance(error, BaseExceptionGroup):
        return [member for each in error.exceptions for member in members(each)]
    return [error]


def frames_of(steps: Iterable[tuple[FrameType, int]]) -> list[Frame]:
    """Return the frames of ``traceback.walk_stack`` or ``walk_tb``, in the same order."""
    return [Frame(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in steps]


def place_of(frames: Iterable[Frame]) -> str:
    """Return the innermost line of the client's file; without one, that outside of the standard library."""
    outside = [frame for frame in frames if not frame.file.startswith((LIBRARY, "<"))]
    clients = [frame for frame in outside if not frame.file.startswith(OURS) and "site-packages" not in frame.file]
    for frame in (*clients, *outside):
        return f"{Path(frame.file).name}:{frame.line}"
    return ""


def is_blocked_loop(frames: list[Frame]) -> bool:
    """Return whether these are frames of an event loop of asyncio that is not waiting for its sockets and timers."""
    return any(frame.function == "_run_once" for frame in frames) and frames[0].function != "select"
