"""What the small programs of the lessons do, apart from how long it takes: order, numbers at once, errors."""

import asyncio
import difflib
import importlib.util
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType

import pytest

from tools.lesson_pages import LESSONS

CODE = LESSONS / "code"


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs find each other, as they do when they are run."""
    monkeypatch.syspath_prepend(str(CODE))


def program(name: str) -> ModuleType:
    """Import a program afresh."""
    spec = importlib.util.spec_from_file_location(f"lesson_{name}", CODE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def printed(run: Callable[[], object], expected: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run something and return its lines; again if they differ: a stall of the machine puts timers out of order."""
    for _ in range(3):
        run()
        found = lines(capsys)
        if found == expected:
            break
    return found


@pytest.mark.parametrize("way", ["one_then_the_other", "two_coroutines"])
def test_awaits_one_after_another_do_not_overlap(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(getattr(program("two_awaits"), way)())

    assert lines(capsys) == ["/a: begin", "/a: end", "/b: begin", "/b: end"]


@pytest.mark.parametrize("way", ["gathered", "in_a_task_group"])
def test_tasks_begin_before_one_of_them_ends(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(getattr(program("two_awaits"), way)())

    found = lines(capsys)
    assert found[:2] == ["/a: begin", "/b: begin"]
    assert sorted(found[2:]) == ["/a: end", "/b: end"]


def test_gather_lets_the_other_fetch_go_on_and_a_task_group_cancels_it(capsys: pytest.CaptureFixture[str]) -> None:
    one_fails = program("one_fails")

    for way, expected in {
        "gathered": ["the caller gets OSError('connection reset')", "/good: end"],
        "in_a_task_group": ["/good: cancelled", "the caller gets OSError('connection reset')"],
    }.items():
        show = partial(one_fails.show, getattr(one_fails, way))
        assert printed(lambda: asyncio.run(show()), [way, *expected], capsys) == [way, *expected]  # noqa: B023


def test_a_coroutine_that_nobody_awaits_does_not_begin_and_such_a_task_does_not_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.warns(RuntimeWarning, match="'save' was never awaited"):
        asyncio.run(program("never_awaited").main())

    assert lines(capsys) == ["/b: begin", "/b: saved", "/c: begin", "main: end"]


def test_waiting_coroutines_are_on_the_virtual_stack_and_running_ones_on_the_real_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asyncio.run(program("stacks").main())

    waits, virtual, goes_on = lines(capsys)
    assert waits.endswith("(asyncio) > look")
    assert virtual == "virtual stack: crawl > fetch > read"
    assert goes_on.endswith("(asyncio) > crawl > fetch > read")


@pytest.mark.parametrize(
    ("way", "in_flight", "tasks"), [("all_at_once", 200, 200), ("semaphore", 20, 200), ("workers", 20, 20)]
)
def test_a_semaphore_limits_fetches_and_workers_limit_tasks_too(way: str, in_flight: int, tasks: int) -> None:
    bounded = program("bounded")

    site = asyncio.run(bounded.measure(getattr(bounded, way)))

    assert (site.done, site.most_in_flight, site.most_tasks) == (200, in_flight, tasks)


@pytest.mark.parametrize(
    ("fetch", "expected"),
    [
        ("polite", ["the connection is closed", "the caller gets TimeoutError"]),
        (
            "deaf",
            [
                "the fetch is cancelled, and tries again",
                "the fetch ends",
                "the caller goes on, without an error",
            ],
        ),
        ("in_a_thread", ["the caller gets TimeoutError", "the thread ends"]),
    ],
)
def test_a_time_out_stops_what_awaits_and_lets_the_exception_pass(
    fetch: str, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    time_outs = program("time_outs")

    found = printed(lambda: asyncio.run(time_outs.limited(getattr(time_outs, fetch))), [fetch, *expected], capsys)

    assert found == [fetch, *expected]


def test_a_closed_loop_sees_one_slow_request_and_an_open_loop_all_of_them() -> None:
    open_closed = program("open_closed")
    closed, opened = open_closed.closed_loop(), open_closed.open_loop()

    assert [sum(wait > open_closed.SLOW_MS for wait in waits) for waits in (closed, opened)] == [1, 96]
    assert [len(closed), len(opened)] == [451, 500]
    assert max(closed) == max(opened) == 1010
    due_in_the_stall = range(open_closed.STALL_FROM_MS, open_closed.STALL_TO_MS, open_closed.EVERY_MS)
    assert len(due_in_the_stall) == 50


def test_without_a_stall_both_loops_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    open_closed = program("open_closed")
    monkeypatch.setattr(open_closed, "STALL_TO_MS", open_closed.STALL_FROM_MS)

    assert open_closed.closed_loop() == open_closed.open_loop() == [10] * 500


@pytest.mark.slow
@pytest.mark.usefixtures("code")
@pytest.mark.parametrize("name", ["await_loop", "yield_from_loop"])
def test_the_loop_of_sixty_lines_sends_every_request_before_it_has_a_page(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program(name).main()

    *printed, took = lines(capsys)
    assert sorted(printed[:3]) == [f"/p/{number}: send the request" for number in (1, 2, 3)]
    assert sorted(re.sub(r"\d+ bytes", "all", line) for line in printed[3:]) == ["/p/1: all", "/p/2: all", "/p/3: all"]
    assert took.startswith("three pages in ")


def test_the_two_loops_differ_in_eight_lines_and_their_types() -> None:
    ours, older = ((CODE / name).read_text(encoding="utf-8") for name in ("await_loop.py", "yield_from_loop.py"))
    assert sum(bool(line.strip()) for line in ours.splitlines()) == 57

    marked = difflib.ndiff(ours.splitlines()[1:], older.splitlines()[1:])
    changed = [line[2:] for line in marked if line.startswith("- ")]
    differ = [line for line in changed if re.search(r"async def|await|__await__", line)]
    assert len(differ) == 8
    assert all("Coroutine" in line for line in changed if line not in differ)
    assert without_words(ours) == without_words(older)


def without_words(text: str) -> str:
    """Return the program without its first line, the words for waiting, and types."""
    for words in (r"^.*\n", r"async ", r"(await|yield from) ", r"__(await|iter)__", r"-> \w+:", r"Coroutine|Generator"):
        text = re.sub(words, "", text, count=1 if words.startswith("^") else 0)
    return text


@contextmanager
def imported(name: str) -> Iterator[ModuleType]:
    """Give a program whose module-level selector is closed in the end."""
    module = program(name)
    try:
        yield module
    finally:
        module.selector.close()


@pytest.mark.slow
@pytest.mark.usefixtures("code")
def test_callbacks_are_called_by_the_loop_and_both_requests_are_sent_before_a_page_is_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with imported("callback_loop") as callback_loop:
        callback_loop.main()

    printed = [line for line in lines(capsys) if line != "loop: wait"]
    assert printed[:2] == ["/p/1: started", "/p/2: started"]
    assert sorted(printed[2:4]) == ["/p/1: request sent", "/p/2: request sent"]
    assert sorted(line.partition(",")[0] for line in printed[4:]) == ["/p/1: done", "/p/2: done"]


def test_a_site_that_does_not_start_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    local_site = program("local_site")
    monkeypatch.setattr(local_site, "SERVER", "-m no_such_module")

    with pytest.raises(SystemExit, match=r"venv/bin/activate"), local_site.local_site(1, "0"):
        pass
