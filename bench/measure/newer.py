"""The interpreter for arms that need a newer Python than that of the harness may be."""

import shutil
import sys
from collections.abc import Callable
from functools import cache

from inflight.bench.core.judge import ExperimentError
from inflight.bench.measure.blocks.sides import interpreter

NEWEST = 20
"""The highest minor version that is looked for."""


@cache  # a run asks for each of its arms
def at_least(version: str) -> str | None:
    """Return an interpreter of a version such as 3.12 or newer: None if that of the harness is, else the newest found.

    Raises ExperimentError if there is none.
    """
    _, minor = map(int, version.split("."))
    return None if sys.version_info[:2] >= (3, minor) else newest(minor, shutil.which, interpreter)


def newest(minor: int, which: Callable[[str], str | None], check: Callable[[str], str | None]) -> str | None:
    """Return the path of the newest Python 3 on the PATH from a minor version on. Raises ExperimentError.

    ``check`` returns the path as the interpreter reports it, and raises ExperimentError if the program does not run:
    pyenv puts programs on the PATH that refuse.
    """
    for name in (f"python3.{number}" for number in range(NEWEST, minor - 1, -1)):
        if which(name) is not None:
            try:
                return check(name)
            except ExperimentError:
                continue
    raise ExperimentError(f"needs Python 3.{minor} or newer: no python3.{minor} or newer is on the PATH")
