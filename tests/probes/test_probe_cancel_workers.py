"""What is left after a crawl, with and without cancelled workers."""

from collections.abc import Callable

import pytest

from inflight.bench.claims.programs import cancel_workers
from inflight.bench.claims.programs.cancel_workers import ARGUMENTS, LEAVES_OUT, SITE, complaint, measure
from tests.patience import FOREVER_S
from tests.probes.asking import ask

Serve = Callable[[str], str]
NOTHING = {"threads": 0, "tasks": 0, "coroutines": 0, "descriptors": 0}


@pytest.fixture(autouse=True)
def _without_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for every crawl, and for every process, to its end."""
    monkeypatch.setattr(cancel_workers, "CRAWL_S", FOREVER_S)
    monkeypatch.setattr(cancel_workers, "EXIT_S", FOREVER_S)


@pytest.mark.parametrize("strategy", ARGUMENTS["strategy"])
def test_nothing_is_left_after_a_crawl(serve: Serve, strategy: str) -> None:
    measured = ask("cancel_workers", serve("cancel_workers"), strategy=strategy, variant="cancelled")

    assert measured["pages"] == SITE["pages"]
    assert measured["left"] == NOTHING
    assert measured["ended"]
    assert measured["error"] is None
    assert measured["printed"] == []
    assert measured["complaint"] == ""


def test_uncancelled_tasks_are_destroyed_with_a_complaint(serve: Serve) -> None:
    measured = ask(
        "cancel_workers",
        serve("cancel_workers"),
        strategy="native_asyncio",
        variant="left-out",
    )

    assert measured["complaint"] == "Task was destroyed but it is pending!"
    assert measured["left"]["tasks"] == measured["left"]["coroutines"] > 0
    assert measured["left"]["descriptors"] > 0
    assert not [line for line in measured["printed"] if " at 0x" in line or '"/' in line]


def test_asyncio_run_cancels_what_is_left(serve: Serve) -> None:
    measured = ask(
        "cancel_workers",
        serve("cancel_workers"),
        strategy="native_asyncio",
        variant="left-out-run",
    )

    assert measured["left"] == NOTHING
    assert measured["printed"] == []


def test_our_loop_reports_that_nothing_can_wake_the_workers(serve: Serve) -> None:
    measured = ask(
        "cancel_workers",
        serve("cancel_workers"),
        strategy="generators",
        variant="left-out",
    )

    assert measured["complaint"] == "RuntimeError: every task waits, and nothing is left that could wake one"
    assert measured["ended"]


@pytest.mark.parametrize("variant", ["left-out", "left-out-daemon"])
def test_unended_threads_keep_the_process_alive_unless_they_are_daemons(
    serve: Serve, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variant == "left-out":
        monkeypatch.setattr(cancel_workers, "EXIT_S", 0.5)

    measured = ask("cancel_workers", serve("cancel_workers"), strategy="thread_pool", variant=variant)

    assert measured["left"]["threads"] > 0
    assert measured["ended"] == (variant == "left-out-daemon")


@pytest.mark.parametrize("variant", list(LEAVES_OUT))
def test_a_variant_does_not_apply_to_a_model_without_workers(variant: str) -> None:
    measured = measure("http://127.0.0.1:1", "callbacks", variant)

    assert "callbacks" in measured["not_applicable"]


def test_a_line_outside_a_traceback_is_the_complaint() -> None:
    trace = [
        "Exception ignored in: <x>",
        "Traceback (most recent call last):",
        "  File",
        "RuntimeError: closed",
    ]

    assert complaint([]) == ""
    assert complaint(trace) == "RuntimeError: closed"
    assert complaint([*trace, *trace, "Task was destroyed", "task: <y>"]) == "Task was destroyed"
