"""The figures of each rule's outcome, from rows in which no two figures are the same."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from bench.core.records import changed
from bench.core.rows import Row
from bench.studies.claims.rules import RULES, Value, Word
from tests.claims.cases import left_behind
from tests.claims.made_claim_rows import (
    arm_rows,
    block_rows,
    held_row,
    held_rows,
    limit_row,
    probe_rows,
    timed_rows,
)
from tests.made_rows import RED

MS, S = 1_000_000, 1_000_000_000
MANY = (50_000, 100_000, 200_000, 300_000, 500_000)


@dataclass(frozen=True)
class Case:
    """Rows, and the outcome that they must lead to."""

    claim: str
    rows: list[Row]
    verdict: Word
    values: dict[str, Value]
    """All of the outcome's values."""
    figures: str
    """The numbers of the line of figures, in their order."""
    close: bool = False
    words: tuple[str, ...] = ()
    """What the line of figures, the region or the reason must contain."""
    without: tuple[str, ...] = field(default=())
    """What none of them may contain."""


def threads() -> Case:
    rows = [*block_rows("thread", 45_000, user=0.4, ps_bytes=20_000), *block_rows("asyncio_task", 1200)]
    return Case(
        "thread-memory",
        rows,
        "holds",
        {
            "full_bytes": 45_000,
            "ps_bytes": 20_000,
            "user_bytes": 18_000,
            "page_tables_bytes": 0,
            "kernel_stacks_bytes": 13_500,
            "slab_and_sockets_bytes": 13_500,
            "published_bytes": 50_000,
            "draft_bytes": 22_000,
        },
        "45.0 kB; 95; 45.0; 45.0 kB; 20.0 kB; 95; 20.0; 20.0 kB",
        words=("1,000 to 10,000 threads", "1.1x what ps shows"),
    )


def coroutines() -> Case:
    parked = {"generator": 600, "generator_task": 700, "asyncio_task": 3600}
    connected = {"asyncio_task_socket": 3000, "asyncio_task_stream": 3900}
    rows = [row for name, each in parked.items() for row in block_rows(name, each, sizes=MANY, user=0.5)]
    rows += [row for name, each in connected.items() for row in block_rows(name, each, user=0.5)]
    costs = parked | connected
    return Case(
        "coroutine-memory",
        rows,
        "holds differently",
        {f"{name}_bytes": each for name, each in costs.items()}
        | {f"{name}_user_bytes": each / 2 for name, each in costs.items()},
        "600 B; 95; 600; 600 B; 700 B; 95; 700; 700 B; 3.60 kB; 95; 3.60; 3.60 kB; "
        "3.00 kB; 95; 3.00; 3.00 kB; 3.90 kB; 95; 3.90; 3.90 kB",
        close=True,
        words=("50,000 to 500,000 coroutines", "1,000 to 10,000 with a connection", "an asyncio task, a task with a s"),
        without=("above it: a generator",),
    )


def memory_ratios() -> Case:
    rows = [*block_rows("thread", 60_000, user=0.4), *block_rows("asyncio_task", 5000, sizes=MANY, user=0.8)]
    rows += [*held_rows("thread_pool", 120_000), *held_rows("native_asyncio", 20_000)]
    return Case(
        "memory-ratio",
        rows,
        "holds differently",
        {
            "parked_user_ratio": 6,
            "parked_full_ratio": 12,
            "flying_user_ratio": 6,
            "flying_full_ratio": 6,
            "published_ratio": 50 / 3,
            "draft_ratio": 22 / 3,
        },
        "6.00x; 6.00; 6.00; 12.0x; 12.0; 12.0; 6.00x; 6.00; 6.00; 6.00x; 6.00; 6.00",
        words=("parked ones only", "1,000 to 10,000 threads, 50,000 to 500,000 tasks"),
    )


def memory_ratios_in_flight() -> Case:
    rows = [*block_rows("thread", 40_000), *block_rows("asyncio_task", 5000)]
    rows += [*held_rows("thread_pool", 120_000), *held_rows("native_asyncio", 10_000)]
    ratios = {"parked_user_ratio": 8, "parked_full_ratio": 8, "flying_user_ratio": 12, "flying_full_ratio": 12}
    return Case(
        "memory-ratio",
        rows,
        "holds differently",
        ratios | {"published_ratio": 50 / 3, "draft_ratio": 22 / 3},
        "8.00x; 8.00; 8.00; 8.00x; 8.00; 8.00; 12.0x; 12.0; 12.0; 12.0x; 12.0; 12.0",
        words=("those in flight only",),
    )


def many_coroutines() -> Case:
    rows = [
        row
        for name, each, start_ns in (
            ("generator", 500, 2 * S),
            ("generator_task", 700, 3 * S),
            ("asyncio_task", 1400, 50 * S),
        )
        for row in block_rows(name, each, sizes=(499_999, 500_000, 1_000_000), start_ns=start_ns)
    ]
    quick = block_rows("asyncio_task", 9000, sizes=(500_000,), start_ns=4 * S)
    return Case(
        "many-coroutines",
        [*rows, *quick],
        "holds",
        {"most": 1_000_000, "slowest_ns": 50 * S, "largest_bytes": 10**7 + 500_000 * 9000, "least_n": 500_000},
        "1,000,000; 50 s; 1.4 GB; 1,000,000; 3.0 s; 710 MB; 1,000,000; 2.0 s; 510 MB",
        words=("500,000 to 1,000,000 of each kind",),
    )


def many_coroutines_in_a_minute() -> Case:
    rows = [
        block_rows(name, 1000, sizes=(500_000,), start_ns=start_ns)[0]
        for name, start_ns in (("generator", S), ("generator_task", 60 * S), ("asyncio_task", 2 * S))
    ]
    return Case(
        "many-coroutines",
        rows,
        "holds differently",
        {"most": 500_000, "slowest_ns": 60 * S, "largest_bytes": 510_000_000, "least_n": 500_000},
        "500,000; 2.0 s; 510 MB; 500,000; 60 s; 510 MB; 500,000; 1.0 s; 510 MB",
        close=True,
    )


def thread_failure() -> Case:
    later = {"name": "kernel.pid_max", "most": 32_768}
    row = limit_row("threads", 21_800, "vm.max_map_count", predicted=32_700, next=later, small_stack_found=31_000)
    red = changed(limit_row("threads", 15_000), checks=(RED,))
    said: dict[str, Value] = {
        "found": 21_800,
        "bound_by": "vm.max_map_count",
        "next_name": "kernel.pid_max",
        "next_most": 32_768,
    }
    return Case(
        "thread-failure",
        [limit_row("threads", None, stopped_by="not tried"), red, row],
        "holds",
        said | {"remedy": "raise it", "small_found": 31_000},
        "21,800; 32,768",
        words=("then vm.max_map_count", "next kernel.pid_max at 32,768"),
        without=("32,700",),
    )


def thread_failure_not_reached() -> Case:
    row = limit_row(
        "threads", 15_000, "kernel.pid_max", stopped_by="deadline", predicted=32_700, next=None, remedy=None
    )
    said: dict[str, Value] = {"found": 15_000, "bound_by": None, "next_name": None, "next_most": None, "remedy": None}
    return Case(
        "thread-failure",
        [row],
        "inconclusive",
        said | {"small_found": None},
        "15,000; 32,700",
        words=("stopped by deadline", "predicted to end at 32,700 by kernel.pid_max"),
        without=("next",),
    )


def sockets() -> Case:
    rows = [
        limit_row("threads", 25_000, "pids.max", predicted=30_000),
        limit_row("descriptors", 26_000, "RLIMIT_NOFILE", stopped_by="shared limit", predicted=40_000),
        limit_row("ports", None, "ip_local_port_range", stopped_by="not tried", predicted=28_232),
        *[held_row("callbacks", n) for n in (7000, 9000, 8000)],
        held_row("thread_pool", 500),
        held_row("thread_pool", 10_000, red=True),
    ]
    return Case(
        "threads-before-sockets",
        rows,
        "holds",
        {
            "threads": 25_000,
            "descriptors": 40_000,
            "ports": 28_232,
            "threads_by": "pids.max",
            "descriptors_by": "RLIMIT_NOFILE",
            "ports_by": "ip_local_port_range",
        },
        "25,000; 40,000; 26,000; 28,232; 9,000; 500",
        close=True,
        words=(
            "threads end at",
            "descriptors are predicted to end at 40,000 (RLIMIT_NOFILE), 26,000 were reached",
            "callbacks 9,000, thread_pool 500",
        ),
    )


def sockets_beyond_prediction() -> Case:
    rows = [
        limit_row("threads", 15_000, "pids.max", stopped_by="deadline", predicted=14_000),
        limit_row("descriptors", 20_000, "RLIMIT_NOFILE"),
        limit_row("ports", 14_000, "ip_local_port_range", predicted=28_232),
    ]
    return Case(
        "threads-before-sockets",
        rows,
        "inconclusive",
        {
            "threads": 15_000,
            "descriptors": 20_000,
            "ports": 14_000,
            "threads_by": "pids.max",
            "descriptors_by": "RLIMIT_NOFILE",
            "ports_by": "ip_local_port_range",
        },
        "15,000; 20,000; 14,000",
        words=("threads end above 15,000;", "ports end at 14,000 (ip_local_port_range)", "the order is not known"),
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
    return Case(
        "c10k",
        rows,
        "holds differently",
        {
            "able": 2,
            "tried": 3,
            "unable": "thread_pool",
            "limit": "pids.max allows 900",
            "fastest_ns": 900 * MS,
            "slowest_ns": 5000 * MS,
            "least_bytes": 50_000_000,
            "most_bytes": 140_000_000,
        },
        "2; 3; 1.0 s; 5.0 s; 50 MB; 140 MB; 900",
        words=("1.0 s (callbacks) to 5.0 s (native_asyncio)", "50 MB (callbacks) to 140 MB (native_asyncio)"),
    )


def few() -> Case:
    rows = [
        *arm_rows("thread_pool", 10_000, 20_000, in_flight=10),
        *arm_rows("native_asyncio", 15_000, 30_300, in_flight=10),
        *arm_rows("thread_pool", 20_000, 40_000),
        *arm_rows("native_asyncio", 50_500, 100_000),
        *arm_rows("callbacks", 15_000, 30_000),
        *arm_rows("native_asyncio", 1, 1, latency="50ms", in_flight=10),
        *arm_rows("thread_pool", 1, 1, role="placebo"),
    ]
    return Case(
        "async-not-faster",
        rows,
        "holds differently",
        {"least_ratio": 1.5 * 1.01**0.5, "most_ratio": 2.5 * 1.01**0.5, "loop_ratio": 0.75},
        "10; 1.51x; 1.42; 1.61; 100; 2.51x; 2.36; 2.68; 100; 0.750x; 0.743; 0.757",
        words=("10 to 100 in flight", "more than moderately somewhere; callbacks is an event loop too"),
    )


def efficient() -> Case:
    cpu = {"callbacks": (20_000, 22_000), "generators": (26_000, 28_600), "native_asyncio": (84_000, 92_400)}
    each = {"callbacks": 8000, "generators": 10_400, "native_asyncio": 16_000}
    rows = [row for name, costs in cpu.items() for row in arm_rows(name, *costs)]
    rows += [row for name, size in each.items() for row in held_rows(name, size)]
    return Case(
        "callbacks-efficient",
        rows,
        "holds differently",
        {
            "generators_cpu_ratio": 1.3,
            "native_asyncio_cpu_ratio": 4.2,
            "generators_memory_ratio": 1.3,
            "native_asyncio_memory_ratio": 2.0,
            "callbacks_cpu_ns": 21_000,
        },
        "1.30x; 1.29; 1.31; 4.20x; 4.16; 4.24; 1.30x; 1.30; 1.30; 2.00x; 2.00; 2.00",
        close=True,
        words=("100 in flight; memory at 1,000 to 10,000 in flight",),
    )


def without_lock() -> Case:
    rows = [
        *arm_rows("thread_pool", 20_000, 30_000),
        *arm_rows("thread_pool", 24_000, 36_000, gil=False),
        *arm_rows("thread_pool", 500, 600, read="pages_per_s", cores=2, in_flight=4),
        *arm_rows("thread_pool", 900, 1080, read="pages_per_s", cores=2, in_flight=4, gil=False),
    ]
    return Case(
        "no-gil",
        rows,
        "holds differently",
        {"gain_ratio": 1.8, "price_ratio": 1.2, "python": "3.11.7"},
        "1.80x; 1.78; 1.82; 1.20x; 1.19; 1.21",
        words=("100 in flight on one core; 4 in flight, 1 ms of CPU work per page, on two",),
    )


def sleepy() -> Case:
    rows = [
        *arm_rows("thread_pool", 1000, 900, latency="100ms", read="pages_per_s"),
        *arm_rows("native_asyncio", 990, 891, latency="100ms", read="pages_per_s"),
        *arm_rows("thread_pool", 40_000, 50_000, latency="50ms", in_flight=1000),
        *arm_rows("native_asyncio", 50_000, 62_500, latency="50ms", in_flight=1000),
        *held_rows("thread_pool", 50_000),
        *held_rows("native_asyncio", 12_500),
    ]
    return Case(
        "async-sleepy",
        rows,
        "holds differently",
        {
            "speed_ratio": 0.99,
            "many_speed_ratio": 1.0,
            "cpu_ratio": 1.25,
            "memory_ratio": 0.25,
            "latency": "100 ms",
            "few": 100,
            "many_latency": "50 ms",
            "in_flight": 1000,
        },
        "100; 0.990x; 0.981; 0.999; 1,000; 1.00x; 0.991; 1.01; 1.25x; 1.24; 1.26; 0.250x; 0.250; 0.250",
        words=("100 in flight at 100 ms; 1,000 in flight at 50 ms", "less memory, but more CPU time"),
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
    return Case(
        "diminishing-returns",
        rows,
        "holds differently",
        {
            "falling": "callbacks, thread_pool",
            "level": "native_asyncio",
            "most_in_flight": 3000,
            "worst_share": 0.5,
        },
        "0.800x; 0.793; 0.807; 1.00x; 0.991; 1.01; 0.500x; 0.496; 0.505",
        close=True,
        words=("3,000 in flight against 100", "callbacks, thread_pool only"),
    )


def cartoon() -> Case:
    def spans(name: str, *spans_ns: float, in_flight: int = 100) -> list[Row]:
        latency = "lognormal 100ms 500ms"
        return timed_rows(name, *spans_ns, read="makespan_ns", latency=latency, pages=1500, in_flight=in_flight)

    (absent,) = timed_rows("aiohttp_client", 1, status="skipped", reason="not installed: aiohttp")
    rows = [*spans("callbacks", 2 * S, 2.2 * S, 2.1 * S), *spans("thread_pool", 3.5 * S, 4 * S, in_flight=50)]
    rows += [changed(absent, cause="not installed")]
    return Case(
        "xkcd",
        rows,
        "holds differently",
        {
            "quickest": "callbacks",
            "quickest_ns": 2.1 * S,
            "slowest_ns": 3.75 * S,
            "slow": "thread_pool",
            "pages_per_s": 1500 / 2.1,
        },
        "2.10 s; 2.00 s; 2.20 s; 3.75 s; 3.50 s; 4.00 s",
        words=("1,500 pages", "50 to 100 in flight"),
    )


def spinning() -> Case:
    def shares(how: str, *found: tuple[float, int], sockets: int) -> list[Row]:
        arguments = {"how": how, "waits_for": "answer", "sockets": sockets, "wait_ms": 500}
        return probe_rows("spin", arguments, *[{"cpu_share": share, "attempts": n} for share, n in found])

    rows = [
        *shares("spin", (0.90, 700), (0.96, 900), (0.94, 800), sockets=1),
        *shares("selector", (0.01, 2), (0.02, 3), (0.04, 5), sockets=50),
    ]
    return Case(
        "spin-wastes",
        rows,
        "holds",
        {"spin_share": 0.94, "selector_share": 0.02, "factor": 47, "attempts": 900},
        "94.0%; 90.0%; 96.0%; 2.0%; 1.0%; 4.0%",
        words=("waits of 500 ms", "on 1 and 50 sockets"),
    )


def selecting() -> Case:
    def costs(kind: str, idle: int, *found: int) -> list[Row]:
        return probe_rows("selectors", {"selector": kind, "idle": idle}, *[{"cpu_per_page_ns": cost} for cost in found])

    end = {"stopped_by": "FD_SETSIZE"}
    rows = [
        *costs("poll", 0, 20_000, 22_000),
        *costs("poll", 1000, 500_000, 500_000),
        *costs("poll", 8000, 90_000, 99_000),
        *costs("epoll", 0, 20_000, 22_000),
        *costs("epoll", 8000, 21_000, 23_100),
        *costs("select", 0, 20_000, 20_000),
        *probe_rows("selectors", {"selector": "select", "idle": 2000}, end, end),
        *probe_rows("selectors", {"selector": "select", "idle": 4000}, end, end),
    ]
    return Case(
        "select-scales",
        rows,
        "holds",
        {"poll_ratio": 4.5, "epoll_ratio": 1.05, "idle": 8000, "stopped_by": "FD_SETSIZE"},
        "4.50x; 4.46; 4.54; 8,000; 1.05x; 1.04; 1.06; 8,000; 2,000",
        words=("0 to 8,000 idle", "stopped by FD_SETSIZE at 2,000"),
    )


def pooling() -> Case:
    def costs(how: str, *found: int) -> list[Row]:
        arguments = {"how": how, "connection": "per-fetch", "in_flight": 10}
        return probe_rows("thread_per_fetch", arguments, *[{"cpu_per_page_ns": cost} for cost in found])

    times = {"thread_pool": 2, "callbacks": 3, "native_asyncio": 4}
    rows = [*costs("pool", 40_000, 44_000), *costs("thread-per-fetch", 60_000, 66_000)]
    for name, factor in times.items():
        rows += arm_rows(name, 20_000, 22_000, role="reference", cell=name)
        rows += arm_rows(name, 20_000 * factor, 22_000 * factor, connection="per-fetch", cell=name)
    return Case(
        "pooling-pays",
        rows,
        "holds",
        {"connections_ratio": 2.0, "threads_ratio": 1.5, "kept_ns": 21_000, "each_ns": 63_000},
        "2.00x; 1.98; 2.02; 3.00x; 2.97; 3.03; 4.00x; 3.96; 4.04; 1.50x; 1.49; 1.51",
        words=("kept connections of callbacks", "10 in flight"),
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
    return Case(
        "races",
        rows,
        "holds",
        {
            "threads_duplicates": 30,
            "threads_locked_duplicates": 0,
            "coroutines_duplicates": 0,
            "asyncio_duplicates": 0,
            "coroutines_yielding_duplicates": 40,
            "lost_updates": 7,
            "links": 96_000,
        },
        "30; 0; 0; 0; 40",
        words=("96,000 looks",),
    )


def growing() -> Case:
    def grown(name: str, cap: int, spans_ms: tuple[int, int], threads: int, megabytes: int) -> list[Row]:
        changes = {"peak_threads": threads, "uss_bytes": megabytes * 1_000_000}
        taken = [ms * MS for ms in spans_ms]
        return timed_rows(name, *taken, read="makespan_ns", in_flight=cap, pages=10, changes=changes)

    rows = [
        *grown("thread_pool", 10, (100, 100), 11, 10),
        *grown("thread_pool", 10_000, (120, 130), 1000, 11),
        *grown("generators", 10, (100, 110), 1, 10),
        *grown("generators", 1000, (9000, 9000), 1, 90),
        *grown("generators", 10_000, (500, 520), 1, 30),
        *grown("native_asyncio", 10, (200, 220), 1, 20),
        *grown("native_asyncio", 10_000, (1000, 1150), 1, 60),
    ]
    return Case(
        "grow-on-demand",
        rows,
        "holds",
        {
            "threads": 1000,
            "workers": 10_000,
            "pages": 10,
            "native_asyncio_ns": 865 * MS,
            "generators_ns": 405 * MS,
            "native_asyncio_bytes": 40_000_000,
            "generators_bytes": 20_000_000,
        },
        "1,000; 405 ms; 390 ms; 420 ms; 20 MB; 865 ms; 780 ms; 950 ms; 40 MB",
        close=True,
        words=("10 pages of work, a cap of 10,000 against one of 10",),
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
    return Case(
        "redirects-coalesce",
        rows,
        "holds differently",
        {"redirects": 300, "targets": 5, "pages": 600, "strategies": 3, "twice": "generators, sequential", "extra": 40},
        "300; 5; 600; 42; 3",
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
    return Case(
        "cancel-workers",
        rows,
        "holds differently",
        {
            "clean": 2,
            "dirty": "generators, thread_pool",
            "complaint": "pending!",
            "tasks": 8,
            "threads": None,
            "ends": "never ends",
            "loop_complaint": "closed!",
        },
        "8; 1; 3; 2; 4",
        words=("8 tasks, 1 threads left", "3 tasks left", "the process never ends", "2 of 4 strategies"),
    )


def ripping() -> Case:
    def raised(name: str, keeps: bool, chain: list[str], *lost: str) -> list[Row]:
        said = {"names_starter": keeps, "traceback": chain, "lost": list(lost), "text": f"Traceback of {name}"}
        return probe_rows("stack_ripping", {"strategy": name, "at": 5}, said)

    rows = [
        *raised("callbacks", False, ["run", "on_readable"], "start", "connect"),
        *raised("generators", False, [], "fetch"),
        *raised("native_asyncio", True, ["work", "fetch", "parse"]),
    ]
    return Case(
        "stack-ripping",
        rows,
        "holds differently",
        {
            "callbacks_text": "Traceback of callbacks",
            "generators_text": "Traceback of generators",
            "native_asyncio_text": "Traceback of native_asyncio",
            "callbacks_trace": "run > on_readable",
            "callbacks_lost": "start > connect",
            "generators_trace": "none",
            "asyncio_trace": "work > fetch > parse",
        },
        "",
        words=("callbacks: run > on_readable (lost: start, connect)", "generators: none (lost: fetch)"),
    )


MADE: list[Callable[[], Case]] = [
    threads, coroutines, memory_ratios, memory_ratios_in_flight, many_coroutines, many_coroutines_in_a_minute,
    thread_failure, thread_failure_not_reached, sockets, sockets_beyond_prediction, ten_thousand,
    few, efficient, without_lock, sleepy, crowded, cartoon, spinning, selecting, pooling, racing, growing,
    redirects, ripping, cancelling,
]  # fmt: skip


def numbers(line: str) -> str:
    """Return the numbers of a line, with the units that stand behind them."""
    return "; ".join(re.findall(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:x\b|%| [kMG]?B\b| m?s\b)?", line))


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_an_outcome_has_the_figures_of_its_rows(make: Callable[[], Case]) -> None:
    case = make()

    outcome = RULES[case.claim](case.rows)

    assert outcome.verdict == case.verdict, outcome.reason
    assert outcome.values == pytest.approx(case.values)
    assert numbers(outcome.figures) == case.figures, outcome.figures
    assert outcome.close is case.close
    told = f"{outcome.figures}\n{outcome.region}\n{outcome.reason}"
    assert [words for words in case.words if words not in told] == [], told
    assert [words for words in case.without if words in told] == [], told


def test_the_figures_of_each_claim_are_checked() -> None:
    assert {make().claim for make in MADE} == set(RULES)
