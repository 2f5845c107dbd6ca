"""How much of the client's core others took from a run: other programs, and the hypervisor. Pure."""

import statistics
from collections.abc import Iterable

from inflight.bench.core.rows import Row

NOISY = 0.20
"""A run is noisy if others took more than this share of the client's core, in the median of its blocks."""


def taken_share(rows: Iterable[Row]) -> float | None:
    """Return the median share over the blocks of a run; None if no row knows it, as older ones."""
    taken = {
        (row.run, row.measured.block): row.measured.others_share + (row.measured.steal_share or 0.0)
        for row in rows
        if row.kind == "arm" and row.measured.others_share is not None
    }
    return statistics.median(taken.values()) if taken else None


def is_noisy(rows: Iterable[Row]) -> bool:
    """Return whether a run says nothing about differences."""
    return (taken_share(rows) or 0.0) > NOISY
