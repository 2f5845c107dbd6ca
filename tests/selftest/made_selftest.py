"""A self-test's result made from made blocks, by the functions that make the real one."""

from collections.abc import Sequence
from typing import Any

from inflight.bench.studies.compare import read
from inflight.bench.studies.compare.read import Block
from inflight.bench.studies.selftest import read as self_test
from tests.made_blocks import Rows, blocks, flat, series
from tests.made_rows import MACHINE

SAME_ROWS: Rows = flat(series(96, sd=0.01, memory_blocks=96, name="aa"))
SAME = read.blocks(SAME_ROWS)
SLOWER = {5: blocks(series(48, 0.0488, 0.02, seed=2)), 10: blocks(series(48, 0.0953, 0.02, seed=3))}

RESOLVES = [
    {"minutes": minutes, "blocks": blocks, "metrics": ["cpu_per_page", "throughput"], "smallest": smallest}
    | {"limited_by": "least"}
    for minutes, blocks, smallest in ((1, 12, 1.0239), (5, 96, 1.0226), (15, 288, 1.0214))
]


def made_selftest(same: Sequence[Block] = SAME, *, share: float | None = 0.008) -> dict[str, Any]:
    """Return what ``selftest.json`` would have."""
    return {
        "format": 2,
        "made_at": "2026-01-02T03:04:05+00:00",
        "machine": MACHINE | {"usable_cores": 2},
        "strategy": "callbacks",
        "blocks": {"same": 96, "planted": 48, "other": 12},
        "too_few": [],
        "dropped": self_test.left_out([same, *SLOWER.values()]),
        "noise": {"callbacks": self_test.noise(same)},
        "block_s": {"callbacks": self_test.block_seconds(same)},
        "controls": self_test.spreads([read.controls_of(block) for block in same]),
        "false_alarms": self_test.false_alarms(same, {}),
        "detection": {str(size): self_test.detection(found, {}) for size, found in SLOWER.items()},
        "resolves": RESOLVES,
        "server_ceiling_per_s": 100_000.0,
        "lateness": {"p50": 100_000, "p99": 900_000, "valid": True},
        "overhead": {"with_ns": 400.0, "without_ns": 200.0, "per_fetch_ns": 200.0, "share": share},
    }
