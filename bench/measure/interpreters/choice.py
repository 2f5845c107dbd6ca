"""The choice of an interpreter that a table asks for by its role, such as ``free-threaded`` or ``newest``.

The rule: interpreters that the user gives (``inflight claims --python``) come first, in their order. Then come those
found on this machine (``inflight list --interpreters``) and that of the harness, the newest first. Builds for debugging
and other implementations than CPython never take part.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from inflight.bench.measure import interpreters
from inflight.bench.measure.interpreters import Interpreter
from inflight.bench.plan.arm import FREE_THREADED, GENERATIONAL, INCREMENTAL, NEWEST, OLDEST, PAIRS, WITH_THE_LOCK
from inflight.bench.plan.grid import AT_LEAST
from inflight.bench.plan.judge import ExperimentError

Pair = tuple[Interpreter, Interpreter | None]
_RELEASE = re.compile(r"\d+\.\d+\.\d+")


def path_of(name: str | None, given: tuple[str, ...] = ()) -> str | None:
    """Return the path of an interpreter by its name in a table; None, also of none: that of the harness.

    ``given`` are the paths of those that the user gives. Raises ExperimentError when it is missing; the message says
    which one is needed.
    """
    if name is None:
        return None
    if name.startswith(AT_LEAST):
        return interpreters.at_least(name.removeprefix(AT_LEAST))
    if not any(name in pair for pair in PAIRS):
        return interpreters.ask(name).executable
    return with_role(name, given).executable


@cache
def with_role(role: str, given: tuple[str, ...]) -> Interpreter:
    """Return the interpreter of this machine with a role. Raises ExperimentError, see ``chosen``."""
    fitting = _fitting(map(interpreters.ask, given))
    return chosen(
        role, fitting, _fitting([*reversed(interpreters.on_this_machine()), interpreters.ask(sys.executable)])
    )


def chosen(role: str, given: Sequence[Interpreter], installed: Sequence[Interpreter]) -> Interpreter:
    """Return the interpreter with a role. Raises ExperimentError, which says what is needed, when there is none."""
    pair = next(pair for pair in PAIRS if role in pair)
    first, second = _CHOICES[pair](given, installed)
    python = (first, second)[pair.index(role)]
    if python is None:
        raise ExperimentError(
            f"needs a build with the lock of the same version, commit and compiler as {first.label}; "
            "give it with --python"
        )
    return python


def _fitting(some: Iterable[Interpreter]) -> list[Interpreter]:
    """Return the interpreters that take part, each once."""
    once: dict[str, Interpreter] = {}
    for python in some:
        once.setdefault(os.path.realpath(python.executable), python)
    return [python for python in once.values() if python.implementation == "cpython" and not python.debug]


def _lock(given: Sequence[Interpreter], installed: Sequence[Interpreter]) -> Pair:
    """Return the first free-threaded build that has a build with the lock beside it, else the first one."""
    candidates = [each for each in given if each.free_threaded] or [each for each in installed if each.free_threaded]
    if not candidates:
        raise ExperimentError("needs a free-threaded interpreter, such as python3.14t; give it with --python")
    twins = [
        (candidate, twin) for candidate in candidates for twin in (*given, *installed) if _is_twin(candidate, twin)
    ]
    return twins[0] if twins else (candidates[0], None)


def _is_twin(first: Interpreter, other: Interpreter) -> bool:
    """Tell whether two builds differ in the lock alone. Archives often say no commit; their version has to do."""
    alike = ("version", "build", "compiler", "optimised")
    return first.free_threaded != other.free_threaded and all(
        getattr(first, key) == getattr(other, key) for key in alike
    )


def _releases(given: Sequence[Interpreter], installed: Sequence[Interpreter]) -> Pair:
    """Return the releases of one origin that are farthest from each other; those given, if there are two."""
    releases, others = (
        [each for each in some if _RELEASE.fullmatch(each.version) and not each.free_threaded]
        for some in (given, installed)
    )
    spans = _spans(releases) or [span for span in _spans([*releases, *others]) if _origin(span[0]) == _origin(span[1])]
    if not spans:
        raise ExperimentError(
            "needs two releases of Python from one origin, such as 3.11 and 3.13 of pyenv; give them with --python"
        )
    return max(spans, key=lambda span: (_numbers(span[1])[1] - _numbers(span[0])[1], _numbers(span[1])))


def _spans(some: Sequence[Interpreter]) -> list[tuple[Interpreter, Interpreter]]:
    """Return the pairs of versions, the older one first."""
    return [(first, other) for first in some for other in some if first.numbers < other.numbers]


def _origin(python: Interpreter) -> tuple[Path, bool]:
    """Return the folder with the versions of pyenv, of uv or of the system, whose options are alike."""
    return Path(os.path.realpath(python.executable)).parents[2], python.optimised


def _numbers(python: Interpreter) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", python.version)[:3])


def _collectors(given: Sequence[Interpreter], installed: Sequence[Interpreter]) -> Pair:
    """Return the first interpreter with the incremental collector, and the one without it whose version is nearest."""
    some = [each for each in (*given, *installed) if not each.free_threaded]
    incremental = next((each for each in some if each.incremental_gc), None)
    if incremental is None:
        raise ExperimentError(
            "needs an interpreter with the incremental garbage collector (Python 3.14.0 to 3.14.4); "
            "give it with --python"
        )
    others = [each for each in some if not each.incremental_gc and each.optimised == incremental.optimised]
    if not others:
        raise ExperimentError(
            f"needs an interpreter without the incremental garbage collector, built with the options of "
            f"{incremental.label}; give it with --python"
        )
    return incremental, min(others, key=lambda each: _distance(each, incremental))


def _distance(python: Interpreter, other: Interpreter) -> tuple[int, ...]:
    return tuple(abs(a - b) for a, b in zip(_numbers(python), _numbers(other), strict=False))


_CHOICES: dict[tuple[str, str], Callable[[Sequence[Interpreter], Sequence[Interpreter]], Pair]] = {
    (FREE_THREADED, WITH_THE_LOCK): _lock,
    (OLDEST, NEWEST): _releases,
    (INCREMENTAL, GENERATIONAL): _collectors,
}
