"""What earlier runs of an experiment found stands beside a run, if they are of the same machine."""

from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows.records import changed
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import earlier
from tests.made_rows import MACHINE, block_rows
from tests.runs.made_runs import saved
from tools import series


def stored(results: Path, day: int, ratio: float = 1.2, pack: bool = False, hour: int = 0, **changes: Any) -> Path:
    """Store a run of an experiment in which generators need this multiple of the CPU time of callbacks."""
    costs, in_flight = {"callbacks": 20_000, "generators": round(20_000 * ratio)}, changes.pop("in_flight", 100)
    at = f"2026-12-{day:02}T{hour:02}:00:00.000+00:00"
    found = [changed(row, started_at=at) for row in block_rows(costs, in_flight=in_flight)]
    folder = saved(results / f"202612{day:02}T{hour:02}0000000Z-here-tiny", found, MACHINE | changes)
    if pack:
        series.pack(folder)
    return folder


def lines(folder: Path) -> list[Any]:
    found = earlier(Studies(rows.read(folder), folder))
    return [] if found is None else list(found.tables[0].lines)


def test_median_and_range_are_those_of_all_earlier_runs_and_of_the_series(tmp_path: Path) -> None:
    stored(tmp_path, 1, 1.1, pack=True)
    stored(tmp_path / "series", 2, 1.5)
    stored(tmp_path, 3, 1.3)
    run = stored(tmp_path, 4, 1.4)
    stored(tmp_path, 5, 9.9)

    told = ("generators, 0 ms latency, 100 in flight", "1.40x", "1.30x", "1.10 to 1.50", "3")
    assert lines(run) == [told]


def test_a_run_of_the_series_is_compared_with_other_runs_too(tmp_path: Path) -> None:
    stored(tmp_path, 1, 1.1)

    assert lines(stored(tmp_path / "series", 2, 1.2))[0][1:] == ("1.20x *", "1.10x", "1.10 to 1.10", "1")


@pytest.mark.parametrize(
    "other",
    [
        {"cpu": "another"}, {"usable_cores": 64}, {"python": "CPython 3.14.0"}, {"system": "Linux 5.1.2"},
        {"memory_bytes": 1}, {"neighbour": "spin"}, {"cpu_quota_cores": 1.0}, {"in_flight": 10},
    ],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_runs_that_are_not_alike_are_left_out(other: dict[str, Any], tmp_path: Path) -> None:
    stored(tmp_path, 1, **other)

    assert lines(stored(tmp_path, 2)) == []


@pytest.mark.parametrize(
    ("ratio", "cell", "within", "notes"),
    [(1.2, "1.20x", 1, ()), (1.4, "1.40x *", 0, ("*: outside of the range of earlier runs.",))],
)
def test_a_run_ends_with_how_it_compares(
    ratio: float, cell: str, within: int, notes: tuple[str, ...], tmp_path: Path
) -> None:
    for day, before in ((1, 1.1), (2, 1.3)):
        stored(tmp_path, day, before)
    run = stored(tmp_path, 3, ratio)

    found = earlier(Studies(rows.read(run), run))

    assert found is not None
    assert found.findings == (f"{within} of 1 ratios are within the range of 2 earlier runs.",)
    assert (found.tables[0].cells[0][1], found.tables[0].notes) == (cell, notes)


def test_another_patch_of_the_kernel_and_a_little_less_memory_are_the_same_machine() -> None:
    one, other = {"system": "Linux 6.18.1", "memory_bytes": 1000}, {"system": "Linux 6.18.44", "memory_bytes": 990}

    assert rows.machine_changes(MACHINE | one, MACHINE | other) == ()


def test_runs_of_one_afternoon_count_once(tmp_path: Path) -> None:
    for hour, ratio in ((1, 1.1), (11, 1.2), (12, 1.3), (16, 1.5), (17, 1.6)):
        stored(tmp_path, 1, ratio, hour=hour)

    assert lines(stored(tmp_path, 2))[0][2:] == ("1.20x", "1.10 to 1.60", "3")


def test_a_ratio_that_own_runs_do_not_repeat_has_a_wider_interval(tmp_path: Path) -> None:
    """The spread of own runs is that of the table, or the larger one."""
    alone = stored(tmp_path / "alone", 9)
    for day, ratio in ((1, 1.0), (2, 1.6), (3, 1.1), (4, 1.5)):
        stored(tmp_path, day, ratio)
    beside = stored(tmp_path, 9)

    highs = []
    for folder in (alone, beside):
        (ratio,) = [one for one in Studies(rows.read(folder), folder).as_json()["cpu"] if one["line"] == "generators"]
        highs.append(ratio["ratio_next_high"])
    assert highs[0] < 1.4 < highs[1]
