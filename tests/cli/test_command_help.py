"""The command itself: help, version, lists, and what they load."""

import re
import subprocess
import sys
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path

import pytest

from inflight import strategies
from inflight.bench.cli import ENTRIES, PARTS, main
from inflight.bench.plan.experiment import load, preset_names
from tests.cli.command import call, context_of, inflight

COMMANDS = [f"inflight.bench.{entry.module}" for entry in ENTRIES.values()]
HEAVY = ("pandas", "numpy", "matplotlib", "scipy", "aiohttp", "rich", "psutil", "uvloop", "asyncio")


def test_the_installed_script_prints_its_version() -> None:
    script = Path(sys.executable).with_name("inflight")

    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)

    assert done.stdout == f"inflight, version {version('inflight-bench')}\n"


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], [*HEAVY, *COMMANDS]),
        (["--version"], [*HEAVY, *COMMANDS]),
        (["crawl", "--help"], HEAVY),
        (["run", "--help"], set(HEAVY) - {"psutil"}),
    ],
    ids=["help", "version", "crawl", "run"],
)
def test_help_imports_nothing_heavy(arguments: list[str], heavy: Collection[str]) -> None:
    code = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print('LOADED', [name for name in {heavy} if name in sys.modules]))\n"
        f"sys.argv[1:] = {arguments}\n"
        "from inflight.bench.cli import main\n"
        "main()\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_the_list_names_every_strategy_and_preset() -> None:
    done = call("list")

    assert done.code == 0
    for name in (*strategies.names(), *preset_names()):
        assert f"\n  {name} " in done.out
    assert len(re.findall(r"^  \w+ +about \d+ (?:s|min): ", done.out, re.MULTILINE)) == len(preset_names())


@pytest.mark.parametrize("name", preset_names())
def test_the_time_of_a_preset_is_only_in_the_list(name: str) -> None:
    assert not re.search(r"about \d+ (s|min)|half an hour|minute", load(name, strategies.names()).about, re.IGNORECASE)


def test_the_list_is_shown_even_if_presets_cannot_run() -> None:
    done = inflight("list", limit=("RLIMIT_NOFILE", 256))

    assert done.code == 0
    assert "quick" in done.out


STRATEGY = '"""{0} words."""\nSTACK = "own"\nREQUIRES = ()\n\n\ndef crawl(job, frontier): ...\n'


def test_a_file_of_the_same_name_in_another_folder_is_another_strategy(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(STRATEGY.format(name), encoding="utf-8")

        assert f"{name} words\n" in call("list", "./mine.py", folder=tmp_path / name).out


# ------------------------------------------------------------------------------------------- the first help


def test_without_a_command_it_says_three_things_to_do_and_where_help_is() -> None:
    done = call()

    assert (done.code, done.err) == (0, "")
    commands = re.findall(r"^  (inflight .*?)  ", done.out, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        _, name, *arguments = command.split()
        context_of(name, *arguments)
    assert done.out.endswith("All commands: inflight --help\n")


def test_the_help_lists_each_command_once_under_a_heading() -> None:
    assert sorted(name for part in PARTS.values() for name in part) == sorted(main.commands)


def test_the_first_line_of_each_command_fits_into_80_columns() -> None:
    done = call("--help", columns=80)

    listed = dict(re.findall(r"^  ([a-z-]+) +(\S.*)$", done.out.partition("\nFirst:")[2], re.MULTILINE))
    assert sorted(listed) == sorted(main.commands)
    for name, line in listed.items():
        assert line.endswith("."), (name, line)
        assert not line.endswith("..."), (name, line)
    assert max(map(len, done.out.splitlines())) <= 80
