"""Strategies from other places: a file, a module, or a name that an installed distribution offers.

``add`` registers a file (``./my_client.py``) or a module (``mypkg.bench:strategy``) under a name. The registry is an
environment variable, so that all processes that this one starts know the same names. Distributions offer strategies
as entry points of the group ``inflight.strategies``.
"""

import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

VARIABLE = "INFLIGHT_STRATEGIES"
"""Environment variable with the registered strategies, as JSON: each name with its target and its folders."""
ENTRY_POINTS = "inflight.strategies"
_ROOT_FILES = (".git", "pyproject.toml")
"""Files that mark the root of a project."""


class StrategyError(Exception):
    """A file or a reference that is no strategy; the message says which, and what it lacks."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the code of a strategy is."""

    target: str
    """The absolute path of a file, or ``module`` or ``module:attribute``.

    The attribute is a function like ``crawl``, or an object that has one.
    """
    folders: tuple[str, ...] = ()
    """Folders that are searched first for what it imports."""

    @property
    def is_file(self) -> bool:
        """Whether the target is the path of a file."""
        return self.target.startswith("/")

    @property
    def attribute(self) -> str:
        """The attribute of the module that is the strategy; empty if the module itself is."""
        return "" if self.is_file else self.target.partition(":")[2]

    def file(self) -> Path:
        """Return the file with the code. Raises StrategyError when no such module is found."""
        if self.is_file:
            return Path(self.target)
        module = self.target.partition(":")[0]
        found = _find(module, self.folders)
        if found is None:
            raise StrategyError(f"there is no module {module}, neither in {Path.cwd()} nor among what is installed")
        return found[0]

    def _without_crawl(self, found: Any) -> str:
        """Say why what was found is no strategy, and how one is given."""
        if not self.attribute:
            how = "" if self.is_file else f"; if the strategy has a name in it, give {self.target}:NAME"
            return f"{self.target} has no function crawl{how} (docs/your-client.md)"
        module, _, name = self.target.partition(":")
        if found is None:
            return f"{module} has no {name}; {module}:NAME names a function or an object that has a function crawl"
        return f"{self.target} is no function and has no function crawl (docs/your-client.md)"

    def load(self) -> Any:
        """Import the code and return the strategy. Raises StrategyError when it has no function ``crawl``.

        ``FILES`` of the strategy maps the name of its file to a checksum, so that rows tell which text was measured.
        """
        sys.path[:0] = [folder for folder in self.folders if folder not in sys.path]
        module = _imported_file(self.target) if self.is_file else importlib.import_module(self.target.partition(":")[0])
        if not self.attribute:
            found, crawl = module, getattr(module, "crawl", None)
        else:
            found = getattr(module, self.attribute, None)
            crawl = getattr(found, "crawl", found)
        if not callable(crawl):
            raise StrategyError(self._without_crawl(found))
        constants = {name: getattr(found, name, getattr(module, name, ())) for name in ("STACK", "REQUIRES")}
        return SimpleNamespace(crawl=crawl, FILES=self.checksums(), **constants)

    def checksums(self) -> dict[str, str]:
        """Return the name of its file with a checksum of the text. Raises StrategyError when it cannot be read."""
        file = self.file()
        with readable(file):
            return {file.name: f"crc32 {crc32(file.read_bytes()):08x}"}


@contextmanager
def readable(what: object) -> Iterator[None]:
    """Raise StrategyError with one sentence when a file or folder cannot be read in the block."""
    try:
        yield
    except OSError as error:
        raise StrategyError(f"cannot read {what}: {error.strerror or error}") from error


def is_reference(text: str) -> bool:
    """Return whether a text refers to a file or a module. The names of strategies have no slash, dot or colon."""
    return any(mark in text for mark in "/.:")


def add(reference: str, base: Path | None = None, taken: tuple[str, ...] = ()) -> str:
    """Register a file or a module, and return the name of the strategy; return the text itself if it is a name.

    Relative paths start at ``base``, by default the current folder. The name of a file is its stem; where that is
    ``taken``, or registered for another file, the name of its folder stands before it. Raises StrategyError when there
    is no such file or module, or it cannot be read.
    """
    known = registered()
    if not is_reference(reference) or reference in known or reference in offered():
        return reference
    with readable(reference):
        source = _source(reference, base or Path.cwd())
        source.file()
    for name, other in known.items():
        if other == source:
            return name
    name = _free_name(source, {*taken, *known})
    register({**known, name: source})
    return name


def registered() -> dict[str, Source]:
    """Return the registered strategies by name. Raises StrategyError when the environment variable is damaged."""
    text = os.environ.get(VARIABLE)
    try:
        found = json.loads(text) if text else {}
        return {name: Source(target, tuple(folders)) for name, (target, *folders) in found.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise StrategyError(f"{VARIABLE} in the environment is damaged ({error}); unset it") from error


def register(sources: Mapping[str, Source]) -> None:
    """Replace the registry of this process and of those that it starts."""
    os.environ[VARIABLE] = encoded(sources)


def encoded(sources: Mapping[str, Source]) -> str:
    """Return the value of the environment variable."""
    return json.dumps({name: [source.target, *source.folders] for name, source in sources.items()})


@cache
def offered() -> dict[str, Source]:
    """Return the strategies that installed distributions offer, by name."""
    from importlib.metadata import entry_points

    return {point.name: Source(point.value.replace(" ", "")) for point in entry_points(group=ENTRY_POINTS)}


def source_of(name: str) -> Source | None:
    """Return where the code of a strategy from another place is; None for an unknown name."""
    return registered().get(name) or offered().get(name)


def reference(name: str, base: Path) -> str:
    """Return a text from which ``add`` makes the same name; a path is relative to ``base``, so that it can be moved."""
    source = registered().get(name)
    if source is None:
        return name
    return os.path.relpath(source.target, base) if source.is_file else source.target


def project_folders(folder: Path) -> tuple[str, ...]:
    """Return a folder, and the root of its project with its folder ``src``, as far as they exist."""
    found = [folder]
    for parent in (folder, *folder.parents):
        if any((parent / name).exists() for name in _ROOT_FILES):
            found += [one for one in (parent, parent / "src") if one.is_dir()]
            break
    return tuple(dict.fromkeys(map(str, found)))


def _source(reference: str, base: Path) -> Source:
    if "/" in reference or reference.endswith(".py"):
        path = Path(os.path.abspath(base / Path(reference).expanduser()))  # noqa: PTH100  (a link keeps its name)
        if not path.is_file():
            raise StrategyError(f"there is no file {reference}{_how_to_name(path)}")
        return Source(str(path), project_folders(path.parent))
    module = reference.partition(":")[0]
    # Workers do not get PYTHONPATH, but the folder where the module is.
    given = [os.path.abspath(part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]  # noqa: PTH100
    found = _find(module, (*project_folders(base), *project_folders(Path.cwd()), *given))
    return Source(reference, () if found is None or found[1] is None else (found[1],))


def _how_to_name(path: Path) -> str:
    """Say how a function of an existing file is given, if the path of the file has a colon and a name behind it."""
    file, colon, name = path.name.rpartition(":")
    if not colon or not path.with_name(file).is_file():
        return ""
    return f"; {file} exists: give the file alone, with a function crawl, or a module: mypkg.{Path(file).stem}:{name}"


def _find(module: str, folders: tuple[str, ...]) -> tuple[Path, str | None] | None:
    """Return the file of a module, and the folder of ``folders`` where it is; None: it is elsewhere.

    Nothing is imported if its top-level package is below a folder of ``folders`` or of ``sys.path``. Where it is not,
    as in some editable installations, the import system finds it, which imports its parents.
    """
    is_here = False
    for folder in (*folders, *sys.path):
        start = Path(folder).joinpath(*module.split("."))
        for path in (start / "__init__.py", start.with_name(f"{start.name}.py")):
            if os.path.isfile(path):  # noqa: PTH113  (not Path.is_file, which fails in a folder that cannot be read)
                return path, folder if folder in folders else None
        is_here = is_here or os.path.isfile(Path(folder, module.partition(".")[0], "__init__.py"))  # noqa: PTH113
    if is_here:
        return None
    from importlib.util import find_spec

    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    return (Path(spec.origin), None) if spec is not None and spec.has_location and spec.origin else None


def _free_name(source: Source, taken: set[str]) -> str:
    path = Path(source.target)
    names = [path.stem, f"{path.parent.name}-{path.stem}", str(path)] if source.is_file else [source.target]
    return next(name for name in names if name not in taken)


def _imported_file(path: str) -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"inflight_strategy_{Path(path).stem}"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
