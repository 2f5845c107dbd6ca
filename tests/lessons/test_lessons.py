"""What the lessons show is what happens: every command is run, every quoted line of code is in its file."""

import re
from pathlib import Path

import pytest

from tools.lesson_pages import (
    LESSONS,
    PageCommand,
    lesson_paths,
    missing,
    read,
    written_wrong,
)
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
    assert written_wrong(read(path)) == []
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


def quoted_tables(name: str) -> dict[str, dict[str, list[str]]]:
    """Return the tables of timed trials that a page quotes by their titles, each line by its strategy."""
    tables: dict[str, dict[str, list[str]]] = {}
    for line in "\n".join(run.quoted for run in read(LESSONS / name).runs).splitlines():
        first, *cells = re.split(r"\s{2,}", line.strip())
        if line.startswith(("CPU time per page", "Pages per second")):
            title = line
        elif first in {"callbacks", "native_asyncio", "sequential", "thread_pool"} and cells:
            tables.setdefault(title, {})[first] = cells
    return tables


def number(text: str) -> float:
    return float(text.split(maxsplit=1)[0].replace(",", ""))


def test_the_answer_on_keep_alive_is_what_its_output_shows() -> None:
    tables = quoted_tables("14-keep-alive.md")
    kept, anew = (tables[f"CPU time per page, {how} connections"] for how in ("keep-alive", "per-fetch"))

    for name in ("callbacks", "thread_pool"):
        assert 2 < number(anew[name][0]) / number(kept[name][0]) < 5, "about three times the CPU time"


def test_the_answer_on_when_async_does_not_help_is_what_its_output_shows() -> None:
    tables = quoted_tables("17-when-async-does-not-help.md")
    costs_us, rates = tables["CPU time per page"], tables["Pages per second"]
    models = [name for name, cells in rates.items() if "-" not in cells]

    assert set(models) == {"thread_pool", "native_asyncio"} == set(rates) - {"sequential"}
    assert min(rates, key=lambda name: number(rates[name][0])) == "native_asyncio", "asyncio is slower than a loop"
    assert all(number(rates[name][1]) > number(rates[name][0]) for name in models), (
        "the figures rise with ten in flight"
    )
    assert max(models, key=lambda name: number(rates[name][1])) == min(
        models, key=lambda name: number(costs_us[name][1])
    ), "the cheapest is fastest"
    assert all(number(rates[name][1]) < 1.2e6 / number(costs_us[name][1]) for name in models), "the limit of one core"


def test_the_answer_on_cpu_work_is_what_its_output_shows() -> None:
    tables = quoted_tables("16-cpu-work-and-blocking-calls.md")
    costs = tables["CPU time per page, 5 ms CPU work"]
    free, busy = (tables[f"Pages per second, {work} CPU work"] for work in ("no", "5 ms"))

    assert set(costs) == set(free) == set(busy) == {"thread_pool", "native_asyncio"}
    for name, cells in busy.items():
        assert number(cells[0]) == pytest.approx(1e3 / number(costs[name][0]), rel=0.2), "one second by the CPU time"
        assert number(cells[0]) < 240 < number(free[name][0])


def test_the_answer_on_what_a_thread_costs_is_what_its_output_shows() -> None:
    (run,) = read(LESSONS / "02-what-a-thread-costs.md").runs
    sizes = {
        name: [number(cell.replace("±", " ±")) for cell in re.findall(r"[\d,]+ ±", line)]
        for name in ("asyncio_task", "thread")
        for line in run.quoted.splitlines()
        if line.startswith(f"{name} ") and "±" in line
    }
    (user, *_, whole, _), (own, *_, full, resident) = sizes["asyncio_task"], sizes["thread"]

    assert user > 0.9 * whole, "nearly all of a task is user memory"
    assert full > 2 * max(own, resident), "the price of a thread by ps is too low"


def test_invalid_trials_are_never_quoted(tmp_path: Path) -> None:
    script = "import sys; print('hello, red'); print('1/1 x ✗ failed', file=sys.stderr)"
    path = made_page(tmp_path, command=f'python -c "{script}"', quoted="hello, old")
    before = path.read_text("utf-8")

    (problem,) = renew(path)

    assert "1 invalid trials, not quoted" in problem
    assert path.read_text("utf-8") == before
