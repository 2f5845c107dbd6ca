"""One name for one thing: the options of all commands, and docs/cli.md, which lists them."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click

from inflight.bench.cli import main

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"
OLD = [
    ("run", "--strategies"), ("race", "--strategies"), ("crawl", "--max-in-flight"), ("crawl", "--max-redirect"),
    ("serve", "--delay"), ("open-loop", "--users"), ("open-loop", "--rates"), ("open-loop", "--seconds"),
    ("ab", "--metrics"), ("check", "--only"), ("check", "--limit"), ("swarm", "--bind"),
    ("list", "--python"), ("run", "--list"), ("claims", "--list"), ("report", "--out"),
]  # fmt: skip


def every_option() -> Iterator[tuple[str, click.Option]]:
    for name, command in main.commands.items():
        yield from ((name, one) for one in command.params if isinstance(one, click.Option) and not one.hidden)


def flag(option: click.Option) -> str:
    return max(option.opts, key=len)


def shown(option: click.Option) -> str:
    """Return the option as --help shows it: ``--in-flight N``."""
    if option.is_flag:
        return flag(option)
    metavar = option.metavar or f"[{'|'.join(option.type.choices)}]"  # type: ignore[attr-defined]
    return f"{flag(option)} {metavar}"


def first_sentence(option: click.Option) -> str:
    return re.split(r"(?<!e\.g)\. (?=[A-Z0-9[h])| \[", option.help or "")[0].rstrip(".")


def documented() -> list[str]:
    """Return the lines of the table of options, made of what the commands say."""
    commands = defaultdict(list)
    for name, option in every_option():
        commands[shown(option).replace("|", "\\|"), first_sentence(option).replace("|", "\\|")].append(name)
    return [
        f"| `{written}` | {told} | {', '.join(sorted(names))} |" for (written, told), names in sorted(commands.items())
    ]


def test_one_option_has_one_description_and_one_placeholder_in_all_commands() -> None:
    told = defaultdict(set)
    for _, option in every_option():
        told[flag(option)].add((first_sentence(option), option.is_flag, option.metavar))

    assert {name for name, found in told.items() if len(found) > 1} == set()


def test_every_description_is_a_sentence_and_belongs_to_one_option() -> None:
    told = defaultdict(set)
    for _, option in every_option():
        assert (option.help or "").rstrip().endswith((".", "]")), option
        told[first_sentence(option)].add(flag(option))

    assert not {sentence: names for sentence, names in told.items() if len(names) > 1}


def test_the_document_lists_the_options_of_all_commands() -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if line.startswith("| `--")] == documented()
