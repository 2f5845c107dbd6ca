"""Listings: the table, findings, JSON and plots of each, from made rows; and the figures over time behind them."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from inflight.bench.frame.frame import moments, trials
from inflight.bench.rows.files import Row
from inflight.bench.show import sections
from inflight.bench.show.looks import look
from inflight.bench.show.studies import STUDIES, Studies
from inflight.bench.show.study import Part
from inflight.bench.show.study import parts as parts_of
from inflight.bench.show.table import Table
from inflight.bench.show.words import TEXTS
from tests.made_counts import counts_row
from tests.made_memory_rows import c10k_run, held_row, idle_row, limit_row, probe_row
from tests.made_rows import MS, arm_row, crawl_row, edited
from tests.show.drawn import HOSTILE, drawn, texts
from tests.swarm.made_open_rows import open_row, open_run
from tests.swarm.made_swarm_rows import PID_MAX, c100k_run, lossy_row, swarm_row

NAMED = {study.name: study for study in STUDIES[:-1] if study.measure == "median"}
"""The listings but for the last one, which has what no other has: test_every_trial_is_in_a_table."""
EVERY: dict[str, list[Row]] = {
    "held": c10k_run(1),
    "ps": [idle_row(n=n) for n in (10, 20)],
    "limits": [limit_row()],
    "probes": [probe_row()],
    "swarm": [*c100k_run(), lossy_row()],
    "open_loop": open_run((2000, 4000)),
    "counts": [counts_row(), counts_row("native_asyncio")],
}
"""Rows of each listing."""


def parts(name: str, rows: Sequence[Row]) -> list[Part]:
    return parts_of(NAMED[name], trials(rows))


def tables(name: str, rows: Sequence[Row]) -> list[Table]:
    return list(sections.section(parts(name, rows)).tables)


def findings(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    many = parts(name, rows)
    return (sections.section(many).findings or ()) if many else ()


def held(*reach_ms: int, name: str = "callbacks", **same: Any) -> list[Row]:
    return [held_row(name, number=number, reach_ms=ms, **same) for number, ms in enumerate(reach_ms, 1)]


# Tables


def test_every_listing_has_rows_here_and_none_of_no_rows() -> None:
    assert list(EVERY) == list(NAMED)
    for name, study in NAMED.items():
        assert parts(name, EVERY[name])
        assert parts(name, []) == parts(name, [crawl_row(), arm_row()]) == []
        assert sections.as_frame(study, []).empty


THREADS = swarm_row("thread_pool", planned=29_000, bound_by=PID_MAX)
TABLES: list[tuple[str, list[Row], list[str]]] = [
    (
        "held",
        [*held(900, 1000, 1100), held_row(number=4, reach_ms=9000, invalid=True), *held(3, name="fewer", n=2000)],
        ["callbacks | 10,000 | 1.0 s | 800 ms | 330 ms | 87 MB | 8.7 kB | 0 | 0"],
    ),
    (
        "ps",
        [*(idle_row("asyncio_task", n) for n in (1000, 50_000)), *(idle_row("thread", n) for n in (10, 1000))],
        ["asyncio_task | 50,000 | 82 MB | 1.6 kB", "thread | 1,000 | 41 MB | 41 kB"],
    ),
    (
        "limits",
        [limit_row(), limit_row("ports", bound_by=["a", "b"], remedy=None), limit_row("backlog", found=None)],
        [
            "threads | 21,790 | 21,835 | failure | vm.max_map_count",
            "ports | 21,790 | 21,835 | failure | a or b",
            "backlog | 21,790 | - | failure | vm.max_map_count",
        ],
    ),
    (
        "swarm",
        [THREADS, swarm_row(ramp_per_s=5000), lossy_row("callbacks")],
        [
            "callbacks ✗ | 100,000 |  | 83,334 | 6 | 6 | - | 14 s | - | - | 16,666 | 1 | -",
            "callbacks | 100,000 | 5,000 | 100,000 | 6 | 6 | 6.3 s | 14 s | 1.4 GB | 14 kB | 0 | - | -",
            "thread_pool | 100,000 |  | 29,000 | 2 | 2 | 7.0 s | 11 s | 1.4 GB | 50 kB | 0 | - | kernel.pid_max",
        ],
    ),
    (
        "open_loop",
        open_run((2000, 4000), rounds=3),
        [
            "locust | 2,000 | 2,000 | 11 ms | 13 ms | 11 ms | 12 ms | 77 % | 23 % | 0 | 100 %",
            "locust | 4,000 | 2,600 | 2.7 s | 5.3 s | 11 ms | 18 ms | 100 % | 28 % | 0 | 0 %",
        ],
    ),
]


@pytest.mark.parametrize(("name", "rows", "cells"), TABLES, ids=[name for name, *_ in TABLES])
def test_a_table_has_the_median_of_the_valid_trials_of_each_line(name: str, rows: list[Row], cells: list[str]) -> None:
    (table,) = tables(name, rows)

    assert [" | ".join(line) for line in table.cells] == cells
    assert {len(line) for line in table.cells} == {len(table.heads)}
    assert (TEXTS["signs"]["✗"] in table.notes) == any("✗" in line for line in cells)


def test_the_shared_stack_comes_first_and_the_best_first() -> None:
    rows = [*held(10, name="own", stack="own"), *held(900, name="slow"), *held(100, 120, name="fast")]
    failed = held_row("none", status="failed", reason="RLIMIT_NPROC allows 900 threads")

    assert [line[0] for line in tables("held", [failed, *rows])[0].cells] == ["fast", "slow", "none ✗", "own"]


def test_parts_differ_in_what_is_no_key_and_the_one_with_the_most_lines_is_first() -> None:
    rows = [*held(5), *held(5, connection="per-fetch"), *held(6, name="a", connection="per-fetch")]

    assert [table.title for table in tables("held", rows)] == [
        "Held in flight at once, per-fetch connections", "Held in flight at once, keep-alive connections",
    ]  # fmt: skip


def test_programs_have_a_column_each_and_a_line_for_each_figure_that_one_of_them_has() -> None:
    other = edited(probe_row(attempts=4), workload={"id": "probe/spin/2", "arguments": {"how": "select"}})
    many = [edited(probe_row(attempts=4), workload={"id": "p", "arguments": {"how": str(n)}}) for n in range(6)]
    attempts = [probe_row(number=number, attempts=count) for number, count in ((1, 10), (2, 30), (3, 20))]

    (alone,), (both,) = tables("probes", attempts), tables("probes", [probe_row(), other])
    assert [line[1:] for line in alone.cells if line[0] == "attempts"] == [("20",)]
    assert all(any(cell not in {"", "-"} for cell in line[1:]) for line in alone.cells)
    assert [line[1:] for line in both.cells if line[0] == ""] == [("how select", "how spin")]
    assert [len(table.heads) - 1 for table in tables("probes", many)] == [sections.MAX_TURNED, 1]


@pytest.mark.parametrize(
    ("name", "rows", "below"),
    [
        ("limits", [limit_row()], "threads: sysctl vm.max_map_count=262144."),
        ("swarm", [swarm_row(bound_by=PID_MAX)], f"callbacks, 100,000 in flight: {PID_MAX['sentence']}."),
        (
            "open_loop",
            [open_row(4000, why=HOSTILE)],
            "locust, 4,000 offered/s: cannot keep the rate: 40,000 were due; $x^{2}$<b>&[red]`|?[31m.",
        ),
    ],
)
def test_what_a_line_says_stands_below_the_table(name: str, rows: list[Row], below: str) -> None:
    assert tables(name, rows)[0].notes == (below,)


# Findings


SWARMS: list[Row] = [*(swarm_row("generators", n) for n in (20_000, 100_000)), swarm_row("callbacks"), THREADS]
KEPT = "Open loop, 10 ms: the highest rate kept is"
HOLDS = "Held in flight at once, 10,000 in flight, all held after:"
MANY = "Fetches in flight in many processes, 100,000 in flight, all held after:"
ONE_BLOCK = "with one block its certainty is unknown"
FINDINGS: list[tuple[str, list[Row], str | None]] = [
    (
        "held",
        [*held(100, 110, 120, name="a"), *held(900, 930, 900, name="b"), *held(10, name="own", stack="own")],
        f"{HOLDS} a is shortest with 110 ms, b longest with 900 ms (8.3x).",
    ),
    (
        "held",
        [*held(100, 110, 120, name="a"), *held(90, 150, 110, name="b")],
        f"{HOLDS} no certain difference; all 2: 110 ms.",
    ),
    ("held", [*held(100, name="a"), *held(900, name="b")], f"{HOLDS} a 100 ms, b 900 ms (9.0x); {ONE_BLOCK}."),
    ("held", held(100), f"{HOLDS} 100 ms with callbacks."),
    ("held", held(100, invalid=True), None),
    ("held", [held_row(status="failed")], None),
    ("swarm", SWARMS, f"{MANY} callbacks 6.3 s, generators 7.5 s (1.2x); {ONE_BLOCK}."),
    ("swarm", [lossy_row()], None),
    ("swarm", [swarm_row(status="failed")], None),
    ("open_loop", open_run((500, 2000, 4000)), f"{KEPT} 2,000 requests/s."),
    ("open_loop", open_run((4000, 8000)), f"{KEPT} none of those offered."),
    ("open_loop", [open_row(1000), open_row(4000), open_row(8000, ceiling=9000)], f"{KEPT} 1,000 requests/s."),
    ("open_loop", [open_row(1), open_row(9), open_row(9, number=2, ceiling=8)], f"{KEPT} 1 requests/s."),
    ("open_loop", [open_row(1000, invalid=True)], None),
    ("open_loop", [open_row(status="failed")], None),
    ("limits", [limit_row()], "Limit of threads: 21,835, bound by vm.max_map_count."),
    ("limits", [limit_row(bound_by=None, stopped_by="deadline")], "Limit of threads: 21,835, stopped by: deadline."),
    ("limits", [limit_row(found=None)], None),
    ("limits", [limit_row(invalid=True)], None),
    ("limits", [limit_row(status="failed")], None),
]


@pytest.mark.parametrize(("name", "rows", "finding"), FINDINGS)
def test_a_finding_is_of_valid_trials_that_can_be_compared(name: str, rows: list[Row], finding: str | None) -> None:
    assert findings(name, rows) == (() if finding is None else (finding,))


# JSON


@pytest.mark.parametrize("name", NAMED)
def test_json_has_an_object_for_each_line_and_null_for_what_is_unknown(name: str) -> None:
    study, found = NAMED[name], parts(name, EVERY[name])
    objects = json.loads(json.dumps(Studies(EVERY[name]).as_json()[name], allow_nan=False))

    assert len(objects) == sum(len(part.figures) for part in found)
    for one in objects:
        assert {"part", "line", "valid", *study.columns} <= set(one)
        assert {name for name, value in one.items() if value is not None} & set(study.figures or {"attempts"})


def test_json_of_a_lost_swarm_has_no_time_until_all_were_held() -> None:
    (lost,) = Studies([lossy_row()]).as_json()["swarm"]

    assert (lost["reach_ns"], lost["lost"], lost["valid"], lost["held_in_flight"]) == (None, 1, False, 83_334)


# Plots


PLOTS = {
    "held": ["all held after", "memory added"],
    "held_over_time": ["fetches started and not finished (client)"],
    "limits": ["reached"],
    "swarm": ["fetches held at the gates", "memory added, whole system"],
    "open_loop": [f"{kind} {q}" for q in ("p50", "p99") for kind in ("corrected", "uncorrected")],
    "open_loop_over_time": ["requests due and not yet sent"],
}
"""The title of each panel, without that of its part."""


@pytest.mark.parametrize("name", NAMED)
def test_a_listing_has_bars_and_lines_over_time(name: str) -> None:
    found = {key: figure for key, figure in drawn(EVERY[name]).items() if key.startswith(name)}
    many = len(parts(name, EVERY[name]))

    kinds = [key.partition("-")[0] for key in found]
    assert kinds == many * [key for key in PLOTS if key.startswith(name)]
    for key, figure in zip(kinds, found.values(), strict=True):
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        assert all(title.startswith(panel) for title, panel in zip(titles, PLOTS[key], strict=True))
        assert all(axes.patches or axes.lines for axes in figure.axes)
        assert NAMED[name].title in texts(figure)


def test_over_time_is_the_valid_trial_in_the_middle() -> None:
    rows = [*held(500, 700, 900, n=1000), held_row(n=1000, number=4, reach_ms=600, invalid=True)]
    (axes,) = drawn(rows)["held_over_time"].axes

    line = max(axes.lines, key=lambda line: len(line.get_path()))
    assert line.get_color() == look("callbacks").colour
    own = moments([rows[1]], trials([rows[1]])).query("figure == 'in_flight'")
    points = [(at / 1e9, value) for at, value in zip(own["at_ns"], own["value"], strict=True)]
    assert [(x, y) for x, y in np.asarray(line.get_path().vertices)] == [pytest.approx(point) for point in points]


@pytest.mark.parametrize(
    "rows",
    [
        [*held(5, name=HOSTILE), *held(6, name="x" * 200), *held(7, name="_hidden")],
        [swarm_row(name, n) for name in (HOSTILE, "x" * 200) for n in (20_000, 40_000)],
        open_run((0.5, 1000, 100_000), rounds=1, target=HOSTILE, why=HOSTILE),
        [limit_row(bound_by=HOSTILE)],
    ],
    ids=["held", "swarm", "open loop", "limit"],
)
def test_hostile_names_stay_on_the_page(rows: list[Row]) -> None:
    assert drawn(rows)


# Figures over time


SEEN = {"at_ns": [1, 2], "threads": [1, 9], "rss_bytes": [10**10, 3], "cpu_ns": [0, 5]}
BINS = {"bin_ns": 10 * MS, "completions": [0, 3], "in_flight": [7, 4]}
HELD = {"at_ns": [1, 2], "held": [0, 9], "used_bytes": [0, 99]}
MOMENTS: list[tuple[Row, dict[str, list[tuple[int, int]]]]] = [
    (
        edited(crawl_row(), measured={"timeline": BINS, "samples": SEEN}),
        {name: list(zip([1, 2], SEEN[name], strict=True)) for name in ("threads", "rss_bytes", "cpu_ns")}
        | {"completions": [(10 * MS, 0), (20 * MS, 3)], "in_flight": [(10 * MS, 7), (20 * MS, 4)]},
    ),
    (arm_row(cycles=2), {"window_cpu_per_page_ns": [(0, 50_000), (100 * MS, 50_000)]}),
    (limit_row(timeline=[[0, 0], [4 * MS, 43]]), {"found": [(0, 0), (4 * MS, 43)]}),
    (edited(open_row(), measured={"backlog": {"at_ns": [0, 5], "waiting": [0, 2]}}), {"waiting": [(0, 0), (5, 2)]}),
    (edited(swarm_row(), measured={"timeline": HELD}), {"held": [(1, 0), (2, 9)], "used_bytes": [(1, 0), (2, 99)]}),
    *((row, {}) for row in (crawl_row(status="failed"), idle_row(), probe_row())),
]


@pytest.mark.parametrize(("row", "figures"), MOMENTS, ids=[row.trial for row, _ in MOMENTS])
def test_moments_have_the_time_and_the_value_of_each_figure(
    row: Row, figures: dict[str, list[tuple[int, int]]]
) -> None:
    found = moments(rows := [crawl_row(status="skipped"), row], trials(rows))

    assert set(found["trial"]) == ({row.trial} if figures else set())
    assert {
        str(name): list(zip(own["at_ns"], own["value"], strict=True))
        for name, own in found.groupby("figure", sort=False)
    } == figures
