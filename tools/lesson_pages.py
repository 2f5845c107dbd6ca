"""Read the pages of docs/lessons/: their commands, what is said of them, and what can be seen to be wrong.

A page of docs/lessons/ shows a command in a fence of ``sh``; below it stand, each on a line of its own, the marks::

    <!-- expects: REGEX -->     the output has this (any number of them: the words that the answer speaks of)
    <!-- exit: N -->            the command ends with this code (0 if nothing is said)
    <!-- plot: NAME -->         of the plots that the command saves, this one is shown
    <!-- output: begin -->      from here to the end mark all is written by this program
    <!-- output: end -->

``<!-- quote: FILE -->`` before a fence of ``python`` says where its lines stand; a line ``...`` leaves some out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LESSONS = ROOT / "docs" / "lessons"
NOISY = "This run is noisy"
"""How an output begins whose figures mean little."""

_RUN = re.compile(
    r"```sh\n(?P<command>[^\n]+)\n```\n(?P<marks>(?:\n|<!-- (?:expects|exit|plot): [^\n]+ -->\n)*)"
    r"<!-- output: begin -->\n(?P<quoted>.*?)<!-- output: end -->",
    re.DOTALL,
)
_MARK = re.compile(r"<!-- (\w+): (.+) -->")
_QUOTE = re.compile(r"<!-- quote: (\S+) -->\n```python\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


class LessonError(Exception):
    """A page is not written as this program reads it; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class PageCommand:
    """A command of a page: what is to come of it, and where in the page's text its output is quoted."""

    command: str
    expects: tuple[str, ...]
    exit_code: int
    plot: str | None
    quoted: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Lesson:
    """A page and its commands, in the order in which they stand."""

    path: Path
    text: str
    runs: tuple[PageCommand, ...]


def lesson_paths() -> list[Path]:
    """Return the pages in the order of their numbers; the index is none of them."""
    return sorted(LESSONS.glob("[0-9]*.md"))


def read(path: Path) -> Lesson:
    """Return the page. Raises LessonError for one that has no command, or one whose marks are not in order."""
    text = path.read_text(encoding="utf-8")
    runs = tuple(_run(match) for match in _RUN.finditer(text))
    if not runs:
        raise LessonError("it has no command with its marks")
    if {text.count("<!-- output: begin -->"), text.count("<!-- output: end -->"), text.count("```sh\n")} != {len(runs)}:
        raise LessonError("a command lacks its marks, or a mark its command")
    return Lesson(path, text, runs)


def written_wrong(lesson: Lesson) -> list[str]:
    """Say what can be seen to be wrong without running anything: quoted output, quoted code, links."""
    problems = [f"what is quoted of {problem}" for run in lesson.runs for problem in missing(run, run.quoted)]
    for file, code in _QUOTE.findall(lesson.text):
        problems += [f"{file} has no lines {piece[0]!r} to {piece[-1]!r}" for piece in _not_in(ROOT / file, code)]
    for target in _LINK.findall(lesson.text):
        if "://" not in target and not (lesson.path.parent / target).exists():
            problems.append(f"a link leads nowhere: {target}")
    if NOISY in lesson.text:
        problems.append("the machine was busy when its output was made; make it again on a quiet one")
    return problems


def missing(run: PageCommand, out: str) -> list[str]:
    """Name what the page speaks of and its output lacks."""
    return [
        f"{run.command}: no match for {regex!r} in its output"
        for regex in run.expects
        if not re.search(regex, out, re.MULTILINE)
    ]


def _run(match: re.Match[str]) -> PageCommand:
    marks = _MARK.findall(match["marks"])
    values = dict(marks)
    begin, end = match.span("quoted")
    return PageCommand(
        command=match["command"],
        expects=tuple(value for name, value in marks if name == "expects"),
        exit_code=int(values.get("exit", "0")),
        plot=values.get("plot"),
        quoted=match["quoted"],
        begin=begin,
        end=end,
    )


def _not_in(file: Path, code: str) -> Iterator[list[str]]:
    """Yield the pieces of quoted code whose lines do not stand together in the file; indentation does not count."""
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    for text in re.split(r"^\s*\.\.\.\s*$", code, flags=re.MULTILINE):
        piece = [line.strip() for line in text.strip().splitlines()]
        if piece and not any(lines[at : at + len(piece)] == piece for at in range(len(lines))):
            yield piece
