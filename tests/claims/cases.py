"""The claims' rows of the reference run with some values changed, and the verdict that they must lead to.

With the verdict of the reference run itself, there is a case for each verdict of each claim, and one in which the
interval of a figure includes its boundary.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from inflight import strategies
from inflight.bench.claims import claims
from inflight.bench.claims.claims import Claim
from inflight.bench.claims.command import work_out
from inflight.bench.claims.verdicts import Verdict, load
from inflight.bench.rows import files
from inflight.bench.rows.files import Row
from tests.varied import Change, varied

(REFERENCE,) = (Path(__file__).parents[2] / "results" / "reference").glob("*-claims")
ALONE = sorted(REFERENCE.parent.glob("*-claim"))
"""Runs of a single claim, which was written after the reference run."""
CLAIMS: dict[str, Claim] = {name: claims.load(name, strategies.names()) for name in claims.ids()}
S = 1_000_000_000

Case = tuple[str, str, Sequence[Change]]
"""Claim, verdict, changes."""


@cache
def recorded() -> dict[str, list[Row]]:
    """Return the rows of each claim in the reference run, or in a run of its own."""
    needed = work_out(CLAIMS.values(), quick=False)
    rows = [row for folder in (REFERENCE, *ALONE) for row in files.read(folder)]
    return {claim.id: own for claim, own in needed.rows_of(rows)}


def stored() -> list[Verdict]:
    """Return the stored verdicts of all claims."""
    return [verdict for folder in (REFERENCE, *ALONE) for verdict in load(folder).claims]


def made(claim: str, changes: Sequence[Change]) -> list[Row]:
    """Return the rows of a claim with changes."""
    return varied(recorded()[claim], *changes)


def cpu(query: str, factor: float) -> Change:
    return f"{query} and kind in ('arm', 'probe')", {"cpu_per_page_ns": factor}


def held(query: str, factor: float) -> Change:
    return f"{query} and kind in ('idle', 'memory')", {"held": factor}


ALL = "round > 0"
BORDERLINE = "partly true (borderline)"
POOL, ASYNCIO, CALLBACKS, GENERATORS = (
    f"strategy == '{name}'" for name in ("thread_pool", "native_asyncio", "callbacks", "generators")
)
FREE, LOCKED = "python == 'free-threaded' and cores == 2", "python == 'with-the-lock' and cores == 2"
LOOPS = "strategy in ('native_asyncio', 'asyncio_protocol', 'asyncio_sockets')"
BESIDE = "busy_threads == 1 and lag != True"
WITH_VARIABLE = "MALLOC_ARENA_MAX == '2'"
THREADS, PORTS = "strategy == 'threads'", "strategy == 'ports'"
LEFT_OUT, RUN = (
    f"argument_strategy == 'native_asyncio' and variant == '{name}'" for name in ("left-out", "left-out-run")
)
PENDING = (RUN, {"complaint": "Task was destroyed but it is pending!"})
NOT_STOPPED = {"stopped_by": None} | dict.fromkeys(("pages", "wall_ns", "cpu_ns", "cpu_per_page_ns", "pages_per_s"), 1)
FIVE_TASKS = {"left": {"tasks": 5, "threads": 0, "coroutines": 0, "descriptors": 0}}

CASES: list[Case] = [
    ("thread-memory", "partly true", [held(ALL, 1.6)]),
    ("thread-memory", "not true here", [held(ALL, 0.15)]),
    ("thread-memory", "not true here", [held(ALL, 3.0)]),
    ("thread-memory", BORDERLINE, [held(ALL, 40_000 / 44_831)]),
    ("thread-memory", BORDERLINE, [held(ALL, 10_000 / 44_831)]),
    ("thread-memory", "not tested", [(ALL, {"held_disturbed": "+9 tasks"})]),
    ("tls-memory", "true", [held(ASYNCIO, 0.03)]),
    ("tls-memory", "partly true", [held(ASYNCIO, 0.2)]),
    ("tls-memory", BORDERLINE, [held(ASYNCIO, 104 / 307)]),
    ("tls-memory", "not tested", [(ASYNCIO, "invalid")]),
    ("coroutine-memory", "true", [held("in_flight <= 10000", 0.2)]),
    ("coroutine-memory", "not true here", [held("in_flight > 10000", 8.0)]),
    ("coroutine-memory", BORDERLINE, [held("strategy == 'asyncio_task_socket'", 0.2),
                                      held("strategy == 'asyncio_task_stream'", 3500 / 13_263)]),
    ("coroutine-memory", "not tested", [held("in_flight < 20000", 0.2), ("strategy == 'asyncio_task_socket'", "gone")]),
    ("memory-ratio", "true", [held(POOL, 4.0)]),
    ("memory-ratio", "not true here", [held("strategy == 'thread'", 0.2)]),
    ("memory-ratio", BORDERLINE, [held(POOL, 2.4)]),
    ("many-coroutines", "partly true", [("strategy == 'asyncio_task'", {"start_ns": 20.0})]),
    ("many-coroutines", "partly true", [("strategy == 'asyncio_task'", "limit")]),
    ("many-coroutines", "not true here", [(ALL, "limit")]),
    ("many-coroutines", "not tested", [("strategy == 'generator'", "memory budget")]),
    ("thread-failure", "true", [(ALL, {"found": 10_000})]),
    ("thread-failure", "partly true", [(ALL, {"found": 9_999})]),
    ("thread-failure", "not true here", [(ALL, {"found": 100_000})]),
    ("thread-failure", "not true here", [(ALL, {"found": 100_000, "stopped_by": "shared limit"})]),
    ("thread-failure", "not tested", [(ALL, {"stopped_by": "shared limit"})]),
    ("threads-before-sockets", "true", [(THREADS, {"found": 15_000})]),
    ("threads-before-sockets", "not true here", [(THREADS, {"found": 90_000}), (PORTS, {"found": None})]),
    ("threads-before-sockets", BORDERLINE, [(THREADS, {"found": 19_900})]),
    ("threads-before-sockets", "not tested", [(THREADS, {"stopped_by": "deadline"})]),
    ("threads-before-sockets", "not tested", [(THREADS, {"found": 15_000}), (PORTS, "gone")]),
    ("c10k", "true", [("strategy == 'aiohttp_client'", "not installed")]),
    ("c10k", "partly true", [(POOL, "limit")]),
    ("c10k", "partly true", [(f"{CALLBACKS} and round == 1", {"failed_pages": 1})]),
    ("c10k", "partly true", [(f"{CALLBACKS} and round == 1", {"held_in_flight": 9_999})]),
    ("c10k", "not true here", [(ALL, "limit")]),
    ("c10k", "not tested", [(POOL, "memory budget")]),
    ("async-not-faster", "true", [cpu(CALLBACKS, 1.5)]),
    ("async-not-faster", "partly true", [cpu(CALLBACKS, 1.5), cpu(ASYNCIO, 1.6)]),
    ("async-not-faster", "not true here", [cpu(ASYNCIO, 0.6)]),
    ("async-not-faster", BORDERLINE, [cpu(CALLBACKS, 1.5), cpu(ASYNCIO, 0.69)]),
    ("async-not-faster", "not tested", [cpu(CALLBACKS, 1.5), ("in_flight == 10", "gone")]),
    ("async-sleepy", "true", [cpu(ASYNCIO, 0.5)]),
    ("async-sleepy", "true", [cpu(ASYNCIO, 0.5), held(ASYNCIO, 4.1)]),
    ("async-sleepy", "not true here", [(f"{ASYNCIO} and kind == 'arm'", {"pages_per_s": 0.8})]),
    ("async-sleepy", "not true here", [held(ASYNCIO, 6.0)]),
    ("async-sleepy", BORDERLINE, [cpu(ASYNCIO, 0.5), ("in_flight == 100 and " + ASYNCIO, {"pages_per_s": 0.95207})]),
    ("async-sleepy", "not tested", [cpu(ASYNCIO, 0.5), ("kind == 'memory'", "gone")]),
    ("diminishing-returns", "true", [cpu(f"{CALLBACKS} and in_flight == 3000", 1.2)]),
    ("diminishing-returns", "partly true", [cpu(f"{CALLBACKS} and in_flight == 3000", 0.8)]),
    ("diminishing-returns", "not true here", [cpu("in_flight == 3000", 0.015)]),
    ("callbacks-efficient", "true", [cpu(ASYNCIO, 0.55), held(ASYNCIO, 0.6), held(GENERATORS, 0.9)]),
    ("callbacks-efficient", "not true here", [cpu(CALLBACKS, 0.45)]),
    ("callbacks-efficient", BORDERLINE, [cpu(GENERATORS, 2 / 1.1105), cpu(ASYNCIO, 2.0)]),
    ("callbacks-efficient", "not tested", [cpu(ASYNCIO, 0.55), ("kind == 'memory'", "invalid")]),
    ("select-scales", "partly true", [cpu("selector == 'poll' and idle > 0", 0.1)]),
    ("select-scales", "partly true", [cpu("selector == 'epoll' and idle == 8000", 2.0)]),
    ("select-scales", "not true here", [cpu("selector == 'poll' and idle > 0", 0.1),
                                        ("selector == 'select'", NOT_STOPPED)]),
    ("select-scales", BORDERLINE, [cpu("selector == 'poll' and idle == 8000", 3 / 15.51)]),
    ("pooling-pays", "partly true", [cpu("how == 'thread-per-fetch'", 0.3)]),
    ("pooling-pays", "not true here", [cpu("how == 'thread-per-fetch'", 0.3), cpu("connection == 'per-fetch'", 0.15)]),
    ("pooling-pays", BORDERLINE, [cpu("how == 'thread-per-fetch'", 1.05 / 2.466)]),
    ("stack-ripping", "partly true", [("argument_strategy == 'native_asyncio'", {"names_starter": False})]),
    ("stack-ripping", "not true here", [("argument_strategy == 'callbacks'", {"names_starter": True})]),
    ("races", "partly true", [("model == 'threads'", {"duplicates": 0})]),
    ("races", "not true here", [("model == 'coroutines' and round == 2", {"duplicates": 1})]),
    ("races", "not tested", [("model == 'threads'", {"duplicates": 0, "lost_updates": 0})]),
    ("races", "not tested", [("model == 'threads-locked' and round == 1", {"duplicates": 1})]),
    ("cancel-workers", "true", [PENDING]),
    ("cancel-workers", "partly true", [PENDING, ("argument_strategy == 'callbacks'", FIVE_TASKS)]),
    ("cancel-workers", "partly true", [PENDING, ("argument_strategy == 'callbacks'", {"left": None, "ended": False})]),
    ("cancel-workers", "not true here", [(LEFT_OUT, {"complaint": ""})]),
    ("cancel-workers", "not tested", [(LEFT_OUT, "gone"), PENDING]),
    ("no-gil", "true", [cpu("python == 'free-threaded'", 0.5)]),
    ("no-gil", "not true here", [(FREE, {"windows": 0.4})]),
    ("no-gil", BORDERLINE, [(FREE, {"windows": 0.64})]),
    ("no-gil", "not tested", [(FREE, {"windows": 0.4}), (LOCKED, {"cpu_share": 0.6})]),
    ("free-threading-cost", "true", [cpu("python == 'free-threaded'", 0.45)]),
    ("free-threading-cost", "partly true", [cpu(f"{CALLBACKS} and python == 'free-threaded'", 0.7)]),
    ("free-threading-cost", BORDERLINE, [cpu(f"{CALLBACKS} and python == 'free-threaded'", 1.1 / 1.278)]),
    ("free-threading-scales", "partly true", [(LOCKED, {"windows": 2.0})]),
    ("free-threading-scales", "not true here", [(FREE, {"windows": 0.3})]),
    ("free-threading-scales", BORDERLINE, [(FREE, {"windows": 0.65})]),
    ("free-threading-scales", "not tested", [(FREE, {"windows": 0.3}), (LOCKED, {"cpu_share": 0.5})]),
    ("newer-is-faster", "true", [cpu("python == 'oldest'", 1.4)]),
    ("newer-is-faster", "partly true", [cpu(f"python == 'oldest' and {ASYNCIO}", 1.3)]),
    ("newer-is-faster", "not true here", [cpu("python == 'oldest'", 0.9)]),
    ("incremental-gc-memory", "true", [("python == 'incremental-gc'", {"rss_bytes": 1.5})]),
    ("incremental-gc-memory", "partly true", [("python == 'incremental-gc' and connection == 'per-fetch'",
                                               {"rss_bytes": 1.5})]),
    ("incremental-gc-memory", BORDERLINE, [("python == 'incremental-gc'", {"rss_bytes": 1.25 / 1.118})]),
    ("arena-max", "true", [held(WITH_VARIABLE, 0.4), (f"{WITH_VARIABLE} and kind == 'arm'", {"rss_bytes": 0.4})]),
    ("arena-max", "partly true", [held(WITH_VARIABLE, 0.6)]),
    ("arena-max", BORDERLINE, [(f"{WITH_VARIABLE} and kind == 'arm'", {"rss_bytes": 0.8})]),
    ("uvloop-faster", "true", [cpu(LOOPS, 2.0)]),
    ("uvloop-faster", "not true here", [cpu(LOOPS, 0.8)]),
    ("uvloop-faster", BORDERLINE, [cpu(LOOPS, 1.05 / 1.2175)]),
    ("streams-cost", "partly true", [cpu("strategy == 'asyncio_sockets'", 0.4)]),
    ("streams-cost", "not true here", [cpu("strategy == 'asyncio_sockets'", 0.4), cpu(ASYNCIO, 0.7)]),
    ("streams-cost", BORDERLINE, [cpu(f"{ASYNCIO} and links == 10", 1.05 / 1.181)]),
    ("await-is-free", "partly true", [cpu("strategy == 'await_by_hand' and links == 1", 1.2)]),
    ("await-is-free", "not true here", [cpu("strategy == 'await_by_hand'", 1.2)]),
    ("await-is-free", BORDERLINE, [cpu("strategy == 'await_by_hand' and links == 1", 1.05)]),
    ("eager-tasks", "true", [cpu("strategy == 'asyncio_tasks'", 2.5)]),
    ("eager-tasks", "partly true", [cpu("strategy == 'asyncio_tasks'", 1.3)]),
    ("eager-tasks", BORDERLINE, [cpu("strategy == 'asyncio_tasks' and links == 1", 1.05 / 0.916)]),
    ("client-collapse", "true", [("strategy == 'aiohttp_client' and in_flight == 200", {"pages_per_s": 1.5})]),
    ("client-collapse", "partly true", [("strategy == 'aiohttp_client' and in_flight == 200", {"pages_per_s": 0.3})]),
    ("client-collapse", "not true here", [("strategy == 'httpx_client' and in_flight == 200", {"pages_per_s": 20.0})]),
    ("gevent-like-threads", "true", [cpu("strategy == 'gevent_greenlets'", 0.5)]),
    ("gevent-like-threads", "not true here", [held(POOL, 0.4)]),
    ("gevent-like-threads", BORDERLINE, [cpu("strategy == 'gevent_greenlets'", 0.5), held(POOL, 2 / 3.13)]),
    ("convoy", "partly true", [(BESIDE, {"pages_per_s": 0.2})]),
    ("convoy", "not true here", [(BESIDE, {"pages_per_s": 20.0})]),
    ("convoy", BORDERLINE, [(BESIDE, {"pages_per_s": 200 / 181.86})]),
    ("convoy", "true", [("busy_threads == 1 and lag == True", {"pages_per_s": 20.0})]),
    ("thread-megabytes", "true", [held(ALL, 20.0)]),
    ("thread-megabytes", "partly true", [held(ALL, 5.0)]),
    ("thread-megabytes", BORDERLINE, [held(ALL, 10 / 4.4831)]),
    ("spin-wastes", "partly true", [("how == 'selector'", {"cpu_share": lambda _: 0.2})]),
    ("spin-wastes", "not true here", [("how == 'spin'", {"cpu_share": 0.3})]),
    ("spin-wastes", BORDERLINE, [("how == 'spin' and round == 1", {"cpu_share": 0.3})]),
    ("grow-on-demand", "partly true", [(f"{GENERATORS} and in_flight == 10000", {"makespan_ns": 2 * S})]),
    ("grow-on-demand", "not true here", [(POOL, {"peak_threads": 1001})]),
    ("grow-on-demand", BORDERLINE, [(f"{GENERATORS} and in_flight == 10000 and round == 1", {"makespan_ns": 2 * S})]),
    ("redirects-coalesce", "partly true", [(GENERATORS, {"pages": 500})]),
    ("redirects-coalesce", "not true here", [(ALL, {"pages": 50})]),
    ("xkcd", "partly true", [(POOL, {"makespan_ns": 2.0})]),
    ("xkcd", "not true here", [(ALL, {"makespan_ns": 2.0})]),
    ("xkcd", BORDERLINE, [(f"{POOL} and round == 1", {"makespan_ns": 2.0})]),
]  # fmt: skip
