"""Make an arm ready to be run: its code in a folder of its own, its interpreter, its environment.

The folder is all that the arm's worker imports ours from. It has a package ``inflight``, in which the strategies are a
copy of the arm's, and the rest are links to this harness. Strategies import their core by the name that it has in their
revision: ``inflight.strategies``, or ``strategies`` before there was that. A file of the folder (``old_name``) makes
the older name one more for the same modules. So revisions on either side of the change can be compared, and nothing has
to find out which of the names a repository uses.
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
from inflight.bench.measure.blocks import old_name
from inflight.bench.measure.process import PACKAGE, Runtime, environment
from inflight.strategies import Description, StrategyError

FOLDER = "strategies"
OURS = PACKAGE / FOLDER
LEAST_PYTHON = (3, 11)
INSTALL_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Prepared:
    """An arm that can be run."""

    arm: Arm
    described: Description
    runtime: Runtime
    commit: str | None
    """The commit that its revision is; None where its files were taken as they lay there."""


def prepare(arm: Arm, folder: Path) -> Prepared:
    """Copy the arm's strategies into ``folder``, make its environment there, and look whether it can be run.

    The copy is taken once, so that an edit during the comparison changes neither arm. Raises ExperimentError with a
    sentence for a repository, revision, strategy, interpreter or requirement that is not there.
    """
    package = folder / PACKAGE.name
    package.mkdir(parents=True)
    commit = _copy_strategies(arm, package)
    _link_the_rest(package)
    described = _describe(arm, package / FOLDER)
    python = interpreter(arm.python)
    if arm.requirements:
        python = _environment(arm, described, python or sys.executable, folder / "environment")
    elif python is None and described.missing:
        raise ExperimentError(
            f"{arm.strategy} needs {', '.join(described.missing)}, which is not installed here; install it, or use "
            f"--with {described.missing[0]}"
        )
    return Prepared(arm, described, Runtime(python, folder, arm.variables), commit)


def _copy_strategies(arm: Arm, folder: Path) -> str | None:
    """Put the package of strategies into the folder; return the commit that it is from, if it is from one."""
    target = folder / FOLDER
    commit = None
    if arm.revision is None:
        source = OURS if arm.repository is None else arm.repository / FOLDER
        if not source.is_dir():
            raise ExperimentError(f"{source.parent} has no folder {FOLDER}; --repo takes the root of a repository")
        _copy(source, target)
    else:
        repository = arm.repository or Path.cwd()
        commit = _git(repository, "rev-parse", "--verify", "--quiet", f"{arm.revision}^{{commit}}").decode().strip()
        where = f"{repository} at {arm.revision}"
        _unpack(_git(repository, "archive", "--format=tar", commit, FOLDER), folder, where)
        _check_whole(_git(repository, "ls-tree", "-r", "-z", "--name-only", commit, FOLDER), folder, where)
    there = sorted(path.stem for path in target.glob("*.py") if path.stem not in {"__init__", "base"})
    if arm.strategy not in there:
        told = ", ".join(there) or "none"
        raise ExperimentError(f"{arm.label}: there is no strategy {arm.strategy!r:.80}; there are {told}")
    if not (target / "__init__.py").is_file():  # a repository that has strategies of its own only
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
    """Put all else of ours beside an arm's strategies, and their old name beside the package."""
    for path in PACKAGE.iterdir():
        if path.name not in {FOLDER, "__pycache__"}:
            (package / path.name).symlink_to(path)
    shutil.copyfile(old_name.__file__, package.with_name(f"{FOLDER}.py"))


def _copy(source: Path, target: Path) -> None:
    """Copy the files as they lie. Editors keep links that lead nowhere beside a file that is open in them."""
    ignore = shutil.ignore_patterns("__pycache__")
    try:
        shutil.copytree(source, target, ignore=ignore, ignore_dangling_symlinks=True)
    except OSError as error:  # copytree collects what went wrong: (from, to, why) of each file
        first = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise ExperimentError(f"cannot copy {source}: {first}") from error


def _unpack(archive: bytes, folder: Path, where: str) -> None:
    """Write the archive's files below the folder, and nothing elsewhere: a commit may hold any name, and any link.

    By hand, because ``extractall(filter="data")`` does not exist before Python 3.11.4.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            for member in files:
                path = (folder / member.name).resolve()
                if not path.is_relative_to(folder.resolve()) or not (member.isfile() or member.isdir()):
                    raise ExperimentError(f"{where} has {member.name}, which is no plain file of its own")
                content = files.extractfile(member)
                path.parent.mkdir(parents=True, exist_ok=True)
                if content is not None:
                    path.write_bytes(content.read())
    except (OSError, tarfile.TarError) as error:
        raise ExperimentError(f"cannot take {FOLDER}/ from {where}: {error}") from error


def _check_whole(listed: bytes, folder: Path, where: str) -> None:
    """Refuse a commit of which git leaves out files (export-ignore in .gitattributes, a submodule).

    What is missing would be taken from this harness, and compared under the commit's name.
    """
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing or not names:
        what = missing[0] if missing else f"all of {FOLDER}/"
        raise ExperimentError(
            f"{where}: git does not hand out {what} (a submodule, or export-ignore in .gitattributes)"
        )


def _git(repository: Path, *arguments: str) -> bytes:
    """Run git there and return what it prints. Raises ExperimentError."""
    where = f"{repository} at {arguments[-1].removesuffix('^{commit}')}" if arguments[0] == "rev-parse" else repository
    try:
        done = subprocess.run(
            ["git", "-C", repository, *arguments],
            capture_output=True,
            check=False,
            timeout=60,
            # Inside a git hook GIT_DIR and others name another repository than the one that was asked for.
            env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExperimentError(f"git could not be run on {repository}: {error}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[-1] if said else "there is no such revision"
        raise ExperimentError(f"cannot take {FOLDER}/ from {where}: {reason}")
    return done.stdout


def _describe(arm: Arm, folder: Path) -> Description:
    try:
        return strategies.describe(arm.strategy, folder)
    except (StrategyError, OSError) as error:
        raise ExperimentError(f"{arm.label}: {error}") from error


def interpreter(name: str | None, option: str = "--python") -> str | None:
    """Return what an interpreter that is new enough calls itself. Raises ExperimentError.

    The name that was given may be a script that starts it (pyenv), and the workers say what really runs.
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
        told = ".".join(map(str, version)) or "no Python" + (f" ({said})" if said else "")
        raise ExperimentError(f"{option}: {found} is {told}; Python 3.11 or newer is needed")
    own = executable.strip()
    return own if Path(own).is_file() else os.path.abspath(found)  # noqa: PTH100  (resolved, it would leave its venv)


def free_threaded(name: str) -> str:
    """Return an interpreter that was built without a global lock. Raises ExperimentError when it was not."""
    found = interpreter(name, "--free-threaded")
    code = "import sys, sysconfig; sys.exit(not sysconfig.get_config_var('Py_GIL_DISABLED'))"
    if subprocess.run([str(found), "-c", code], check=False, timeout=30).returncode:
        raise ExperimentError(f"--free-threaded: {name} was built with a global interpreter lock")
    return str(found)


def _environment(arm: Arm, described: Description, python: str, folder: Path) -> str:
    """Install the arm's requirements, and what its strategy needs, into an environment; return its interpreter."""
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
                told, _ = process.communicate(timeout=INSTALL_SECONDS)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
                raise
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExperimentError(f"{failure}: {error}") from error
    if process.returncode:
        said = [line for line in told.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said
        raise ExperimentError(f"{failure}: {errors[-1].strip() if errors else 'no reason was given'}")


def _plain_environment() -> dict[str, str]:
    """Return the harness's environment, without the path on which its own modules are found."""
    return {key: value for key, value in environment().items() if key != "PYTHONPATH"}
