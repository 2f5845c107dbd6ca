"""The options of all commands, for docs/cli.md; ``--help`` explains them."""

from collections import defaultdict
from collections.abc import Iterator

import click

from inflight.bench.cli import main


def every_option() -> Iterator[tuple[str, click.Option]]:
    """Yield each option that is not hidden, with the name of its command."""
    for name, command in main.commands.items():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                yield name, parameter


def flag(option: click.Option) -> str:
    """Return the long name of an option."""
    return max(option.opts, key=len)


def by_command() -> list[tuple[str, list[str]]]:
    """Return the name of each command with the long names of its options."""
    options = defaultdict(list)
    for name, option in every_option():
        options[name].append(flag(option))
    return [(name, sorted(names)) for name, names in options.items()]
