"""Rows of a whole map, made from the formula of a closed loop with noise."""

import math
from collections.abc import Mapping, Sequence
from random import Random

from inflight.bench.frame.statistics import bound_per_s
from inflight.bench.rows.files import Row
from tests.made_rows import MS, arm_row

LATENCIES = {"0": 0, "10ms": 10 * MS, "50ms": 50 * MS, "200ms": 200 * MS}
WORKS = {"0": 0, "1ms": MS, "10ms": 10 * MS}
CAPS = (1, 10, 100, 1000)
MODELS = {"callbacks": 20_000, "native_asyncio": 52_000, "thread_pool": 30_000}
"""CPU time of a page in nanoseconds."""


def map_rows(
    models: Mapping[str, int] = MODELS,
    *,
    latencies: Sequence[str] = tuple(LATENCIES),
    works: Sequence[str] = tuple(WORKS),
    caps: Sequence[int] = CAPS,
    rounds: int = 3,
    noise: float = 0.02,
    seed: int = 1,
) -> list[Row]:
    """Make a map's rows: lognormal noise of this SD for the cost of each arm, and as much for each block as a whole.

    Each block has a placebo, which is three times as fast as anything else: it must never count.
    """
    random = Random(seed)
    found = []
    for number in range(1, rounds + 1):
        for latency, work, cap in ((a, b, c) for a in latencies for b in works for c in caps):
            together = random.gauss(0, noise)
            for name, cpu_ns in models.items():
                cost = cpu_ns * math.exp(together + random.gauss(0, noise)) + WORKS[work]
                per_s = bound_per_s(cap, LATENCIES[latency], cost)
                found.append(
                    arm_row(
                        name, role="reference" if name == "callbacks" else "compared", latency=latency, work=work,
                        in_flight=cap, number=number, pages_per_s=per_s, cpu_per_page_ns=round(cost),
                    )
                )  # fmt: skip
            fast = 3 * found[-1].measured.pages_per_s
            found.append(
                arm_row(
                    "callbacks again",
                    role="placebo",
                    latency=latency,
                    work=work,
                    in_flight=cap,
                    number=number,
                    pages_per_s=fast,
                )
            )
    return found
