"""A self-test's result made from made pairs, by the functions that make the real one."""

from collections.abc import Sequence
from typing import Any

from bench.analyse import pairs, self_test
from bench.rows import Row
from tests.made_rows import MACHINE
from tests.present.made_pair_rows import series

SAME = series(104, sd=0.01, memory_pairs=104)
SLOWER = {5: series(48, 0.0488, 0.02, seed=2), 10: series(48, 0.0953, 0.02, seed=3)}


def timed(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with the time that their turns took, as real ones have it."""
    for row in rows:
        row.measured["turns_ns"] = row.duration_ns - 1
    return list(rows)


def made_selftest(same: Sequence[Row] = (), *, share: float | None = 0.008) -> dict[str, Any]:
    """Return what ``selftest.json`` would have."""
    same = timed(same or SAME)
    return {
        "format": 1,
        "made_at": "2026-01-02T03:04:05+00:00",
        "machine": MACHINE | {"usable_cores": 2},
        "strategy": "callbacks",
        "pairs": {"same": 104, "planted": 48, "other": 12},
        "too_few": [],
        "dropped": self_test.left_out([same, *SLOWER.values()]),
        "noise": {"callbacks": self_test.noise(same)},
        "pair_s": {"callbacks": self_test.pair_seconds(same)},
        "controls": self_test.spreads([pairs.controls(row) for row in same]),
        "false_alarms": self_test.false_alarms(same),
        "detection": {str(size): self_test.detection(rows) for size, rows in SLOWER.items()},
        "resolves": self_test.resolves(same),
        "server_ceiling_per_s": 100_000.0,
        "lateness": {"p50": 100_000, "p99": 900_000, "valid": True},
        "overhead": {"with_ns": 400.0, "without_ns": 200.0, "per_fetch_ns": 200.0, "share": share},
    }
