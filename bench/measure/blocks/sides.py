"""Prepare an arm: its code in a folder of its own, its interpreter and its environment.

The arm's worker imports ``inflight`` from this folder alone. Its strategies are a copy of the arm's; everything else is
a link to this harness. Strategies import their core by the name that it has in their revision: ``inflight.strategies``,
or ``strategies`` in older ones. A file of the folder (``old_name``) makes the older name an alias of the same modules.
So revisions on both sides of the renaming can be compared, without detecting which name a repository uses.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from inflight import strategies
from inflight.bench.core.arm import Arm
from inflight.bench.core.judge import ExperimentError
from inflight.bench.measure import git
from inflight.bench.measure.blocks import old_name
from inflight.bench.measure.process import PACKAGE, Runtime, environment
from inflight.strategies import Description, StrategyError

FOLDER = "strategies"
OURS = PACKAGE / FOLDER
LEAST_PYTHON = (3, 11)
INSTALL_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Prepared:
    """An arm that is ready to run."""

    arm: Arm
    described: Description
    runtime: Runtime
    commit: str | None
    """The commit of its revision; None where its files were copied from a working tree."""


def prepare(arm: Arm, folder: Path) -> Prepared:
    """Copy the arm's strategies into ``folder``, create its environment there, and check that it can run.

    The copy is made once, so that an edit during the comparison changes neither arm. Raises ExperimentError for a
    missing repository, revision, strategy, interpreter or requirement.
    """
    package = folder / PACKAGE.name
    package.mkdir(parents=True)
    commit = _copy_strategies(arm, package)
    _link_the_rest(package)
    described = _describe(arm, package / FOLDER)
    python = interpreter(arm.python)
    if arm.requirements:
        python = _environment(arm, described, python or sys.executable, folder / "environment")
    elif python is None and described.lack:
        absent = described.uninstalled
        raise ExperimentError(
            f"{arm.strategy} {described.lack}" + (f"; install it, or use --with {absent[0]}" if absent else "")
        )
    return Prepared(arm, described, Runtime(python, folder, arm.variables), commit)


def _copy_strategies(arm: Arm, folder: Path) -> str | None:
    """Copy the package of strategies into the folder; return its commit, or None if it is from a working tree."""
    target = folder / FOLDER
    commit = None
    if arm.revision is None:
        source = OURS if arm.repository is None else arm.repository / FOLDER
        if not source.is_dir():
            raise ExperimentError(f"{source.parent} has no folder {FOLDER}; --repo takes the root of a repository")
        _copy(source, target)
    else:
        repository = arm.repository or Path.cwd()
        commit = git.commit_of(repository, arm.revision)
        where, to = f"{repository} at {arm.revision}", f"take {FOLDER}/ from"
        _unpack(git.output(repository, "archive", "--format=tar", commit, FOLDER, to=to), folder, where)
        listed = git.output(repository, "ls-tree", "-r", "-z", "--name-only", commit, FOLDER, to=to)
        _check_whole(listed, folder, where)
    there = sorted(path.stem for path in target.glob("*.py") if path.stem not in {"__init__", "base"})
    if arm.strategy not in there:
        raise ExperimentError(
            f"{arm.label}: there is no strategy {arm.strategy!r:.80}; known: {', '.join(there) or 'none'}"
        )
    if not (target / "__init__.py").is_file():  # a repository with only strategies of its own
        own = [path.relative_to(target) for path in target.rglob("*.py")]
        shutil.copytree(
            OURS,
            target,
            dirs_exist_ok=True,
            ignore=lambda place, names: {
                n for n in names if n == "__pycache__" or (Path(place) / n).relative_to(OURS) in own
            },
        )
    return commit


def _link_the_rest(package: Path) -> None:
    """Link the rest of this harness beside an arm's strategies, and put their old name beside the package."""
    for path in PACKAGE.iterdir():
        if path.name not in {FOLDER, "__pycache__"}:
            (package / path.name).symlink_to(path)
    shutil.copyfile(old_name.__file__, package.with_name(f"{FOLDER}.py"))


def _copy(source: Path, target: Path) -> None:
    """Copy files. Dangling links are skipped: editors keep such links beside open files."""
    ignore = shutil.ignore_patterns("__pycache__")
    try:
        shutil.copytree(source, target, ignore=ignore, ignore_dangling_symlinks=True)
    except OSError as error:  # copytree collects its errors as (from, to, why) of each file
        first = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise ExperimentError(f"cannot copy {source}: {first}") from error


def _unpack(archive: bytes, folder: Path, where: str) -> None:
    """Write the files of an archive below the folder and nowhere else: a commit may hold any name and any link.

    ``extractall(filter="data")`` does not exist before Python 3.11.4.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            for member in files:
                path = (folder / member.name).resolve()
                if not path.is_relative_to(folder.resolve()) or not (member.isfile() or member.isdir()):
                    raise ExperimentError(f"{where} has {member.name}, which is not a plain file inside it")
                content = files.extractfile(member)
                path.parent.mkdir(parents=True, exist_ok=True)
                if content is not None:
                    path.write_bytes(content.read())
    except (OSError, tarfile.TarError) as error:
        raise ExperimentError(f"cannot take {FOLDER}/ from {where}: {error}") from error


def _check_whole(listed: bytes, folder: Path, where: str) -> None:
    """Raise ExperimentError for a commit of which git omits files (export-ignore in .gitattributes, a submodule).

    Missing files would be taken from this harness, and compared under the commit's name.
    """
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing or not names:
        what = missing[0] if missing else f"all of {FOLDER}/"
        raise ExperimentError(f"{where}: git does not export {what} (a submodule, or export-ignore in .gitattributes)")


def _describe(arm: Arm, folder: Path) -> Description:
    try:
        return strategies.describe(arm.strategy, folder)
    except (StrategyError, OSError) as error:
        raise ExperimentError(f"{arm.label}: {error}") from error


def interpreter(name: str | None, option: str = "--python") -> str | None:
    """Return the path of an interpreter as it reports it. Raises ExperimentError when it is missing or too old.

    The given name may be a script that starts the interpreter (pyenv), and workers report the real path.
    """
    if name is None:
        return None
    found = shutil.which(name)
    if found is None:
        raise ExperimentError(f"{option}: there is no program {name}")
    code = "import sys; print(*sys.version_info[:2]); print(sys.executable)"
    try:
        done = subprocess.run([found, "-c", code], capture_output=True, text=True, check=False, timeout=30)
        numbers, _, executable = done.stdout.partition("\n")
        version = tuple(map(int, numbers.split()))
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ExperimentError(f"{option}: {found} does not run as a Python interpreter: {error}") from error
    if len(version) != 2 or version < LEAST_PYTHON:
        said = (done.stderr.strip().splitlines() or [""])[0]
        actual = ".".join(map(str, version)) or "no Python" + (f" ({said})" if said else "")
        raise ExperimentError(f"{option}: {found} is {actual}; Python 3.11 or newer is needed")
    own = executable.strip()
    return own if Path(own).is_file() else os.path.abspath(found)  # noqa: PTH100  (a resolved path would leave the venv)


def free_threaded(name: str) -> str:
    """Return the path of a free-threaded interpreter. Raises ExperimentError when it has a global lock."""
    found = interpreter(name, "--free-threaded")
    code = "import sys, sysconfig; sys.exit(not sysconfig.get_config_var('Py_GIL_DISABLED'))"
    if subprocess.run([str(found), "-c", code], check=False, timeout=30).returncode:
        raise ExperimentError(f"--free-threaded: {name} was built with a global interpreter lock")
    return str(found)


def _environment(arm: Arm, described: Description, python: str, folder: Path) -> str:
    """Install the requirements of an arm and of its strategy into an environment; return its interpreter."""
    _run([python, "-m", "venv", str(folder)], f"--with {arm.requirements[0]}: no environment could be made")
    own = str(folder / "bin" / "python")
    wanted = [*arm.requirements, *described.requires]
    _run(
        [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted],
        f"--with {arm.requirements[0]}: {', '.join(wanted)} cannot be installed",
    )
    return own


def _run(command: list[str], failure: str) -> None:
    try:
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=_plain_environment(),
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=INSTALL_SECONDS)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)  # with its children
                raise
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExperimentError(f"{failure}: {error}") from error
    if process.returncode:
        said = [line for line in output.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said
        raise ExperimentError(f"{failure}: {errors[-1].strip() if errors else 'no reason was given'}")


def _plain_environment() -> dict[str, str]:
    """Return the harness's environment without the import path of its own modules."""
    return {key: value for key, value in environment().items() if key != "PYTHONPATH"}
