"""What the lessons show is what happens: every command is run, every quoted line of code is in its file."""

from pathlib import Path

import pytest

from tools import lessons
from tools.lesson_pages import PageCommand, lesson_paths, missing, read, written_wrong
from tools.lessons import Done, check, renew, went_wrong

pytestmark = pytest.mark.night
PAGES = lesson_paths()
PAGE = """# A lesson

[code](lesson.md)

```sh
{command}
```
<!-- expects: ^hello -->
<!-- output: begin -->
{quoted}
<!-- output: end -->

The answer.
"""
SAYS_HELLO = "python -c \"print('hello, reader')\""


def made_page(folder: Path, command: str = SAYS_HELLO, quoted: str = "hello", more: str = "") -> Path:
    path = folder / "lesson.md"
    path.write_text(PAGE.format(command=command, quoted=quoted) + more, "utf-8")
    return path


def run_of(command: str = "inflight run x.toml", exit_code: int = 0) -> PageCommand:
    return PageCommand(command, ("^hello",), exit_code, None, "", 0, 0)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_command_does_what_its_page_says(path: Path) -> None:
    assert all(run.expects for run in read(path).runs)
    assert check(path) == []


def test_what_is_printed_is_quoted_between_the_marks_and_nothing_else_changes(tmp_path: Path) -> None:
    path = made_page(tmp_path, quoted="hello, old")
    before, _, after = path.read_text("utf-8").partition("hello, old\n")

    assert renew(path) == []

    text = path.read_text("utf-8")
    assert text.startswith(before + "<details><summary>Output</summary>\n\n```text\nhello, reader\n```\n\n*")
    assert text.endswith("*\n\n</details>\n" + after)
    assert "Python" in text


def test_the_output_of_a_failed_command_is_not_quoted(tmp_path: Path) -> None:
    path = made_page(tmp_path, command="python -c \"print('hello'); exit(3)\"")
    before = path.read_text("utf-8")

    (problem,) = renew(path)

    assert "ended with 3 instead of 0" in problem
    assert path.read_text("utf-8") == before


def test_quoted_words_missing_from_the_output_are_named(tmp_path: Path) -> None:
    problems = check(
        made_page(
            tmp_path,
            command="python -c \"print('good evening')\"",
            quoted="good evening",
        )
    )

    assert len(problems) == 2, "once for what is quoted, once for what is printed"
    assert all("no match for '^hello'" in problem for problem in problems)


def test_failed_checks_are_no_problem_of_the_page() -> None:
    all_invalid = Done(1, "hello", "1/1  callbacks  ✗ failed")

    assert went_wrong(run_of(), all_invalid) == []
    assert all_invalid.invalid == 1
    assert went_wrong(run_of(), Done(1, "hello", "inflight: no such file")) == [
        "inflight run x.toml: ended with 1 instead of 0: inflight: no such file"
    ]
    assert missing(run_of(), "not here: hello")


def test_a_command_that_hangs_is_a_problem_of_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lessons, "HANG_S", 0.2)
    path = made_page(tmp_path, command='python -c "import threading; threading.Event().wait()"')

    assert lessons.main([str(path)]) == 1
    assert "lesson.md: Command" in capsys.readouterr().err


def test_an_output_of_a_noisy_run_is_a_problem_of_its_page(tmp_path: Path) -> None:
    path = made_page(tmp_path, quoted="This run is noisy: others took 80 % of the client's core.\n\nhello")

    assert any("busy" in problem for problem in written_wrong(read(path)))


def test_invalid_trials_are_never_quoted(tmp_path: Path) -> None:
    script = "import sys; print('hello, red'); print('1/1 x ✗ failed', file=sys.stderr)"
    path = made_page(tmp_path, command=f'python -c "{script}"', quoted="hello, old")
    before = path.read_text("utf-8")

    (problem,) = renew(path)

    assert "1 invalid trials, not quoted" in problem
    assert path.read_text("utf-8") == before
