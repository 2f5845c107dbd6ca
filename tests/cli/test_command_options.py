"""One name for one thing: the options of all commands, and docs/cli.md, which lists them."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from inflight.bench.cli import main
from tests.cli.command import inflight

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"
OLD = [
    ("run", "--strategies"), ("race", "--strategies"), ("crawl", "--max-in-flight"), ("crawl", "--max-redirect"),
    ("serve", "--delay"), ("open-loop", "--users"), ("open-loop", "--rates"), ("open-loop", "--seconds"),
    ("ab", "--metrics"), ("bisect", "--metrics"), ("check", "--only"), ("check", "--limit"), ("swarm", "--bind"),
    ("list", "--python"),
]  # fmt: skip


def every_option() -> Iterator[tuple[str, click.Option]]:
    for name, command in main.commands.items():
        yield from ((name, one) for one in command.params if isinstance(one, click.Option))


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

    assert {name for name, found in told.items() if len(found) > 1} == {"--out"}
    assert told["--out"] == {
        ("Where to write the results", False, "FOLDER"),
        ("Where to write the results", False, "FILE"),
    }


def test_every_description_is_a_sentence_and_belongs_to_one_option() -> None:
    told = defaultdict(set)
    for _, option in every_option():
        assert (option.help or "").rstrip().endswith((".", "]")), option
        told[first_sentence(option)].add(flag(option))

    assert not {sentence: names for sentence, names in told.items() if len(names) > 1}


def test_the_document_lists_the_options_of_all_commands() -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if line.startswith("| `--")] == documented()


@pytest.mark.parametrize(("command", "old"), OLD)
def test_an_old_name_is_no_option(command: str, old: str) -> None:
    assert inflight(command, old, "1").sentence.startswith(f"no such option {old}")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("run --strategies a", "no such option --strategies; did you mean --strategy?"),
        ("serve --delay 5ms", "no such option --delay; did you mean --latency?"),
        ("crawl", "URL... is missing; see `inflight crawl --help`"),
        ("crawl x --in-flight", "option --in-flight requires an argument; see `inflight crawl --help`"),
        ("crawl x --connection y", "--connection: 'y' is not one of 'keep-alive', 'per-fetch'"),
        ("run a b", "got unexpected extra argument (b); see `inflight run --help`"),
        ("run --strategy a,b", '--strategy: "a,b" is a list; give the option once for each: --strategy a --strategy b'),
        ("crawl x --strategy a --strategy b", "--strategy: crawl takes one strategy, not 2"),
        ("run --rounds two", '--rounds: "two" is not a whole number; write a whole number from 1 to 1000, in digits'),
        ("run --rounds 0", "--rounds: 0 is too small; write a whole number from 1 to 1000, in digits"),
        ("run --rounds=-1", "--rounds: -1 is too small; write a whole number from 1 to 1000, in digits"),
        (
            "open-loop --rate 1 --rounds 1001",
            "--rounds: 1001 is too large; write a whole number from 1 to 1000, in digits",
        ),
        (
            "crawl x --in-flight 1.5",
            '--in-flight: "1.5" is not a whole number; write a whole number from 1 to 1000000, in digits',
        ),
        ("race --speed nan", '--speed: "nan" is not a number; write a number from 0.01 to 100, in digits'),
        ("serve --port x", '--port: "x" is not a whole number; write a whole number, in digits'),
    ],
)
def test_wrong_usage_is_one_sentence_that_says_what_to_do(command: str, sentence: str) -> None:
    assert inflight(*command.split()).sentence == sentence


@pytest.mark.parametrize(
    "command",
    [
        "ab callbacks generators --latency", "open-loop --rate 5 --latency",
        "advise --in-flight 5 --latency", "serve --latency", "ab callbacks generators --budget", "serve --drip",
        "crawl x --timeout", "check callbacks --timeout", "open-loop --rate 5 --duration", "swarm --in-flight 9 --hold",
        "swarm --in-flight 9 --wait", "advise --latency 0 --in-flight 5 --cpu", "serve --idle-timeout",
    ],
)  # fmt: skip
def test_a_time_without_a_unit_is_refused_everywhere_in_the_same_words(command: str) -> None:
    option = command.rsplit(maxsplit=1)[-1]

    assert inflight(*command.split(), "80").sentence == f"{option}: 80 has no unit; write 80ms or 80s"


@pytest.mark.parametrize("command", ["run", "claims", "swarm --in-flight 9"])
def test_a_size_without_a_unit_is_refused_everywhere_in_the_same_words(command: str) -> None:
    refused = inflight(*command.split(), "--memory-budget", "4").sentence

    assert refused == "--memory-budget: 4 has no unit; write 4MB or 4GB"
