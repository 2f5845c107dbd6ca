"""The functions in the traceback of a planted error, in each model."""

from collections.abc import Callable
from typing import Any

import pytest

from inflight.bench.claims.programs.stack_ripping import ARGUMENTS
from tests.probes.asking import ask_process

Serve = Callable[[str], str]
KEEPS_ITS_STACK = [name for name in ARGUMENTS["strategy"] if name != "callbacks"]


def planted(serve: Serve, strategy: str, at: int) -> dict[str, Any]:
    measured = ask_process("stack_ripping", serve("stack_ripping"), strategy=strategy, at=at)

    text = measured["text"]
    assert "RuntimeError: planted" in text
    assert f'File "{strategy}.py"' in text
    assert "/" not in "".join(line for line in text.splitlines() if 'File "' in line)
    assert text.replace("\n", "").isprintable()
    assert set(measured["lost"]).isdisjoint(measured["traceback"])
    return measured


@pytest.mark.parametrize("at", [1, 3])
def test_a_callback_loses_its_callers(serve: Serve, at: int) -> None:
    measured = planted(serve, "callbacks", at)

    assert measured["started_by"][-1] == "begin"
    assert "begin" in measured["lost"]
    assert measured["traceback"] == ["crawl", "run", "on_readable"]
    assert measured["holding"] == []
    assert not measured["names_starter"]


@pytest.mark.parametrize("strategy", KEEPS_ITS_STACK)
def test_a_kept_stack_names_the_starter_of_the_fetch(serve: Serve, strategy: str) -> None:
    measured = planted(serve, strategy, 1)

    assert measured["names_starter"]
    assert measured["holding"][-2:] == ["fetch", "exchange"]


@pytest.mark.parametrize("strategy", ["generators", "native_asyncio"])
def test_a_coroutine_keeps_its_callers(serve: Serve, strategy: str) -> None:
    measured = planted(serve, strategy, 2)

    assert measured["lost"] == []
    assert measured["started_by"][-1] == "work"
    way = ["run", "step"] if strategy == "generators" else ["main"]
    assert measured["traceback"] == ["crawl", *way, "work", "fetch", "exchange"]
