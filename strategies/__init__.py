"""What is compared: one file, one concurrency model; the file's name is the strategy's id.

To add a strategy, add a file. ``inflight.strategies.base`` says what it must offer; the conformance suite finds it by
itself (``pytest tests/conformance -k NAME``).
"""

import ast
import importlib
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from inflight.strategies.base import Strategy

_FOLDER = Path(__file__).parent
_NOT_STRATEGIES = frozenset({"__init__", "base"})
MODELS = "models"
"""The group of the strategies that are compared unless others are chosen: one for each model, and a client."""
PARTS = "parts"
"""The group of the parts of a page, which are measured beside the models."""
GROUPS = {
    MODELS: "one strategy for each concurrency model",
    "one thread": "other ways to wait in one thread",
    "threads": "other ways to use threads",
    "asyncio": "asyncio, step by step: what each layer costs",
    PARTS: "no models, but parts of a page: what the kernel and the shared core cost",
}
_CONSTANTS = ("STACK", "REQUIRES", "MOST_IN_FLIGHT", "THREADS_EACH", "GROUP", "LEAST_PYTHON", "SYSTEM", "VARIANT_OF")


class StrategyError(Exception):
    """A file in this folder that cannot be read as a strategy; the message says which, and what it lacks."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a strategy's file says of itself, read without importing it."""

    name: str
    model: str
    """The first line of its docstring."""
    stack: str
    requires: tuple[str, ...]
    most_in_flight: int | None
    """The most fetches that the model can ever keep in flight, whatever the cap; None: no limit of its own."""
    threads_each: int = 0
    """How many threads the model needs for each fetch in flight."""
    group: str = MODELS
    """With which others it is compared: a key of ``GROUPS``."""
    least_python: tuple[int, ...] = ()
    """The oldest version of Python that has what it uses; empty: each that the project supports."""
    system: str | None = None
    """The only value of ``sys.platform`` on which it runs; None: any."""
    variant_of: str | None = None
    """The strategy whose code it runs on something else, such as another event loop; None: it has code of its own."""

    @property
    def uninstalled(self) -> tuple[str, ...]:
        """The distributions that it needs and that are not installed."""
        return tuple(name for name in self.requires if not _is_installed(name))

    @property
    def lack(self) -> str:
        """Why it is unavailable, as in ``needs Python 3.12 or newer``; empty if it is available."""
        parts = []
        if sys.version_info[:2] < self.least_python:
            parts.append(f"Python {'.'.join(map(str, self.least_python))} or newer")
        if self.system is not None and sys.platform != self.system:
            parts.append(self.system)
        if absent := self.uninstalled:
            parts.append(f"{', '.join(absent)}, which {'is' if len(absent) == 1 else 'are'} not installed")
        return f"needs {' and '.join(parts)}" if parts else ""


def names(folder: Path = _FOLDER) -> list[str]:
    """Return the ids of all strategies, group by group, shared-stack models first, the simplest models first."""
    found = (path.stem for path in folder.glob("*.py") if path.stem not in _NOT_STRATEGIES)
    return sorted(found, key=lambda name: _place(describe(name, folder)))


def models() -> list[str]:
    """Return the ids of the strategies that are compared unless others are chosen."""
    return [name for name in names() if describe(name).group == MODELS]


def crawlers() -> list[str]:
    """Return the ids of the strategies that crawl any site: all but the parts of a page, which need an endless one."""
    return [name for name in names() if describe(name).group != PARTS]


def _place(described: Description) -> tuple[int, bool, int, str]:
    """Return what strategies are sorted by."""
    simplest = _ORDER.get(described.name, len(_ORDER))
    return list(GROUPS).index(described.group), described.stack != "shared", simplest, described.name


def describe(name: str, folder: Path = _FOLDER) -> Description:
    """Return what the file of strategy ``name`` says; ``folder`` is that of another copy of this package.

    Raises KeyError when there is no such file, StrategyError when it is no strategy.
    """
    path = folder / f"{name}.py"
    if name in _NOT_STRATEGIES or not path.is_file():
        raise KeyError(name)
    try:
        return _read(name, path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError, KeyError, TypeError, MemoryError, RecursionError) as error:
        lack = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise StrategyError(f"strategies/{name}.py is no strategy: {lack}; see strategies/base.py") from error


@cache  # by the text: a run asks for each of its strategies many times
def _read(name: str, text: str) -> Description:
    tree = ast.parse(text, f"{name}.py")
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id.isupper()
    }
    wanted = {key: ast.literal_eval(constants[key]) for key in _CONSTANTS if key in constants}
    return Description(
        name,
        (ast.get_docstring(tree) or name).splitlines()[0],
        wanted["STACK"],
        tuple(wanted["REQUIRES"]),
        wanted.get("MOST_IN_FLIGHT"),
        wanted.get("THREADS_EACH", 0),
        _group(wanted.get("GROUP", MODELS)),
        tuple(wanted.get("LEAST_PYTHON", ())),
        wanted.get("SYSTEM"),
        wanted.get("VARIANT_OF"),
    )


def _group(name: str) -> str:
    """Return a name of ``GROUPS``. Raises ValueError for another."""
    if name not in GROUPS:
        raise ValueError(f"GROUP is {name!r}, and must be one of {', '.join(map(repr, GROUPS))}")
    return name


def load(name: str) -> "Strategy":
    """Import strategy ``name``; nothing else of this package is imported with it but ``base`` and ``core``."""
    return cast("Strategy", importlib.import_module(f"inflight.strategies.{name}"))


_ORDER = {name: n for n, name in enumerate(("sequential", "thread_pool", "callbacks", "generators", "native_asyncio"))}


def _is_installed(distribution: str) -> bool:
    import importlib.metadata  # a third of the time in which a worker starts, and few workers need it

    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
