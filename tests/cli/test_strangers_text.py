"""What a stranger's file or argument may hold: nesting, control sequences, and variables that no process can get.

Each is refused in one printable line, or answered as if it were not there.
"""

from pathlib import Path

import pytest

from tests.cli.command import call

HEAD = 'strategies = ["callbacks"]\n'
CRAWL = "[[crawl]]\npages = 5\n"
RED = "\\u001b[31m"
VARIABLE = "[[memory]]\nvariables = { %s }\n"

FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "a list in a list": ("x = " + "[" * 100_000, ("x.toml", "not TOML", "recursion")),
    "a key with a control sequence": (f'{HEAD}"a{RED}\\nb" = 1\n{CRAWL}', ("unknown key", r"a\x1b[31m\nb")),
    "a module with one": (f'strategies = ["{RED}:x"]\n{CRAWL}', ("no module", r"\x1b[31m")),
    "a number without end": (f"{HEAD}rounds = 1e400\n{CRAWL}", ("rounds", "whole number", "inf")),
    "a share that is no number": (f"{HEAD}[[crawl]]\nsite = {{ faults = {{ drip = nan }} }}\n", ("drip", "nan")),
    "a variable without a name": (HEAD + VARIABLE % '"" = "x"', ("[[memory]] number 1", "variables", "not ''")),
    "a variable with NUL": (HEAD + VARIABLE % 'X = "\\u0000"', ("variables", "NUL", "'X'")),
    "a variable that hides the harness": (HEAD + VARIABLE % 'PYTHONPATH = "/"', ("variables", "PYTHONPATH")),
    "one of a reference": (
        HEAD + "[[throughput]]\nagainst = { variables = { X = '1', 'a b' = '' } }\n",
        ("[[throughput]] number 1", "variables", "'a b'"),
    ),
    "one of idle threads": ("[[idle]]\nn = [1]\nvariables = { 'a\\b' = '' }\n", ("[[idle]] number 1", "variables")),
}  # fmt: skip


@pytest.mark.parametrize(("text", "names"), FILES.values(), ids=FILES)
def test_an_experiment_is_refused_in_one_printable_line(text: str, names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")

    told = call("run", "x.toml", "--out", "out", folder=tmp_path).sentence

    assert [name for name in names if name not in told] == [], told
    assert told.isprintable()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", ["run", "report", "race", "run --resume", "check", "serve --host", "crawl", "list"])
def test_an_argument_with_a_control_sequence_is_quoted_without_it(words: str, tmp_path: Path) -> None:
    told = call(*words.split(), "a\x1b[31m\nb", folder=tmp_path).refusal

    assert told.isprintable()
