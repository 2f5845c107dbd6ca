"""Each exercise: the start file fails as intended, right answers pass, typical mistakes are named."""

import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import FOREVER_S
from tests.processes import run_to_end

ROOT = Path(__file__).parents[2]
EXERCISES = ROOT / "docs" / "exercises"
FOLDERS = {path.name.partition("-")[0]: path for path in sorted(EXERCISES.glob("[0-9]*-*"))}
FAILED = "not yet"
MISTAKES_FILE = Path(__file__).with_name("mistakes.toml")

BEGINS_WITH = {
    "1": "Never more than one fetch was in flight",
    "2": "Both were admitted. At this point no lock stopped the second one",
    "3": "40 fetches were in flight at once; 10 are allowed",
    "4": "first_of has returned, but 2 fetches have not ended",
    "5": "After 20 pages that do not exist, 19 more sockets are open",
    "6": "Not written yet, in run,",
}
"""What the check says of each start file."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A typical wrong answer: the solution with one piece of text replaced, and what the check says of it."""

    number: str
    what: str
    right: str
    wrong: str
    message: str
    seconds: float = FOREVER_S


MISTAKES = [Mistake(**each) for each in tomllib.loads(MISTAKES_FILE.read_text("utf-8"))["mistake"]]


def check(number: str, *arguments: object, seconds: float = FOREVER_S) -> "subprocess.CompletedProcess[str]":
    return run_to_end(
        [
            sys.executable,
            "docs/exercises/check.py",
            number,
            *map(str, arguments),
            "--seconds",
            str(seconds),
        ],
        cwd=ROOT,
    )


def solution(number: str) -> Path:
    (path,) = (EXERCISES / "solutions").glob(f"{number}-*.py")
    return path


def words(text: str) -> str:
    """Return a text in one line: messages are wrapped."""
    return " ".join(text.split())


@pytest.mark.ci
@pytest.mark.parametrize("number", FOLDERS)
def test_the_start_file_fails_and_the_message_says_what_is_wrong(number: str) -> None:
    done = check(number)

    assert done.returncode == 1
    assert BEGINS_WITH[number] in words(done.stdout)
    assert f"docs/exercises/{FOLDERS[number].name}/start.py" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "a task that is made in the same line" not in words(done.stdout)


@pytest.mark.ci
@pytest.mark.parametrize("number", FOLDERS)
def test_the_solution_passes(number: str) -> None:
    done = check(number, solution(number))

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert FAILED not in done.stdout


@pytest.mark.night
@pytest.mark.parametrize(
    "answer",
    sorted(EXERCISES.glob("solutions/other-forms/*.py")),
    ids=lambda path: path.stem,
)
def test_a_right_answer_in_another_form_passes(answer: Path) -> None:
    done = check(answer.name[0], answer)

    assert done.returncode == 0, done.stdout


@pytest.mark.night
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.number}: {mistake.what}")
def test_a_typical_mistake_is_named(mistake: Mistake, tmp_path: Path) -> None:
    right = solution(mistake.number).read_text("utf-8")
    assert right.count(mistake.right) == 1
    answer = tmp_path / "answer.py"
    answer.write_text(right.replace(mistake.right, mistake.wrong), "utf-8")

    done = check(mistake.number, answer, seconds=mistake.seconds)

    assert done.returncode == 1
    assert mistake.message in words(done.stdout)


@pytest.mark.night
def test_a_file_that_python_cannot_read_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text("async def user_page(name, fetch)\n    return 1\n", "utf-8")

    done = check("1", tmp_path / "answer.py")

    assert done.returncode == 1
    assert "Python cannot read line 1 of answer.py" in words(done.stdout)
