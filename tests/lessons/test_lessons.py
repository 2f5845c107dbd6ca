"""What the lessons show is what happens: every command is run, every quoted line of code is in its file."""

import itertools
import re
from pathlib import Path

import pytest

from inflight.bench.core.experiment import load
from tools import lessons
from tools.lesson_pages import (
    LESSONS,
    LessonError,
    Run,
    broken_links,
    lesson_paths,
    missing,
    read,
    written_wrong,
)
from tools.lessons import Done, check, perform, renew, trimmed, went_wrong, working_folder

PAGES = lesson_paths()
LONG = [path for path in PAGES if path.stem.startswith(("01-", "02-", "14-", "17-", "18-"))]
"""They measure for seconds, or hold thousands of things at once: `make test-long`, and in CI after the other tests."""
ASKED = ("**Predict.**", "```sh", "<summary>Output</summary>", "<summary>Answer</summary>")
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
    path.write_text(PAGE.format(command=command, quoted=quoted) + more, encoding="utf-8")
    return path


def run_of(command: str = "inflight run x.toml", exit_code: int = 0) -> Run:
    return Run(command, ("^hello",), exit_code, None, "", 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in PAGES if path not in LONG], ids=lambda path: path.stem)
def test_every_command_does_what_its_page_says(path: Path) -> None:
    assert check(path) == []


@pytest.mark.long
@pytest.mark.parametrize("path", LONG, ids=lambda path: path.stem)
def test_every_long_command_does_what_its_page_says(path: Path) -> None:
    assert check(path) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", LONG, ids=lambda path: path.stem)
def test_the_plan_of_every_long_command_can_be_run(path: Path) -> None:
    """What takes too long beside other tests is at least planned: its names, its keys and this machine's limits."""
    with working_folder() as folder:
        for run in read(path).runs:
            done = perform(f"{run.command} --list", folder)
            assert done.code == 0, done
            assert done.out.strip()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_quotes_existing_code_and_asks_before_it_answers(path: Path) -> None:
    lesson = read(path)

    assert written_wrong(lesson) == []
    assert all(run.expects for run in lesson.runs)
    parts = ("\nAfter this lesson you can ", "**Question.**", *ASKED * len(lesson.runs), "**Remember.**")
    places = [place.start() for place in re.finditer("|".join(map(re.escape, sorted(set(parts)))), lesson.text)]
    assert [part for place in places for part in set(parts) if lesson.text.startswith(part, place)] == list(parts)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_output_and_answer_are_folded(path: Path) -> None:
    text = read(path).text

    assert all(run.quoted.startswith("<details><summary>Output</summary>\n\n") for run in read(path).runs)
    assert all(run.quoted.endswith("\n\n</details>\n") for run in read(path).runs)
    assert text.count("</details>") == text.count("<details>") == 2 * len(read(path).runs)


def test_the_index_names_every_page_in_order_and_links_to_what_is_there() -> None:
    index = (LESSONS / "README.md").read_text(encoding="utf-8")

    assert [int(path.name[:2]) for path in PAGES] == list(range(len(PAGES)))
    assert broken_links(LESSONS / "README.md", index) == []
    titles = [read(path).text.partition("\n")[0].removeprefix("# ").split(". ", 1) for path in PAGES]
    rows = [f"| {number} | [{title}]({path.name}) |" for path, (number, title) in zip(PAGES, titles, strict=True)]
    places = [index.index(row) for row in rows]
    assert places == sorted(places)


def test_every_page_leads_to_the_next_one() -> None:
    for path, following in itertools.pairwise(PAGES):
        assert path.read_text(encoding="utf-8").rstrip().endswith(f"]({following.name})")
    assert PAGES[-1].read_text(encoding="utf-8").rstrip().endswith("](README.md)")


def test_every_program_and_experiment_is_run_by_a_page_and_every_plot_is_shown() -> None:
    shown = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    programs = [path for path in LESSONS.glob("code/*.py") if "__main__" in path.read_text(encoding="utf-8")]
    files = [*LESSONS.glob("*.toml"), *programs]

    assert files
    assert [path for path in files if f" {path.relative_to(LESSONS.parent.parent)}\n" not in shown] == []
    assert [path for path in LESSONS.glob("plots/*") if f"](plots/{path.name})" not in shown] == []


def test_what_is_printed_is_quoted_between_the_marks_and_nothing_else_changes(tmp_path: Path) -> None:
    path = made_page(tmp_path, quoted="hello, old")
    before, _, after = path.read_text(encoding="utf-8").partition("hello, old\n")

    assert renew(path) == []

    text = path.read_text(encoding="utf-8")
    assert text.startswith(before + "<details><summary>Output</summary>\n\n```text\nhello, reader\n```\n\n*")
    assert text.endswith("*\n\n</details>\n" + after)
    assert "Python" in text


def test_the_output_of_a_failed_command_is_not_quoted(tmp_path: Path) -> None:
    path = made_page(tmp_path, command="python -c \"print('hello'); exit(3)\"")
    before = path.read_text(encoding="utf-8")

    (problem,) = renew(path)

    assert "ended with 3 instead of 0" in problem
    assert path.read_text(encoding="utf-8") == before


def test_a_page_may_state_its_exit_code(tmp_path: Path) -> None:
    path = made_page(tmp_path, command="python -c \"print('hello'); exit(3)\"")
    path.write_text(path.read_text(encoding="utf-8").replace("<!-- expects", "<!-- exit: 3 -->\n<!-- expects", 1))

    assert check(path) == []


def test_quoted_words_missing_from_the_output_are_named(tmp_path: Path) -> None:
    problems = check(made_page(tmp_path, command="python -c \"print('good evening')\"", quoted="good evening"))

    assert len(problems) == 2, "once for what is quoted, once for what is printed"
    assert all("no match for '^hello'" in problem for problem in problems)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ("[nowhere](no-such-page.md)", "no-such-page.md"),
        ("<!-- quote: strategies/base.py -->\n```python\nclass Job:\nclass Strategy:\n```", "class Job:"),
        ("<!-- quote: strategies/base.py -->\n```python\nclass Job:\n...\nno_such_line()\n```", "no_such_line()"),
    ],
)
def test_broken_links_and_lines_in_no_file_are_named(tmp_path: Path, more: str, named: str) -> None:
    (problem,) = written_wrong(read(made_page(tmp_path, more=more)))

    assert named in problem


def test_a_quote_may_leave_lines_out_and_be_indented_less(tmp_path: Path) -> None:
    more = "<!-- quote: strategies/base.py -->\n```python\nclass Job:\n...\nmax_in_flight: int = 100\n```"

    assert written_wrong(read(made_page(tmp_path, more=more))) == []


def test_a_link_to_another_site_is_not_followed(tmp_path: Path) -> None:
    assert broken_links(tmp_path / "page.md", "[far](https://site.test/x) [near](#here)") == []


def test_a_page_without_its_marks_is_refused(tmp_path: Path) -> None:
    bare = tmp_path / "bare.md"
    bare.write_text("# No command\n", encoding="utf-8")
    with pytest.raises(LessonError, match="no command"):
        read(bare)
    with pytest.raises(LessonError, match="lacks its marks"):
        read(made_page(tmp_path, more="```sh\ninflight list\n```\n"))


def test_programs_of_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match="not curl"):
        perform("curl http://127.0.0.1/", tmp_path)


def test_a_plot_that_was_not_saved_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made_page(tmp_path)
    path.write_text(
        path.read_text(encoding="utf-8").replace("<!-- output: begin", "<!-- plot: x -->\n<!-- output: begin")
    )

    assert lessons.main([str(path)]) == 1
    assert "saved no plot x" in capsys.readouterr().err
    assert lessons.main(["--check", str(path)]) == 0


def test_failed_checks_are_no_problem_of_the_page() -> None:
    all_red = Done(1, "hello", "1/1  callbacks  ✗ failed")

    assert went_wrong(run_of(), all_red) == []
    assert all_red.red == 1
    assert went_wrong(run_of(), Done(1, "hello", "inflight: no such file")) == [
        "inflight run x.toml: ended with 1 instead of 0: inflight: no such file"
    ]
    assert missing(run_of(), "not here: hello")


def test_output_is_quoted_without_the_machine_wrapped_and_with_its_middle_left_out() -> None:
    machine = "Some CPU, 2 cores"
    long = " ".join(["word"] * 30)

    lines = trimmed("\n".join([f"{machine} · 2026", long, "a\x1b[1mb", *map(str, range(100)), "", ""]), machine)

    assert lines[0].startswith("word word")
    assert lines[1].startswith("    word")
    assert max(map(len, lines)) <= lessons.WIDEST
    assert lines[2] == "a?[1mb"
    assert len(lines) == lessons.LONGEST + 1
    assert lines[-1] == "99"
    assert sum("lines left out" in line for line in lines) == 1


def quoted_tables(name: str) -> dict[str, dict[str, list[str]]]:
    """Return the tables of timed trials that a page quotes by their titles, each line by its strategy."""
    tables: dict[str, dict[str, list[str]]] = {}
    for line in "\n".join(run.quoted for run in read(LESSONS / name).runs).splitlines():
        first, *cells = re.split(r"\s{2,}", line.strip())
        if line.startswith(("CPU per page at ", "Pages per second")):
            title = line
        elif first in {"callbacks", "native_asyncio", "sequential", "thread_pool"} and cells:
            tables.setdefault(title, {})[first] = cells
    return tables


def answer_of(name: str) -> str:
    return " ".join(read(LESSONS / name).text.partition("<summary>Answer</summary>")[2].split())


def number(text: str) -> float:
    return float(text.split(maxsplit=1)[0].replace(",", ""))


def test_the_answer_on_keep_alive_states_the_figures_of_its_output() -> None:
    tables, answer = quoted_tables("14-keep-alive.md"), answer_of("14-keep-alive.md")
    kept, anew = (
        tables[f"CPU per page at no added latency, 20 in flight, {how} connections"]
        for how in ("keep-alive", "per-fetch")
    )

    for name in ("callbacks", "thread_pool"):
        before, after = (number(table[name][0]) for table in (kept, anew))
        told = f"a factor of {after / before:.1f}, a difference of {after - before:.0f} µs"
        assert f"{name} goes from {before:.0f} µs to {after:.0f} µs: {told}" in answer
        assert after > 2 * before, "keeping connections matters"


def test_the_knee_lies_between_points_of_its_lesson() -> None:
    table = quoted_tables("01-where-the-time-goes.md")["CPU per page at 20 ms, 100 in flight"]
    experiment = load(str(LESSONS / "01-knee.toml"), ["native_asyncio"])
    caps = sorted({workload.in_flight for _, workload in experiment.cells()})
    cpu_us = number(table["native_asyncio"][0])
    knee = (20_000 + cpu_us) / cpu_us

    near = [cap for cap in caps if knee / 2 <= cap <= knee * 2]
    assert len(near) >= 3
    assert near[0] < knee < near[-1]


def test_the_answer_on_when_async_does_not_help_is_what_its_output_shows() -> None:
    tables = quoted_tables("17-when-async-does-not-help.md")
    cpu_us = {
        name: number(cells[0]) for name, cells in tables["CPU per page at no added latency, 10 in flight"].items()
    }
    rates = {
        name: [number(rate) for rate in cells if rate != "-"] for name, cells in tables["Pages per second"].items()
    }

    assert set(cpu_us) == {"thread_pool", "native_asyncio"} == set(rates) - {"sequential"}
    assert all(rates[name][1] > rates[name][0] for name in cpu_us), "the figures rise with ten in flight"
    assert max(cpu_us, key=lambda name: rates[name][1]) == min(cpu_us, key=cpu_us.__getitem__), (
        "the cheapest is fastest"
    )
    assert all(rates[name][1] < 1.2e6 / cpu_us[name] for name in cpu_us), "the limit of one core"


def test_the_answer_on_cpu_work_is_what_its_output_shows() -> None:
    tables = quoted_tables("16-cpu-work-and-blocking-calls.md")
    costs = tables["CPU per page at 50 ms, 50 in flight, 5 ms CPU work"]
    free, busy = (tables[f"Pages per second, {work} CPU work"] for work in ("no", "5 ms"))

    assert set(costs) == set(free) == set(busy) == {"thread_pool", "native_asyncio"}
    assert all(1e3 / number(costs[name][0]) == pytest.approx(200, rel=0.3) for name in busy), "about 200 pages a second"
    assert all(number(busy[name][0]) < 240 < number(free[name][0]) for name in busy)


def test_the_answer_on_what_a_thread_costs_is_what_its_output_shows() -> None:
    (run,) = read(LESSONS / "02-what-a-thread-costs.md").runs
    sizes = {
        name: [number(cell.replace("±", " ±")) for cell in re.findall(r"[\d,]+ ±", line)]
        for name in ("asyncio task", "thread")
        for line in run.quoted.splitlines()
        if line.startswith(f"{name} ") and "±" in line
    }
    (user, *_, whole, _), (own, *_, full, resident) = sizes["asyncio task"], sizes["thread"]

    assert user > 0.9 * whole, "nearly all of a task is user memory"
    assert full > 2 * max(own, resident), "the price of a thread by ps is too low"


def test_invalid_trials_are_never_quoted(tmp_path: Path) -> None:
    script = "import sys; print('hello, red'); print('1/1 x ✗ failed', file=sys.stderr)"
    path = made_page(tmp_path, command=f'python -c "{script}"', quoted="hello, old")
    before = path.read_text(encoding="utf-8")

    (problem,) = renew(path)

    assert "1 invalid trials, not quoted" in problem
    assert path.read_text(encoding="utf-8") == before
