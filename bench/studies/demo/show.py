"""What the demo has found, in plain words: two crawls of the same site, and why one is faster. Pure."""

from collections.abc import Sequence
from typing import Any

from inflight.bench.core import units
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.rows.files import Row


def waiting_share(row: Row) -> float:
    """Return the share of its time in which a crawl neither computed nor waited for the core."""
    found = row.measured
    busy_ns = found.cpu_user_ns + found.cpu_system_ns + (found.run_delay_ns or 0)
    return float(max(0.0, 1 - busy_ns / found.makespan_ns))


def times_faster(rows: Sequence[Row]) -> float:
    """Return how many times faster the last crawl was than the first."""
    return float(rows[0].measured.makespan_ns / rows[-1].measured.makespan_ns)


def section(rows: Sequence[Row]) -> Section:
    """Return the result of two crawls that have ended well: the slow one, then the fast one."""
    slow, fast = rows
    pages, latency = units.count(slow.measured.pages), units.duration_tick(slow.workload.mean_latency_ns)
    many = units.count(fast.workload.in_flight)
    title = f"{fast.strategy} was {units.number(times_faster(rows), 2)} times faster than {slow.strategy}"
    heads = ("strategy", "at once", "pages", "time", "pages/s", "time spent waiting")
    told = (
        f"The site answers each request {latency} after it arrives.",
        f"{slow.strategy} asks for one page, waits, and asks for the next: it waits {pages} times.",
        f"{fast.strategy} asks for up to {many} pages, and waits for all of them at once.",
        "Both run in one thread on one core.",
    )
    return Section(title, (Table("", heads, tuple(map(_line, rows))),), (*told, *_doubts(rows)))


def _line(row: Row) -> tuple[str, ...]:
    found = row.measured
    return (
        row.strategy,
        units.count(row.workload.in_flight),
        units.count(found.pages),
        units.duration(found.makespan_ns, 2),
        units.number(found.pages_per_s, 2),
        units.percent(waiting_share(row)),
    )


def _doubts(rows: Sequence[Row]) -> list[str]:
    """Say that the figures are rough if a check failed; ``--json`` has the names of the checks."""
    if all(row.valid for row in rows):
        return []
    return ["The figures are rough, because something disturbed the measurement; other programs may be the cause."]


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the result as JSON values."""
    return {
        "pages": rows[0].measured.pages,
        "latency_ns": rows[0].workload.mean_latency_ns,
        "times_faster": times_faster(rows),
        "crawls": [
            {
                "strategy": row.strategy,
                "in_flight": row.workload.in_flight,
                "makespan_ns": row.measured.makespan_ns,
                "pages_per_s": row.measured.pages_per_s,
                "waiting_share": waiting_share(row),
                "valid": row.valid,
                "failed_checks": [check.name for check in row.failed_checks],
            }
            for row in rows
        ],
    }
