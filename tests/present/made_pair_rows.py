"""Rows of pairs made from the changes that a test is about."""

import math
from random import Random
from typing import Any, Literal

from bench.rows import Row
from tests.made_rows import pair_row

CPU_NS, SPAN_NS, SPIN_NS, NULL_NS = 14e6, 15e6, 3.3e6, 6.3e6
BASE_BYTES, HELD_BYTES = 12_000_000, 1_400_000


def pair(
    number: int,
    cpu: float = 0.0,
    *,
    throughput: float | None = None,
    memory: float | None = None,
    memory_reason: str | None = None,
    spin: float = 0.0,
    null: float = 0.0,
    failed: Literal["", "A", "B"] = "",
    **same: Any,
) -> Row:
    """Make a pair in which B is worse by these logarithms; throughput as CPU time unless it is given.

    NaN makes a figure of zero. ``failed`` is the side that broke off; what else there is goes to ``pair_row``.
    """
    if failed:
        return pair_row(number, status="failed", reason="it broke", failed_side=failed, **same)
    slower = cpu if throughput is None else throughput
    if memory is not None or memory_reason is not None:
        b_bytes = BASE_BYTES + round(_times(HELD_BYTES, memory or 0.0))
        same["memory"] = {
            "sizes": [200, 2000],
            "A": [BASE_BYTES, BASE_BYTES + HELD_BYTES],
            "B": [BASE_BYTES, b_bytes],
            "reason": memory_reason,
        }
    row = pair_row(
        number,
        cpu_ns=(CPU_NS, _times(CPU_NS, cpu)),
        makespan_ns=(SPAN_NS, _times(SPAN_NS, slower)),
        spin_ns=(SPIN_NS, _times(SPIN_NS, spin)),
        null_ns=(NULL_NS, _times(NULL_NS, null)),
        **same,
    )
    for turn in row.measured["turns"]:
        turn.setdefault("run_delay_ns", 0)
    return row


def series(
    number: int, change: float = 0.0, sd: float = 0.01, *, seed: int = 1, memory_pairs: int = 12, **same: Any
) -> list[Row]:
    """Make so many pairs whose values vary around a change as normal noise does."""
    draw = Random(seed)
    rows = []
    for n in range(1, number + 1):
        cpu, own, spin, null = draw.gauss(change, sd), draw.gauss(0, sd / 2), draw.gauss(0, 0.006), draw.gauss(0, 0.006)
        memory = draw.gauss(0.004, 0.002) if n <= memory_pairs else None
        rows.append(pair(n, cpu, throughput=cpu + own, memory=memory, spin=spin, null=null, **same))
    return rows


def _times(value: float, logarithm: float) -> float:
    return 0.0 if math.isnan(logarithm) else value * math.exp(logarithm)
