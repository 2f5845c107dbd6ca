"""The study of memory: slopes in a table, findings, JSON and plots, from made rows."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from inflight.bench.frame.frame import trials
from inflight.bench.frame.history import Earlier, History, ranges
from inflight.bench.rows.files import Row
from inflight.bench.show import sections
from inflight.bench.show.studies import study_of
from inflight.bench.show.study import Part, parts
from inflight.bench.show.table import Table
from tests.made_rows import held_row, idle_row
from tests.show.drawn import HOSTILE, drawn

SIZES = (1000, 2000, 4000, 7000, 10_000)


def idle(name: str = "thread", **same: Any) -> list[Row]:
    return [idle_row(name, n, **same) for n in SIZES]


def held(name: str = "callbacks", noise: Sequence[int] = (0,) * len(SIZES), size: int = 400, **same: Any) -> list[Row]:
    return [held_row(name, n, (size, 0, 0, 0), jitter=off, **same) for n, off in zip(SIZES, noise, strict=True)]


BENT = [
    idle_row(n=n, each=(500 + 4500 * max(0, n - 6000) // n, 0, 0, 0))
    for n in (2000, 4000, 6000, 8000, 10_000, 12_000, 14_000)
]
UNKNOWN = ("slab_bytes", "kernel_stack_bytes")


@pytest.fixture(autouse=True)
def _without_stored_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "reference_memory", dict)


def parts_of(rows: Sequence[Row]) -> list[Part]:
    return parts(study_of("memory"), trials(rows))


def tables(rows: Sequence[Row], history: History | None = None) -> list[Table]:
    many = parts_of(rows)
    return list(sections.section(many, history).tables) if many else []


def test_the_range_of_own_runs_stands_beside_memory_or_else_that_of_the_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    callbacks = ("held", "callbacks", "keep-alive")
    monkeypatch.setattr(sections, "reference_memory", lambda: {callbacks: (300, 500)})
    own = History([Earlier(date(2026, 1, day), {}, {}, {callbacks: 350.0 + 10 * day}) for day in (1, 2, 3)])

    for history, ends, source in (
        (History(own.runs[:2]), "300 to 500 B", "stored runs"),
        (own, "360 to 380 B", "this machine"),
    ):
        (table,) = tables(held(), history)
        assert (table.heads[-1], table.cells[0][-1]) == ("range of runs", ends)
        assert source in table.notes[0]


def test_runs_with_the_same_rows_are_one_run() -> None:
    memory_of = [{("held", "callbacks", "keep-alive"): size} for size in (350.0, 350.0, 360.0)]

    assert ranges(memory_of) == {}
    assert ranges(memory_of, least=2) == {("held", "callbacks", "keep-alive"): (350.0, 360.0)}


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (BENT, ["memory", "ladder"]),
        (idle(unknown=UNKNOWN), ["memory"]),
        ([*held(HOSTILE), *held("x" * 200), *held("_hidden")], ["memory", "ladder"]),
        (held(invalid=True), ["ladder"]),
        ([row for n in range(50) for row in held(f"strategy{n}")], ["memory", "ladder"]),
        ([idle_row()], []),
        ([], []),
    ],
    ids=["bent", "unknown", "hostile", "invalid", "many", "one size", "nothing"],
)
def test_plots_of_any_rows_stay_on_the_page(rows: list[Row], names: list[str]) -> None:
    assert [name for name in drawn(rows) if not name.startswith("held")] == names
