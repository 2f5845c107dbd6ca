"""Listings: rules of their tables, JSON, hostile names on their plots; and the figures over time behind them.

What they say of recorded runs, and of cases, is stored (``tests/show/test_outputs.py``).
"""

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
from tests.outputs import recorded
from tests.show.cases import ALL, CALLBACKS, THREADS, of
from tests.show.drawn import HOSTILE, drawn
from tests.varied import Change, varied

MS = 1_000_000
NAMED = {study.name: study for study in STUDIES[:-1] if study.measure == "median"}
"""The listings but for the last one, which has what no other has: test_every_trial_is_in_a_table."""
RUNS = dict(zip(NAMED, ("c10k", "memory", "limits", "claims", "c100k", "open-loop", "counts"), strict=True))
"""A recorded run with rows of each listing."""


def parts(name: str, rows: Sequence[Row]) -> list[Part]:
    return parts_of(NAMED[name], trials(rows))


def test_every_listing_has_rows_in_a_run_and_none_of_others() -> None:
    assert list(RUNS) == ["held", "ps", "limits", "probes", "swarm", "open_loop", "counts"]
    for name, study in NAMED.items():
        assert parts(name, recorded(RUNS[name]))
        assert parts(name, []) == parts(name, of("quick", "kind == 'arm'")) == parts(name, recorded("race")) == []
        assert sections.as_frame(study, []).empty


def test_programs_have_a_column_each_and_a_line_for_each_figure_that_one_of_them_has() -> None:
    spin = of("claims", "strategy == 'spin' and how == 'spin'")[:1]
    again = [varied(spin, (ALL, {"round": n, "trial": str(n), "attempts": 10 * n}))[0] for n in (1, 3, 2)]
    many = [varied(spin, (ALL, {"trial": str(n), "workload.arguments": {"how": str(n)}}))[0] for n in range(6)]

    (alone,) = sections.section(parts("probes", again)).tables
    assert [line[1:] for line in alone.cells if line[0] == "attempts"] == [("20",)]
    assert all(any(cell not in {"", "-"} for cell in line[1:]) for line in alone.cells)
    widths = [len(table.heads) - 1 for table in sections.section(parts("probes", many)).tables]
    assert widths == [sections.MAX_TURNED, 1]


@pytest.mark.parametrize("name", NAMED)
def test_json_has_an_object_for_each_line_and_null_for_what_is_unknown(name: str) -> None:
    study, rows = NAMED[name], recorded(RUNS[name])
    objects = json.loads(json.dumps(Studies(rows).as_json()[name], allow_nan=False))

    assert len(objects) == sum(len(part.figures) for part in parts(name, rows))
    for each in objects:
        assert {"part", "line", "valid", *study.columns} <= set(each)


def test_over_time_is_the_valid_trial_in_the_middle() -> None:
    rows = of("c10k", f"{CALLBACKS} and connection == 'per-fetch'")
    (first, second), more = rows, (ALL, {"round": 3, "trial": "3", "reach_ns": 9.0})
    slow, fast = sorted([first, second], key=lambda row: -row.measured.reach_ns)
    invalid = varied([fast], (ALL, {"round": 4, "trial": "4", "reach_ns": 1.01}), (ALL, "invalid"))
    (axes,) = drawn([first, second, *varied([slow], more), *invalid])["held_over_time"].axes

    line = max(axes.lines, key=lambda line: len(line.get_path()))
    assert line.get_color() == look("callbacks").colour
    own = moments([slow], trials([slow])).query("figure == 'in_flight'")
    points = [(at / 1e9, value) for at, value in zip(own["at_ns"], own["value"], strict=True)]
    assert [(x, y) for x, y in np.asarray(line.get_path().vertices)] == [pytest.approx(point) for point in points]


@pytest.mark.parametrize(
    ("run", "changes"),
    [
        ("c10k", [(CALLBACKS, {"name": HOSTILE}), (THREADS, {"name": "x" * 200})]),
        ("open-loop", [(ALL, {"workload.target": HOSTILE, "kept": False, "why": HOSTILE})]),
        ("limits", [(ALL, {"bound_by": HOSTILE})]),
    ],
)
def test_hostile_names_stay_on_the_page(run: str, changes: list[Change]) -> None:
    assert drawn(of(run, ALL, *changes))


# Figures over time


SEEN = {"at_ns": [1, 2], "threads": [1, 9], "rss_bytes": [10**10, 3], "cpu_ns": [0, 5]}
BINS = {"bin_ns": 10 * MS, "completions": [0, 3], "in_flight": [7, 4]}
WINDOWS = [{"cycle": n, "begin_ns": 1 + 100 * MS * n, "wall_ns": MS, "cpu_ns": 50, "pages": 5} for n in (0, 1)]
MOMENTS: list[tuple[str, dict[str, Any], dict[str, list[tuple[int, int]]]]] = [
    (
        "race",
        {"timeline": BINS, "samples": SEEN},
        {name: list(zip([1, 2], SEEN[name], strict=True)) for name in ("threads", "rss_bytes", "cpu_ns")}
        | {"completions": [(10 * MS, 0), (20 * MS, 3)], "in_flight": [(10 * MS, 7), (20 * MS, 4)]},
    ),
    ("scaling", {"windows": lambda _: WINDOWS}, {"window_cpu_per_page_ns": [(0, 10), (100 * MS, 10)]}),
    ("limits", {"timeline": [[0, 0], [4 * MS, 43]]}, {"found": [(0, 0), (4 * MS, 43)]}),
    ("open-loop", {"backlog": {"at_ns": [0, 5], "waiting": [0, 2]}}, {"waiting": [(0, 0), (5, 2)]}),
    (
        "c100k",
        {"timeline": {"at_ns": [1, 2], "held": [0, 9], "used_bytes": [0, 99]}},
        {"held": [(1, 0), (2, 9)], "used_bytes": [(1, 0), (2, 99)]},
    ),
    ("claims", {}, {}),
]


@pytest.mark.parametrize(("run", "change", "figures"), MOMENTS, ids=[run for run, *_ in MOMENTS])
def test_moments_have_the_time_and_the_value_of_each_figure(
    run: str, change: dict[str, Any], figures: dict[str, list[tuple[int, int]]]
) -> None:
    (row,) = varied(recorded(run)[:1], (ALL, change))
    skipped = varied(recorded("race")[1:2], (ALL, "limit"))
    found = moments(rows := [*skipped, row], trials(rows))

    assert set(found["trial"]) == ({row.trial} if figures else set())
    assert {
        str(name): list(zip(own["at_ns"], own["value"], strict=True))
        for name, own in found.groupby("figure", sort=False)
    } == figures
