"""Rows with time lines, made from when pages came."""

from collections.abc import Sequence
from typing import Any

from inflight.bench.rows.files import Row
from tests.made_rows import MS, crawl_row, edited

BIN_NS = 10 * MS
CAP = 10


def runner(
    strategy: str = "callbacks",
    done: Sequence[int] = (0, 5, 5),
    *,
    in_flight: int = CAP,
    latency: str = "50ms",
    sampled: bool = False,
    cut_off: bool = False,
    **more: Any,
) -> Row:
    """Make the row of a crawl whose bins of 10 ms have so many pages; its makespan is the bins'.

    ``sampled``: with samples, one a bin; ``cut_off``: without any time line.
    """
    pages, end_ns = sum(done), BIN_NS * len(done)
    row = crawl_row(
        strategy, latency=latency, in_flight=in_flight, pages=pages, pages_per_s=pages / end_ns * 1e9, **more
    )
    waiting = [min(in_flight, pages - sum(done[: n + 1])) for n in range(len(done))]
    measured: dict[str, Any] = {"makespan_ns": end_ns}
    measured["timeline"] = {"bin_ns": BIN_NS, "completions": list(done), "in_flight": waiting}
    if sampled:
        numbers = range(1, len(done) + 1)
        measured["samples"] = {
            "at_ns": [n * BIN_NS for n in numbers],
            "threads": [n for n in numbers],  # noqa: C416
            "rss_bytes": [20_000_000 + n * 1_000_000 for n in numbers],
            "cpu_ns": [n * BIN_NS // 2 for n in numbers],
        }
    if cut_off or row.status not in {"ok", "wrong"}:
        measured["timeline"] = {"bin_ns": BIN_NS, "completions": [], "in_flight": []}
    return edited(row, measured=measured)
