"""One name for one thing: the options of all commands."""

import re
from collections import defaultdict
from collections.abc import Iterator

import click

from inflight.bench.cli import main


def every_option() -> Iterator[click.Option]:
    """Yield each option of each command that is not hidden."""
    for command in main.commands.values():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                yield parameter


def flag(option: click.Option) -> str:
    """Return the long name of an option."""
    return max(option.opts, key=len)


def first_sentence(option: click.Option) -> str:
    """Return the first sentence of the help of an option, without its default."""
    return re.split(r"(?<!e\.g)\. (?=[A-Z0-9[h])| \[", option.help or "")[0].rstrip(".")


def test_one_option_has_one_description_and_one_placeholder_in_all_commands() -> None:
    told = defaultdict(set)
    for option in every_option():
        told[flag(option)].add((first_sentence(option), option.is_flag, option.metavar))

    assert {name for name, found in told.items() if len(found) > 1} == set()


def test_every_description_is_a_sentence_and_belongs_to_one_option() -> None:
    told = defaultdict(set)
    for option in every_option():
        assert (option.help or "").rstrip().endswith((".", "]")), option
        told[first_sentence(option)].add(flag(option))

    assert not {sentence: names for sentence, names in told.items() if len(names) > 1}
