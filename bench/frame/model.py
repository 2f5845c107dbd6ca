"""A model of the closed loop: expected throughput, the knee, and the sensitivity of throughput to CPU time.

Each of N fetches in flight takes the added latency L and the CPU time c. The throughput in pages per second is
X(N) = min(N / (L + c), 1 / c), because a client whose core needs c per page cannot exceed 1 / c. The two asymptotes
meet at the knee, N* = (L + c) / c.

These are the asymptotic bounds of closed queueing networks (P. J. Denning and J. P. Buzen, "The Operational Analysis of
Queueing Network Models", 1978; E. D. Lazowska et al., "Quantitative System Performance", 1984, chapter 5). Pure.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inflight.bench.rows.files import Row

FULL = 0.95
"""Minimum share of its core at which a client has no CPU time left: more CPU time per page lowers throughput."""
WITH_ROOM = 0.70
"""Maximum share of its core at which CPU time does not limit throughput."""
CLEARLY_ABOVE = 1.5
"""Multiple of the knee that is clearly above it."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Relative loss of throughput per relative growth of CPU time per page: |d ln X / d ln c|.

    1: throughput shows a slowdown in full. 0.003: a slowdown of 5 % lowers throughput by 0.015 %. The value is between
    ``low`` and ``high``.
    """

    low: float
    high: float


def knee(added_ns: float, cpu_ns: float) -> float:
    """Return (L + c) / c: the knee of a loop whose fetches take only their latency and their CPU time."""
    return (added_ns + cpu_ns) / cpu_ns


def bound_per_s(in_flight: float, added_ns: float, cpu_ns: float) -> float:
    """Return the maximum pages per second of that loop, X(N) = min(N / (L + c), 1 / c), reached far from the knee."""
    return min(in_flight / (added_ns + cpu_ns), 1 / cpu_ns) * 1e9


def core_share(row: "Row") -> float:
    """Return the client's CPU time as a share of the measured time: 1 is a full core."""
    if row.kind == "arm":
        return float(row.measured.cpu_share)
    cpu_ns: int = row.measured.cpu_user_ns + row.measured.cpu_system_ns
    makespan_ns: int = row.measured.makespan_ns
    return cpu_ns / max(1, makespan_ns)


def sensitivity(rows: Sequence["Row"]) -> Sensitivity | None:
    """Return the sensitivity of throughput to CPU time in the valid rows of one cell; None without valid rows.

    It is computed from the medians over the rounds by ``sensitivity_of``.
    """
    own = [row for row in rows if row.valid and row.measured.cpu_per_page_ns and row.measured.pages_per_s]
    if not own:
        return None
    measured = [row.measured for row in own]
    pages = statistics.median(m.pages for m in measured)
    return sensitivity_of(
        cpu_ns=statistics.median(m.cpu_per_page_ns for m in measured),
        added_ns=own[0].workload.mean_latency_ns,
        in_flight=min(own[0].workload.in_flight, max(m.peak_in_flight or math.inf for m in measured), pages),
        pages=pages,
        per_s=statistics.median(m.pages_per_s for m in measured),
        core_share=statistics.median(map(core_share, own)),
    )


def sensitivity_of(
    *, cpu_ns: float, added_ns: float, in_flight: float, pages: float, per_s: float, core_share: float
) -> Sensitivity:
    """Return the sensitivity of a throughput, by what limited it.

    The core was full (``FULL``, or clearly above the knee and with little room): 1.

    The core had room (``WITH_ROOM``, and not above the knee): a turn takes L + r = N / X, and c of it is CPU time. So
    the sensitivity in the steady state is c / (L + r), or c / (L + c) if a fetch takes nothing else. This is ``low``.
    At the start of a crawl, the last of N fetches starts (N - 1) * c after the first, and this lag stays to the end.
    ``high`` includes it; in a crawl of few turns it is the greater part. With one in flight, both are the share of the
    core.

    Between the two, or above the knee with a core that waits (for the server or a lock): from c / (L + r) to 1.
    """
    turns = pages / in_flight
    makespan_ns = pages / per_s * 1e9
    steady = min(1.0, turns * cpu_ns / makespan_ns)
    above = in_flight / knee(added_ns, cpu_ns)
    if core_share >= FULL or (above >= CLEARLY_ABOVE and core_share > WITH_ROOM):
        return Sensitivity(1.0, 1.0)
    if in_flight == 1:
        return Sensitivity(steady, steady)
    if core_share <= WITH_ROOM and above <= 1:
        return Sensitivity(steady, min(1.0, steady + (in_flight - 1) * cpu_ns / makespan_ns))
    return Sensitivity(steady, 1.0)
