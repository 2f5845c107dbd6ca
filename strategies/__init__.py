"""What is compared: one file, one concurrency model; the file's name is the strategy's id.

To add a strategy, add a file. ``inflight.strategies.base`` says what it must offer; the conformance suite finds it by
itself, and ``inflight check NAME`` runs it for one. Strategies may also come from other places: see ``registry``.
"""

import ast
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inflight.strategies import registry
from inflight.strategies.registry import StrategyError, reference

if TYPE_CHECKING:
    from inflight.strategies.base import Strategy

__all__ = [
    "ALIASES", "ELSEWHERE", "GROUPS", "MODELS", "NOT_STRATEGIES", "PARTS", "Description", "StrategyError",
    "add", "canonical", "crawlers", "describe", "load", "models", "names", "reference",
]  # fmt: skip

_FOLDER = Path(__file__).parent
NOT_STRATEGIES = frozenset({"__init__", "base", "client", "registry"})
"""The modules of this folder that are no strategies."""
MODELS = "models"
"""The group of the strategies that are compared unless others are chosen: one for each model, and a client."""
ELSEWHERE = "elsewhere"
"""The group of the strategies from other places."""
PARTS = "parts"
"""The group of the parts of a page, which are measured beside the models."""
GROUPS = {
    MODELS: "one strategy for each concurrency model",
    "one thread": "other ways to wait in one thread",
    "threads": "other ways to use threads",
    "asyncio": "asyncio, step by step: what each layer costs",
    "clients": "HTTP clients, each with a stack of its own",
    "cores": "models that use more than one core",
    PARTS: "parts of a page, for comparison: what the kernel and the shared core cost",
    ELSEWHERE: "strategies from files, modules and installed packages",
}
ALIASES = {
    "threads": "thread_pool",
    "asyncio": "native_asyncio",
    "processes": "process_pool",
    "interpreters": "interpreter_pool",
    "aiohttp": "aiohttp_client",
    "gevent": "gevent_greenlets",
    "httpx": "httpx_client",
    "httpx2": "httpx2_client",
    "niquests": "niquests_client",
    "pycurl": "pycurl_multi",
    "requests": "requests_threads",
    "trio": "trio_tasks",
    "urllib3": "urllib3_threads",
    "uvloop": "uvloop_streams",
}
"""What people call a strategy, and its name. Rows, outputs and the API have the name."""
TLS_BYTES_EACH = 100_000
"""Memory that a connection over TLS takes of a strategy that names no other: a thread with an SSLSocket needs 90 kB."""
_MOST_TEXT = 60
"""Maximum number of characters of a value in a message."""
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def _are_distributions(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(
        isinstance(one, str) and _DISTRIBUTION.fullmatch(one) for one in value
    )


def _are_whole(values: Sequence[Any], least: int) -> bool:
    return all(type(value) is int and value >= least for value in values)


def _is_text_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and bool(value))


_CONSTANTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "STACK": (lambda value: value in ("shared", "own", "none"), "'shared' or 'own'"),
    "REQUIRES": (_are_distributions, "a tuple of names of distributions, such as ('aiohttp',)"),
    "CONFLICTS": (_are_distributions, "a tuple of names of distributions, such as ('aiohttp',)"),
    "MOST_IN_FLIGHT": (lambda value: value is None or _are_whole([value], 1), "a whole number of at least 1"),
    "THREADS_EACH": (lambda value: _are_whole([value], 0), "a whole number of at least 0"),
    "GROUP": (lambda value: value in tuple(GROUPS), f"one of {', '.join(map(repr, GROUPS))}"),
    "LEAST_PYTHON": (
        lambda value: isinstance(value, tuple | list) and _are_whole(value, 0),
        "a version of Python, such as (3, 12)",
    ),
    "SYSTEM": (_is_text_or_none, "a value of sys.platform, such as 'linux'"),
    "VARIANT_OF": (_is_text_or_none, "the name of a strategy"),
    "TLS_BYTES_EACH": (lambda value: _are_whole([value], 1), "a whole number of at least 1"),
    "NO_TLS": (_is_text_or_none, "the reason in a clause, such as 'its sockets cannot encrypt'"),
}
"""For each constant a test of its value, and what it must be. ``base`` says what they mean."""


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
    conflicts: tuple[str, ...] = ()
    """The distributions that must not be installed, because they would be measured in place of what it requires."""
    tls_bytes_each: int = TLS_BYTES_EACH
    """Memory that it needs for each connection over TLS, at most."""
    no_tls: str | None = None
    """Why it cannot crawl https; None: it can."""

    @property
    def tls_lack(self) -> str:
        """Why it cannot crawl https, as in ``cannot crawl https: its sockets cannot encrypt``; empty if it can."""
        return f"cannot crawl https: {self.no_tls}" if self.no_tls else ""

    @property
    def uninstalled(self) -> tuple[str, ...]:
        """The distributions that it needs and that are not installed."""
        return tuple(name for name in self.requires if not _is_installed(name))

    @property
    def lack(self) -> str:
        """Why it is unavailable, as in ``needs Python 3.12 or newer``; empty if it is available."""
        return self.lack_on(sys.version_info[:2], self.uninstalled)

    def lack_on(self, python: tuple[int, ...], absent: tuple[str, ...] = ()) -> str:
        """Return why it is unavailable on a version of Python without some of the distributions that it needs."""
        parts = []
        if python < self.least_python:
            parts.append(f"Python {'.'.join(map(str, self.least_python))} or newer")
        if self.system is not None and sys.platform != self.system:
            parts.append(self.system)
        if absent:
            parts.append(f"{', '.join(absent)}, which {'is' if len(absent) == 1 else 'are'} not installed")
        if shadows := tuple(name for name in self.conflicts if _is_installed(name)):
            parts.append(f"an environment without {', '.join(shadows)}, which replaces {', '.join(self.requires)}")
        return f"needs {' and '.join(parts)}" if parts else ""


def names(folder: Path = _FOLDER) -> list[str]:
    """Return the ids of all strategies, group by group, shared-stack models first, the simplest models first.

    ``folder`` is that of another copy of this package; without it, strategies from other places are last.
    """
    found = [path.stem for path in folder.glob("*.py") if path.stem not in NOT_STRATEGIES]
    ordered = sorted(found, key=lambda name: _place(describe(name, folder)))
    elsewhere = {**registry.offered(), **registry.registered()} if folder == _FOLDER else {}
    return ordered + [name for name in elsewhere if name not in ordered]


def models() -> list[str]:
    """Return the ids of the strategies that are compared unless others are chosen."""
    ours = (path.stem for path in _FOLDER.glob("*.py") if path.stem not in NOT_STRATEGIES)
    chosen = [described for name in ours if (described := describe(name)).group == MODELS]
    return [described.name for described in sorted(chosen, key=_place)]


def add(text: str, base: Path | None = None) -> str:
    """Return the name of a strategy that is given by its name or by a reference, such as ``./my_client.py``.

    What a reference names is registered; see ``registry.add``. Raises StrategyError when it is no strategy.
    """
    if not registry.is_reference(text):
        return registry.add(canonical(text), base)
    name = registry.add(text, base, tuple(path.stem for path in _FOLDER.glob("*.py") if is_ours(path.stem)))
    describe(name)
    return name


def canonical(name: str) -> str:
    """Return the name of a strategy that is given by name or alias. One from elsewhere has priority over an alias."""
    return name if registry.source_of(name) else ALIASES.get(name, name)


def crawlers() -> list[str]:
    """Return the ids of the strategies that crawl any site: all but the parts of a page, which need an endless one."""
    return [name for name in names() if describe(name).group != PARTS]


def is_ours(name: str) -> bool:
    """Return whether a strategy is a file of this folder."""
    return name not in NOT_STRATEGIES and not registry.is_reference(name) and (_FOLDER / f"{name}.py").is_file()


def _place(described: Description) -> tuple[int, bool, int, str]:
    """Return what strategies are sorted by."""
    simplest = _ORDER.get(described.name, len(_ORDER))
    return list(GROUPS).index(described.group), described.stack != "shared", simplest, described.name


def describe(name: str, folder: Path = _FOLDER) -> Description:
    """Return what the file of strategy ``name`` says; ``folder`` is that of another copy of this package.

    Raises KeyError when there is no such file, StrategyError when it is no strategy.
    """
    path = folder / f"{name}.py"
    if name not in NOT_STRATEGIES and not registry.is_reference(name) and path.is_file():
        return _described(name, path, "", f"strategies/{name}.py")
    source = registry.source_of(name)
    if source is None:
        raise KeyError(name)
    return described(name, source)


def described(name: str, source: registry.Source) -> Description:
    """Return what the file of a strategy from another place says. Raises StrategyError when it is no strategy."""
    return replace(_described(name, source.file(), source.attribute, source.target), group=ELSEWHERE)


def _described(name: str, path: Path, attribute: str, where: str) -> Description:
    try:
        with registry.readable(path):
            text = path.read_text(encoding="utf-8")
        return _read(name, text, attribute)
    except (SyntaxError, ValueError, KeyError, TypeError, MemoryError, RecursionError) as error:
        lack = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise StrategyError(f"{where} is no strategy: {lack}; see strategies/base.py") from error


@cache  # by the text: a run asks for each of its strategies many times
def _read(name: str, text: str, attribute: str) -> Description:
    tree = ast.parse(text, f"{name}.py")
    constants = _constants(tree.body)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == attribute:
            constants |= _constants(node.body)
        if isinstance(node, ast.AsyncFunctionDef) and node.name == (attribute or "crawl"):
            raise ValueError(f"{node.name} must be a plain function, which runs its event loop itself, not async def")
    wanted = {key: _literal(key, constants[key]) for key in _CONSTANTS if key in constants}
    return Description(
        name,
        (ast.get_docstring(tree) or name).splitlines()[0],
        wanted["STACK"],
        tuple(wanted["REQUIRES"]),
        wanted.get("MOST_IN_FLIGHT"),
        wanted.get("THREADS_EACH", 0),
        wanted.get("GROUP", MODELS),
        tuple(wanted.get("LEAST_PYTHON", ())),
        wanted.get("SYSTEM"),
        wanted.get("VARIANT_OF"),
        tuple(wanted.get("CONFLICTS", ())),
        wanted.get("TLS_BYTES_EACH", TLS_BYTES_EACH),
        wanted.get("NO_TLS"),
    )


def _constants(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """Return the values of the constants that a module or a class assigns."""
    return {
        target.id: node.value
        for node in body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id.isupper()
    }


def _literal(name: str, node: ast.expr) -> Any:
    """Return the value of a constant. Raises ValueError when it is no literal, or not what it must be."""
    holds, what = _CONSTANTS[name]
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        what += ", written as a literal"
    else:
        if holds(value):
            return value
    raise ValueError(f"{name} is {ast.unparse(node)[:_MOST_TEXT]}, and must be {what}")


def load(name: str) -> "Strategy":
    """Import strategy ``name``; nothing else of this package is imported with it but ``base`` and ``core``."""
    source = None if is_ours(name) else registry.source_of(name)
    found = importlib.import_module(f"inflight.strategies.{name}") if source is None else source.load()
    return cast("Strategy", found)


_ORDER = {name: n for n, name in enumerate(("sequential", "thread_pool", "callbacks", "generators", "native_asyncio"))}


def _is_installed(distribution: str) -> bool:
    import importlib.metadata  # a third of the time in which a worker starts, and few workers need it

    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
