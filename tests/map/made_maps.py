"""Rows of a whole map, made from the formula of a closed loop with noise."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from bench.rows import Row
from tests.made_rows import MS, crawl_row

LATENCIES = {"0": 0, "10ms": 10 * MS, "50ms": 50 * MS, "200ms": 200 * MS}
WORKS = {"0": 0, "1ms": MS, "10ms": 10 * MS}
CAPS = (1, 10, 100, 1000)
MODELS = {
    "callbacks": (20_000.0, 80_000.0, 45_000.0),
    "native_asyncio": (52_000.0, 90_000.0, 120_000.0),
    "thread_pool": (30_000.0, 70_000.0, 320_000.0),
}
"""c, r and o in nanoseconds: CPU time of a page, what a fetch takes besides, what starting a worker takes."""


def rate(model: tuple[float, float, float], latency_ns: float, work_ns: float, in_flight: int, pages: int) -> float:
    """Return the pages per second of the deterministic loop, worked out step by step for its first and last page."""
    cpu, besides, start = model
    page, number = cpu + work_ns, min(in_flight, pages)
    turns = -(-pages // number)
    last = pages - (turns - 1) * number
    whole = max(latency_ns + besides + pages * page, turns * (latency_ns + besides + page) + (last - 1) * page)
    return pages / (whole + number * start) * 1e9


def map_rows(
    models: Mapping[str, tuple[float, float, float]] = MODELS,
    *,
    latencies: Sequence[str] = tuple(LATENCIES),
    works: Sequence[str] = tuple(WORKS),
    caps: Sequence[int] = CAPS,
    rounds: int = 3,
    noise: float = 0.02,
    seed: int = 1,
) -> list[Row]:
    """Make a map's rows: lognormal noise of this SD for each row, and as much for each round as a whole."""
    random = Random(seed)
    found = []
    for number in range(1, rounds + 1):
        for latency in latencies:
            for work in works:
                for cap in caps:
                    together = random.gauss(0, noise)
                    pages = pages_of(LATENCIES[latency], WORKS[work], cap)
                    for name, model in models.items():
                        true = rate(model, LATENCIES[latency], WORKS[work], cap, pages)
                        found.append(
                            map_row(
                                name, latency, work, cap, number, pages,
                                true * math.exp(together + random.gauss(0, noise)), round(model[0]) + WORKS[work],
                            )
                        )  # fmt: skip
    return found


def map_row(
    strategy: str, latency: str, work: str, in_flight: int, number: int, pages: int, per_s: float, cost_ns: int,
    *, red: bool = False,
) -> Row:  # fmt: skip
    """Make one row, with its CPU work."""
    plain = latency if latency in {"0", "10ms", "50ms", "500ms"} else "0"
    row = crawl_row(
        strategy, latency=plain, in_flight=in_flight, number=number, pages=pages, pages_per_s=per_s,
        cpu_per_page_ns=cost_ns, red=red,
    )  # fmt: skip
    cell = f"crawl/latency={latency}/in_flight={in_flight}/keep-alive" + (f"/cpu={work}" if WORKS[work] else "")
    values = {"id": cell, "latency": latency, "mean_latency_ns": LATENCIES[latency]}
    if WORKS[work]:
        values |= {"cpu": work, "cpu_ns": WORKS[work]}
    measured = row.measured | ({"work_ns": WORKS[work], "work_units": 7} if WORKS[work] else {})
    return replace(row, trial=f"{cell}/{strategy}/round={number}", workload=row.workload | values, measured=measured)


def pages_of(latency_ns: int, work_ns: int, in_flight: int) -> int:
    """Return about half a second of pages, three turns of them at least."""
    least = max(latency_ns / in_flight, work_ns, 1)
    return min(6000, max(3 * in_flight, round(0.6e9 / least)))
