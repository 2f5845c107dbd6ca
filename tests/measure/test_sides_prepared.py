"""Sides prepared from real repositories, interpreters and environments, or refused with one sentence."""

import json
import os
import sys
from pathlib import Path

import pytest

from inflight import strategies
from inflight.bench.measure.blocks import sides
from inflight.bench.measure.blocks.sides import Prepared
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.rows.kinds import Arm
from tests.ab.repositories import (
    HONEST,
    NO_CONFIG,
    ROOT,
    arm,
    commit,
    copy_strategies,
    git,
    new_repository,
    slow_down,
    with_mine,
)
from tests.measure.test_interpreters import a_program, says


@pytest.fixture(autouse=True)
def _no_git_config(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_CONFIG.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return where sides are made ready, each in a folder that is not there yet."""
    return tmp_path / "place"


def prepare(side: Arm, folder: Path) -> Prepared:
    return sides.prepare(side, folder)


def refusal(side: Arm, folder: Path) -> str:
    with pytest.raises(ExperimentError) as caught:
        prepare(side, folder)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    return sentence


def text_of(prepared: Prepared, strategy: str) -> str:
    assert prepared.runtime.strategies is not None
    return (prepared.runtime.strategies / "inflight" / "strategies" / f"{strategy}.py").read_text("utf-8")


# Where the files come from


def test_without_revision_and_repository_the_strategies_are_those_of_the_harness(place: Path) -> None:
    found = prepare(arm("callbacks"), place)

    assert found.commit is None
    assert found.described == strategies.describe("callbacks")
    assert text_of(found, "callbacks") == (ROOT / "strategies" / "callbacks.py").read_text("utf-8")
    assert found.runtime.python is None
    assert list(place.rglob("__pycache__")) == []


def test_a_revision_gives_the_committed_files_and_no_revision_the_working_tree(repository: Path, place: Path) -> None:
    before = (repository / "strategies" / "callbacks.py").read_text("utf-8")
    first = git(repository, "rev-parse", "HEAD")
    slow_down(repository, "callbacks")
    second = commit(repository, "slower")
    slow_down(repository, "generators")

    old, new, lying = (
        prepare(arm("callbacks", revision, repository), place / name)
        for name, revision in (("old", "HEAD~1"), ("new", "main"), ("lying", None))
    )

    assert (old.commit, new.commit, lying.commit) == (first, second, None)
    assert text_of(old, "callbacks") == before
    assert "8_000" in text_of(new, "callbacks")
    assert "8_000" not in text_of(new, "generators")
    assert "8_000" in text_of(lying, "generators")


def test_a_revision_without_repository_is_of_the_current_repository(
    repository: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)

    assert prepare(arm("callbacks", "HEAD"), place).commit == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize("revision", [None, "HEAD"])
def test_a_repository_with_only_a_strategy_gets_the_rest_from_the_harness(
    tmp_path: Path, place: Path, revision: str | None
) -> None:
    folder = with_mine(tmp_path / "fork", HONEST)
    git(folder, "init", "--quiet")
    commit(folder, "mine")

    found = prepare(arm("mine", revision, folder), place)

    assert found.described.model == "A model for the test."
    assert text_of(found, "mine") == (folder / "strategies" / "mine.py").read_text("utf-8")
    for name in ("__init__", "base", "core/frontier", "callbacks"):
        assert text_of(found, name) == (ROOT / "strategies" / f"{name}.py").read_text("utf-8")


def test_a_repository_without_package_keeps_its_own_file_if_both_have_it(tmp_path: Path, place: Path) -> None:
    folder = with_mine(tmp_path / "fork", HONEST)
    (folder / "strategies" / "mine.py").rename(folder / "strategies" / "callbacks.py")

    assert prepare(arm("callbacks", None, folder), place).described.model == "A model for the test."


def test_a_dangling_link_such_as_an_editors_lock_file_is_left_out(repository: Path, place: Path) -> None:
    link = repository / "strategies" / ".#callbacks.py"
    link.symlink_to("someone@somewhere.1234")

    prepare(arm("callbacks", None, repository), place)

    assert not (place / "inflight" / "strategies" / link.name).is_symlink()


# What is refused


def test_an_unknown_revision_is_named_with_its_repository(repository: Path, place: Path) -> None:
    assert refusal(arm("callbacks", "v99", repository), place) == (
        f"cannot read {repository} at v99: there is no such revision"
    )


def test_a_folder_that_is_not_a_git_repository_has_no_revisions(tmp_path: Path, place: Path) -> None:
    folder = copy_strategies(tmp_path / "plain")

    assert refusal(arm("callbacks", "HEAD", folder), place) == (
        f"cannot read {folder} at HEAD: fatal: not a git repository (or any of the parent directories): .git"
    )


def test_a_missing_folder_is_named(tmp_path: Path, place: Path) -> None:
    missing = tmp_path / "missing"

    assert str(missing) in refusal(arm("callbacks", "HEAD", missing), place / "a")
    assert refusal(arm("callbacks", None, missing), place / "b") == (
        f"{missing} has no folder strategies; --repo takes the root of a repository"
    )


def test_a_commit_without_strategies_is_refused(tmp_path: Path, place: Path) -> None:
    git(tmp_path, "init", "--quiet", "empty")
    (tmp_path / "empty" / "README").write_text("nothing else\n", "utf-8")
    commit(tmp_path / "empty", "no strategies")

    sentence = refusal(arm("callbacks", "HEAD", tmp_path / "empty"), place)

    assert sentence.startswith(f"cannot read {tmp_path / 'empty'}: fatal: ")
    assert "strategies" in sentence.split("fatal: ")[1]


def test_a_commit_with_links_out_of_the_folder_is_refused(repository: Path, place: Path) -> None:
    (repository / "strategies" / "out.py").symlink_to("/etc/hostname")
    commit(repository, "a link")

    assert refusal(arm("callbacks", "HEAD", repository), place) == (
        f"{repository} at HEAD has strategies/out.py, which is not a plain file inside it"
    )


def test_an_unknown_strategy_of_a_revision_is_refused_with_the_known_ones(repository: Path, place: Path) -> None:
    sentence = refusal(arm("calbacks", "HEAD", repository), place)

    assert sentence.startswith("calbacks@HEAD: there is no strategy 'calbacks'; known: ")
    assert sentence.split("; known: ")[1].split(", ") == sorted(strategies.names())


@pytest.mark.parametrize("name", ["../../etc/x", "core", "base", "__init__", "x" * 300])
def test_an_invalid_name_of_a_strategy_is_refused(place: Path, name: str) -> None:
    assert name[:40] in refusal(arm(name), place)


@pytest.mark.parametrize(
    ("text", "lack"),
    [
        ("def crawl(:\n", "invalid syntax"),
        ("", "has no 'STACK'"),
        ("STACK = 'shared'\n", "has no 'REQUIRES'"),
        ("STACK = 'shared'\nREQUIRES = f()\n", "written as a literal"),
        ("STACK = 'shared'\nREQUIRES = 3\n", "REQUIRES is 3, and must be a tuple"),
    ],
)
def test_a_broken_strategy_is_refused_only_if_it_is_requested(
    tmp_path: Path, place: Path, text: str, lack: str
) -> None:
    folder = with_mine(tmp_path / "fork", HONEST)
    (folder / "strategies" / "broken.py").write_text(text, "utf-8")

    sentence = refusal(arm("broken", None, folder), place / "broken")

    assert "strategies/broken.py is no strategy: " in sentence
    assert lack in sentence
    assert prepare(arm("mine", None, folder), place / "mine").described.name == "mine"
    assert "; known: " in refusal(arm("absent", None, folder), place / "absent")


def test_a_missing_requirement_is_reported_with_the_option_that_installs_it(tmp_path: Path, place: Path) -> None:
    folder = with_mine(tmp_path / "fork", HONEST)
    path = folder / "strategies" / "mine.py"
    path.write_text(path.read_text("utf-8").replace("REQUIRES = ()", "REQUIRES = ('no-such-thing',)"), "utf-8")

    assert refusal(arm("mine", None, folder), place) == (
        "mine needs no-such-thing, which is not installed; install it, or use --with no-such-thing"
    )


# Interpreters


def test_an_interpreter_is_run_by_its_own_executable_name(tmp_path: Path, place: Path) -> None:
    shim = a_program(tmp_path / "interpreter", f'exec "{sys.executable}" "$@"')

    assert prepare(arm("callbacks", python=sys.executable), place / "a").runtime.python == sys.executable
    assert prepare(arm("callbacks", python=shim), place / "b").runtime.python == sys.executable


# Environments


def distribution(folder: Path, name: str, version: str) -> Path:
    """Write a wheel by hand, so that installing it asks nobody for anything."""
    import zipfile

    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", f"VERSION = {json.dumps(version)}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.mark.night
def test_a_requirement_is_installed_for_one_side_and_an_invalid_one_is_refused(tmp_path: Path, place: Path) -> None:
    wheel = distribution(tmp_path, "madeup", "1.2")

    found = prepare(arm("callbacks", requirements=(str(wheel),)), place / "a")
    missing = str(tmp_path / "missing")
    sentence = refusal(arm("callbacks", requirements=(missing,)), place / "b")

    own = place / "a" / "environment"
    assert found.runtime.python == str(own / "bin" / "python")
    assert [path.name for path in own.rglob("madeup.py")] == ["madeup.py"]
    assert sentence.startswith(f"--with {missing}: {missing} cannot be installed: ")


def test_an_environment_that_cannot_be_made_is_reported_with_the_message_of_the_interpreter(
    tmp_path: Path, place: Path
) -> None:
    name = a_program(
        tmp_path / "interpreter",
        f'case "$1" in -c) {says(version="3.12.0")};; *) echo no module named venv >&2; exit 1;; esac',
    )

    assert refusal(arm("callbacks", python=name, requirements=("x==1",)), place) == (
        "--with x==1: no environment could be made: no module named venv"
    )


def test_a_missing_git_is_one_sentence(repository: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)

    assert refusal(arm("callbacks", "HEAD", repository), place).startswith(f"git could not be run on {repository}: ")
