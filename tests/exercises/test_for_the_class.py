"""What a class is shown is there: commands, files, pictures, and the figures of the newest reference runs."""

import re
import tomllib
from pathlib import Path

import click
import pytest

from inflight import strategies
from inflight.bench.cli import main
from inflight.bench.core.experiment import parse
from tools.lesson_pages import broken_links

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LECTURE = DOCS / "slides" / "lecture.md"
EXERCISES = sorted(DOCS.glob("exercises/[0-9]*/README.md"))
PAGES = [DOCS / "instructor.md", DOCS / "exercises" / "README.md", *EXERCISES, LECTURE]
STEPS = ("", ": live", ": figure", ": answer")


def slides() -> list[str]:
    _, _, text = LECTURE.read_text(encoding="utf-8").split("---\n", 2)
    return [slide.strip() for slide in re.split(r"^---$", text, flags=re.MULTILINE)]


def headings() -> list[str]:
    found = (re.search(r"^#+ (.+)$", slide, re.MULTILINE) for slide in slides())
    return [one[1] for one in found if one]


def commands(path: Path) -> list[str]:
    blocks = re.findall(r"```(?:sh|text)\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith(("make ", ".venv/bin/"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_page_begins_with_what_the_reader_can_do_after_it(page: Path) -> None:
    body = (
        page.read_text(encoding="utf-8").partition("\n# ")[2] if page == LECTURE else page.read_text(encoding="utf-8")
    )

    assert re.search(r"^After (this|these) \w+", body[:400], re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_command_is_there(page: Path) -> None:
    targets = re.findall(r"^([a-z0-9%-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
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


def test_each_part_has_a_question_a_prediction_a_command_a_figure_and_an_answer() -> None:
    shown = headings()

    parts = [heading for heading in shown if re.fullmatch(r"\d\. [^:]+", heading)]
    assert len(parts) == 6
    for part in parts:
        at = shown.index(part)
        assert shown[at : at + 4] == [part + step for step in STEPS]
        begin, live, figure, _ = slides()[at : at + 4]
        assert "**Question.**" in begin
        assert "**Prediction.**" in begin
        assert "```sh" in live
        assert "![" in figure or "```text" in figure


def test_the_experiment_of_the_lecture_is_one() -> None:
    path = LECTURE.parent / "overhead.toml"

    experiment = parse(tomllib.loads(path.read_text(encoding="utf-8")), "overhead", strategies.names(), path.name)

    assert len(experiment.workloads()) == 1


def test_only_the_page_for_the_instructor_leads_to_the_solutions() -> None:
    named = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if "solutions" in path.read_text("utf-8")}

    assert "instructor.md" in named
    assert not [name for name in named if name.startswith(("exercises", "lessons", "slides"))]


def test_each_exercise_has_wrong_answers_to_expect() -> None:
    table = (DOCS / "instructor.md").read_text(encoding="utf-8").partition("### Exercises")[2]

    for path in EXERCISES:
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").replace(".", "", 1)
        assert f"| {title} |" in table
