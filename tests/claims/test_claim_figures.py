"""The figures of each rule's outcome: of the reference run, and of rows in which no two figures are the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.studies.claims.rules import RULES
from inflight.bench.studies.claims.verdicts import Value
from inflight.strategies.core import record
from tests.claims.cases import left_behind
from tests.claims.made_claim_rows import (
    arm_rows,
    held_row,
    held_rows,
    idle_rows,
    limit_row,
    probe_rows,
    timed_rows,
)

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
MS, S = 1_000_000, 1_000_000_000
MANY = (50_000, 100_000, 200_000, 300_000, 500_000)

Case = tuple[str, list[Row], dict[str, Value]]
"""A claim, its rows, and all values of the outcome that they must lead to."""


def memory_ratios() -> Case:
    rows = [*idle_rows("thread", 60_000, user=0.4), *idle_rows("asyncio_task", 5000, sizes=MANY, user=0.8)]
    rows += [*held_rows("thread_pool", 120_000), *held_rows("native_asyncio", 20_000)]
    return (
        "memory-ratio",
        rows,
        {
            "parked_user_ratio": 6,
            "parked_full_ratio": 12,
            "flying_user_ratio": 6,
            "flying_full_ratio": 6,
            "published_ratio": 50 / 3,
            "draft_ratio": 22 / 3,
        },
    )


def sockets() -> Case:
    rows = [
        limit_row("threads", 25_000, "pids.max", predicted=30_000),
        limit_row("descriptors", 26_000, "RLIMIT_NOFILE", stopped_by="shared limit", predicted=40_000),
        limit_row("ports", None, "ip_local_port_range", stopped_by="not tried", predicted=28_232),
        *[held_row("callbacks", n) for n in (7000, 9000, 8000)],
        held_row("thread_pool", 500),
        held_row("thread_pool", 10_000, invalid=True),
    ]
    return (
        "threads-before-sockets",
        rows,
        {
            "threads": 25_000,
            "descriptors": 40_000,
            "ports": 28_232,
            "threads_by": "pids.max",
            "descriptors_by": "RLIMIT_NOFILE",
            "ports_by": "ip_local_port_range",
        },
    )


def sockets_beyond_prediction() -> Case:
    rows = [
        limit_row("threads", 15_000, "pids.max", stopped_by="deadline", predicted=14_000),
        limit_row("descriptors", 20_000, "RLIMIT_NOFILE"),
        limit_row("ports", 14_000, "ip_local_port_range", predicted=28_232),
    ]
    return (
        "threads-before-sockets",
        rows,
        {
            "undecided": "descriptors",
            "threads": 15_000,
            "descriptors": 20_000,
            "ports": 14_000,
            "threads_by": "pids.max",
            "descriptors_by": "RLIMIT_NOFILE",
            "ports_by": "ip_local_port_range",
        },
    )


def ten_thousand() -> Case:
    held = [
        ("callbacks", "keep-alive", 1, 900, 60),
        ("callbacks", "keep-alive", 2, 1100, 64),
        ("callbacks", "per-fetch", 1, 3000, 50),
        ("native_asyncio", "keep-alive", 1, 2000, 90),
        ("native_asyncio", "per-fetch", 1, 5000, 140),
        ("thread_pool", "keep-alive", 1, 700, 20),
    ]
    rows = [
        held_row(name, 10_000, 0, use, number, changes={"reach_ns": ms * MS, "held_uss_bytes": mb * 1_000_000})
        for name, use, number, ms, mb in held
    ]
    refused = held_row("thread_pool", 10_000, 0, "per-fetch", status="skipped", reason="pids.max allows 900")
    rows += [changed(refused, cause="limit")]
    rows += [held_row("callbacks", 9999, 0, changes={"reach_ns": 1, "held_uss_bytes": 1})]
    return (
        "c10k",
        rows,
        {
            "able": 2,
            "tried": 3,
            "unable": "thread_pool",
            "limit": "pids.max allows 900",
            "fastest_ns": 1000 * MS,  # the median of its rounds
            "slowest_ns": 5000 * MS,
            "least_bytes": 50_000_000,
            "most_bytes": 140_000_000,
        },
    )


def crowded() -> Case:
    rows = [
        *arm_rows("callbacks", 20_000, 30_000, role="reference", cell="callbacks"),
        *arm_rows("callbacks", 25_000, 37_500, in_flight=3000, cell="callbacks"),
        *arm_rows("thread_pool", 20_000, 30_000, role="reference", cell="threads"),
        *arm_rows("thread_pool", 40_000, 60_000, in_flight=3000, cell="threads"),
        *arm_rows("native_asyncio", 20_000, 30_000, role="reference", cell="asyncio"),
        *arm_rows("native_asyncio", 20_000, 30_000, in_flight=3000, cell="asyncio"),
        *arm_rows("native_asyncio", 90_000, 90_000, role="placebo", cell="asyncio"),
    ]
    return (
        "diminishing-returns",
        rows,
        {"falling": "callbacks and thread_pool", "level": "native_asyncio", "most_in_flight": 3000, "worst_share": 0.5},
    )


def cartoon() -> Case:

    def spans(name: str, *spans_ns: float, in_flight: int = 100) -> list[Row]:
        latency = "lognormal 100ms 500ms"
        return timed_rows(name, *spans_ns, read="makespan_ns", latency=latency, pages=1500, in_flight=in_flight)

    (absent,) = timed_rows("aiohttp_client", 1, status="skipped", reason="not installed: aiohttp")
    rows = [*spans("callbacks", 2 * S, 2.2 * S, 2.1 * S), *spans("thread_pool", 3.5 * S, 4 * S, in_flight=50)]
    rows += [changed(absent, cause="not installed")]
    return (
        "xkcd",
        rows,
        {
            "quickest": "callbacks",
            "quickest_ns": 2.1 * S,
            "slowest_ns": 3.75 * S,
            "slow": "thread_pool",
            "pages_per_s": 1500 / 2.1,
        },
    )


def racing() -> Case:

    def counts(model: str, *found: tuple[int, int, int]) -> list[Row]:
        said = [{"duplicates": twice, "lost_updates": lost, "links_seen": links} for twice, lost, links in found]
        return probe_rows("races", {"model": model}, *said)

    rows = [
        *counts("threads", (0, 7, 95_000), (30, 5, 96_000), (12, 6, 94_000)),
        *counts("threads-locked", (0, 0, 1000)),
        *counts("coroutines", (0, 99, 1000)),
        *counts("asyncio", (0, 0, 1000)),
        *counts("coroutines-yielding", (40, 0, 1000)),
    ]
    return (
        "races",
        rows,
        {
            "threads_duplicates": 30,
            "threads_locked_duplicates": 0,
            "coroutines_duplicates": 0,
            "asyncio_duplicates": 0,
            "coroutines_yielding_duplicates": 40,
            "lost_updates": 7,
            "links": 96_000,
        },
    )


def redirects() -> Case:

    def crawled(name: str, requests: int, pages: int, answered: dict[str, int]) -> Row:
        server = {"requests": requests, "responses_by_status": answered}
        return held_row(name, 10, changes={"pages": pages}, server=server, site={"redirect_targets": 5})

    rows = [
        crawled("callbacks", 600, 600, {"200": 300, "301": 100, "302": 200}),
        crawled("generators", 640, 600, {"200": 340, "302": 300}),
        crawled("generators", 510, 500, {"200": 300, "302": 200, "404": 10}),
        crawled("sequential", 602, 600, {"200": 302, "302": 300}),
    ]
    return (
        "redirects-coalesce",
        rows,
        {"redirects": 300, "targets": 5, "pages": 600, "strategies": 3, "twice": "generators, sequential", "extra": 40},
    )


def cancelling() -> Case:

    def ended(name: str, variant: str, complaint: str, ends: bool = True, **left: int) -> list[Row]:
        said: dict[str, Any] = {"complaint": complaint, "left": left_behind(**left) if left else None, "ended": ends}
        return probe_rows("cancel_workers", {"strategy": name, "variant": variant}, said)

    rows = [
        *ended("callbacks", "cancelled", "", tasks=0, threads=0),
        *ended("native_asyncio", "cancelled", "", tasks=0, threads=0),
        *ended("thread_pool", "cancelled", "", tasks=0, threads=2),
        *ended("generators", "cancelled", "left!", tasks=0, threads=0),
        *ended("native_asyncio", "left-out", "pending!", tasks=8, threads=1),
        *ended("native_asyncio", "left-out-run", "pending!", tasks=0, threads=0),
        *ended("generators", "left-out", "closed!", tasks=3, threads=0),
        *ended("thread_pool", "left-out", "", ends=False),
    ]
    return (
        "cancel-workers",
        rows,
        {
            "clean": 2,
            "dirty": "generators, thread_pool",
            "complaint": "pending!",
            "tasks": 8,
            "threads": None,
            "ends": "never ends",
            "loop_complaint": "closed!",
        },
    )


def late_timers() -> Case:
    """Return the arms of asyncio that have a timer: alone and beside a thread, with the global lock and without it."""
    rows = [
        row
        for asked, gil, late in (({}, True, (1, 30)), ({"python": "free-threaded"}, False, (2, 4)))
        for threads, late_ms in enumerate(late)
        for row in arm_rows(
            "native_asyncio", 100.0, 100.0, read="pages_per_s", in_flight=1, busy_threads=threads, gil=gil,
            asked={"lag": True, **asked}, changes={"lag": record.summary([late_ms * MS] * 30)},
        )
    ]  # fmt: skip
    known = {"locked_alone": MS, "locked_beside": 30 * MS, "free_alone": 2 * MS, "free_beside": 4 * MS}
    names = ("asyncio", "callbacks", "threads")
    values: dict[str, Value] = {f"asyncio_{name}_lag_ns": late_ns for name, late_ns in known.items()}
    values |= {f"{name}_{one}_lag_ns": None for name in names[1:] for one in known}
    values |= {f"{name}_{figure}": None for name in names for figure in ("per_s", "ratio")}
    values["undecided"] = "asyncio (no valid row of one side); asyncio (too few valid rounds)"
    return "convoy", rows, values


MADE = (
    late_timers,
    sockets,
    sockets_beyond_prediction,
    ten_thousand,
    crowded,
    cartoon,
    racing,
    redirects,
    cancelling,
    memory_ratios,
)


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_an_outcome_has_the_figures_of_its_rows(make: Callable[[], Case]) -> None:
    claim, rows, values = make()

    assert RULES[claim](rows).values == pytest.approx({"undecided": None} | values)


def test_an_unreached_ceiling_is_shown_with_its_prediction() -> None:
    reached = limit_row("threads", 15_000, "kernel.pid_max", stopped_by="deadline", predicted=32_700, next=None)

    assert RULES["thread-failure"]([reached]).figures == (
        "threads: 32,700 predicted (kernel.pid_max), 15,000 reached, stopped by deadline"
    )


def test_figures_have_their_intervals_and_reasons_their_boundaries() -> None:
    outcome = RULES["memory-ratio"](memory_ratios()[1])

    assert outcome.figures == (
        "all layers, parked: 12.0x (12.0 to 12.0); in flight: 6.00x (6.00 to 6.00); "
        "user memory, parked: 6.00x (6.00 to 6.00); user memory, in flight: 6.00x (6.00 to 6.00)"
    )
    assert outcome.reason == "all layers at least 10x: parked yes, in flight no"
    assert "thread: 1,000 to 10,000" in outcome.region
