"""The options of all commands, made of what ``--help`` says: docs/cli.md."""

import re
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


def first_sentence(option: click.Option) -> str:
    """Return the first sentence of the help of an option, without its default."""
    return re.split(r"(?<!e\.g)\. (?=[A-Z0-9[h])| \[", option.help or "")[0].rstrip(".")


def table() -> list[tuple[str, str, list[str]]]:
    """Return each option as --help shows it, with its first sentence and its commands."""
    commands = defaultdict(list)
    for name, option in every_option():
        text = flag(option)
        if not option.is_flag:
            metavar = option.metavar or f"[{'|'.join(option.type.choices)}]"  # type: ignore[attr-defined]
            text = f"{text} {metavar}"
        commands[text, first_sentence(option)].append(name)
    return [(text, sentence, sorted(names)) for (text, sentence), names in sorted(commands.items())]
