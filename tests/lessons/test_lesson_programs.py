"""What the small programs of the lessons do, apart from how long it takes: order, numbers at once, errors."""

import asyncio
import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from tools.lesson_pages import LESSONS

pytestmark = pytest.mark.night
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


def test_a_closed_loop_sees_one_slow_request_and_an_open_loop_all_of_them() -> None:
    open_closed = program("open_closed")
    closed, opened = open_closed.closed_loop(), open_closed.open_loop()

    assert [sum(wait > open_closed.SLOW_MS for wait in waits) for waits in (closed, opened)] == [1, 96]
    assert [len(closed), len(opened)] == [451, 500]
    assert max(closed) == max(opened) == 1010
    due_in_the_stall = range(open_closed.STALL_FROM_MS, open_closed.STALL_TO_MS, open_closed.EVERY_MS)
    assert len(due_in_the_stall) == 50


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


@contextmanager
def imported(name: str) -> Iterator[ModuleType]:
    """Give a program whose module-level selector is closed in the end."""
    module = program(name)
    try:
        yield module
    finally:
        module.selector.close()


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
