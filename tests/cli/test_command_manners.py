"""What all commands have in common: examples, exit codes as the table says, quiet ones, readers that go."""

import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from inflight.bench.cli import ENTRIES, EXITS, main
from tests.cli.command import GROUP, call, context_of

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
HEAVY = ("pandas", "numpy", "matplotlib", "scipy", "aiohttp", "rich", "psutil", "uvloop", "asyncio")
TALKS = {
    "run", "race", "report", "advise", "ab", "compare", "selftest", "claims", "limits", "swarm",
    "open-loop", "check", "serve", "demo",
}  # fmt: skip
COMMANDS = sorted(main.commands)


def help_of(name: str) -> str:
    with click.Context(main.commands[name], GROUP, name) as context:
        return context.get_help()


def examples_of(name: str) -> list[str]:
    """Return the command lines that a command's help shows, without what is said beside them."""
    lines = re.findall(rf"^  (inflight {name}\b.*|eval .*)$", help_of(name), re.MULTILINE)
    return [re.split(r"\s{2,}", line)[0] for line in lines]


# ---------------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_valid_examples(name: str) -> None:
    examples = examples_of(name)

    assert examples
    for example in examples:
        typed = re.search(rf"inflight {name}\b([^>)]*)", example)
        assert typed is not None
        arguments = shlex.split(typed[1].replace("[RUN]", ""))
        context_of(name, *arguments)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"crawl", "serve"}))
def test_a_command_takes_exactly_its_options(name: str) -> None:
    module = importlib.import_module(f"inflight.bench.{ENTRIES[name].module}")
    options = {parameter.name for parameter in main.commands[name].params if parameter.expose_value}

    taken = dict(inspect.signature(module.run).parameters)

    assert set(taken) == options
    assert {parameter.kind for parameter in taken.values()} <= {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_has_the_first_sentence_of_the_help(name: str) -> None:
    assert str(main.commands[name].help).partition("\n")[0] == ENTRIES[name].about


def test_the_documentation_names_every_command() -> None:
    text = DOCS.read_text(encoding="utf-8")

    assert sorted(re.findall(r"^\| `inflight ([\w-]+)` \|", text, re.MULTILINE)) == COMMANDS


# ----------------------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_the_same_exit_codes(name: str) -> None:
    said = help_of(name).partition("Exit codes:")[2]

    assert {int(code): meaning for code, meaning in re.findall(r"^ +(\d+) +(.+)$", said, re.MULTILINE)} == EXITS[name]


def test_verdicts_have_the_exit_codes_of_the_table() -> None:
    for name in ("ab", "compare"):
        declared = importlib.import_module(f"inflight.bench.{ENTRIES[name].module}").EXITS
        assert declared.items() <= {told: code for code, told in EXITS[name].items()}.items()


@pytest.mark.parametrize(("error", "code"), [(ZeroDivisionError, 70), (KeyboardInterrupt, 130)])
def test_an_internal_error_exits_with_70_and_ctrl_c_with_130(
    error: type[BaseException], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_options: Any) -> None:
        raise error

    monkeypatch.setattr(main.commands["list"], "callback", broken)

    with pytest.raises(SystemExit) as ended:
        main(["list"])

    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (code, "")
    assert ("Traceback" in err) == (code == 70)
    assert "Aborted" not in err


def test_commands_with_messages_have_quiet() -> None:
    quiet = {name for name in COMMANDS if any(parameter.name == "quiet" for parameter in main.commands[name].params)}

    assert quiet == TALKS


def test_completion_imports_nothing_heavy() -> None:
    code = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print('LOADED', [name for name in {HEAVY} if name in sys.modules]))\n"
        "from inflight.bench.cli import main\n"
        "main(prog_name='inflight')\n"
    )
    asking = {"_INFLIGHT_COMPLETE": "bash_complete", "COMP_WORDS": "inflight ru", "COMP_CWORD": "1"}

    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asking, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == ["plain,run", "LOADED []"]


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (MemoryError(), ("no memory is left", "finished rows are kept", "ulimit -v", "inflight report RUN")),
        (ImportError("libx.so: failed to map segment from shared object"), ("no memory is left", "ulimit -v")),
        (FileNotFoundError(2, "No such file", "/proc/x"), ("No such file", "/proc/x", "check files", "ulimit -a")),
    ],
)
def test_what_a_machine_lacks_is_one_sentence(
    error: Exception, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_options: Any) -> None:
        raise error

    monkeypatch.setattr(main.commands["list"], "callback", broken)

    told = call("list").sentence

    assert [name for name in names if name not in told] == []


def test_openblas_starts_no_threads_whose_lack_would_look_like_ctrl_c() -> None:
    code = (
        "import atexit, os\n"
        "atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']))\n"
        "from inflight.bench.cli import main\n"
        "main(['report', 'nowhere'])\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "1\n")
