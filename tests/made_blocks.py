"""Rows of comparisons, made from the changes that a test is about."""

import math
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Literal

from inflight.bench.frame.blocks import Block
from inflight.bench.frame.blocks import blocks as read_blocks
from inflight.bench.rows.files import Check, Row, Status
from inflight.bench.rows.records import changed
from tests.made_rows import MS, PASSED, edited, made, memory_row, times

STOPPED = Check("no hole", "failed", "no fetch ended for 4.00 s", outside=True)
STOP_NS = 4000 * MS
CPU_NS, PER_S = 33_300, 28_000.0
FEW, MANY, BASE_BYTES, HELD_BYTES = 240, 2200, 12_000_000, 2_000_000
TIMED = ("cpu_per_page", "throughput")
Rows = list[Row]


def block(
    number: int = 1,
    cpu: float = 0.0,
    *,
    throughput: float | None = None,
    memory: float | None = None,
    memory_invalid: str = "",
    placebo: float = 0.0,
    placebo_throughput: float = 0.0,
    failed: Literal["", "A", "B"] = "",
    status: Status = "failed",
    reason: str = "it broke",
    invalid: bool = False,
    labels: tuple[str, str] = ("callbacks", "generators"),
    metrics: Sequence[str] = (*TIMED, "memory"),
    gated: Sequence[str] | None = None,
    latency: str = "0",
    share: float = 0.95,
    python: tuple[str, str] = ("3.11.7", "3.11.7"),
    name: str = "ab",
) -> Rows:
    """Make the rows of a block in which B is worse by these logarithms; throughput as CPU time unless it is given.

    ``failed`` is the side that broke off; ``memory_invalid`` why a reading is not to be
    believed; ``share`` how full the core was.
    """
    comparison = {"name": name, "metrics": list(metrics), "gated": list(metrics if gated is None else gated)}
    slower = cpu if throughput is None else throughput
    a_per_s, b_per_s = (PER_S * _times(1, -own) for own in (placebo_throughput, placebo_throughput / 2 + slower))
    arms = [
        ("A", "reference", CPU_NS, PER_S),
        ("B", "compared", _times(CPU_NS, placebo / 2 + cpu), b_per_s),
        ("A again", "placebo", _times(CPU_NS, placebo), a_per_s),
    ]
    rows = []
    for arm, role, cpu_ns, per_s in arms:
        side = "AB".index(arm[0])
        strategy, _, revision = labels[side].partition("@")
        of = {"name": arm, "strategy": strategy or "callbacks", "role": role, "revision": revision or None}
        said = {"arm": of, "comparison": comparison}
        broken = arm == failed
        measured: dict[str, Any] = {"block": f"compare/{name}/round={number}"}
        rows.append(
            _row(
                arm, number, latency, said, status if broken else "ok", reason if broken else None,
                measured if broken else measured | _measured(round(cpu_ns), per_s, share),
                () if broken else (PASSED, STOPPED) if invalid and arm == "A" else (PASSED,), python[side],
            )
        )  # fmt: skip
        if invalid and arm == "A":
            rows[-1] = edited(rows[-1], measured={"hole_ns": STOP_NS}, server={"lateness_max_ns": STOP_NS})
    if memory is not None or memory_invalid:
        rows += _memory(number, rows, memory or 0.0, memory_invalid)
    return rows


def lost(number: int, reason: str = "the fake server died in mid-block") -> Rows:
    """Make the rows of a block whose server was lost."""
    return [
        changed(row, status="failed", reason=reason, measured={"server_lost": True}, server={}, checks=())
        for row in block(number)
    ]


def series(
    number: int, change: float = 0.0, sd: float = 0.01, *, seed: int = 1, memory_blocks: int = 12, **same: Any
) -> list[Rows]:
    """Make so many blocks whose values vary around a change as normal noise does."""
    draw = Random(seed)
    found = []
    for n in range(1, number + 1):
        cpu, own, one, two = draw.gauss(change, sd), draw.gauss(0, sd / 2), draw.gauss(0, 0.006), draw.gauss(0, 0.006)
        memory = draw.gauss(0.004, 0.002) if n <= memory_blocks else None
        found.append(block(n, cpu, throughput=cpu + own, memory=memory, placebo=one, placebo_throughput=two, **same))
    return found


def flat(found: Iterable[Rows]) -> Rows:
    """Return the rows of all these blocks."""
    return [row for rows in found for row in rows]


def blocks(found: Iterable[Rows]) -> list[Block]:
    """Return these blocks as the reading half has them."""
    return read_blocks(flat(found))


def _memory(number: int, arms: Rows, change: float, invalid: str) -> Rows:
    rows = []
    for arm in arms[:2]:
        held = HELD_BYTES if arm.arm == "A" else round(_times(HELD_BYTES, change))
        for size, uss_bytes in ((FEW, BASE_BYTES), (MANY, BASE_BYTES + held)):
            row = memory_row(arm.workload.arm.strategy, size, uss_bytes, number=number)
            said = {"arm": arm.workload.arm, "comparison": arm.workload.comparison}
            checks = (Check("no listen drops", "failed", invalid),) if invalid and arm.arm == "B" else row.checks
            rows.append(edited(row, workload=said, checks=checks, knobs=arm.knobs or row.knobs))
    return rows


def _row(
    arm: str, number: int, latency: str, said: dict[str, Any], status: Status, reason: str | None,
    measured: dict[str, Any], checks: tuple[Check, ...], python: str,
) -> Row:  # fmt: skip
    values = {"latency": latency, "mean_latency_ns": 50 * MS if latency == "50ms" else 0} | said
    row = made("arm", arm, "compare/ab", number=number, workload=values, measured=measured, duration_ns=3000 * MS)
    row = edited(row, server={"cpu_share": 0.4}, knobs={"strategy": said["arm"]["strategy"], "python": python})
    ended = {} if status == "ok" else {"measured": measured, "server": {}}
    return changed(row, status=status, reason=reason, checks=checks, **ended)


def _measured(cpu_ns: int, per_s: float, share: float) -> dict[str, Any]:
    wall_ns = 20 * MS
    window = {"begin_ns": 10**9, "wall_ns": wall_ns, "cpu_ns": round(share * wall_ns)}
    counted = dict.fromkeys(("requests", "pages", "tries"), 9000)
    return counted | {
        "windows": [window | {"cycle": n, "pages": 500.0} for n in range(6)],
        "cpu_per_page_ns": cpu_ns, "pages_per_s": per_s,
        "cpu_share": share, "failed_pages": 0, "peak_in_flight": 100, "held_in_flight": 100,
        "service": times([4 * MS] * 20),
        "steal_share": 0.0, "listen_drops": 0,
    }  # fmt: skip


def _times(value: float, logarithm: float) -> float:
    return value * math.exp(logarithm)
