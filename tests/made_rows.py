"""Rows of every kind: recorded ones, in which the few values that a test is about are others."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from inflight.bench.rows import files, records
from inflight.bench.rows.files import Check, Kind, Row, Status
from inflight.bench.rows.kinds import Role
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
RECORDED = Path(__file__).with_name("recorded")
BASES: dict[Kind, tuple[str, str]] = {
    "crawl": ("race", "callbacks"),
    "arm": ("quick", "callbacks"),
    "memory": ("c10k", "callbacks"),
    "idle": ("memory", "thread"),
    "limit": ("limits", "threads"),
    "swarm": ("c100k", "callbacks"),
    "open": ("open-loop", "locust"),
    "counts": ("counts", "callbacks"),
}
"""The recorded run and the strategy in it whose row others of the kind differ from; probes have one by their name."""
_MEANS = {"0": 0, "10ms": 10 * MS, "50ms": 50 * MS, "200ms": 200 * MS, "500ms": 500 * MS}
_WORKS = {"0": 0, "100us": MS // 10, "1ms": MS, "10ms": 10 * MS}
PASSED = Check("no listen drops", "passed", "0 in /proc/net/netstat during the trial")
FAILED = Check("no listen drops", "failed", "40 in /proc/net/netstat during the trial")


@cache
def recorded(run: str) -> tuple[Row, ...]:
    """Return the rows of a recorded run."""
    return tuple(files.read(RECORDED / run))


@cache
def _base(kind: Kind, strategy: str) -> dict[str, Any]:
    run, usual = BASES.get(kind, ("claims", strategy))
    rows = (json.loads(line) for line in files.text(RECORDED / run).splitlines())
    values = next(row for row in rows if (row["kind"], row["strategy"]) == (kind, usual))
    return {name: value for name, value in values.items() if name != "format"}


def made(
    kind: Kind,
    strategy: str,
    cell: str,
    *,
    number: int = 1,
    stack: str = "shared",
    status: Status = "ok",
    reason: str | None = None,
    invalid: bool = False,
    workload: Mapping[str, Any] | None = None,
    measured: Mapping[str, Any] | None = None,
    **parts: Any,
) -> Row:
    """Make the row of a trial from the recorded one of its kind; None in ``measured`` takes a figure away.

    ``number`` is the round. A trial that did not end has no figures.
    """
    base = _base(kind, strategy)
    began, ended = status != "skipped", status in {"ok", "wrong"}
    return records.make(
        **base
        | {
            "run": RUN,
            "trial": f"{cell}/{strategy}/round={number}",
            "round": number,
            "strategy": strategy,
            "stack": stack,
            "status": status,
            "reason": None if status == "ok" else reason or "for a reason",
            "started_at": "2026-01-02T03:04:05.678+00:00",
            "duration_ns": 700 * MS if began else 0,
            "workload": base["workload"] | {"id": cell} | dict(workload or {}),
            "measured": base["measured"] | dict(measured or {}) if ended else {},
            "server": base["server"] | {"ceiling_per_s": 100_000.0, "cpu_share": 0.2}
            if base["server"] and ended
            else {},
            "knobs": base["knobs"] if began else {},
            "checks": ((PASSED, FAILED) if invalid else (PASSED,)) if ended else (),
        }
        | parts
    )


def edited(row: Row, **parts: Any) -> Row:
    """Return a row with other values; tables are merged: ``edited(row, workload={"site": {"links": 7}})``."""
    return changed(row, **{name: _merged(msgspec.to_builtins(getattr(row, name)), new) for name, new in parts.items()})


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return old | {name: _merged(old.get(name), value) for name, value in new.items()}


def _place(
    kind: str, latency: str, in_flight: int, connection: str, pages: int, site: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the name of a workload of fetches, and its values."""
    cell = f"{kind}/latency={latency}/in_flight={in_flight}/{connection}{site or ''}"
    site = _base("crawl", "")["workload"]["site"] | {"pages": pages, "delay": latency} | dict(site)
    values = {"latency": latency, "mean_latency_ns": _MEANS[latency], "in_flight": in_flight, "connection": connection}
    return cell, values | {"site": site}


def crawl_row(
    strategy: str = "callbacks",
    *,
    latency: str = "0",
    in_flight: int = 100,
    pages_per_s: float = 10_000.0,
    cpu_per_page_ns: int = 50_000,
    times_ns: Sequence[int] = (),
    connection: str = "keep-alive",
    pages: int = 5000,
    site: dict[str, Any] | None = None,
    **same: Any,
) -> Row:
    """Make the row of a timed trial."""
    cell, workload = _place("crawl", latency, in_flight, connection, pages, site or {})
    measured = dict.fromkeys(("samples", "steady_service", "others_ns", "run_delay_ns", "listen_drops")) | {
        "cpu_user_ns": cpu_per_page_ns * pages,
        "cpu_system_ns": 0,
        "makespan_ns": round(pages / pages_per_s * 1e9),
        "peak_in_flight": in_flight,
        "tries": pages,
        "pages": pages,
        "service": times(times_ns),
        "response": times([2 * value for value in times_ns]),
        "timeline": {"bin_ns": 10 * MS, "completions": [pages], "in_flight": [0]},
        "pages_per_s": pages_per_s,
        "cpu_per_page_ns": cpu_per_page_ns,
    }
    return made("crawl", strategy, cell, workload=workload, measured=measured, **same)


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
    connection: str = "keep-alive",
    cycles: int = 3,
    others: float | None = None,
    work: str = "0",
    site: dict[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
    **same: Any,
) -> Row:
    """Make the row of one arm of a block; ``number`` is that of the block. A placebo is named by its ``strategy``.

    ``asked`` is what else the arm was given; ``cpu_per_page_ns`` has the CPU ``work`` in it.
    """
    cell, workload = _place("throughput", latency, in_flight, connection, 1000, site or {})
    arm: dict[str, Any] = {
        "name": strategy,
        "strategy": strategy.removesuffix(" again"),
        "role": role,
        "label": strategy,
    }
    arm |= {"in_flight": in_flight} if in_flight != 100 else {}
    arm |= {"connection": connection} if connection != "keep-alive" else {}
    if work != "0":
        cell += f"/cpu={work}"
        workload |= {"cpu": work, "cpu_ns": _WORKS[work]}
    cpu_ns, pages = round(cpu_per_page_ns * pages_per_s * 0.02), pages_per_s * 0.02
    windows = [
        {"cycle": n, "begin_ns": 1000 * MS + n * 100 * MS, "wall_ns": 20 * MS, "cpu_ns": cpu_ns, "pages": pages}
        for n in range(cycles)
    ]
    measured = {
        "block": f"{cell}/round={number}",
        "windows": windows,
        "cpu_per_page_ns": cpu_per_page_ns,
        "pages_per_s": pages_per_s,
        "cpu_share": min(1.0, cpu_per_page_ns * pages_per_s / 1e9),
        "others_share": others,
        "peak_in_flight": in_flight,
        "held_in_flight": in_flight,
        "service": times(times_ns),
        "clock": None,
    }
    given = workload | {"arm": arm | dict(asked or {})}
    server = {"cpu_share": 0.2, "ceiling_per_s": 100_000.0}
    row = made("arm", strategy, cell, number=number, workload=given, measured=measured, **same)
    return changed(row, server=server) if row.server else row


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


_LAYERS = ("uss", "rss", "page_tables", "kernel_stack", "slab", "socket")
_EMPTY = dict(zip(_LAYERS, (14_400_000, 24_800_000, 102_400, 1_638_400, 239_600_000, 0), strict=True))
"""Bytes of a process without fetches, and of the system."""


def stage(name: str, n: int, each: Sequence[int], jitter: int = 0) -> dict[str, Any]:
    """Return the figures of one stage: user memory, page tables, kernel stacks and slab grown by so much for each."""
    user, tables, stacks, slab = (n * size for size in each)
    more = (user + jitter, user + jitter, tables, stacks, slab + jitter // 2, 0)
    return {f"{name}_{layer}_bytes": _EMPTY[layer] + size for layer, size in zip(_LAYERS, more, strict=True)}


def _stages(n: int, each: Sequence[int], jitter: int, unknown: Sequence[str]) -> dict[str, Any]:
    """Return the figures at the base and with all held, without others; ``unknown`` layers are null."""
    others = {name: None for name in _base("memory", "")["measured"] if name.startswith(("base", "held", "parked"))}
    found = others | stage("base", 0, (0, 0, 0, 0)) | stage("held", n, each, jitter)
    return {name: None if name.partition("_")[2] in unknown else value for name, value in found.items()}


def memory_row(
    strategy: str = "callbacks",
    held: int = 100,
    uss_bytes: int = 10_000_000,
    *,
    connection: str = "keep-alive",
    more: Mapping[str, Any] | None = None,
    **same: Any,
) -> Row:
    """Make the row of a memory trial, of which the memory of the process alone is known; ``more`` has other figures."""
    cell, workload = _place("memory", "0", held, connection, held, {"links": 0})
    measured = dict.fromkeys(_stages(0, (0, 0, 0, 0), 0, ())) | {
        "held_uss_bytes": uss_bytes,
        "held_rss_bytes": uss_bytes + 20,
        "held_in_flight": held,
        "reach_ns": MS,
        "pages": held,
        "tries": held,
        "peak_in_flight": held,
        "run_delay_ns": None,
    }
    workload |= {"parked": None}
    return made("memory", strategy, cell, workload=workload, measured=measured | dict(more or {}), **same)


def memory_rows(
    strategy: str = "callbacks", per_fetch: int = 1000, rounds: int = 2, stack: str = "shared", start: int = 10_000_000
) -> list[Row]:
    """Make the rows of five sizes, on a line but for a jitter that differs between the rounds."""
    return [
        memory_row(strategy, n, start + per_fetch * n + 500 * (number * n % 7 - 3), number=number, stack=stack)
        for number in range(1, rounds + 1)
        for n in (400, 800, 1200, 1600, 2000)
    ]


def held_row(
    strategy: str = "callbacks",
    n: int = 10_000,
    each: Sequence[int] = (1000, 2, 0, 8000),
    *,
    jitter: int = 0,
    parked: Sequence[int] | None = None,
    reach_ms: int = 1000,
    unknown: Sequence[str] = (),
    **same: Any,
) -> Row:
    """Make the row of a memory trial in layers, ``each`` as in ``stage``, with the way to N in its timeline."""
    bins = [*(n * ms // reach_ms for ms in range(0, reach_ms, 10)), n, n, n, 0]
    more = _stages(n, each, jitter, unknown) | ({} if parked is None else stage("parked", n, parked, jitter))
    more |= {"reach_ns": reach_ms * MS, "held_in_flight": n}
    more |= {"timeline": {"bin_ns": 10 * MS, "completions": [0] * len(bins), "in_flight": bins}}
    return memory_row(strategy, n, more=more, **same)


def idle_row(
    what: str = "thread",
    n: int = 1000,
    each: Sequence[int] = (16_460, 4_154, 16_384, 7_820),
    *,
    jitter: int = 0,
    unknown: Sequence[str] = (),
    **same: Any,
) -> Row:
    """Make the row of N idle threads or tasks; ``unknown`` layers are null, as where the system does not tell."""
    measured = _stages(n, each, jitter, unknown)
    measured |= {"started": n, "start_ns": n * 60_000, "ps_rss_bytes": measured["held_rss_bytes"]}
    workload = {"what": what, "n": n}
    return made("idle", what, f"idle/{what}/n={n}", stack="none", workload=workload, measured=measured, **same)


def ladder(
    costs: Mapping[str, Sequence[int]], numbers: Sequence[int], *, rounds: int = 2, seed: int = 1, noise: int = 40_000
) -> list[Row]:
    """Make the rows of blocks over several N, each a little off the line."""
    random = Random(seed)
    return [
        idle_row(what, n, each, number=number, jitter=random.randrange(-noise, noise))
        for what, each in costs.items()
        for n in numbers
        for number in range(1, rounds + 1)
    ]


def limit_row(resource: str = "threads", *, measured: Mapping[str, Any] | None = None, **same: Any) -> Row:
    """Make the row of a limit that was looked for; by default, threads that ran into vm.max_map_count."""
    workload = {"resource": resource, "through_shared": False}
    return made("limit", resource, f"limit/{resource}", stack="none", workload=workload, measured=measured, **same)


def probe_row(probe: str = "spin", *, workload: Mapping[str, Any] | None = None, **measured: Any) -> Row:
    """Make the row of a probe."""
    return made("probe", probe, f"probe/{probe}", stack="none", workload=workload, measured=measured)


def swarm_row(
    strategy: str = "callbacks", asked: int = 100_000, *, measured: Mapping[str, Any] | None = None, **same: Any
) -> Row:
    """Make the row of a swarm."""
    figures = {"planned_in_flight": asked, "held_in_flight": asked} | dict(measured or {})
    cell = f"swarm/in_flight={asked}"
    return made("swarm", strategy, cell, workload={"in_flight": asked}, measured=figures, **same)


def open_row(rate: float = 1000, *, target: str | None = None, **same: Any) -> Row:
    """Make the row of an open loop at one rate."""
    workload: dict[str, Any] = {"rate_per_s": rate}
    workload |= {} if target is None else {"target": target, "latency": None, "mean_latency_ns": None, "site": None}
    return made("open", "locust", f"open/rate={rate:g}", stack="own", workload=workload, **same)


def counts_row(strategy: str = "callbacks", **same: Any) -> Row:
    """Make the row of a strategy that was counted."""
    return made("counts", strategy, "counts/latency=1ms/in_flight=1/keep-alive", **same)


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
