"""Rows as the harness writes them, made from the few values that a test is about."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from inflight.bench.plan.arm import Role
from inflight.bench.rows import records
from inflight.bench.rows.files import Check, Kind, Row, Status
from inflight.bench.rows.kinds import NEEDED_BY_PROBE, Idle, LimitFound
from inflight.bench.rows.records import changed

MS = 1_000_000
RUN = "20260102T030405678Z-host-made"
MACHINE: dict[str, Any] = {
    "cpu": "Imaginary 9000",
    "cores": 4,
    "system": "Linux 6.1",
    "python": "CPython 3.11.7",
    "versions": {"inflight-bench": "0.1.0"},
    "command": ["/usr/bin/inflight", "run", "quick"],
}
_MEANS = {"0": 0, "10ms": 10 * MS, "50ms": 50 * MS, "200ms": 200 * MS, "500ms": 500 * MS}
_WORKS = {"0": 0, "100us": MS // 10, "1ms": MS, "10ms": 10 * MS}
PASSED = Check("server had room", "passed", "20 % of its core, limit 70 %")
FAILED = Check("server had room", "failed", "80 % of its core, limit 70 %")


def make(**values: Any) -> Row:
    """Make a row as the harness does; parts that are not given are empty."""
    return records.make(**{"measured": {}, "server": {}, "knobs": {}, "checks": ()} | values)


def edited(row: Row, **parts: Any) -> Row:
    """Return a row with other values; tables are merged: ``edited(row, workload={"site": {"links": 7}})``."""
    return changed(row, **{name: _merged(msgspec.to_builtins(getattr(row, name)), new) for name, new in parts.items()})


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return old | {name: _merged(old.get(name), value) for name, value in new.items()}


NO_TIMELINE: dict[str, Any] = {"bin_ns": 10 * MS, "completions": [], "in_flight": []}
_NEEDED = {
    "evidence": [], "stopped_by": "failure", "started": 1, "start_ns": MS, "cpu_ns": MS, "block": "made",
    "windows": [], "cpu_share": 0.9, "requests": 1, "held_in_flight": 1,
    "held_uss_bytes": 1, "held_rss_bytes": 1, "how": "spin", "waits_for": "answer", "wall_ns": MS, "attempts": 1,
    "n": 1, "model": "threads", "links_seen": 1, "distinct": 1, "fetched": 1, "duplicates": 0, "lost_updates": 0,
    "selector": "epoll", "idle": 0, "pages": 1, "cpu_per_page_ns": 50_000, "pages_per_s": 1000.0,
    "strategy": "callbacks", "variant": "cancelled", "ended": True, "complaint": "", "printed": [], "started_by": [],
    "traceback": [], "holding": [], "names_starter": True, "lost": [], "text": "", "connection": "keep-alive",
    "makespan_ns": MS, "threads_started": 1,
}  # fmt: skip


def completed(measured: dict[str, Any], needed: Sequence[str]) -> dict[str, Any]:
    """Return figures with those that a record needs and a test is not about."""
    return {name: _NEEDED[name] for name in needed if measured.get(name) is None and name in _NEEDED} | measured


def needed(kind: Kind, subject: str) -> Sequence[str]:
    """Return the names of the figures that a row of a block, a probe or a limit needs."""
    if kind == "probe":
        return NEEDED_BY_PROBE.get(subject, ())
    return (Idle if kind == "idle" else LimitFound).NEEDED["measured"]


def crawl_row(
    strategy: str = "callbacks",
    *,
    latency: str = "0",
    in_flight: int = 100,
    number: int = 1,
    pages_per_s: float = 10_000.0,
    cpu_per_page_ns: int = 50_000,
    times_ns: Sequence[int] = (),
    stack: str = "shared",
    status: Status = "ok",
    reason: str | None = None,
    invalid: bool = False,
    connection: str = "keep-alive",
    pages: int = 5000,
    site: dict[str, Any] | None = None,
) -> Row:
    """Make the row of a timed trial; ``number`` is its round."""
    ended = status in {"ok", "wrong"}
    measured = _measured(pages, pages_per_s, cpu_per_page_ns, times_ns, in_flight) if ended else {}
    return _row(
        "crawl", strategy, latency, in_flight, number, stack, status, reason, invalid, connection, pages, measured,
        site or {},
    )  # fmt: skip


def arm_row(
    strategy: str = "callbacks",
    *,
    role: Role = "compared",
    latency: str = "0",
    in_flight: int = 100,
    number: int = 1,
    pages_per_s: float = 10_000.0,
    cpu_per_page_ns: int = 50_000,
    times_ns: Sequence[int] = (),
    stack: str = "shared",
    status: Status = "ok",
    reason: str | None = None,
    invalid: bool = False,
    connection: str = "keep-alive",
    cycles: int = 3,
    others: float | None = None,
    work: str = "0",
    site: dict[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
) -> Row:
    """Make the row of one arm of a block; ``number`` is that of the block. A placebo is named by its ``strategy``.

    ``asked`` is what else the arm was given; ``cpu_per_page_ns`` has the CPU ``work`` in it.
    """
    arm: dict[str, Any] = {
        "name": strategy,
        "strategy": strategy.removesuffix(" again"),
        "role": role,
        "label": strategy,
    }
    arm |= {"in_flight": in_flight} if in_flight != 100 else {}
    arm |= {"connection": connection} if connection != "keep-alive" else {}
    made = crawl_row(
        strategy,
        latency=latency,
        in_flight=in_flight,
        number=number,
        stack=stack,
        status=status,
        reason=reason,
        invalid=invalid,
        connection=connection,
        pages=1000,
        site=site,
    )
    cell = made.workload.id.replace("crawl/", "throughput/") + (f"/cpu={work}" if work != "0" else "")
    worked = {"cpu": work, "cpu_ns": _WORKS[work]} if work != "0" else {}
    measured: dict[str, Any] = {}
    if status in {"ok", "wrong"}:
        windows = [
            {
                "cycle": cycle,
                "begin_ns": 1000 * MS + cycle * 100 * MS,
                "wall_ns": 20 * MS,
                "cpu_ns": round(cpu_per_page_ns * pages_per_s * 0.02),
                "pages": pages_per_s * 0.02,
            }
            for cycle in range(cycles)
        ]
        measured = {
            "block": f"{cell}/round={number}",
            "windows": windows,
            "cpu_per_page_ns": cpu_per_page_ns,
            "pages_per_s": pages_per_s,
            "cpu_share": min(1.0, cpu_per_page_ns * pages_per_s / 1e9),
            "others_share": others,
            "requests": 5000,
            "pages": 5000,
            "failed_pages": 0,
            "tries": 5000,
            "peak_in_flight": in_flight,
            "held_in_flight": in_flight,
            "peak_threads": 1,
            "rss_bytes": 24_000_000,
            "service": times(times_ns),
            "steal_share": 0.0,
            "listen_drops": 0,
        }
    return changed(
        made,
        trial=f"{cell}/{strategy}/round={number}",
        kind="arm",
        workload=msgspec.to_builtins(made.workload) | {"id": cell, "arm": arm | dict(asked or {})} | worked,
        measured=measured,
        server={"cpu_share": 0.2, "ceiling_per_s": 100_000.0} if measured else {},
    )


def block_rows(
    costs: Mapping[str, int] | None = None, *, blocks: int = 5, latency: str = "0", in_flight: int = 100, **same: Any
) -> list[Row]:
    """Make the rows of some blocks: CPU per page of each arm in nanoseconds, the reference first.

    The blocks differ by 2 % each. Without a latency the reference takes part again, 1 % dearer in every second block.
    """
    costs = costs or {"callbacks": 20_000, "generators": 24_000}
    (reference, cheapest_ns), *others = costs.items()
    rows = []
    for number in range(1, blocks + 1):
        arms: list[tuple[str, Role, float]] = [(reference, "reference", cheapest_ns)]
        if latency == "0":
            arms.append((f"{reference} again", "placebo", cheapest_ns * (1 + number % 2 / 100)))
        arms += [(name, "compared", cost) for name, cost in others]
        for name, role, cost in arms:
            cost_ns = cost * (1 + 0.02 * number)
            rate = min(in_flight / (_MEANS[latency] + cost_ns) * 1e9, 1e9 / cost_ns)
            rows.append(
                arm_row(
                    name,
                    role=role,
                    number=number,
                    latency=latency,
                    in_flight=in_flight,
                    cpu_per_page_ns=round(cost_ns),
                    pages_per_s=rate,
                    times_ns=[_MEANS[latency] + round(cost_ns) * (1 + n % 50) for n in range(1200)],
                    **same,
                )
            )
    return rows


def memory_row(
    strategy: str = "callbacks",
    held: int = 100,
    uss_bytes: int = 10_000_000,
    *,
    number: int = 1,
    stack: str = "shared",
    status: Status = "ok",
    reason: str | None = None,
    invalid: bool = False,
    connection: str = "keep-alive",
) -> Row:
    """Make the row of a memory trial."""
    measured = {}
    if status in {"ok", "wrong"}:
        sizes = {f"held_{kind}_bytes": uss_bytes + more for kind, more in (("uss", 0), ("pss", 10), ("rss", 20))}
        told = {"held_in_flight": held, "reach_ns": 1_000_000}
        measured = _measured(held, 1000.0, 90_000, (), held) | told | sizes
    return _row(
        "memory", strategy, "0", held, number, stack, status, reason, invalid, connection, held, measured, {"links": 0}
    )


def memory_rows(
    strategy: str = "callbacks", per_fetch: int = 1000, rounds: int = 2, stack: str = "shared", start: int = 10_000_000
) -> list[Row]:
    """Make the rows of five sizes, on a line but for a jitter that differs between the rounds."""
    return [
        memory_row(strategy, n, start + per_fetch * n + 500 * (number * n % 7 - 3), number=number, stack=stack)
        for number in range(1, rounds + 1)
        for n in (400, 800, 1200, 1600, 2000)
    ]


def bare_row(
    kind: Literal["idle", "probe", "limit"],
    subject: str,
    workload: dict[str, Any],
    measured: dict[str, Any],
    *,
    number: int = 1,
    status: Status = "ok",
    reason: str | None = None,
    invalid: bool = False,
) -> Row:
    """Make the row of a trial in which no strategy crawls."""
    told = "/".join(f"{key}={value}" for key, value in workload.items())
    return make(
        run=RUN,
        trial=f"{kind}/{told}/round={number}",
        round=number,
        strategy=subject,
        stack="none",
        kind=kind,
        workload={"id": f"{kind}/{told}"} | workload,
        status=status,
        reason=None if status == "ok" else reason or "for a reason",
        started_at="2026-01-02T03:04:05.678+00:00",
        duration_ns=0 if status == "skipped" else 300 * MS,
        measured=completed(measured, needed(kind, subject)) if status == "ok" else measured,
        checks=() if status != "ok" else (PASSED, FAILED) if invalid else (PASSED,),
    )


def grid(
    strategies: Sequence[str] = ("callbacks", "thread_pool"),
    *,
    latencies: Sequence[str] = ("0", "50ms"),
    caps: Sequence[int] = (1, 10, 100, 1000),
    rounds: int = 2,
    stack: str = "shared",
) -> list[Row]:
    """Make a whole experiment: each strategy a little slower than the one before, each round by 1 %."""
    rows = []
    for place, name in enumerate(strategies):
        cpu_ns = 20_000 * (place + 1)
        for latency in latencies:
            for cap in caps:
                for number in range(1, rounds + 1):
                    rate = min(cap / (_MEANS[latency] + cpu_ns) * 1e9, 1e9 / cpu_ns) * (1 + number / 100)
                    times = [_MEANS[latency] + cpu_ns * (1 + n % 50) for n in range(1200)]
                    rows.append(
                        crawl_row(
                            name,
                            latency=latency,
                            in_flight=cap,
                            number=number,
                            pages_per_s=rate,
                            cpu_per_page_ns=cpu_ns + 100 * number,
                            times_ns=times,
                            stack=stack,
                        )
                    )
        rows += memory_rows(name, 1000 * (place + 1), rounds, stack)
    return rows


def times(values_ns: Sequence[int]) -> dict[str, Any]:
    """Make the summary of durations, in exact buckets of their first seven bits."""
    if not values_ns:
        return {"count": 0}
    ordered = sorted(values_ns)
    buckets = Counter(value >> (shift := max(0, value.bit_length() - 7)) << shift for value in ordered)
    last = len(ordered) - 1
    marks = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
    return {
        "count": len(ordered),
        "mean_ns": sum(ordered) // len(ordered),
        "min_ns": ordered[0],
        **{f"{name}_ns": ordered[round(share * last)] for name, share in marks.items()},
        "max_ns": ordered[-1],
        "histogram": {"significant_bits": 6, "counts": sorted(map(list, buckets.items()))},
    }


def _measured(
    pages: int, pages_per_s: float, cpu_per_page_ns: int, times_ns: Sequence[int], in_flight: int
) -> dict[str, Any]:
    return {
        "peak_threads": 1,
        "uss_bytes": 14_000_000,
        "rss_bytes": 24_000_000,
        "pss_bytes": 18_000_000,
        "cpu_user_ns": cpu_per_page_ns * pages * 2 // 3,
        "cpu_system_ns": cpu_per_page_ns * pages // 3,
        "gc_collections": 0,
        "gc_total_ns": 0,
        "gc_max_ns": 0,
        "makespan_ns": round(pages / pages_per_s * 1e9),
        "peak_in_flight": in_flight,
        "tries": pages,
        "service": times(times_ns),
        "response": times([2 * value for value in times_ns]),
        "timeline": {"bin_ns": 10 * MS, "completions": [pages], "in_flight": [0]},
        "pages": pages,
        "failed_pages": 0,
        "pages_per_s": pages_per_s,
        "cpu_per_page_ns": cpu_per_page_ns,
        "switches_per_page": 0.1,
        "steal_share": 0.0,
        "listen_drops": None,
    }


def _row(
    kind: Literal["crawl", "memory"],
    strategy: str,
    latency: str,
    in_flight: int,
    number: int,
    stack: str,
    status: Status,
    reason: str | None,
    invalid: bool,
    connection: str,
    pages: int,
    measured: dict[str, Any],
    site: dict[str, Any],
) -> Row:
    cell = f"{kind}/latency={latency}/in_flight={in_flight}/{connection}{site or ''}"
    began, ended = status != "skipped", status in {"ok", "wrong"}
    return make(
        run=RUN,
        trial=f"{cell}/{strategy}/round={number}",
        round=number,
        strategy=strategy,
        stack=stack,
        kind=kind,
        workload={
            "id": cell,
            "latency": latency,
            "mean_latency_ns": _MEANS[latency],
            "in_flight": in_flight,
            "connection": connection,
            "site": made_site(pages, latency) | site,
        },
        status=status,
        reason=None if status == "ok" else reason or "for a reason",
        started_at="2026-01-02T03:04:05.678+00:00",
        duration_ns=700 * MS if began else 0,
        measured=measured,
        server=_server(pages, in_flight) if ended else {},
        knobs={"strategy": strategy, "python": "3.11.7", "implementation": "cpython", "gil": True} if began else {},
        checks=((PASSED, FAILED) if invalid else (PASSED,)) if ended else (),
    )


def made_site(pages: int, delay: str) -> dict[str, Any]:
    return {
        "seed": 1,
        "pages": pages,
        "links": 10,
        "body_bytes": 1200,
        "body_spread": 0.0,
        "redirects": 0.0,
        "redirect_chain": 1,
        "redirect_targets": 0,
        "missing": 0.0,
        "non_html": 0.0,
        "delay": delay,
        "faults": {},
        "drip_ns": 200 * MS,
    }


def _server(pages: int, in_flight: int) -> dict[str, Any]:
    return {
        "requests": pages,
        "peak_in_flight": in_flight,
        "responses_by_status": {"200": pages},
        "faults": {},
        "lateness_p50_ns": 0,
        "lateness_p99_ns": 0,
        "lateness_max_ns": 0,
        "cpu_ns": pages * 12_000,
        "ceiling_per_s": 100_000.0,
        "cpu_share": 0.2,
    }
