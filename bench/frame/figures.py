"""What figures are called, in which unit they are, and which end of them is the better one."""

from collections.abc import Callable
from dataclasses import dataclass

from inflight.bench.core import units

Write = Callable[[float, int], str]
"""Writes a value with a number of significant digits."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured quantity."""

    words: str
    write: Write
    best: str
    """What the strategy with the best value is called."""
    worst: str
    is_more_better: bool = False


FIGURES = {
    "pages_per_s": Figure("pages per second", units.rate, "fastest", "slowest", is_more_better=True),
    "cpu_per_page_ns": Figure("CPU time per page", units.duration, "cheapest", "dearest"),
    "faults_per_page": Figure("page faults per page", units.number, "lowest", "highest"),
    "switches_per_page": Figure("context switches per page", units.number, "lowest", "highest"),
    "pss_bytes": Figure("memory of all processes (PSS)", units.size, "smallest", "largest"),
    "user_bytes_per_fetch": Figure("memory per fetch in flight", units.size, "smallest", "largest"),
    "service_p50_ns": Figure("service time, median", units.duration, "shortest", "longest"),
    "service_p90_ns": Figure("service time, 90 %", units.duration, "shortest", "longest"),
    "service_p99_ns": Figure("service time, 99 %", units.duration, "shortest", "longest"),
    "lag_p50_ns": Figure("lateness of a timer, median", units.duration, "shortest", "longest"),
    "lag_p90_ns": Figure("lateness of a timer, 90 %", units.duration, "shortest", "longest"),
    "lag_p99_ns": Figure("lateness of a timer, 99 %", units.duration, "shortest", "longest"),
}
"""By the names of the frame's column ``figure``."""
