"""What a class is shown is there: commands, files, pictures, and the figures of the newest reference runs."""

import re
import tomllib
from pathlib import Path

import click
import pytest

from inflight import strategies
from inflight.bench.cli import main
from inflight.bench.plan.experiment import parse

pytestmark = pytest.mark.night
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LECTURE = DOCS / "slides" / "lecture.md"
EXERCISES = sorted(DOCS.glob("exercises/[0-9]*/README.md"))
PAGES = [DOCS / "instructor.md", DOCS / "exercises" / "README.md", *EXERCISES, LECTURE]


def commands(path: Path) -> list[str]:
    blocks = re.findall(r"```(?:sh|text)\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith(("make ", ".venv/bin/"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_command_is_there(page: Path) -> None:
    targets = re.findall(r"^([a-z0-9%-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    numbers = [path.parent.name.partition("-")[0] for path in EXERCISES]
    assert isinstance(main, click.Group)

    for command in commands(page):
        program, first, *rest = command.partition("#")[0].split()
        if program == "make":
            assert first in targets or first in {f"exercise-{number}" for number in numbers}, command
        elif program == ".venv/bin/inflight":
            assert first in main.commands, command
            assert all((ROOT / word).exists() for word in rest if "/" in word), command
        elif first.endswith(".py") and first.startswith("docs/"):
            assert (ROOT / first).is_file(), command


def test_the_experiment_of_the_lecture_is_one() -> None:
    path = LECTURE.parent / "overhead.toml"

    experiment = parse(
        tomllib.loads(path.read_text("utf-8")),
        "overhead",
        strategies.names(),
        path.name,
    )

    assert len(experiment.cells()) == 1
