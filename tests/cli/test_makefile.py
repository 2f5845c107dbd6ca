"""The targets of the Makefile, by name: what each would run exists and takes its arguments; the quick ones are run."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ENVIRONMENT, call, context_of

ROOT = Path(__file__).parents[2]
MAKEFILE = ROOT / "Makefile"
BIN = Path(sys.executable).parent
STAMPS = (".venv/.run", ".venv/.test", ".venv/.extras", ".venv/.docs")
"""What says that .venv is complete. make takes these for up to date here: the tests run in an environment that is."""
TARGETS = re.findall(r"^\.PHONY: (.*)$", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE)[0].split()
ONE_TEST = "tests/cli/test_makefile.py::test_help_names_every_target"
ENV = {name: value for name, value in ENVIRONMENT.items() if not name.startswith(("PYTEST_", "MAKE", "MFLAGS"))}
"""Without what the pytest and the make that run these tests say to those below them."""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def run(command: list[str], folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=folder, env=ENV, capture_output=True, text=True, check=False)


def make(*words: str, folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run make with the programs of the environment in which the tests run."""
    old = [word for stamp in STAMPS for word in ("-o", stamp)]
    return run(["make", f"BIN={BIN}", *old, *words], folder)


def recipe(target: str) -> list[list[str]]:
    """Return the commands that a target would run."""
    done = make("-n", target)
    assert done.returncode == 0, done.stderr
    return [shlex.split(line) for line in done.stdout.splitlines()]


def is_there(command: list[str]) -> bool:
    """Whether what a command names is there and, for our own command line, takes its words."""
    match command[0].removeprefix(f"{BIN}/"), command[1:]:
        case "inflight", ["run", *words]:
            return call("run", *words, "--dry-run").code == 0
        case "inflight", [name, *words]:
            context_of(name, *words)
            return True
        case "python", ["-m", "sphinx", *_]:
            return True  # `make docs` installs it
        case "python", ["-m", module, *_]:
            return importlib.util.find_spec(module) is not None
        case "python", [file, *_]:
            return (ROOT / file).is_file()
        case "touch" | "echo", _:
            return True
    return (BIN / command[0]).exists()


def test_help_names_every_target() -> None:
    told = make("help").stdout.splitlines()

    assert [line.split()[:2] for line in told] == [["make", name] for name in named_with_help()]
    assert {*TARGETS} == {name for name in named_with_help() if "%" not in name}


def named_with_help() -> list[str]:
    return re.findall(r"^([a-z0-9%-]+):.*## ", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE)


# help and clean are run below; what lock runs beside pip comes with it, from the network
@pytest.mark.parametrize("target", [name for name in TARGETS if name not in {"help", "clean", "lock", "extras"}])
def test_what_a_target_runs_exists_and_takes_its_arguments(target: str) -> None:
    commands = recipe(target)

    assert commands
    assert [command for command in commands if not is_there(command)] == []


@pytest.mark.ci
@pytest.mark.parametrize("target", [name for name in TARGETS if name == "bench" or name.startswith("test")])
def test_pytest_takes_the_arguments_of_a_target(target: str) -> None:
    for command in recipe(target):
        if "pytest" in command:
            done = run([*command, "--collect-only", "-q", "-W", "ignore", ONE_TEST])

            # The options of some targets leave out the only test that pytest is given here.
            assert done.returncode in {0, pytest.ExitCode.NO_TESTS_COLLECTED}, done.stdout + done.stderr


@pytest.mark.ci
@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "fuzz").glob("[!_t]*.py")), ids=lambda path: path.name)
def test_a_fuzzer_takes_a_time(path: Path) -> None:
    if path.name != "conftest.py":
        done = run([sys.executable, str(path), "--help"])

        assert (done.returncode, "--seconds" in done.stdout) == (0, True)


def test_extras_installs_into_the_environment_and_runs_nothing() -> None:
    assert recipe("extras") == [shlex.split("make: Nothing to be done for 'extras'.")]


def test_lock_compiles_all_requirements_from_what_is_there() -> None:
    install, *compiled = recipe("lock")

    assert is_there(install)
    assert {command[command.index("--output-file") + 1] for command in compiled} == {
        f"requirements/{path.name}" for path in (ROOT / "requirements").iterdir() if path.name != "otava.txt"
    }, "that one has a single pin without its requirements, and is written by hand"
    assert {tuple(command[:3]) for command in compiled} == {(str(BIN / "uv"), "pip", "compile")}


def test_clean_leaves_the_results(tmp_path: Path) -> None:
    shutil.copy(MAKEFILE, tmp_path)
    for name in (".venv", ".mypy_cache", ".ruff_cache", ".hypothesis", "results"):
        (tmp_path / name / "inside").mkdir(parents=True)

    assert make("clean", folder=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "results"]


def test_a_python_that_is_too_old_is_refused_in_one_sentence(tmp_path: Path) -> None:
    shutil.copy(MAKEFILE, tmp_path)
    old = tmp_path / "old-python"
    old.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "import sys; sys.version_info = (3, 10); $2"\n')
    old.chmod(0o755)

    done = run(["make", f"PYTHON={old}", "run"], tmp_path)

    assert done.returncode == 2
    assert "inflight needs Python 3.11 or newer" in done.stderr
    assert "Try: make PYTHON=python3.12 run" in done.stderr
    assert not (tmp_path / ".venv").exists()
