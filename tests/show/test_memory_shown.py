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
from inflight.bench.show.findings import findings
from inflight.bench.show.studies import Studies, study_of
from inflight.bench.show.study import Part, parts
from inflight.bench.show.table import Group, Table, texts
from tests.made_memory_rows import PARKED, held_row, idle_row, ladder, memory_run
from tests.made_rows import edited, memory_rows
from tests.show.drawn import HOSTILE, drawn
from tests.show.drawn import texts as texts_of
from tests.swarm.made_swarm_rows import SIZES as SWARM_SIZES
from tests.swarm.made_swarm_rows import swarm_row

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
DISTURBED = edited(idle_row(n=4000, number=2), measured={"held_disturbed": "+9 tasks", "held_slab_bytes": 10**12})
UNKNOWN = ("slab_bytes", "kernel_stack_bytes")
KINDS = [name for name in PARKED if name != "thread"][:3]
PAIR = ladder({name: PARKED[name] for name in (*KINDS, "thread")}, SIZES, rounds=1, noise=1)


@pytest.fixture(autouse=True)
def _without_stored_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "reference_memory", dict)


def parts_of(rows: Sequence[Row]) -> list[Part]:
    return parts(study_of("memory"), trials(rows))


def tables(rows: Sequence[Row], history: History | None = None) -> list[Table]:
    many = parts_of(rows)
    return list(sections.section(many, history).tables) if many else []


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        (idle(), "thread | 16 kB | 4.2 kB | 16 kB | 7.8 kB | 45 kB | 16 kB"),
        (held(noise=NEAR), "callbacks | 380 B | 0 B | 0 B | -11 B | 370 B | 380 B"),
        (held(stack="own"), "callbacks * | 400 B | 0 B | 0 B | 0 B | 400 B | 400 B"),
        (BENT, "thread | 0.50 to 6.9 kB | 0 B | 0 B | 0 B | 0.50 to 6.9 kB | 0.50 to 6.9 kB"),
        (idle(unknown=UNKNOWN), "thread | 16 kB | 4.2 kB | - | - | - | 16 kB"),
        ([*idle(), DISTURBED], "thread | 16 kB | 4.2 kB | 16 kB | 7.8 kB | 45 kB | 16 kB"),
        (
            [*idle()[:2], DISTURBED, *idle()[3:]],
            "thread | 16 kB | 4.2 kB | - | - | - | 16 kB",
        ),
        (memory_rows(), "callbacks | 1.0 kB | - | - | - | - | 1.0 kB"),
    ],
    ids=["error", "noise", "own stack", "bent", "unknown", "disturbed", "too few sizes", "of the process only"],
)
def test_a_line_has_a_slope_or_its_range_for_each_layer_that_is_known(rows: list[Row], cells: str) -> None:
    (table,) = tables(rows)

    assert table.heads == ("", "user", "page tables", "kernel stacks", "slab, sockets", "all layers", "resident (RSS)")
    assert [" | ".join(line) for line in table.cells] == [cells]
    assert bool(table.notes) == ("- |" in cells)


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
    rows = [*PAIR, *held("b", size=2000), *held("a"), *(swarm_row(asked=size) for size in SWARM_SIZES)]
    names = [
        [line.text if isinstance(line, Group) else texts(line)[0] for line in table.lines] for table in tables(rows)
    ]

    assert names == [
        ["idle threads and tasks", *KINDS, "thread", "fetches in flight", "a", "b"],
        ["fetches in a swarm", "callbacks"],
    ]
    assert ["server" in table.heads for table in tables(rows)] == [False, True]


def test_connections_have_tables_of_their_own_with_what_is_idle_in_the_first() -> None:
    first, second = tables([*idle(), *held("a", connection="per-fetch"), *held("b"), *held("a")])

    assert [line[0] for line in first.cells] == ["thread", "a", "b"]
    assert (first.title, second.title) == (
        f"{TITLE}, keep-alive connections", f"{TITLE}, per-fetch connections",
    )  # fmt: skip


def test_what_has_too_few_valid_trials_is_named_below_the_table() -> None:
    (table,) = tables([*held(), held_row("generators"), *held("invalid", invalid=True)])

    assert table.notes == ("Too few valid trials for a slope: generators, invalid.",)
    assert [line[0] for line in table.cells] == ["callbacks"]
    assert tables([held_row()]) == tables(held(invalid=True)) == tables([]) == []


TITLE = study_of("memory").title
WAITING = "Each additional waiting thread or task takes"
FLIGHT = "Each additional fetch in flight takes"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (PAIR, [f"{WAITING} 45 kB with thread, 1.2 kB with asyncio_task (39x)."]),
        (idle(), [f"{WAITING} 45 kB with thread."]),
        (
            [*held("a"), *held("b", size=2000), *held("client", size=90_000, stack="own")],
            [f"{FLIGHT} 2.0 kB with b, 400 B with a (5.0x)."],
        ),
        (
            [*idle(), *held("client", size=90_000, stack="own")],
            [f"{WAITING} 45 kB with thread.", f"{FLIGHT} 90 kB with client."],
        ),
        ([*held("a", NEAR), *held("b", NEAR, 410)], [f"{FLIGHT} 380 B with b, 370 B with a: the intervals overlap."]),
        ([*held("wild", WILD, 3800), *held("a")], [f"{FLIGHT} 400 B with a."]),
        (held("a", parked=(300, 0, 0, 0)), [f"{FLIGHT} 400 B with a."]),
        (BENT, []),
        (idle(unknown=UNKNOWN), []),
        (held(invalid=True), []),
    ],
    ids=["pair", "alone", "shared", "own alone", "overlap", "of 0", "parked", "bent", "unknown", "invalid"],
)  # fmt: skip
def test_a_finding_has_the_ends_of_those_that_are_known_and_straight(rows: list[Row], told: list[str]) -> None:
    assert [one for part in parts_of(rows)[:1] for one in findings(part)] == told


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


def test_a_whole_run_has_bars_of_layers_and_a_ladder() -> None:
    found = drawn(memory_run(1))

    assert {"memory", "ladder"} <= set(found)
    assert [axes.get_title(loc="left") for axes in found["ladder"].axes] == [
        "idle threads and tasks",
        "fetches in flight",
    ]
    assert all(text in texts_of(found["memory"]) for text in ("Fetches in flight", "57 kB", "thread_pool"))


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
