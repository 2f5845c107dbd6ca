"""Prepare an arm of a comparison: its code in a folder of its own, its interpreter and its environment.

``comparing.ready`` calls ``prepare`` for side A and side B. The arm's worker imports ``inflight`` from this folder
alone. Its strategies are a copy of the arm's, at its git revision if it has one; everything else is a link to this
harness.

A strategy from another place (``strategies.registry``) stays where it is. With a revision, the whole repository of its
file is copied at that revision, and its imports search the copy first.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path

from inflight import strategies
from inflight.bench.measure import interpreters
from inflight.bench.measure.process import PACKAGE, Runtime
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.rows.kinds import Arm
from inflight.strategies import Description, StrategyError, registry
from inflight.strategies.registry import Source

FOLDER = "strategies"
"""Name of the folder of strategies in a repository of inflight."""
GIT_TIMEOUT_S = 60
"""Maximum time in seconds of a question to git."""
OURS = PACKAGE / FOLDER
"""The strategies of this harness."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An arm that is ready to run."""

    arm: Arm
    described: Description
    """What its strategy is."""
    runtime: Runtime
    """What its worker runs on."""
    commit: str | None
    """The commit of its revision; None where its files were copied from a working tree."""


def prepare(arm: Arm, folder: Path) -> Prepared:
    """Copy the arm's strategies into ``folder``, create its environment there, and check that it can run.

    The copy is made once, so that an edit during the comparison changes neither arm. Raises ExperimentError for a
    missing repository, revision, strategy, interpreter or requirement.
    """
    package = folder / PACKAGE.name
    package.mkdir(parents=True)
    source = source_of(arm)
    sources = registry.registered()
    if source is None:
        commit = _copy_strategies(arm, package)
    else:
        _copy(OURS, package / FOLDER)
        source, commit = _at_revision(arm, source, folder / "checkout")
        sources[arm.strategy] = source
    for path in PACKAGE.iterdir():  # the rest of this harness
        if path.name not in {FOLDER, "__pycache__"}:
            (package / path.name).symlink_to(path)
    described = _describe(arm, package / FOLDER, source)
    python = None if arm.python is None else interpreters.ask(arm.python).executable
    if arm.requirements:
        wanted = [*arm.requirements, *described.requires]
        what = f"--with {arm.requirements[0]}"
        python = interpreters.new_environment(python or sys.executable, wanted, folder / "environment", what)
    elif python is None and described.lack:
        absent = described.uninstalled
        raise ExperimentError(
            f"{arm.strategy} {described.lack}" + (f"; install it, or use --with {absent[0]}" if absent else "")
        )
    runtime = Runtime(python, folder, arm.variables, sources=sources)
    return Prepared(arm, described, runtime, commit)


def source_of(arm: Arm) -> Source | None:
    """Return where the strategy of an arm comes from; None: from a folder ``strategies``. Raises ExperimentError."""
    source = registry.source_of(arm.strategy)
    if source is None or strategies.is_ours(arm.strategy):
        return None
    if arm.repository is not None:
        raise ExperimentError(f"--repo takes a repository with a folder {FOLDER}; {arm.strategy} is not from there")
    return source


def repository_of(source: Source, label: str) -> Path:
    """Return the root of the git repository that has the file of a strategy. Raises ExperimentError with its label."""
    file = source.file()
    try:
        return Path(os.fsdecode(run_git(file.parent, "rev-parse", "--show-toplevel")).strip())
    except ExperimentError as error:
        raise ExperimentError(f"{label}: {file} is in no git repository, so it has no revisions") from error


# Questions to git, which never change a repository or its working tree


def run_git(repository: Path, *arguments: str) -> bytes:
    """Run git in a repository and return its output. Raises ExperimentError, which says what could not be done."""
    done = _ask_git(repository, *arguments)
    if done.returncode:
        reason = _last_line(done) or f"git {arguments[0]} gave no reason"
        raise ExperimentError(f"cannot read {repository}: {reason}")
    return done.stdout


def find_commit(repository: Path, revision: str) -> str:
    """Return the commit of a revision, in full. Raises ExperimentError."""
    done = _ask_git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if done.returncode:
        reason = _last_line(done) or "there is no such revision"
        raise ExperimentError(f"cannot read {repository} at {revision}: {reason}")
    return done.stdout.decode().strip()


def describe_commit(file: Path) -> str | None:
    """Return the commit of the working tree that a file belongs to, with ``-dirty`` if files were edited.

    None if no repository has the file (an installed package may lie in the working tree of another project), or if
    there is no git.
    """
    folder = file.parent
    try:
        if _ask_git(folder, "ls-files", "--error-unmatch", "--", file.name).returncode:
            return None
        return run_git(folder, "describe", "--always", "--exclude=*", "--dirty", "--abbrev=12").decode().strip()
    except ExperimentError:
        return None


def _ask_git(repository: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Run git in a repository; return the process, which may have failed. Raises ExperimentError if it cannot run."""
    # In a git hook, variables such as GIT_DIR name another repository.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--no-optional-locks", "-C", str(repository), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=GIT_TIMEOUT_S, env=clean)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExperimentError(f"git could not be run on {repository}: {error}") from error


def _last_line(done: "subprocess.CompletedProcess[bytes]") -> str:
    """Return the last line of what git said of an error."""
    return done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]


# Files of an arm


def _at_revision(arm: Arm, source: Source, folder: Path) -> tuple[Source, str | None]:
    """Copy the repository of a strategy at the revision of the arm; return where the strategy is, and the commit."""
    if arm.revision is None:
        return source, None
    file, top = source.file(), repository_of(source, arm.label)
    commit = find_commit(top, arm.revision)
    where = f"{top} at {arm.revision}"
    _unpack(run_git(top, "archive", "--format=tar", commit), folder, where, with_links=True)

    def moved(path: str) -> str:
        """Return where a path of the repository is in the copy; a path outside of it as it is."""
        real = Path(path).resolve()
        return str(folder / real.relative_to(top)) if real.is_relative_to(top) else path

    if not Path(moved(str(file))).is_file():
        raise ExperimentError(f"{where} has no {file.relative_to(top)}; commit the file, or name another revision")
    folders = tuple(map(moved, source.folders or registry.project_folders(file.parent)))
    return replace(source, target=moved(source.target) if source.is_file else source.target, folders=folders), commit


def _copy_strategies(arm: Arm, folder: Path) -> str | None:
    """Copy the package of strategies into the folder; return its commit, or None if it is from a working tree."""
    target = folder / FOLDER
    commit = None
    if arm.revision is None:
        source = OURS if arm.repository is None else Path(arm.repository) / FOLDER
        if not source.is_dir():
            raise ExperimentError(f"{source.parent} has no folder {FOLDER}; --repo takes the root of a repository")
        _copy(source, target)
    else:
        repository = Path(arm.repository or Path.cwd())
        commit = find_commit(repository, arm.revision)
        where = f"{repository} at {arm.revision}"
        _unpack(run_git(repository, "archive", "--format=tar", commit, FOLDER), folder, where)
        _check_whole(run_git(repository, "ls-tree", "-r", "-z", "--name-only", commit, FOLDER), folder, where)
    there = sorted(path.stem for path in target.glob("*.py") if path.stem not in strategies.NOT_STRATEGIES)
    if arm.strategy not in there:
        raise ExperimentError(
            f"{arm.label}: there is no strategy {arm.strategy!r:.80}; known: {', '.join(there) or 'none'}"
        )
    if not (target / "__init__.py").is_file():  # a repository with only strategies of its own
        names_of_files = [path.relative_to(target) for path in target.rglob("*.py")]
        shutil.copytree(
            OURS,
            target,
            dirs_exist_ok=True,
            ignore=lambda place, names: {
                n for n in names if n == "__pycache__" or (Path(place) / n).relative_to(OURS) in names_of_files
            },
        )
    return commit


def _copy(source: Path, target: Path) -> None:
    """Copy files. Dangling links are skipped: editors keep such links beside open files."""
    ignore = shutil.ignore_patterns("__pycache__")
    try:
        shutil.copytree(source, target, ignore=ignore, ignore_dangling_symlinks=True)
    except OSError as error:  # copytree collects its errors as (from, to, why) of each file
        first = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise ExperimentError(f"cannot copy {source}: {first}") from error


def _unpack(archive: bytes, folder: Path, where: str, *, with_links: bool = False) -> None:
    """Write the files of an archive below the folder and nowhere else: a commit may hold any name and any link.

    ``with_links`` keeps links that stay inside the folder and drops others; without it, a link is refused.

    ``extractall(filter="data")`` does not exist before Python 3.11.4.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            for member in files:
                path = (folder / member.name).resolve()
                if with_links and member.issym():
                    target = (path.parent / member.linkname).resolve()
                    if path.is_relative_to(folder.resolve()) and target.is_relative_to(folder.resolve()):
                        path.parent.mkdir(parents=True, exist_ok=True)
                        path.symlink_to(member.linkname)
                    continue
                if not path.is_relative_to(folder.resolve()) or not (member.isfile() or member.isdir()):
                    raise ExperimentError(f"{where} has {member.name}, which is not a plain file inside it")
                content = files.extractfile(member)
                path.parent.mkdir(parents=True, exist_ok=True)
                if content is not None:
                    path.write_bytes(content.read())
    except (OSError, tarfile.TarError) as error:
        raise ExperimentError(f"cannot read {where}: {error}") from error


def _check_whole(listed: bytes, folder: Path, where: str) -> None:
    """Raise ExperimentError for a commit of which git omits files (export-ignore in .gitattributes, a submodule).

    ``listed`` are the names of its files, as ``git ls-tree -z`` lists them; ``folder`` has those that were exported.

    Missing files would be taken from this harness, and compared under the commit's name.
    """
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing or not names:
        what = missing[0] if missing else f"all of {FOLDER}/"
        raise ExperimentError(f"{where}: git does not export {what} (a submodule, or export-ignore in .gitattributes)")


def _describe(arm: Arm, folder: Path, source: Source | None) -> Description:
    """Return what the strategy of an arm is. Raises ExperimentError with the label of the arm."""
    try:
        return (
            strategies.describe(arm.strategy, folder) if source is None else strategies.described(arm.strategy, source)
        )
    except (StrategyError, OSError) as error:
        raise ExperimentError(f"{arm.label}: {error}") from error
