"""A self-test's result made from made blocks, by the functions that make the real one."""

from collections.abc import Sequence
from typing import Any

from inflight.bench.ab import decide as deciding
from inflight.bench.ab import rates
from inflight.bench.frame import blocks as read
from inflight.bench.frame.blocks import Block
from tests.made_blocks import Rows, blocks, flat, series
from tests.made_rows import MACHINE

SAME_ROWS: Rows = flat(series(96, sd=0.01, memory_blocks=96, name="aa"))
SAME = read.blocks(SAME_ROWS)
SLOWER = {5: blocks(series(48, 0.0488, 0.02, seed=2)), 10: blocks(series(48, 0.0953, 0.02, seed=3))}


def made_selftest(same: Sequence[Block] = SAME, *, share: float | None = 0.008) -> dict[str, Any]:
    """Return what ``selftest.json`` would have."""
    good = deciding.tally(same).good
    return {
        "format": rates.FORMAT,
        "made_at": "2026-01-02T03:04:05+00:00",
        "machine": MACHINE | {"usable_cores": 2},
        "strategy": "callbacks",
        "blocks": {"same": 96, "planted": 48},
        "too_few": [],
        "dropped": rates.left_out([same, *SLOWER.values()]),
        "noise": {"callbacks": rates.spreads([read.values(block) for block in good])},
        "block_s": {"callbacks": rates.block_seconds(good)},
        "controls": rates.spreads([read.controls_of(block) for block in good]),
        "false_alarms": {"real": rates.counts(same, {})},
        "detection": {str(size): rates.planted(found, {}) for size, found in SLOWER.items()},
        "calls": {"same": "does the same", "planted": "does more"},
        "server_ceiling_per_s": 100_000.0,
        "lateness": {"p50": 100_000, "p99": 900_000, "valid": True},
        "overhead": {
            "with_ns": 400.0,
            "without_ns": 200.0,
            "loop_ns": 20.0,
            "per_fetch_ns": 200.0,
            "share": share,
        },
    }
