"""The options that several commands share: one name, one metavar and one description for one meaning.

A command's ``run`` is decorated with ``@option("--latency")`` and so on; ``OUT``, ``JSON``, ``QUIET`` and others below
are such decorators, ready to use. The first sentence of a description is the same in all commands; ``note`` adds what
is special in one of them. An option that takes several values is given several times; one of ``listed`` takes commas,
too. docs/cli.md lists the options of all commands.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from inflight.bench.commands.output import hushed
from inflight.bench.plan.grid import CONNECTIONS, MAX_IN_FLIGHT
from inflight.bench.plan.judge import MAX_ROUNDS

Function = TypeVar("Function", bound=Callable[..., Any])
"""The function of a command."""

PLACE = click.Path(path_type=Path)
"""The type of an option that takes a folder or a file."""
FOLDER = click.Path(path_type=Path, file_okay=False)
"""The type of one that takes a folder."""
FILE = click.Path(path_type=Path, dir_okay=False)
"""The type of one that takes a file."""

SHARED: dict[str, tuple[str, str | None, Any]] = {
    "--body": ("Size of each page, e.g. 100kB.", "SIZE", str),
    "--connection": ("Reuse connections, or open one for each fetch.", None, click.Choice(CONNECTIONS)),
    "--cpu": ("CPU time of your own work per page, e.g. 2ms.", "TIME", str),
    "--disturbed": (
        "Disturb the run on purpose. A process computes (spin) or reads memory for half of the time.",
        None,
        click.Choice(["spin", "memory"]),
    ),
    "--dry-run": ("Print what to expect, and exit.", None, bool),
    "--in-flight": ("Maximum number of fetches in flight.", "N", click.IntRange(1, MAX_IN_FLIGHT)),
    "--json": ("Print JSON on standard output.", None, bool),
    "--latency": ("Added latency: time that the server waits before it answers, e.g. 50ms.", "TIME", str),
    "--markdown": ("Append the result to this file as Markdown.", "FILE", FILE),
    "--memory-budget": ("Maximum memory, e.g. 4GB.", "SIZE", str),
    "--out": ("Where to write the results.", "FOLDER", FOLDER),
    "--python": ("Interpreter to run on, e.g. python3.13.", "PATH", str),
    "--quick": ("Measure less.", None, bool),
    "--rounds": ("Number of times that each trial is repeated.", "N", click.IntRange(1, MAX_ROUNDS)),
    "--strategy": (
        "Strategy: a name such as native_asyncio or asyncio, or a file such as ./my_client.py.",
        "NAME",
        str,
    ),
    "--tls": ("Use https instead of http.", None, bool),
    "--timeout": ("Time limit, e.g. 5s.", "TIME", str),
}
"""The description, the metavar and the type of each option; bool is a flag."""


def option(flag: str, *names: str, note: str = "", **changes: Any) -> Callable[[Function], Function]:
    """Return the decorator of a shared option; ``names`` is its keyword, and ``note`` follows its description."""
    description, metavar, kind = SHARED[flag]
    settings = {
        "help": f"{description} {note}".strip(),
        "metavar": metavar,
        "type": kind,
        "is_flag": kind is bool or None,
    }
    return click.option(flag, *names, **settings | changes)


def listed(flag: str) -> Callable[[Function], Function]:
    """Return the decorator of an option that takes lists, whose values have commas between them (``plan.lists``)."""
    return option(flag, type=str, multiple=True, note="Or a list with commas.")


def many_strategies(note: str = "", *, keyword: str = "chosen") -> Callable[[Function], Function]:
    """Return the decorator of ``--strategy`` where it can be given several times."""
    return option("--strategy", keyword, note=f"Repeatable. {note}", multiple=True, callback=_check_each)


def one_strategy(note: str = "") -> Callable[[Function], Function]:
    """Return the decorator of ``--strategy`` where there is only one."""

    def get_only(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str | None:
        """Return the only strategy; refuse several."""
        if len(_check_each(context, option, given)) > 1:
            raise click.BadParameter(f"{context.info_name} takes one strategy, not {len(given)}")
        return given[0] if given else "callbacks"

    return option("--strategy", note=f"{note} [default: callbacks]".strip(), multiple=True, callback=get_only)


def _check_each(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a list with commas, which is no name of a strategy; a file may have a comma in its name."""
    for text in given:
        if "," in text and "/" not in text:
            names = [name.strip() for name in text.split(",") if name.strip()]
            each = " ".join(f"--strategy {name}" for name in names)
            raise click.BadParameter(f'"{text}" is a list; give the option once for each: {each or "--strategy NAME"}')
    return given


def _hush(context: click.Context, _option: click.Parameter, is_quiet: bool) -> None:
    """Drop messages until the command ends, if --quiet is given."""
    if is_quiet:
        context.with_resource(hushed())


OUT = option("--out", note="Each run gets a new folder in it.", default=Path("results"))
"""Decorators of options, this one and those below, that are the same in all commands that have them."""
JSON = option("--json", "as_json")
QUIET = click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_hush, help="Print errors only.")
MARKDOWN = option("--markdown")
MEMORY_BUDGET = option("--memory-budget", note="A trial that needs more is stopped. [default: half of the free memory]")
