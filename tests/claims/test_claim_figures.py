"""The figures of each rule's outcome, from rows in which no two figures are the same."""

from collections.abc import Callable
from typing import Any

import pytest

from bench.core.records import changed
from bench.core.rows import Row
from bench.studies.claims.rules import RULES
from bench.studies.claims.verdicts import Value
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

Case = tuple[str, list[Row], dict[str, Value]]
"""A claim, its rows, and all values of the outcome that they must lead to."""


def threads() -> Case:
    rows = [*block_rows("thread", 45_000, user=0.4, ps_bytes=20_000), *block_rows("asyncio_task", 1200)]
    return (
        "thread-memory",
        rows,
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
    )


def coroutines() -> Case:
    parked = {"generator": 600, "generator_task": 700, "asyncio_task": 3600}
    connected = {"asyncio_task_socket": 3000, "asyncio_task_stream": 3900}
    rows = [row for name, each in parked.items() for row in block_rows(name, each, sizes=MANY, user=0.5)]
    rows += [row for name, each in connected.items() for row in block_rows(name, each, user=0.5)]
    costs = parked | connected
    return (
        "coroutine-memory",
        rows,
        {f"{name}_bytes": each for name, each in costs.items()}
        | {f"{name}_user_bytes": each / 2 for name, each in costs.items()},
    )


def memory_ratios() -> Case:
    rows = [*block_rows("thread", 60_000, user=0.4), *block_rows("asyncio_task", 5000, sizes=MANY, user=0.8)]
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


def memory_ratios_in_flight() -> Case:
    rows = [*block_rows("thread", 40_000), *block_rows("asyncio_task", 5000)]
    rows += [*held_rows("thread_pool", 120_000), *held_rows("native_asyncio", 10_000)]
    ratios = {"parked_user_ratio": 8, "parked_full_ratio": 8, "flying_user_ratio": 12, "flying_full_ratio": 12}
    return ("memory-ratio", rows, ratios | {"published_ratio": 50 / 3, "draft_ratio": 22 / 3})


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
    return (
        "many-coroutines",
        [*rows, *quick],
        {"most": 1_000_000, "slowest_ns": 50 * S, "largest_bytes": 10**7 + 500_000 * 9000, "least_n": 500_000},
    )


def many_coroutines_in_a_minute() -> Case:
    rows = [
        block_rows(name, 1000, sizes=(500_000,), start_ns=start_ns)[0]
        for name, start_ns in (("generator", S), ("generator_task", 60 * S), ("asyncio_task", 2 * S))
    ]
    return (
        "many-coroutines",
        rows,
        {"most": 500_000, "slowest_ns": 60 * S, "largest_bytes": 510_000_000, "least_n": 500_000},
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
    return (
        "thread-failure",
        [limit_row("threads", None, stopped_by="not tried"), red, row],
        said | {"remedy": "raise it", "small_found": 31_000},
    )


def thread_failure_not_reached() -> Case:
    row = limit_row(
        "threads", 15_000, "kernel.pid_max", stopped_by="deadline", predicted=32_700, next=None, remedy=None
    )
    said: dict[str, Value] = {"found": 15_000, "bound_by": None, "next_name": None, "next_most": None, "remedy": None}
    return ("thread-failure", [row], said | {"small_found": None})


def sockets() -> Case:
    rows = [
        limit_row("threads", 25_000, "pids.max", predicted=30_000),
        limit_row("descriptors", 26_000, "RLIMIT_NOFILE", stopped_by="shared limit", predicted=40_000),
        limit_row("ports", None, "ip_local_port_range", stopped_by="not tried", predicted=28_232),
        *[held_row("callbacks", n) for n in (7000, 9000, 8000)],
        held_row("thread_pool", 500),
        held_row("thread_pool", 10_000, red=True),
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
            "fastest_ns": 900 * MS,
            "slowest_ns": 5000 * MS,
            "least_bytes": 50_000_000,
            "most_bytes": 140_000_000,
        },
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
    return (
        "async-not-faster",
        rows,
        {"least_ratio": 1.5 * 1.01**0.5, "most_ratio": 2.5 * 1.01**0.5, "loop_ratio": 0.75},
    )


def efficient() -> Case:
    cpu = {"callbacks": (20_000, 22_000), "generators": (26_000, 28_600), "native_asyncio": (84_000, 92_400)}
    each = {"callbacks": 8000, "generators": 10_400, "native_asyncio": 16_000}
    rows = [row for name, costs in cpu.items() for row in arm_rows(name, *costs)]
    rows += [row for name, size in each.items() for row in held_rows(name, size)]
    return (
        "callbacks-efficient",
        rows,
        {
            "generators_cpu_ratio": 1.3,
            "native_asyncio_cpu_ratio": 4.2,
            "generators_memory_ratio": 1.3,
            "native_asyncio_memory_ratio": 2.0,
            "callbacks_cpu_ns": 21_000,
        },
    )


def without_lock() -> Case:
    rows = [
        *arm_rows("thread_pool", 20_000, 30_000),
        *arm_rows("thread_pool", 24_000, 36_000, gil=False),
        *arm_rows("thread_pool", 500, 600, read="pages_per_s", cores=2, in_flight=4),
        *arm_rows("thread_pool", 900, 1080, read="pages_per_s", cores=2, in_flight=4, gil=False),
    ]
    return ("no-gil", rows, {"gain_ratio": 1.8, "price_ratio": 1.2, "python": "3.11.7"})


def sleepy() -> Case:
    rows = [
        *arm_rows("thread_pool", 1000, 900, latency="100ms", read="pages_per_s"),
        *arm_rows("native_asyncio", 990, 891, latency="100ms", read="pages_per_s"),
        *arm_rows("thread_pool", 40_000, 50_000, latency="50ms", in_flight=1000),
        *arm_rows("native_asyncio", 50_000, 62_500, latency="50ms", in_flight=1000),
        *held_rows("thread_pool", 50_000),
        *held_rows("native_asyncio", 12_500),
    ]
    return (
        "async-sleepy",
        rows,
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
        {"falling": "callbacks, thread_pool", "level": "native_asyncio", "most_in_flight": 3000, "worst_share": 0.5},
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


def spinning() -> Case:

    def shares(how: str, *found: tuple[float, int], sockets: int) -> list[Row]:
        arguments = {"how": how, "waits_for": "answer", "sockets": sockets, "wait_ms": 500}
        return probe_rows("spin", arguments, *[{"cpu_share": share, "attempts": n} for share, n in found])

    rows = [
        *shares("spin", (0.9, 700), (0.96, 900), (0.94, 800), sockets=1),
        *shares("selector", (0.01, 2), (0.02, 3), (0.04, 5), sockets=50),
    ]
    return ("spin-wastes", rows, {"spin_share": 0.94, "selector_share": 0.02, "factor": 47, "attempts": 900})


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
    return ("select-scales", rows, {"poll_ratio": 4.5, "epoll_ratio": 1.05, "idle": 8000, "stopped_by": "FD_SETSIZE"})


def pooling() -> Case:

    def costs(how: str, *found: int) -> list[Row]:
        arguments = {"how": how, "connection": "per-fetch", "in_flight": 10}
        return probe_rows("thread_per_fetch", arguments, *[{"cpu_per_page_ns": cost} for cost in found])

    times = {"thread_pool": 2, "callbacks": 3, "native_asyncio": 4}
    rows = [*costs("pool", 40_000, 44_000), *costs("thread-per-fetch", 60_000, 66_000)]
    for name, factor in times.items():
        rows += arm_rows(name, 20_000, 22_000, role="reference", cell=name)
        rows += arm_rows(name, 20_000 * factor, 22_000 * factor, connection="per-fetch", cell=name)
    return (
        "pooling-pays",
        rows,
        {"connections_ratio": 2.0, "threads_ratio": 1.5, "kept_ns": 21_000, "each_ns": 63_000},
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
    return (
        "grow-on-demand",
        rows,
        {
            "threads": 1000,
            "workers": 10_000,
            "pages": 10,
            "native_asyncio_ns": 865 * MS,
            "generators_ns": 405 * MS,
            "native_asyncio_bytes": 40_000_000,
            "generators_bytes": 20_000_000,
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


def ripping() -> Case:

    def raised(name: str, keeps: bool, chain: list[str], *lost: str) -> list[Row]:
        said = {"names_starter": keeps, "traceback": chain, "lost": list(lost), "text": f"Traceback of {name}"}
        return probe_rows("stack_ripping", {"strategy": name, "at": 5}, said)

    rows = [
        *raised("callbacks", False, ["run", "on_readable"], "start", "connect"),
        *raised("generators", False, [], "fetch"),
        *raised("native_asyncio", True, ["work", "fetch", "parse"]),
    ]
    return (
        "stack-ripping",
        rows,
        {
            "callbacks_text": "Traceback of callbacks",
            "generators_text": "Traceback of generators",
            "native_asyncio_text": "Traceback of native_asyncio",
            "callbacks_trace": "run > on_readable",
            "callbacks_lost": "start > connect",
            "generators_trace": "none",
            "asyncio_trace": "work > fetch > parse",
        },
    )


MADE: list[Callable[[], Case]] = [
    threads, coroutines, memory_ratios, memory_ratios_in_flight, many_coroutines, many_coroutines_in_a_minute,
    thread_failure, thread_failure_not_reached, sockets, sockets_beyond_prediction, ten_thousand,
    few, efficient, without_lock, sleepy, crowded, cartoon, spinning, selecting, pooling, racing, growing,
    redirects, ripping, cancelling,
]  # fmt: skip


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_an_outcome_has_the_figures_of_its_rows(make: Callable[[], Case]) -> None:
    claim, rows, values = make()

    assert RULES[claim](rows).values == pytest.approx(values)


def test_a_ceiling_that_was_not_reached_is_shown_with_what_was_predicted() -> None:
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


def test_the_figures_of_each_claim_are_checked() -> None:
    assert {make()[0] for make in MADE} == set(RULES)
