"""The options that several commands share: one name, one metavar and one description for one meaning.

The first sentence of a description is the same in all commands; ``note`` adds what is special in one of them. An option
that takes several values is given several times. docs/cli.md lists the options of all commands.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from inflight.bench.commands.numeric import Whole

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PLACE = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
MAX_IN_FLIGHT = 1_000_000


class Shared(NamedTuple):
    """An option of several commands."""

    help: str
    metavar: str | None = None
    settings: dict[str, Any] = {}  # noqa: RUF012  (never changed)
    """Further keywords of ``click.option``."""


_FLAG: dict[str, Any] = {"is_flag": True}
SHARED = {
    "--budget": Shared(
        "Planned time of one comparison, e.g. 5m; the limit is 1.5 times that. [default: 12 to 48 blocks]", "TIME"
    ),
    "--connection": Shared(
        "Reuse connections, or open one for each fetch.", None, {"type": click.Choice(["keep-alive", "per-fetch"])}
    ),
    "--bytecodes": Shared("With --metric calls, count bytecodes, too.", None, _FLAG),
    "--cycles": Shared(
        "Number of slices of each side in a block. [default: chosen after a first block]",
        "N",
        {"type": Whole(1, 1000)},
    ),
    "--disturbed": Shared(
        "Disturb the run on purpose. A process computes (spin) or reads memory for half of the time.",
        None,
        {"type": click.Choice(["spin", "memory"])},
    ),
    "--env": Shared("Set an environment variable.", "NAME=VALUE"),
    "--fresh": Shared("Measure everything again, even if stored rows exist.", None, _FLAG),
    "--host": Shared("Address to listen on.", "ADDRESS"),
    "--in-flight": Shared("Maximum number of fetches in flight.", "N", {"type": Whole(1, MAX_IN_FLIGHT)}),
    "--json": Shared("Print JSON on standard output.", None, _FLAG),
    "--latency": Shared("Added latency: time that the server waits before it answers, e.g. 50ms.", "TIME"),
    "--links": Shared("Number of links on each page.", "N", {"type": Whole(0, 100)}),
    "--dry-run": Shared("Print what to expect, and exit.", None, _FLAG),
    "--markdown": Shared("Append the result to this file as Markdown.", "FILE", {"type": FILE}),
    "--memory-budget": Shared("Maximum memory, e.g. 4GB.", "SIZE"),
    "--metric": Shared(
        "Compare only this: cpu_per_page, throughput or memory. Repeatable. Or calls, alone: what a page does.",
        "NAME",
        {"multiple": True},
    ),
    "--out": Shared("Where to write the results.", "FOLDER", {"type": FOLDER}),
    "--port": Shared("Port to listen on.", "N", {"type": Whole(1, 65_535)}),
    "--python": Shared("Interpreter to run on, e.g. python3.13.", "PATH"),
    "--quick": Shared("Measure less.", None, _FLAG),
    "--quiet": Shared("Print errors only.", None, _FLAG),
    "--repo": Shared("Git repository of the strategies. [default: the current one]", "FOLDER", {"type": FOLDER}),
    "--rounds": Shared("Number of times that each trial is repeated.", "N", {"type": Whole(1, 1000)}),
    "--seed": Shared("Seed of the random numbers.", "N", {"type": Whole(0, 2**63 - 1)}),
    "--strategy": Shared(
        "Strategy: a name such as native_asyncio or asyncio, or a file such as ./my_client.py.",
        "NAME",
        {"multiple": True},
    ),
    "--timeout": Shared("Time limit, e.g. 5s.", "TIME"),
    "--with": Shared("Install this into an environment, e.g. aiohttp==3.11.", "REQUIREMENT"),
}
_SHORT = {"--quiet": "-q"}


def option(flag: str, *names: str, note: str = "", **changes: Any) -> Decorator:
    """Return the decorator of a shared option; ``names`` is its keyword, and ``note`` follows its description."""
    shared = SHARED[flag]
    declared = [_SHORT[flag], flag] if flag in _SHORT else [flag]
    text = f"{shared.help} {note}".strip()
    return click.option(*declared, *names, **{"help": text, "metavar": shared.metavar} | shared.settings | changes)


def strategies(note: str = "", *, keyword: str = "chosen") -> Decorator:
    """Return the decorator of ``--strategy`` where it can be given several times."""
    return option("--strategy", keyword, note=f"Repeatable. {note}".strip(), callback=_one_each)


def one_strategy(note: str = "", *, default: str | None = "callbacks") -> Decorator:
    """Return the decorator of ``--strategy`` where there is only one."""

    def the_only(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str | None:
        if len(_one_each(context, option, given)) > 1:
            raise click.BadParameter(f"{context.info_name} takes one strategy, not {len(given)}")
        return given[0] if given else default

    return option("--strategy", note=f"{note} [default: callbacks]".strip(), callback=the_only)


def _one_each(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a list with commas, which is no name of a strategy; a file may have a comma in its name."""
    for text in given:
        if "," in text and "/" not in text:
            names = [name.strip() for name in text.split(",") if name.strip()]
            each = " ".join(f"--strategy {name}" for name in names)
            raise click.BadParameter(f'"{text}" is a list; give the option once for each: {each or "--strategy NAME"}')
    return given


OUT = option("--out", note="Each run gets a new folder in it.", default=Path("results"))
JSON = option("--json", "as_json")
QUIET = option("--quiet")
MARKDOWN = option("--markdown")
MEMORY_BUDGET = option("--memory-budget", note="A trial that needs more is stopped. [default: half of the free memory]")
