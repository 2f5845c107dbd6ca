"""Rows of arms as the harness writes them, made from the few values that a test is about."""

from typing import Any

from bench.rows import Row
from tests.made_rows import MS, RED, crawl_row, times

_MEANS = {"0": 0, "10ms": 10 * MS, "50ms": 50 * MS, "200ms": 200 * MS}
_WORKS = {"0": 0, "100us": MS // 10, "1ms": MS, "10ms": 10 * MS}


def arm_row(
    strategy: str = "callbacks",
    *,
    latency: str = "0",
    work: str = "0",
    in_flight: int = 100,
    number: int = 1,
    pages_per_s: float = 10_000.0,
    cpu_per_page_ns: int = 50_000,
    red: bool = False,
    placebo: bool = False,
    arm: dict[str, Any] | None = None,
    site: dict[str, Any] | None = None,
) -> Row:
    """Make the row of one arm of a block; ``number`` is its block, ``cpu_per_page_ns`` has the CPU work in it."""
    made = crawl_row("callbacks" if placebo else strategy, in_flight=in_flight, number=number, pages=1000, site=site)
    cell = f"throughput/latency={latency}/in_flight={in_flight}/keep-alive" + (f"/cpu={work}" if work != "0" else "")
    name = f"{made.strategy} again" if placebo else strategy
    role = "placebo" if placebo else "reference" if strategy == "callbacks" else "compared"
    told: dict[str, Any] = {"name": name, "strategy": made.strategy, "role": role, "label": made.strategy}
    told |= {"in_flight": in_flight} if in_flight != 100 else {}
    workload = made.workload | {"id": cell, "latency": latency, "mean_latency_ns": _MEANS[latency]}
    workload |= {"arm": told | (arm or {}), "site": made.workload["site"] | {"delay": latency}}
    workload |= {"cpu": work, "cpu_ns": _WORKS[work]} if work != "0" else {}
    return Row(
        run=made.run,
        trial=f"{cell}/{name}/round={number}",
        round=number,
        strategy=name,
        stack="shared",
        kind="arm",
        workload=workload,
        status="ok",
        reason=None,
        started_at=made.started_at,
        duration_ns=made.duration_ns,
        measured=_measured(f"{cell}/round={number}", in_flight, pages_per_s, cpu_per_page_ns),
        server={"cpu_share": 0.2, "ceiling_per_s": 100_000.0},
        knobs=made.knobs,
        checks=(*made.checks, RED) if red else made.checks,
    )


def _measured(block: str, in_flight: int, pages_per_s: float, cpu_per_page_ns: int) -> dict[str, Any]:
    pages = pages_per_s * 0.2
    window = {"cycle": 0, "begin_ns": 10**9, "wall_ns": 200 * MS, "cpu_ns": round(pages * cpu_per_page_ns)}
    return {
        "block": block,
        "windows": [window | {"server_cpu_ns": 40 * MS, "pages": pages, "kept": True}],
        "settle_ns": 10 * MS,
        "cpu_per_page_ns": cpu_per_page_ns,
        "cpu_per_page_all_ns": cpu_per_page_ns,
        "pages_per_s": pages_per_s,
        "cpu_share": min(1.0, pages_per_s * cpu_per_page_ns / 1e9),
        "requests": 3000,
        "pages": 3000,
        "failed_pages": 0,
        "tries": 3000,
        "peak_in_flight": in_flight,
        "held_in_flight": in_flight,
        "service": times([]),
    }
