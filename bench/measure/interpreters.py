"""Interpreters: those on this machine, what each of them is, and environments with the libraries that an arm needs.

``measure.run`` finds by ``path_of`` the interpreter that a table names, by a path, a version or a role, such as
``free-threaded`` or ``newest`` (``plan.trial.PAIRS``). For a role, interpreters that the user gives
(``inflight claims --python``) come first, in their order. Then come those found on this machine
(``inflight list --interpreters``) and that of the harness, the newest first. Builds for debugging and other
implementations than CPython never take part. ``ask`` starts an interpreter to learn what it is.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from inflight.bench.measure.process import Runtime, environment, finish
from inflight.bench.plan.judge import AT_LEAST, ExperimentError
from inflight.bench.plan.trial import FREE_THREADED, GENERATIONAL, INCREMENTAL, NEWEST, OLDEST, PAIRS, WITH_THE_LOCK

MIN_PYTHON = (3, 11)
"""The oldest version that can run a worker."""
INSTALL_SECONDS = 600
"""Maximum time of a step that makes an environment."""
ANSWER_SECONDS = 60
"""Maximum time in which an interpreter says what it is."""
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
"""Matches the version of a release, and not of a preview."""
_VERSION = re.compile(r"(?:python)?(\d+\.\d+[td]*)")
"""Matches a version by which an interpreter is looked for, such as 3.14t."""
_ASK = """
import gc, json, platform, sys, sysconfig
variable = sysconfig.get_config_var
print(json.dumps({
    "executable": sys.executable,
    "version": sys.version.split()[0],
    "implementation": sys.implementation.name,
    "build": sys._git[2][:11] if getattr(sys, "_git", None) and sys._git[2] else "",
    "compiler": platform.python_compiler(),
    "optimised": "--enable-optimizations" in (variable("CONFIG_ARGS") or ""),
    "debug": bool(variable("Py_DEBUG")),
    "free_threaded": bool(variable("Py_GIL_DISABLED")),
    "incremental_gc": not variable("Py_GIL_DISABLED") and gc.get_threshold()[2] == 0,
    "allocator": "mimalloc" if variable("Py_GIL_DISABLED") else "pymalloc" if variable("WITH_PYMALLOC") else "malloc",
}))
"""
"""The program with which an interpreter says what it is (``Interpreter``).

Free-threaded builds use mimalloc for all objects: docs.python.org, "Python support for free threading".

The incremental garbage collector has no third threshold: docs.python.org 3.14, gc.get_threshold(). Free-threaded builds
show none either, and have another collector.
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """What an interpreter says of itself."""

    executable: str
    """Its path."""
    version: str
    """Such as 3.13.0."""
    implementation: str
    """Such as cpython."""
    build: str
    """Commit of its source; empty if unknown."""
    compiler: str
    optimised: bool
    """Whether it was built with profile-guided optimisation."""
    debug: bool
    free_threaded: bool
    """Whether it was built without the global interpreter lock; an extension can turn the lock on again."""
    allocator: str
    """Default allocator of objects."""
    incremental_gc: bool = False
    """Whether its garbage collector is incremental, as in Python 3.14.0 to 3.14.4."""

    @property
    def numbers(self) -> tuple[int, int]:
        """The two numbers of the version, such as (3, 13)."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    @property
    def label(self) -> str:
        """A short name: the version, with ``t`` for a free-threaded build and ``d`` for a debug build."""
        kind = "" if self.implementation == "cpython" else f"{self.implementation}-"
        return f"{kind}{self.version.rstrip('+')}{'t' * self.free_threaded}{'d' * self.debug}"

    def to_dict(self) -> dict[str, Any]:
        """Return the values for ``machine.json``, and whether asyncio has eager tasks (new in Python 3.12)."""
        return asdict(self) | {"eager_tasks": self.numbers >= (3, 12)}


Pair = tuple[Interpreter, Interpreter | None]
"""The interpreters of the two roles of a pair; None: there is none beside the first."""


@cache
def ask(name: str, option: str = "--python") -> Interpreter:
    """Return what an interpreter, given by a path or by a name on the PATH, says of itself.

    A version (3.13, 3.14t) or a name (python3.13) is looked for on the PATH, then with pyenv and with uv. Raises
    ExperimentError when it is missing, does not run, or is too old. A name may be a script that starts the interpreter
    (pyenv); the executable is the real one.
    """
    if not name.strip():
        raise ExperimentError(f"{option} is empty; give the path, the name or the version of an interpreter")
    version = _VERSION.fullmatch(name)
    command = f"python{version[1]}" if version else name
    program = shutil.which(os.path.expanduser(command))  # noqa: PTH111  (which takes a text)
    failure: ExperimentError | None = None
    elsewhere = [str(path) for path in _candidates() if path.name == command] if version else []
    for path in dict.fromkeys([*([program] if program else []), *elsewhere]):
        try:
            return _asked(path, option)
        except ExperimentError as error:
            failure = failure or error
    raise failure or ExperimentError(f"{option}: there is no program {command}")


def _asked(program: str, option: str) -> Interpreter:
    """Return what a program, given by its path, says of itself. Raises ExperimentError."""
    try:
        code, answer, errors = _finished([program, "-c", _ASK], ANSWER_SECONDS, stderr=subprocess.PIPE)
        values = json.loads(answer) if code == 0 and answer else {}
    except subprocess.TimeoutExpired:
        raise ExperimentError(f"{option}: {program} is no Python: no answer within {ANSWER_SECONDS} s") from None
    except (OSError, ValueError) as error:
        raise ExperimentError(f"{option}: {program} does not run as a Python interpreter: {error}") from error
    try:
        executable = str(values.pop("executable"))
        # A resolved path would leave a virtual environment.
        path = executable if Path(executable).is_file() else os.path.abspath(program)  # noqa: PTH100
        interpreter = Interpreter(path, **values)
        numbers = interpreter.numbers
    except (AttributeError, KeyError, TypeError, ValueError):  # it said something else
        why = f" ({errors.strip().splitlines()[0]})" if errors.strip() else ""
        raise ExperimentError(f"{option}: {program} is no Python{why}; Python 3.11 or newer is needed") from None
    if numbers < MIN_PYTHON:
        raise ExperimentError(f"{option}: {program} is {interpreter.version}; Python 3.11 or newer is needed")
    return interpreter


def free_threaded(name: str) -> str:
    """Return the path of a free-threaded interpreter. Raises ExperimentError when it was built with a global lock."""
    interpreter = ask(name, "--free-threaded")
    if not interpreter.free_threaded:
        raise ExperimentError(f"--free-threaded: {name} was built with a global interpreter lock")
    return interpreter.executable


def labelled(names: Sequence[str]) -> dict[str, str]:
    """Return the given interpreters by their labels, which differ. Raises ExperimentError, see ``ask``."""
    labels: dict[str, str] = {}
    for name in names:
        label = name_of_version = ask(name).label
        number = 1
        while label in labels:
            number += 1
            label = f"{name_of_version} ({number})"
        labels[label] = name
    return labels


@cache
def at_least(version: str) -> str | None:
    """Return an interpreter of a version such as 3.12 or newer: None if that of the harness is, else the newest found.

    Free-threaded and debug builds are left out. Raises ExperimentError if there is none.
    """
    major, minor = map(int, version.split("."))
    if sys.version_info[:2] >= (major, minor):
        return None
    able = [candidate for candidate in on_this_machine() if not candidate.free_threaded and not candidate.debug]
    if not able or able[-1].numbers < (major, minor):
        raise ExperimentError(f"needs Python {version} or newer, and none is found on this machine")
    return able[-1].executable


def on_this_machine() -> list[Interpreter]:
    """Return the interpreters that are found on the PATH, with pyenv and with uv; the oldest first."""
    by_path: dict[str, Interpreter] = {}
    for path in _candidates():
        try:
            python = ask(str(path))
        except ExperimentError:  # too old, or a script that starts none
            continue
        by_path.setdefault(os.path.realpath(python.executable), python)
    return sorted(
        by_path.values(), key=lambda python: (python.numbers, python.version, python.free_threaded, python.executable)
    )


def _candidates() -> Iterator[Path]:
    """Yield the paths of what may be an interpreter: on the PATH, of pyenv, and of uv."""
    folders = [Path(part) for part in os.environ.get("PATH", "").split(os.pathsep) if part]
    folders += sorted((Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions").glob("*/bin"))
    of_uv = Path(os.environ.get("XDG_DATA_HOME", "~/.local/share")).expanduser() / "uv" / "python"
    folders += sorted(of_uv.glob("*/bin"))
    for folder in folders:
        yield from sorted(
            path for path in folder.glob("python3.*") if path.name[len("python3.") :].rstrip("td").isdigit()
        )


def wanted_knobs(strategy: str, runtime: Runtime, cpus: Collection[int] | None) -> dict[str, Any]:
    """Return the settings that the worker of a strategy on this runtime must report; ``cpus`` are its cores, if pinned.

    A free-threaded build must have its lock off, unless PYTHON_GIL turns it on: an extension that does not declare that
    it works without the lock turns it on as well.
    """
    wanted: dict[str, Any] = {"strategy": strategy}
    if runtime.variables:
        wanted["variables"] = dict(runtime.variables)
    if cpus is not None:
        wanted["cpus"] = sorted(cpus)
    if runtime.python is not None:
        wanted["executable"] = runtime.python
        wanted["gil"] = not ask(runtime.python).free_threaded or runtime.variables.get("PYTHON_GIL") == "1"
    return wanted


# Choice by a role


def path_of(name: str | None, given: tuple[str, ...] = ()) -> str | None:
    """Return the path of an interpreter by its name in a table; None, also of none: that of the harness.

    ``given`` are the paths of those that the user gives. Raises ExperimentError when it is missing; the message says
    which one is needed.
    """
    if name is None:
        return None
    if name.startswith(AT_LEAST):
        return at_least(name.removeprefix(AT_LEAST))
    if not any(name in pair for pair in PAIRS):
        return ask(name).executable
    return with_role(name, given).executable


@cache
def with_role(role: str, given: tuple[str, ...]) -> Interpreter:
    """Return the interpreter of this machine with a role. Raises ExperimentError, see ``chosen``."""
    fitting = _fitting(map(ask, given))
    return chosen(role, fitting, _fitting([*reversed(on_this_machine()), ask(sys.executable)]))


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
    """Return the version as up to three numbers."""
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
    """Return how far two versions are apart, in the order in which it counts."""
    return tuple(abs(a - b) for a, b in zip(_numbers(python), _numbers(other), strict=False))


_CHOICES: dict[tuple[str, str], Callable[[Sequence[Interpreter], Sequence[Interpreter]], Pair]] = {
    (FREE_THREADED, WITH_THE_LOCK): _lock,
    (OLDEST, NEWEST): _releases,
    (INCREMENTAL, GENERATIONAL): _collectors,
}
"""What finds the two interpreters of each pair."""


# Environments


def environment_for(python: str, requires: Iterable[str]) -> str:
    """Return the interpreter of an environment with these distributions, in the versions of the harness.

    The environment is made once and kept in the user's cache. Raises ExperimentError when it cannot be made.
    """
    wanted = sorted(map(_pinned, requires))
    interpreter = ask(python)
    key = hashlib.sha256(json.dumps([wanted, interpreter.to_dict()]).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = cache / "inflight" / "environments" / f"{interpreter.label}-{key}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            what = f"{', '.join(wanted)} for {interpreter.label}"
            new_environment(python, wanted, Path(made) / "environment", what, into=folder)
            (Path(made) / "environment").rename(folder)
    return str(folder / "bin" / "python")


def _pinned(name: str) -> str:
    """Return a distribution in the version of the harness, if the harness has it."""
    try:
        return f"{name}=={metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return name


def new_environment(python: str, wanted: Sequence[str], folder: Path, what: str, *, into: Path | None = None) -> str:
    """Make an environment with requirements, and return its interpreter. Raises ExperimentError; ``what`` begins it.

    Before anything comes from the network, a line on standard error says what, and into which folder: ``into`` where
    the environment is moved afterwards.
    """
    # Not every interpreter has ensurepip, so the packages are installed with the pip of the harness, or with uv.
    _run([python, "-m", "venv", "--without-pip", str(folder)], f"{what}: no environment could be made")
    executable = str(folder / "bin" / "python")
    if find_spec("pip") is not None:
        install = [sys.executable, "-m", "pip", "--python", executable, "install", "--disable-pip-version-check"]
    else:
        install = ["uv", "pip", "install", "--python", executable]
    print(f"pip installs from the network: {', '.join(wanted)}; into {into or folder}", file=sys.stderr, flush=True)
    _run([*install, "--quiet", *wanted], f"{what}: {', '.join(wanted)} cannot be installed")
    return executable


def _run(command: list[str], failure: str) -> None:
    """Run a program that makes an environment. Raises ExperimentError with ``failure`` and its last error."""
    plain = {key: value for key, value in environment().items() if key != "PYTHONPATH"}
    try:
        code, output, _ = _finished(command, INSTALL_SECONDS, stderr=subprocess.STDOUT, env=plain)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExperimentError(f"{failure}: {error}") from error
    if code:
        lines = [line for line in output.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise ExperimentError(f"{failure}: {errors[-1].strip() if errors else 'no reason was given'}")


def _finished(command: list[str], seconds: float, **options: Any) -> tuple[int, str, str]:
    """Run a program; return its exit code, output and errors. It is killed with its children after ``seconds``.

    Raises OSError and subprocess.TimeoutExpired.
    """
    program = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
        **options,
    )  # fmt: skip
    return finish(program, seconds)
