"""Which interpreter a table gets that asks for one by its role."""

import sys
from typing import Any

import pytest

from inflight.bench.measure import interpreters
from inflight.bench.measure.interpreters import Interpreter
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.plan.trial import FREE_THREADED, GENERATIONAL, INCREMENTAL, NEWEST, OLDEST, PAIRS, WITH_THE_LOCK


def made(version: str, path: str = "", **more: Any) -> Interpreter:
    facts: dict[str, Any] = {
        "implementation": "cpython", "build": "", "compiler": "cc 1", "optimised": False, "debug": False,
        "free_threaded": False, "allocator": "pymalloc",
    }  # fmt: skip
    return Interpreter(path or f"/pyenv/versions/{version}/bin/python3", version, **facts | more)


def free(version: str, **more: Any) -> Interpreter:
    return made(version, f"/pyenv/versions/{version}t/bin/python3", free_threaded=True, **more)


OLD, MIDDLE, NEW = made("3.11.7"), made("3.12.1"), made("3.13.0")
ALPHA = made("3.14.0a3+", incremental_gc=True)


@pytest.mark.parametrize("given", [True, False], ids=["given", "found"])
def test_a_free_threaded_build_and_its_twin_are_chosen_together(given: bool) -> None:
    pair = [free("3.14.0a3+"), ALPHA]
    some = (pair, [NEW, OLD]) if given else ([], [free("3.15.0"), *pair, NEW])

    assert interpreters.chosen(FREE_THREADED, *some) is pair[0]
    assert interpreters.chosen(WITH_THE_LOCK, *some) is pair[1]


@pytest.mark.parametrize("change", [{"compiler": "cc 2"}, {"build": "abc"}, {"optimised": True}])
def test_another_commit_or_compiler_is_no_twin(change: dict[str, Any]) -> None:
    found = [made("3.14.0", **change), free("3.14.0")]

    assert interpreters.chosen(FREE_THREADED, [], found) is found[1]
    with pytest.raises(
        ExperimentError, match=r"needs a build with the lock of the same version.*as 3\.14\.0t; give it"
    ):
        interpreters.chosen(WITH_THE_LOCK, [], found)


def test_a_free_threaded_build_that_is_given_is_not_replaced_by_one_with_a_twin() -> None:
    own, found = free("3.15.0"), [free("3.14.0"), made("3.14.0")]

    assert interpreters.chosen(FREE_THREADED, [own], found) is own


def test_the_oldest_and_the_newest_release_are_of_one_origin() -> None:
    other = [made("3.13.1", "/usr/bin/python3.13"), made("3.11.2", "/usr/bin/python3.11", optimised=True)]
    found = [ALPHA, free("3.15.0"), *other, NEW, MIDDLE, OLD]

    assert interpreters.chosen(OLDEST, [], found) is OLD
    assert interpreters.chosen(NEWEST, [], found) is NEW


def test_two_releases_that_are_given_are_compared_and_one_is_not_enough() -> None:
    assert interpreters.chosen(OLDEST, [MIDDLE, NEW], [OLD]) is MIDDLE
    assert interpreters.chosen(OLDEST, [NEW], [MIDDLE, OLD]) is OLD
    assert (
        interpreters.chosen(
            NEWEST,
            [OLD, made("3.13.1", "/elsewhere/a/bin/python")],
            [NEW],
        ).version
        == "3.13.1"
    )


def test_the_collector_is_compared_with_that_of_the_nearest_version() -> None:
    found = [free("3.14.0a3+"), ALPHA, made("3.13.9", optimised=True), NEW, OLD]

    assert interpreters.chosen(INCREMENTAL, [], found) is ALPHA
    assert interpreters.chosen(GENERATIONAL, [], found) is NEW


@pytest.mark.parametrize(
    ("role", "found", "needed"),
    [
        (FREE_THREADED, [NEW], "needs a free-threaded interpreter, such as python3.14t"),
        (OLDEST, [NEW, ALPHA], "needs two releases of Python from one origin"),
        (NEWEST, [made("3.13.0", optimised=True), OLD], "needs two releases of Python"),
        (
            INCREMENTAL,
            [NEW, OLD],
            "needs an interpreter with the incremental garbage collector (Python 3.14.0 to 3.14.4)",
        ),
        (GENERATIONAL, [ALPHA, free("3.13.0")], "needs an interpreter without the incremental garbage collector"),
    ],
)
def test_what_is_missing_is_named(role: str, found: list[Interpreter], needed: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        interpreters.chosen(role, [], found)

    assert str(caught.value).startswith(needed)
    assert "--python" in str(caught.value)


@pytest.mark.parametrize("role", [role for pair in PAIRS for role in pair])
def test_debug_builds_and_other_implementations_never_take_part(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [
        made("3.13.0", debug=True),
        made("3.14.0a3+", implementation="pypy"),
        free("3.14.0a3+", debug=True),
    ]
    alone = made("3.11.7", sys.executable)
    monkeypatch.setattr(interpreters, "on_this_machine", lambda: others)
    monkeypatch.setattr(interpreters, "ask", lambda _name: alone)
    interpreters.with_role.cache_clear()
    try:
        with pytest.raises(ExperimentError, match=r"^needs "):
            interpreters.path_of(role)
    finally:
        interpreters.with_role.cache_clear()


def test_a_path_is_chosen_as_it_is() -> None:
    assert interpreters.path_of(sys.executable) == sys.executable
