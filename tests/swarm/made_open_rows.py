"""Rows of open loops as the harness writes them, from the values that a test needs."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from inflight.bench.rows.files import Check, Row, Status
from inflight.fake_server.site import SiteConfig
from tests.made_rows import MS, RUN, make, times

SECONDS, USERS, DELAY_NS = 10, 200, 10 * MS
CEILING = 2600.0
"""Requests per second beyond which the made client cannot keep the rate."""
RATES = (250, 500, 1000, 2000, 4000, 8000)
CORE = "the client's core was full"
_MOST_TIMES = 2000
"""Maximum number of durations in a row. Each stands for as many requests as the count needs."""
_SITE = SiteConfig(pages=1000, links=10, body_bytes=1200).to_dict()
_PASSED = Check("no listen drops", "passed", "0 in /proc/net/netstat during the trial")
_FAILED = Check("no listen drops", "failed", "40 in /proc/net/netstat during the trial")


def open_row(
    rate: float = 1000,
    *,
    number: int = 1,
    target: str | None = None,
    status: Status = "ok",
    reason: str | None = None,
    invalid: bool = False,
    users: int = USERS,
    seconds: int = SECONDS,
    ceiling: float = CEILING,
    why: str = CORE,
    latency: str = "10ms",
) -> Row:
    """Make the row of an open loop at one rate; ``number`` is its round."""
    place = f"latency={latency}" if target is None else f"target={target}"
    cell = f"open/{place}/rate={rate:g}"
    return make(
        run=RUN,
        trial=f"{cell}/round={number}",
        round=number,
        strategy="locust",
        stack="own",
        kind="open",
        workload={
            "id": cell,
            "rate_per_s": rate,
            "seconds": seconds,
            "users": users,
            "latency": latency if target is None else None,
            "mean_latency_ns": DELAY_NS if target is None else None,
            "site": _SITE | {"delay": latency} if target is None else None,
            "target": target,
        },
        status=status,
        reason=None if status == "ok" else reason or "for a reason",
        started_at="2026-01-02T03:04:05.678+00:00",
        duration_ns=0 if status == "skipped" else (seconds + 1) * 1000 * MS,
        measured=_measured(rate, number, seconds, ceiling, why, target) if status in {"ok", "wrong"} else {},
        server={"requests": round(min(rate, ceiling) * seconds), "cpu_share": 0.3} if status == "ok" else {},
        knobs={} if status == "skipped" else {"python": "3.11.7", "implementation": "cpython", "gil": True},
        checks=() if status != "ok" else (_PASSED, _FAILED) if invalid else (_PASSED,),
    )


def open_run(rates: Sequence[float] = RATES, rounds: int = 2, **values: Any) -> list[Row]:
    """Make a run: each rate in each round."""
    return [open_row(rate, number=number, **values) for number in range(1, rounds + 1) for rate in rates]


def _measured(rate: float, number: int, seconds: int, ceiling: float, why: str, target: str | None) -> dict[str, Any]:
    """Make the figures of a first-come, first-served queue: beyond the ceiling, arrivals wait longer and longer."""
    arrivals = round(rate * seconds)
    done_per_s = min(rate, ceiling)
    kept = rate <= ceiling
    shown = min(arrivals, _MOST_TIMES)
    base_ns = DELAY_NS if target is None else MS
    load = min(rate / ceiling, 0.95)
    service = [round(base_ns * (1 + 0.02 * number) + 400_000 * (n % 100) ** 3 / 1e6 / (1 - load)) for n in range(shown)]
    lag_ns = [0 if kept else round((n / shown) * (rate / ceiling - 1) * seconds * 1e9) for n in range(shown)]
    stall_ns = [round(3 * MS * load * (n % 50 == 0)) for n in range(shown)]
    waited = [sum(parts) for parts in zip(service, lag_ns, stall_ns, strict=True)]
    at_ns = [n * 250 * MS for n in range(4 * seconds + 1)]
    more = 0.0 if kept else rate - ceiling
    return {
        "offered_per_s": float(rate),
        "arrivals": arrivals,
        "started": round(done_per_s * seconds),
        "completed": round(done_per_s * seconds),
        "failed": 0,
        "completed_per_s": done_per_s + number,
        "peak_in_flight": min(USERS, round(done_per_s * base_ns / 1e9) + 2),
        "corrected": _counted(times(waited), arrivals),
        "uncorrected": _counted(times(service), arrivals),
        "backlog": {"at_ns": at_ns, "waiting": [round(more * ns / 1e9) + ns // MS % 3 for ns in at_ns]},
        "kept": kept,
        "why": None if kept else f"cannot keep the rate: {arrivals:,} were due; {why}",
        "client_cpu_share": min(1.0, rate / ceiling),
        "server_cpu_share": None if target is not None else 0.3 * load,
        "errors": {},
    }


def _counted(summary: dict[str, Any], count: int) -> dict[str, Any]:
    """Set the number of requests that the durations stand for."""
    buckets = summary["histogram"]["counts"]
    ends = [count * seen // summary["count"] for seen in accumulate(number for _, number in buckets)]
    counts = [[start, end - begin] for (start, _), begin, end in zip(buckets, [0, *ends], ends, strict=False)]
    return summary | {"count": count, "histogram": summary["histogram"] | {"counts": [one for one in counts if one[1]]}}
