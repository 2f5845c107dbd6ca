"""``inflight list``: the strategies and the presets, some strategies, or the interpreters of this machine.

``strategies`` and ``plan.experiment`` know what there is, ``measure.interpreters`` looks for interpreters; here it is
printed.
"""

import re
import textwrap
from collections.abc import Sequence

import click

from inflight import strategies
from inflight.bench.commands.output import put, seconds
from inflight.bench.plan import experiment as experiments
from inflight.bench.plan.trials import estimate_ns, expand
from inflight.bench.show.words import join
from inflight.strategies import Description, registry

WIDTH = 100
"""Maximum width of a line, in characters."""


@click.argument("chosen", metavar="[STRATEGY]...", nargs=-1)
@click.option("--interpreters", is_flag=True, help="Show the interpreters of this machine instead.")
def run(*, interpreters: bool = False, chosen: Sequence[str] = ()) -> int:
    """Show the strategies, and the presets with estimated times.

    With names or files, only these strategies.

    \b
    inflight list
    inflight list ./my_client.py           the first line of its docstring, and what it lacks
    inflight list --interpreters           interpreters for `inflight run --python`
    """
    if interpreters:
        return _interpreters()
    if chosen:
        for name in dict.fromkeys(experiments.named(text, "STRATEGY") for text in chosen):
            _tell(strategies.describe(name))
        return 0
    known: dict[str, Description] = {}
    broken = {}
    for name in strategies.names():
        try:
            known[name] = strategies.describe(name)
        except strategies.StrategyError as error:
            if name not in registry.offered():  # one of ours
                raise
            broken[name] = str(error)
    for group, meaning in strategies.GROUPS.items():
        members = [described for described in known.values() if described.group == group]
        if not members:
            continue
        put(f"strategies: {meaning}")
        for described in members:
            _tell(described)
        put()
    if broken:
        put("installed packages offer these too, but they cannot be used")
        put("\n".join(f"  {name:<20} {reason}" for name, reason in broken.items()) + "\n")
    put("presets (inflight run NAME)")
    for name in experiments.preset_names():
        preset = experiments.load(name, list(known))
        time = seconds(estimate_ns(expand(preset, known)))
        put(_entry(name, f"about {time}: {_gist(preset.about)}"))
    return 0


def _tell(described: Description) -> None:
    """Print a strategy: what it is, its aliases, and what it lacks to run here."""
    aliases = [alias for alias, name in strategies.ALIASES.items() if name == described.name]
    put(_entry(described.name, ", alias ".join([_gist(described.model), *aliases])))
    if described.lack:
        remedy = " ".join(["; pip install", *described.uninstalled]) if described.uninstalled else ""
        put(f"  {'':<20} unavailable: {described.lack}{remedy}")


def _interpreters() -> int:
    """Print the interpreters that are found on this machine."""
    from inflight.bench.measure.interpreters import on_this_machine

    put("interpreters (inflight run --python PATH)")
    for python in on_this_machine():
        kinds = "free-threaded" if python.free_threaded else "", "debug" if python.debug else ""
        put(join(", ", f"  {python.label:<12} {python.executable}", *kinds))
    return 0


def _entry(name: str, text: str) -> str:
    """Return a name and what it is, in lines that fit a terminal."""
    begin = f"  {name:<20} "
    return textwrap.fill(
        text, WIDTH, initial_indent=begin, subsequent_indent=" " * 23, break_on_hyphens=False, break_long_words=False
    )


def _gist(text: str) -> str:
    """Return a text up to its first colon or full stop."""
    return re.split(r"[:.](?:\s|$)", text, maxsplit=1)[0].replace("``", "").replace("\n", " ")
