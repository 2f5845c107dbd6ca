"""The study of memory: slopes in a table, findings, JSON and plots, from made rows."""

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from inflight.bench.frame.frame import trials
from inflight.bench.frame.history import Earlier, History, ranges
from inflight.bench.rows.files import Row
from inflight.bench.show import sections
from inflight.bench.show.studies import Studies, study_of
from inflight.bench.show.study import Part, parts
from inflight.bench.show.table import Group, Table, texts
from tests.made_rows import held_row, idle_row, ladder
from tests.show.cases import CALLBACKS, of
from tests.show.drawn import HOSTILE, drawn

SIZES = (1000, 2000, 4000, 7000, 10_000)
WILD = (9_000_000, -8_000_000, 0, 9_000_000, -9_000_000)
"""Noise in bytes of each of SIZES; slopes of some kB then have an interval that includes 0."""
NEAR = (300_000, -300_000, 0, 300_000, -300_000)
"""Noise with which slopes of 400 and 410 bytes do not differ."""


def idle(name: str = "thread", **same: Any) -> list[Row]:
    return [idle_row(name, n, **same) for n in SIZES]


def held(name: str = "callbacks", noise: Sequence[int] = (0,) * len(SIZES), size: int = 400, **same: Any) -> list[Row]:
    return [held_row(name, n, (size, 0, 0, 0), jitter=off, **same) for n, off in zip(SIZES, noise, strict=True)]


BENT = [
    idle_row(n=n, each=(500 + 4500 * max(0, n - 6000) // n, 0, 0, 0))
    for n in (2000, 4000, 6000, 8000, 10_000, 12_000, 14_000)
]
UNKNOWN = ("slab_bytes", "kernel_stack_bytes")
EACH = {"generator": (460, 1, 0, 0), "generator_task": (650, 1, 0, 0), "asyncio_task": (1150, 2, 0, 0)}
PAIR = ladder(EACH | {"thread": (16_460, 4154, 16_384, 7820)}, SIZES, rounds=1, noise=1)


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


def test_lines_are_in_groups_the_cheapest_first() -> None:
    rows = [*PAIR, *held("b", size=2000), *held("a"), *of("c100k", CALLBACKS)]
    names = [
        [line.text if isinstance(line, Group) else texts(line)[0] for line in table.lines] for table in tables(rows)
    ]

    assert names == [
        ["idle threads and tasks", *EACH, "thread", "fetches in flight", "a", "b"],
        ["fetches in a swarm", "callbacks"],
    ]
    assert ["server" in table.heads for table in tables(rows)] == [False, True]


def test_json_has_an_object_for_each_layer_and_null_for_what_is_unknown() -> None:
    objects = Studies([*idle(unknown=UNKNOWN), held_row()]).as_json()["memory"]
    found = {(one["group"], one["layer"]): one for one in json.loads(json.dumps(objects, allow_nan=False))}

    assert {tuple(one) for one in found.values()} == {("part", *sections.OF_SLOPE)}
    user, slab = found["idle", "user"], found["idle", "slab and sockets"]
    assert user["estimate"] == pytest.approx(16_460)
    assert user["low"] <= user["estimate"] <= user["high"]
    assert user["intercept"] == pytest.approx(14_400_000)
    assert (user["is_straight"], user["points"], user["sizes"], user["reason"]) == (True, 5, 5, "")
    assert (slab["estimate"], slab["low"], slab["intercept"], slab["reason"]) == (None, None, None, "unknown here")
    assert found["held", "user"]["reason"] == "needs 5 different numbers in flight, has 1"
    assert Studies([]).as_json()["memory"] == []


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
