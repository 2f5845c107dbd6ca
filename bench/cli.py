"""The command line: the list of the commands, their exit codes, and how a command ends.

``main`` is the entry point of the program ``inflight``. The module of a command has its options, its help and what it
does, in a function ``run`` that returns the exit code; it is imported when the command is called, so that the help
stays fast. ``ending`` turns each way in which a command can fail into one sentence and an exit code. docs/cli.md
documents what all commands share.
"""

import importlib
import io
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click
from click.shell_completion import CompletionItem

from inflight.bench.commands.output import complain, describe_error, printing, report_loss

ABOUT = "Compare concurrency models of Python: each crawls the same local site."
"""First sentence of the help."""
FIRST = """\
  inflight demo                   ten seconds: one page at a time against many
  inflight run quick              compare five models and aiohttp here
  inflight check ./my_client.py   test a client that you have written"""
"""The three things that one can do first."""
WELCOME = f"{ABOUT} Begin with one of:\n\n{FIRST}\n\nAll commands: inflight --help"
"""What ``inflight`` prints without a command."""
HELP = "\n".join([ABOUT, "", "\b", *(line.strip() for line in FIRST.splitlines())])
"""The help of ``inflight`` (the \\b keeps click from joining the lines)."""
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
"""Settings of click for all commands."""
NO_MEMORY = (
    "no memory is left; finished rows are kept; free memory or raise RLIMIT_AS (ulimit -v), then `inflight report RUN`"
)
"""What is printed when memory runs out."""

REFUSED, BUG, INTERRUPTED = 2, 70, 130
"""Exit codes of all commands. 70 is EX_SOFTWARE of sysexits.h (Python's 1 means a regression here), 130 is 128 +
SIGINT, as shells have it."""
_ALL = {REFUSED: "wrong usage, or environment error", BUG: "internal error", INTERRUPTED: "interrupted"}
"""What the exit codes that every command may have mean."""
_VERDICTS = {0: "pass", 1: "regression", 3: "inconclusive"}
"""Exit codes of commands that decide."""


class CommandEntry(NamedTuple):
    """A command in the list."""

    module: str
    """The module with its function ``run``, below ``inflight.bench``."""
    about: str
    """The first sentence of its help."""
    exits: Mapping[int, str]
    """What its exit codes mean besides those of all commands: 0 is success, 1 is what a CI job should fail on."""


PARTS = {
    "First": {
        "demo": CommandEntry(
            "race.demo",
            "See in ten seconds why it pays to wait for many pages at once.",
            {0: "all crawls measured", 1: "a crawl failed"},
        ),
        "run": CommandEntry(
            "commands.run",
            "Run an experiment: a preset, a TOML file or a grid.",
            {0: "at least one valid row", 1: "no valid row, or with --strict an invalid one"},
        ),
        "report": CommandEntry(
            "commands.report",
            "Make a page, text, Markdown, a table or JSON of a stored run.",
            {0: "report written"},
        ),
        "race": CommandEntry(
            "race.command",
            "Replay recorded crawls of the strategies side by side.",
            {0: "race shown", 1: "no valid row in the new run"},
        ),
        "list": CommandEntry(
            "commands.listing",
            "Show the strategies, and the presets with estimated times.",
            {0: "list shown"},
        ),
    },
    "Choose a model": {
        "advise": CommandEntry(
            "commands.advise",
            "Recommend a model for a workload, with expected figures.",
            {0: "model recommended", 3: "no confident recommendation, or --verify contradicts it"},
        ),
        "claims": CommandEntry(
            "claims.command",
            "Test common claims about concurrency on this machine.",
            {0: "claims judged, whatever the verdicts", 1: "a claim could not be tested"},
        ),
        "limits": CommandEntry(
            "commands.limits",
            "Find how many threads, ports and so on a process can have.",
            {0: "limits measured or predicted"},
        ),
    },
    "Write a client": {
        "check": CommandEntry(
            "commands.check",
            "Check that a strategy keeps the rules of a crawl.",
            {0: "all rules hold", 1: "a rule is broken"},
        ),
        "crawl": CommandEntry(
            "commands.crawl",
            "Crawl http or https sites, and print one line per URL.",
            {0: "at least one page fetched (status 2xx)", 1: "nothing could be fetched"},
        ),
        "serve": CommandEntry(
            "commands.serve",
            "Serve the synthetic site until Ctrl-C.",
            {0: "served until Ctrl-C"},
        ),
    },
    "Find slowdowns": {
        "ab": CommandEntry("ab.command", "Compare two sides, and decide whether B is worse than A.", _VERDICTS),
        "compare": CommandEntry("runs.command", "Compare stored runs, the last with the first.", _VERDICTS),
        "selftest": CommandEntry(
            "ab.selftest",
            "Measure the noise and the error rates of this harness.",
            {0: "measured", 1: "more false alarms than designed", 3: "too few valid blocks"},
        ),
    },
    "Large loads": {
        "swarm": CommandEntry(
            "commands.swarm",
            "Hold very many fetches in flight, in many processes.",
            {0: "all fetches were in flight at once, or planned", 1: "they were not, or a check failed"},
        ),
        "open-loop": CommandEntry(
            "commands.open_loop",
            "Send requests at constant rates, and measure response times.",
            {0: "measured, even if a rate was not kept", 1: "no valid row"},
        ),
    },
}
"""The headings of the list, each with its commands, in the order in which one needs them."""
ENTRIES = {name: entry for part in PARTS.values() for name, entry in part.items()}
"""All commands by name."""
EXITS = {name: dict(sorted((_ALL | dict(entry.exits)).items())) for name, entry in ENTRIES.items()}
"""What each code of each command means."""
EXITS["serve"].pop(INTERRUPTED)  # Ctrl-C is the normal way to stop a server


@contextmanager
def ending(path: str) -> Iterator[None]:
    """End the command with one sentence and its exit code if the block is refused, interrupted, or has a bug."""
    try:
        yield
        return
    except KeyboardInterrupt as interrupt:
        complain(": ".join(["interrupted", *interrupt.args]))
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001  (it is printed, and ends the program)
        code = REFUSED
        # The loader of shared libraries has words of its own for memory that it does not get.
        if isinstance(error, MemoryError) or "failed to map segment" in str(error):
            complain(f"inflight: {NO_MEMORY}")
        elif isinstance(error, OSError):
            complain(f"inflight: {error}; check files, permissions and limits (ulimit -a)")
        elif is_refusal(error):
            complain(f"{path}: {error}")
        else:
            traceback.print_exc()
            code = BUG
    raise click.exceptions.Exit(code)


def is_refusal(error: Exception) -> bool:
    """Return whether a command refuses with this error what it was asked for."""
    from inflight.bench.commands.run import REFUSALS

    return isinstance(error, REFUSALS)


class Command(click.Command):
    """A command; what its function returns is the exit code."""

    def parse_args(self, context: click.Context, words: list[str]) -> list[str]:
        """Parse the words behind the command; an error says for which command."""
        try:
            return super().parse_args(context, words)
        except click.UsageError as error:
            error.ctx = error.ctx or context  # the parser does not say where
            raise

    def invoke(self, context: click.Context) -> Any:
        """Run the command, and leave no process behind."""
        with ending(context.command_path):
            from inflight.bench.measure.process import no_process_left

            with no_process_left():
                return super().invoke(context)


@cache
def command(name: str) -> Command:
    """Import the module of a command, and return the command."""
    module = f"inflight.bench.{ENTRIES[name].module}"
    # One thread of OpenBLAS is enough here. Where it cannot start more, it raises SIGINT, which looks like Ctrl-C.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ending("inflight"):
        run = importlib.import_module(module).run
    exits = "\n".join(["\b", "Exit codes:", *(f"  {code:<4} {meaning}" for code, meaning in EXITS[name].items())])
    return click.command(name, cls=Command, epilog=exits)(run)


class Commands(Mapping[str, Command]):
    """The commands by name, imported one by one."""

    def __getitem__(self, name: str) -> Command:
        """Return a command. Raises KeyError."""
        return command(name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(ENTRIES)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(ENTRIES)


class Inflight(click.Group):
    """The group of all commands; its help and completion import none of them."""

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002  (click passes it)
        """Return the commands in the order of the parts."""
        return list(ENTRIES)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write each part with the first sentence of each command's help."""
        width = max(map(len, ENTRIES))
        for heading, entries in PARTS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", entry.about) for name, entry in entries.items()])

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and the options that begin with what was typed."""
        named = [CompletionItem(name, help=ENTRIES[name].about) for name in ENTRIES if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, context, incomplete)]

    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Run the command line, and exit: with 2 for wrong usage, and instead of 0 if results were lost."""
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed before the program started
                setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        code, streams = 0, (sys.stdout, sys.stderr)
        try:
            with printing(sys.stdout):
                code = super().main(*arguments, **{"prog_name": "inflight"} | options | {"standalone_mode": False})
        except SystemExit:
            if sys.stdout is streams[0]:
                raise
            sys.stdout, sys.stderr = streams  # click has wrapped them, as nobody reads
        except click.Abort:
            complain("interrupted")
            code = INTERRUPTED
        except click.ClickException as error:
            complain(describe_error(error))
            code = REFUSED
        if report_loss():
            code = code or REFUSED
        sys.exit(code or 0)


@click.group(cls=Inflight, context_settings=CONTEXT, help=HELP, invoke_without_command=True, commands=Commands())
@click.version_option(package_name="inflight-bench", prog_name="inflight")
@click.pass_context
def main(context: click.Context) -> None:
    """Say what one can do first, unless a command is given."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot encode "µ" shows "?"
        with suppress(OSError):
            os.set_blocking(sys.stdout.fileno(), True)  # otherwise a pipe that is full for now is an error
    if context.invoked_subcommand is None:
        print(WELCOME)
