"""Made-up rows for the rules, and the verdict that they must lead to: both sides of each boundary, and neither."""

from collections.abc import Iterator, Sequence
from typing import Any

from inflight.bench.plan.arm import FREE_THREADED, GENERATIONAL, INCREMENTAL, NEWEST, OLDEST, WITH_THE_LOCK
from inflight.bench.rows.files import Cause, Row
from inflight.bench.rows.records import changed
from inflight.bench.studies.claims.rules import RULES
from inflight.bench.studies.claims.rules.interpreters import CORE, SCALING
from inflight.bench.studies.claims.rules.loops import SITES, USES
from inflight.bench.studies.claims.rules.memory import by_variables
from inflight.bench.studies.claims.verdicts import Word
from tests.claims.made_claim_rows import (
    arm_rows,
    held_row,
    held_rows,
    idle_rows,
    limit_row,
    probe_rows,
    timed_rows,
)
from tests.made_rows import FAILED, bare_row, edited

Case = tuple[str, str, list[Row], Word]
"""Claim, what the rows are like, the rows, the verdict."""

HOLDS: Word = "holds"
DIFFERS: Word = "holds differently"
NOT_HERE: Word = "does not hold here"
UNSURE: Word = "inconclusive"
NOT_TESTED: Word = "not tested"

MANY = (50_000, 100_000, 200_000, 300_000, 500_000)
S = 1_000_000_000
MS = 1_000_000


def memory() -> Iterator[Case]:
    """Yield the cases of memory.py."""
    for told, each, word in (
        ("45k", 45_000, HOLDS),
        ("just matched by 50k", 40_100, HOLDS),
        ("tens of kilobytes, and not 50k", 30_000, DIFFERS),
        ("above what 50k matches", 70_000, DIFFERS),
        ("below tens", 9_000, NOT_HERE),
        ("a hundred and more", 110_000, NOT_HERE),
    ):
        yield "thread-memory", told, idle_rows("thread", each, user=0.4, ps_bytes=20_000), word
    yield "thread-memory", "across ten", idle_rows("thread", 10_000, jitter=0.2), UNSURE
    yield "thread-memory", "four sizes", idle_rows("thread", 45_000, sizes=(1, 2, 3, 4)), UNSURE
    rows = idle_rows("thread", 45_000)
    disturbed = [edited(row, measured={"held_disturbed": "+9 tasks"}) for row in rows]
    yield "thread-memory", "disturbed", disturbed, UNSURE
    yield "coroutine-memory", "all below", _coroutines(600, 700, 1200, 3000, 3400), HOLDS
    yield "coroutine-memory", "with a stream above", _coroutines(600, 700, 1200, 3000, 12_000), DIFFERS
    yield "coroutine-memory", "tasks above", _coroutines(600, 4000, 5000, 12_000, 13_000), NOT_HERE
    yield "coroutine-memory", "no socket tried", _coroutines(600, 700, 1200, 3000, 12_000)[:30], UNSURE
    yield "coroutine-memory", "across 3.5k", [*_coroutines(600, 700, 1200, 3000), *_jittery(3500)], UNSURE
    yield "memory-ratio", "both above ten", _ratio(45_000, 1200, 120_000, 11_000), HOLDS
    yield "memory-ratio", "parked only", _ratio(45_000, 1200, 57_000, 13_000), DIFFERS
    yield "memory-ratio", "neither", _ratio(11_000, 1200, 57_000, 13_000), NOT_HERE
    yield "memory-ratio", "no threads in flight", _ratio(45_000, 1200, 57_000, 13_000)[:20], UNSURE
    yield "memory-ratio", "no asyncio in flight", _ratio(45_000, 1200, 57_000, 13_000)[:-10], UNSURE
    across = [*idle_rows("thread", 10_000, jitter=0.2), *idle_rows("asyncio_task", 1000, sizes=MANY)]
    yield "memory-ratio", "across ten", [*across, *_ratio(1, 1, 57_000, 13_000)[20:]], UNSURE
    yield "thread-megabytes", "kilobytes", idle_rows("thread", 45_000), NOT_HERE
    yield "thread-megabytes", "gigabytes", idle_rows("thread", 200_000), DIFFERS
    yield "thread-megabytes", "a megabyte each", idle_rows("thread", 1_000_000), HOLDS
    yield "thread-megabytes", "across a gigabyte", idle_rows("thread", 100_000, jitter=0.2), UNSURE
    yield "thread-megabytes", "no threads", idle_rows("thread", 45_000)[:4], UNSURE
    yield "arena-max", "cured", _arenas(0.4, 0.4, 0.4), HOLDS
    yield "arena-max", "less", _arenas(0.6, 0.6, 0.6), DIFFERS
    yield "arena-max", "less after a crawl", _arenas(1.0, 1.0, 0.6), DIFFERS
    yield "arena-max", "the same", _arenas(1.0, 1.01, 0.97), NOT_HERE
    yield "arena-max", "across", _arenas(0.8, 1.0, 1.0, jitter=0.2), UNSURE
    yield "arena-max", "none without the variable", by_variables(_arenas(0.4, 0.4, 0.4))[0], UNSURE
    yield "many-coroutines", "all start", _started(9 * S), HOLDS
    yield "many-coroutines", "in more than a minute", _started(61 * S), DIFFERS
    yield "many-coroutines", "one kind does not", [*_started(9 * S)[:-1], _not_started("limit")], DIFFERS
    broken = [_not_started("limit", kind) for kind in ("generator", "generator_task", "asyncio_task")]
    yield "many-coroutines", "none", broken, NOT_HERE
    yield "many-coroutines", "budget", [*_started(9 * S)[:-1], _not_started("memory budget")], UNSURE
    yield "many-coroutines", "a kind is missing", _started(9 * S)[:-1], UNSURE


def ceilings() -> Iterator[Case]:
    """Yield the cases of ceilings.py."""
    yield "thread-failure", "tens of thousands", [limit_row("threads", 21_800)], HOLDS
    yield "thread-failure", "just tens of thousands", [limit_row("threads", 10_000)], HOLDS
    yield "thread-failure", "fewer", [limit_row("threads", 9_999)], DIFFERS
    yield "thread-failure", "a hundred thousand", [limit_row("threads", 100_000)], NOT_HERE
    stopped = limit_row("threads", 100_000, stopped_by="shared limit")
    yield "thread-failure", "more, without a failure", [stopped], NOT_HERE
    yield "thread-failure", "not gone through", [limit_row("threads", 29_000, stopped_by="shared limit")], UNSURE
    yield "thread-failure", "nothing found", [limit_row("threads", None, stopped_by="not tried")], UNSURE
    yield "threads-before-sockets", "before both", _limits(21_800, 1_000_000, 28_232), HOLDS
    yield "threads-before-sockets", "between", _limits(21_800, 20_000, 28_232), DIFFERS
    yield "threads-before-sockets", "after both", _limits(90_000, 20_000, 28_232), NOT_HERE
    yield "threads-before-sockets", "the same", _limits(28_100, 1_000_000, 28_232), UNSURE
    yield "threads-before-sockets", "ports unknown", _limits(21_800, 1_000_000, 28_232)[:2], UNSURE
    early = [limit_row("threads", 15_000, stopped_by="deadline"), *_limits(1, 20_000, 28_232)[1:]]
    yield "threads-before-sockets", "threads not found", early, UNSURE
    yield "threads-before-sockets", "one percent below", _limits(9900, 10_000, 10_000), UNSURE
    yield "threads-before-sockets", "one percent above", _limits(10_000, 9900, 9900), UNSURE
    yield "threads-before-sockets", "a tenth below", _limits(9000, 10_000, 20_000), HOLDS
    yield "threads-before-sockets", "more than a tenth below", _limits(8950, 10_000, 20_000), HOLDS
    reached = limit_row("descriptors", 26_000, stopped_by="shared limit")
    yield "threads-before-sockets", "as many reached", [*_limits(25_990, 1, 28_232)[::2], reached], UNSURE
    yield "threads-before-sockets", "more reached", [*_limits(10_000, 1, 28_232)[::2], reached], HOLDS
    for told, found in (("just more threads reached", 26_000), ("more threads reached", 40_000)):
        threads = limit_row("threads", found, stopped_by="deadline")
        yield "threads-before-sockets", told, [threads, *_limits(1, 20_000, 24_500)[1:]], NOT_HERE
    names = ("callbacks", "thread_pool", "native_asyncio")
    able = [held_row(name, 10_000, 9_000, use) for name in names for use in ("keep-alive", "per-fetch")]
    yield "c10k", "all", able, HOLDS
    yield "c10k", "one not installed", [*able, _refused("aiohttp_client", "not installed")], HOLDS
    yield "c10k", "one failed", [*able, _refused("aiohttp_client", "limit")], DIFFERS
    yield "c10k", "none", [_refused(name, "limit") for name in names], NOT_HERE
    yield "c10k", "a page failed", [held_row("callbacks", 10_000, changes={"failed_pages": 1})], NOT_HERE
    yield "c10k", "budget", [*able, _refused("aiohttp_client", "memory budget")], UNSURE
    yield "c10k", "one use is invalid", [*able[:-1], held_row("native_asyncio", 10_000, invalid=True)], UNSURE


def speed() -> Iterator[Case]:
    """Yield the cases of speed.py."""
    yield "async-not-faster", "moderately slower", _active(asyncio=1.5), HOLDS
    yield "async-not-faster", "more than twice", _active(asyncio=2.3), DIFFERS
    yield "async-not-faster", "only asyncio is", _active(asyncio=1.5, loop=0.8), DIFFERS
    yield "async-not-faster", "more than twice at one", [*_active(1.5)[:15], *_active(2.3)[15:]], DIFFERS
    yield "async-not-faster", "nowhere", _active(asyncio=0.9), NOT_HERE
    yield "async-not-faster", "alike", _active(asyncio=1.0, swing=0.002), NOT_HERE
    yield "async-not-faster", "across nothing", _active(asyncio=1.05, swing=0.1), UNSURE
    yield "async-not-faster", "across twice", _active(asyncio=2.0), UNSURE
    yield "async-not-faster", "one cell", _active(asyncio=1.5)[:15], UNSURE
    yield "async-not-faster", "one block", [row for row in _active(asyncio=1.5) if row.round == 1], UNSURE
    yield "async-not-faster", "skipped", _skipped(_active(asyncio=1.5)), NOT_TESTED
    cheap = _efficient(generators=1.1, native_asyncio=1.15)
    light = _weights(callbacks=9_000, generators=10_000, native_asyncio=11_000)
    yield "callbacks-efficient", "as efficient", [*cheap, *light], HOLDS
    dear = _efficient(generators=1.1, native_asyncio=3)
    yield "callbacks-efficient", "asyncio is dearer", [*dear, *light], DIFFERS
    yield "callbacks-efficient", "asyncio is dearer, no memory", dear, DIFFERS
    heavy = _weights(callbacks=9_000, generators=10_000, native_asyncio=14_000)
    yield "callbacks-efficient", "heavier", [*cheap, *heavy], DIFFERS
    yield "callbacks-efficient", "a multiple", [*_efficient(2.5, 3), *light], NOT_HERE
    yield "callbacks-efficient", "no memory", cheap, UNSURE
    yield "callbacks-efficient", "across twice", [*_efficient(2.0, 3), *light], UNSURE
    yield "callbacks-efficient", "across a quarter", [*_efficient(1.1, 1.25), *light], UNSURE
    yield "callbacks-efficient", "no asyncio", [*cheap[:10], *light], UNSURE
    yield "callbacks-efficient", "skipped", _skipped(cheap), NOT_TESTED
    yield "no-gil", "gains", _gil(gain=1.8, price=1.0), HOLDS
    yield "no-gil", "gains and pays", _gil(gain=1.8, price=1.4), DIFFERS
    yield "no-gil", "gains nothing", _gil(gain=0.9, price=1.4), NOT_HERE
    yield "no-gil", "gains nothing where nothing is free", _gil(gain=0.9, price=1.4, share=0.6), UNSURE
    yield "no-gil", "across", _gil(gain=1.1, price=1.0, swing=0.2), UNSURE
    yield "no-gil", "gains, and the price lies across the boundary", _gil(gain=1.8, price=1.03, swing=0.1), HOLDS
    yield "no-gil", "no second core", _gil(gain=1.8, price=1.0)[:10], UNSURE
    yield "no-gil", "no interpreter", _skipped(_gil(gain=1.8, price=1.0)), NOT_TESTED
    yield "no-gil", "no row", [], NOT_TESTED
    yield "pooling-pays", "both", _pools(connections=2, threads=2), HOLDS
    yield "pooling-pays", "connections only", _pools(connections=2, threads=1), DIFFERS
    yield "pooling-pays", "neither", _pools(connections=1, threads=1), NOT_HERE
    yield "pooling-pays", "across", _pools(connections=1.05, threads=2), UNSURE
    yield "pooling-pays", "no thread each", _pools(connections=2, threads=2)[:-5], UNSURE
    yield "pooling-pays", "skipped", _skipped(_pools(connections=2, threads=2)), NOT_TESTED


def loops() -> Iterator[Case]:
    """Yield the cases of loops.py."""
    yield "uvloop-faster", "twice everywhere", _loops(asyncio=2.5), HOLDS
    yield "uvloop-faster", "twice with small pages only", [*_loops(2.5, "small"), *_loops(1.3, "usual")], DIFFERS
    yield "uvloop-faster", "a little", _loops(asyncio=1.3), DIFFERS
    yield "uvloop-faster", "a little in one case", [*_loops(1.3, "small"), *_loops(1.0, "usual")], DIFFERS
    yield "uvloop-faster", "a little, and the rest unknown", [*_loops(1.3, "small")], DIFFERS
    yield "uvloop-faster", "nowhere", _loops(asyncio=0.9), NOT_HERE
    yield "uvloop-faster", "alike", _loops(asyncio=1.0), NOT_HERE
    yield "uvloop-faster", "across five percent", _loops(asyncio=1.05, swing=0.03), UNSURE
    yield "uvloop-faster", "across twice", _loops(asyncio=2.0, swing=0.03), UNSURE
    yield "uvloop-faster", "one block", [row for row in _loops(asyncio=2.5) if row.round == 1], UNSURE
    yield "uvloop-faster", "uvloop is missing", _without(_loops(asyncio=2.5), "uvloop"), NOT_TESTED
    yield "streams-cost", "both cost", _layers(streams=1.5, sockets=1.2), HOLDS
    yield "streams-cost", "sockets do not", _layers(streams=1.5, sockets=0.9), DIFFERS
    yield "streams-cost", "one site only", [*_layers(1.5, 1.2, "small"), *_layers(1.0, 1.0, "usual")], DIFFERS
    yield "streams-cost", "neither", _layers(streams=1.0, sockets=0.9), NOT_HERE
    yield "streams-cost", "across", _layers(streams=1.05, sockets=1.2, swing=0.03), UNSURE
    yield "streams-cost", "one site unknown", _layers(1.5, 1.2, "small"), UNSURE
    yield "streams-cost", "skipped", _skipped(_layers(1.5, 1.2)), NOT_TESTED
    yield "await-is-free", "alike", _awaited(small=1.0, usual=1.01), HOLDS
    yield "await-is-free", "cheaper", _awaited(small=0.8, usual=0.9), HOLDS
    yield "await-is-free", "dearer with small pages", _awaited(small=1.1, usual=1.0), DIFFERS
    yield "await-is-free", "dearer", _awaited(small=1.2, usual=1.1), NOT_HERE
    yield "await-is-free", "across", _awaited(small=1.0, usual=1.05), UNSURE
    yield "await-is-free", "imprecise", _awaited(small=1.0, usual=1.0, swing=0.1), UNSURE
    yield "await-is-free", "skipped", _skipped(_awaited(1.0, 1.0)), NOT_TESTED
    yield "eager-tasks", "twice", _eager(small=2.5, usual=2.2), HOLDS
    yield "eager-tasks", "twice with small pages", _eager(small=2.5, usual=1.2), DIFFERS
    yield "eager-tasks", "a little", _eager(small=1.2, usual=1.1), DIFFERS
    yield "eager-tasks", "no gain", _eager(small=1.0, usual=0.95), NOT_HERE
    yield "eager-tasks", "across", _eager(small=1.05, usual=1.0), UNSURE
    yield "eager-tasks", "one block", [row for row in _eager(2.5, 2.2) if row.round == 1], UNSURE
    yield "eager-tasks", "no interpreter", _skipped(_eager(2.5, 2.2)), NOT_TESTED
    yield "convoy", "about a hundred", _convoy(80), HOLDS
    yield "convoy", "slower still", _convoy(20), DIFFERS
    yield "convoy", "faster", _convoy(400), DIFFERS
    yield "convoy", "hardly slower", _convoy(5_000), NOT_HERE
    yield "convoy", "across a tenth", _convoy(1_000, swing=0.2), UNSURE
    yield "convoy", "across two hundred", _convoy(200, swing=0.2), UNSURE
    yield "convoy", "none without the thread", [row for row in _convoy(80) if row.workload.arm.busy_threads], UNSURE
    yield "convoy", "skipped", _skipped(_convoy(80)), NOT_TESTED
    yield "convoy", "arms with a timer do not decide", [*_convoy(80), *_convoy(5_000, asked={"lag": True})], HOLDS


def interpreters() -> Iterator[Case]:
    """Yield the cases of interpreters.py."""
    yield "free-threading-cost", "cheap", _builds(1.04, 1.0, 1.03), HOLDS
    yield "free-threading-cost", "cheap in part", _builds(1.04, 1.0, 1.4), DIFFERS
    yield "free-threading-cost", "dear", _builds(1.3, 1.4, 1.6), NOT_HERE
    yield "free-threading-cost", "across", _builds(1.1, 1.4, 1.6), UNSURE
    yield "free-threading-cost", "noisy", _builds(1.04, 1.0, 1.03, swing=0.2), UNSURE
    yield "free-threading-cost", "one model is missing", _builds(1.3, 1.4, 1.6)[:20], UNSURE
    yield "free-threading-cost", "no interpreter", _skipped(_builds(1.3, 1.4, 1.6)), NOT_TESTED
    yield "free-threading-scales", "without the lock", _scaling(1.6, 1.0), HOLDS
    yield "free-threading-scales", "with the lock as well", _scaling(1.6, 1.6), DIFFERS
    yield "free-threading-scales", "not at all", _scaling(1.0, 1.0), NOT_HERE
    yield "free-threading-scales", "nothing is free", _scaling(1.0, 1.0, share=0.5), UNSURE
    yield "free-threading-scales", "across", _scaling(1.25, 1.0, swing=0.1), UNSURE
    yield "free-threading-scales", "no build with the lock", _scaling(1.6, 1.0)[:20], UNSURE
    yield "free-threading-scales", "no interpreter", _skipped(_scaling(1.6, 1.0)), NOT_TESTED
    yield "newer-is-faster", "all", _releases(1.25, 1.4, 1.2), HOLDS
    yield "newer-is-faster", "one", _releases(1.0, 1.4, 1.0), DIFFERS
    yield "newer-is-faster", "none", _releases(0.97, 1.0, 0.9), NOT_HERE
    yield "newer-is-faster", "across", _releases(1.05, 1.0, 1.0, swing=0.03), UNSURE
    yield "newer-is-faster", "only one release", _skipped(_releases(1.25, 1.4, 1.2)), NOT_TESTED
    yield "incremental-gc-memory", "twice", _collectors(2.0, 2.0), HOLDS
    yield "incremental-gc-memory", "twice with fresh connections", _collectors(1.1, 2.0), DIFFERS
    yield "incremental-gc-memory", "a tenth", _collectors(1.05, 1.1), NOT_HERE
    yield "incremental-gc-memory", "across", _collectors(1.25, 1.1, swing=0.1), UNSURE
    yield "incremental-gc-memory", "no such version", _skipped(_collectors(2.0, 2.0)), NOT_TESTED


def libraries() -> Iterator[Case]:
    """Yield the cases of libraries.py."""
    kept = _clients(httpx_client=(0.5, 0.2), aiohttp_client=(1.0, 0.9))
    yield "client-collapse", "one collapses", kept, HOLDS
    yield "client-collapse", "another client too", [*kept, *_clients(my_client=(0.3, 0.1))], HOLDS
    yield "client-collapse", "best in the middle", _clients(httpx_client=(2.0, 0.8), aiohttp_client=(1.1, 1.0)), HOLDS
    yield "client-collapse", "both", _clients(httpx_client=(0.5, 0.2), aiohttp_client=(0.9, 0.3)), DIFFERS
    yield "client-collapse", "none", _clients(httpx_client=(1.0, 0.8), aiohttp_client=(1.0, 0.9)), NOT_HERE
    yield "client-collapse", "across", _clients(httpx_client=(1.0, 0.5), aiohttp_client=(1.0, 0.9)), UNSURE
    late = [
        changed(row, status="timeout", reason="out of time", measured={})
        if (row.strategy, row.workload.in_flight) == ("httpx_client", 200)
        else row
        for row in kept
    ]
    yield "client-collapse", "the largest cap is unknown", late, UNSURE
    yield "client-collapse", "one round", [row for row in kept if row.round == 1], UNSURE
    yield "client-collapse", "httpx is missing", _without(kept, "httpx"), NOT_TESTED
    light = _weights(thread_pool=50_000, gevent_greenlets=15_000)
    yield "gevent-like-threads", "lighter and as cheap", [*_greenlets(0.9), *light], HOLDS
    yield "gevent-like-threads", "lighter and dearer", [*_greenlets(1.3), *light], DIFFERS
    heavy = _weights(thread_pool=50_000, gevent_greenlets=40_000)
    yield "gevent-like-threads", "not half as heavy", [*_greenlets(0.9), *heavy], NOT_HERE
    half = [*held_rows("thread_pool", 30_000, jitter=0.2), *held_rows("gevent_greenlets", 15_000)]
    yield "gevent-like-threads", "across a half", [*_greenlets(0.9), *half], UNSURE
    yield "gevent-like-threads", "no memory", _greenlets(0.9), UNSURE
    yield "gevent-like-threads", "no blocks", light, UNSURE
    yield "gevent-like-threads", "gevent is missing", _without([*_greenlets(0.9), *light], "gevent"), NOT_TESTED


def crowds() -> Iterator[Case]:
    """Yield the cases of crowds.py."""
    yield "async-sleepy", "as fast and cheaper", _sleepy(speed=1.0, cpu=0.8), HOLDS
    yield "async-sleepy", "as fast, lighter and dearer", _sleepy(speed=1.0, cpu=1.3), DIFFERS
    yield "async-sleepy", "slower below the knee", _sleepy(speed=0.8, cpu=0.8), NOT_HERE
    yield "async-sleepy", "dearer and heavier", _sleepy(speed=1.0, cpu=1.3, memory=30_000), NOT_HERE
    yield "async-sleepy", "across five percent", _sleepy(speed=0.95, cpu=0.8), UNSURE
    yield "async-sleepy", "one block", [row for row in _sleepy(1.0, 0.8) if row.round == 1], UNSURE
    yield "async-sleepy", "no memory", _sleepy(1.0, 0.8)[:20], UNSURE
    yield "async-sleepy", "skipped", _skipped(_sleepy(1.0, 0.8)), NOT_TESTED
    yield "diminishing-returns", "all fall", _crowded(0.8, 0.6), HOLDS
    yield "diminishing-returns", "one falls", _crowded(0.8, 1.0), DIFFERS
    yield "diminishing-returns", "none falls", _crowded(1.0, 1.1), NOT_HERE
    yield "diminishing-returns", "one falls, one across", _crowded(0.8, 0.95), UNSURE
    yield "diminishing-returns", "none falls, one across", _crowded(1.0, 0.95), UNSURE
    yield "diminishing-returns", "one block", [row for row in _crowded(0.8, 0.6) if row.round == 1], UNSURE
    yield "diminishing-returns", "skipped", _skipped(_crowded(0.8, 0.6)), NOT_TESTED


def demonstrations() -> Iterator[Case]:
    """Yield the cases of demonstrations.py."""
    yield "xkcd", "all", _makespans(2.1 * S, 2.9 * S), HOLDS
    yield "xkcd", "some", _makespans(2.1 * S, 3.1 * S), DIFFERS
    yield "xkcd", "none", _makespans(3.0 * S, 3.1 * S), NOT_HERE
    known = _makespans(2.1 * S, 2.2 * S)
    unknown = [changed(row, checks=(FAILED,)) for row in known if row.strategy == "thread_pool"]
    yield "xkcd", "one invalid", [*known[:2], *unknown], UNSURE
    across = timed_rows("callbacks", 2.9 * S, 3.1 * S, read="makespan_ns", latency="100ms", pages=1500)
    yield "xkcd", "across", across, UNSURE
    yield "xkcd", "invalid", timed_rows("callbacks", 2 * S, 2 * S, read="makespan_ns", invalid=True), UNSURE
    yield "spin-wastes", "wastes", _spin(0.97, 0.01), HOLDS
    yield "spin-wastes", "half a core", _spin(0.50, 0.049), HOLDS
    yield "spin-wastes", "nobody rests", _spin(0.97, 0.05), DIFFERS
    yield "spin-wastes", "does not", _spin(0.49, 0.01), NOT_HERE
    yield "spin-wastes", "across", [*_spin(0.97, 0.01), *_spin(0.4, 0.01)], UNSURE
    yield "spin-wastes", "one round", [row for row in _spin(0.97, 0.01) if row.round == 1][:1], UNSURE
    yield "grow-on-demand", "both", _grown(20, 0.9), HOLDS
    yield "grow-on-demand", "coroutines late", _grown(20, 1.1), DIFFERS
    yield "grow-on-demand", "not on demand", _grown(1001, 0.2), NOT_HERE
    yield "grow-on-demand", "one round", [row for row in _grown(20, 0.2) if row.round == 1], UNSURE
    few = [row for row in _grown(20, 0.2) if (row.workload.in_flight, row.round) != (10, 2)]
    yield "grow-on-demand", "one round of few", few, UNSURE
    late = [row for row in _grown(20, 1.1) if (row.strategy, row.round) == ("generators", 2)]
    mixed = [row for row in _grown(20, 0.9) if (row.strategy, row.round) != ("generators", 2)]
    yield "grow-on-demand", "across a second", [*mixed, *late], UNSURE
    yield "grow-on-demand", "no pool", [row for row in _grown(20, 0.2) if row.strategy != "thread_pool"], UNSURE


def programs() -> Iterator[Case]:
    """Yield the cases of programs.py."""
    yield "select-scales", "as claimed", _selectors(3.1, 1.4), HOLDS
    yield "select-scales", "epoll grows", _selectors(10, 1.6), DIFFERS
    yield "select-scales", "poll does not", _selectors(2.9, 1.1), DIFFERS
    yield "select-scales", "none does", _selectors(1.1, 1.1, stopped=False), NOT_HERE
    yield "select-scales", "no epoll", [row for row in _selectors(10, 1.1) if "epoll" not in row.trial], UNSURE
    swaying = probe_rows("selectors", {"selector": "poll", "idle": 8000}, *map(_page, (20_000, 200_000, 60_000)))
    yield "select-scales", "swaying", [*_selectors(10, 1.1)[3:], *swaying], UNSURE
    yield "races", "threads only", _races(threads=40), HOLDS
    yield "races", "counts only", _races(threads=0, lost=7), DIFFERS
    yield "races", "coroutines too", _races(threads=40, coroutines=1), NOT_HERE
    yield "races", "none seen", _races(threads=0), UNSURE
    yield "races", "the lock did not help", _races(threads=40, locked=1), UNSURE
    yield "races", "no coroutines", _races(threads=40)[:2], UNSURE


def behaviour() -> Iterator[Case]:
    """Yield the cases of behaviour.py."""
    yield "stack-ripping", "as claimed", _ripped(callbacks=False), HOLDS
    yield "stack-ripping", "asyncio lost it", _ripped(callbacks=False, native_asyncio=False), DIFFERS
    yield "stack-ripping", "callbacks keep it", _ripped(callbacks=True), NOT_HERE
    lost = _ripped(callbacks=False, native_asyncio=False, generators=False)
    yield "stack-ripping", "all lost it", lost, NOT_HERE
    yield "stack-ripping", "no callbacks", _ripped(callbacks=False)[1:], UNSURE
    yield "redirects-coalesce", "none twice", [_redirected("callbacks"), _redirected("generators")], HOLDS
    yield "redirects-coalesce", "one twice", [_redirected("callbacks"), _redirected("generators", 601)], DIFFERS
    yield "redirects-coalesce", "all twice", [_redirected("callbacks", 900)], NOT_HERE
    yield "redirects-coalesce", "no redirect", [_redirected("callbacks", redirects=0)], UNSURE
    yield (
        "redirects-coalesce",
        "one invalid",
        [_redirected("callbacks"), _redirected("generators", invalid=True)],
        UNSURE,
    )
    yield "cancel-workers", "both complain", _workers("pending!", "pending!"), HOLDS
    yield "cancel-workers", "run cleans up", _workers("pending!", ""), DIFFERS
    yield "cancel-workers", "something left", _workers("pending!", "pending!", left=1), DIFFERS
    yield "cancel-workers", "no complaint", _workers("", ""), NOT_HERE
    yield "cancel-workers", "not left out", _workers("pending!", "")[:2], UNSURE


def _coroutines(*each_bytes: int) -> list[Row]:
    parked = ("generator", "generator_task", "asyncio_task")
    names = (*parked, "asyncio_task_socket", "asyncio_task_stream")
    return [
        row
        for name, each in zip(names, each_bytes, strict=False)
        for row in idle_rows(name, each, sizes=MANY if name in parked else (2000, 4000, 6000, 8000, 10_000))
    ]


def _jittery(each_bytes: int) -> list[Row]:
    return idle_rows("asyncio_task_stream", each_bytes, jitter=0.2)


def _ratio(thread: int, task: int, pool: int, asyncio: int) -> list[Row]:
    parked = [*idle_rows("thread", thread, user=0.4), *idle_rows("asyncio_task", task, sizes=MANY)]
    return [*parked, *held_rows("thread_pool", pool), *held_rows("native_asyncio", asyncio)]


def _started(slowest_ns: int) -> list[Row]:
    kinds = ("generator", "generator_task", "asyncio_task")
    return [idle_rows(kind, 1000, sizes=(500_000,), start_ns=slowest_ns)[0] for kind in kinds]


def _not_started(cause: Cause | None, kind: str = "asyncio_task") -> Row:
    made = bare_row("idle", kind, {"what": kind, "n": 500_000}, {}, status="failed", reason="it broke off")
    return changed(made, cause=cause)


def _limits(threads: int, descriptors: int, ports: int) -> list[Row]:
    return [limit_row("threads", threads), limit_row("descriptors", descriptors), limit_row("ports", ports)]


def _refused(name: str, cause: Cause) -> Row:
    return changed(held_row(name, 10_000, status="skipped", reason=f"it has a cause: {cause}"), cause=cause)


SWINGS = (-1, 0.5, 0, 1, -0.5)


def _around(value: float, swing: float = 0.01) -> list[float]:
    """Return the values of five blocks."""
    return [value * (1 + swing * turn) for turn in SWINGS]


def _active(asyncio: float, loop: float = 1.1, swing: float = 0.01) -> list[Row]:
    """Make both cells: CPU time per page as a multiple of the threads'."""
    return [
        row
        for cap in (10, 100)
        for name, times, own in (("thread_pool", 1, 0), ("native_asyncio", asyncio, swing), ("callbacks", loop, swing))
        for row in arm_rows(name, *_around(20_000 * times, own), in_flight=cap)
    ]


def _efficient(generators: float, native_asyncio: float) -> list[Row]:
    times = {"callbacks": 1.0, "generators": generators, "native_asyncio": native_asyncio}
    return [
        row
        for name, factor in times.items()
        for row in arm_rows(name, *_around(20_000 * factor, 0.0 if name == "callbacks" else 0.01))
    ]


def _weights(**each_bytes: int) -> list[Row]:
    return [row for name, each in each_bytes.items() for row in held_rows(name, each)]


def _skipped(rows: Sequence[Row]) -> list[Row]:
    told: dict[str, Any] = {"status": "skipped", "reason": "nothing to run it on", "cause": "no interpreter"}
    return [changed(row, **told, measured={}, knobs={}, checks=()) for row in rows]


def _gil(gain: float, price: float, swing: float = 0.01, share: float = 0.95) -> list[Row]:
    rows = []
    for cores, read, times in ((1, "cpu_per_page_ns", price), (2, "pages_per_s", gain)):
        for python, value, own in ((WITH_THE_LOCK, 20_000.0, 0.0), (FREE_THREADED, 20_000 * times, swing)):
            in_flight = 10 if cores > 1 else 100
            made = arm_rows(
                "thread_pool", *_around(value, own), read=read, in_flight=in_flight, python=python, cores=cores
            )
            rows += [_in_slices(row, share if python == WITH_THE_LOCK else 1.9) for row in made]
    return rows


def _in_slices(row: Row, share: float) -> Row:
    """Return an arm with eight slices: in two of them its worker had this share of a core, in the others hardly any."""
    rate = row.measured.pages_per_s
    free = {"begin_ns": 0, "wall_ns": S, "cpu_ns": round(share * S), "server_cpu_ns": 0, "pages": rate}
    taken = free | {"cpu_ns": S // 10, "pages": 1.0}
    slices = [(taken, free)[n % 4 == 0] | {"cycle": n} for n in range(8)]
    return edited(row, measured={"windows": slices, "cpu_share": share})


def _builds(*ratios: float, swing: float = 0.01) -> list[Row]:
    """Make the blocks of free-threading-cost: CPU time per page as a multiple of that with the lock."""
    return _two_sides(dict(zip(CORE, ratios, strict=True)), (WITH_THE_LOCK, FREE_THREADED), swing)


def _releases(*gains: float, swing: float = 0.01) -> list[Row]:
    """Make the blocks of newer-is-faster: CPU time per page on the oldest as a multiple of that on the newest."""
    return _two_sides(dict(zip(CORE, gains, strict=True)), (NEWEST, OLDEST), swing)


def _two_sides(ratios: dict[str, float], pythons: tuple[str, str], swing: float) -> list[Row]:
    return [
        row
        for name, times in ratios.items()
        for python, value, own in ((pythons[0], 20_000.0, 0.0), (pythons[1], 20_000 * times, swing))
        for row in arm_rows(name, *_around(value, own), python=python, cell=name)
    ]


def _scaling(free: float, locked: float, swing: float = 0.01, share: float = 0.95) -> list[Row]:
    """Make the blocks of free-threading-scales: pages per second on two cores as a multiple of those on one."""
    return [
        _in_slices(row, share)
        for python, times in ((FREE_THREADED, free), (WITH_THE_LOCK, locked))
        for name in SCALING
        for cores, rate, own in ((1, 900.0, 0.0), (2, 900 * times, swing))
        for row in arm_rows(
            name,
            *_around(rate, own),
            read="pages_per_s",
            in_flight=10,
            python=python,
            cores=cores,
            cell=f"{name} {python}",
        )
    ]


def _collectors(kept: float, fresh: float, swing: float = 0.01) -> list[Row]:
    """Make the blocks of incremental-gc-memory: resident memory as a multiple of that without the collector."""
    return [
        row
        for use, times in (("keep-alive", kept), ("per-fetch", fresh))
        for python, size, own in ((GENERATIONAL, 30_000_000.0, 0.0), (INCREMENTAL, 30_000_000 * times, swing))
        for row in _resident("native_asyncio", _around(size, own), python=python, connection=use, cell=use)
    ]


ARENAS = {"MALLOC_ARENA_MAX": "2"}


def _arenas(parked: float, flying: float, crawled: float, jitter: float = 0.0) -> list[Row]:
    """Make the rows of arena-max: memory with the variable as a multiple of that without."""
    return [
        *idle_rows("thread", 45_000, user=0.4),
        *idle_rows("thread", round(45_000 * parked), user=0.4, jitter=jitter, variables=ARENAS),
        *held_rows("thread_pool", 57_000),
        *held_rows("thread_pool", round(57_000 * flying), variables=ARENAS),
        *_resident("thread_pool", _around(45_000_000.0, 0.0)),
        *_resident("thread_pool", _around(45_000_000 * crawled), variables=ARENAS),
    ]


def _resident(strategy: str, sizes: Sequence[float], **more: Any) -> list[Row]:
    """Make the rows of an arm with these sizes of its process after its slices."""
    made = arm_rows(strategy, *(20_000.0 for _ in sizes), **more)
    return [edited(row, measured={"rss_bytes": round(size)}) for row, size in zip(made, sizes, strict=True)]


def _sleepy(speed: float, cpu: float, memory: int = 10_000) -> list[Row]:
    cells: list[tuple[int, str, str, str, float]] = [
        (100, "100ms", "pages_per_s", "thread_pool", 1.0),
        (100, "100ms", "pages_per_s", "native_asyncio", speed),
        (1000, "50ms", "cpu_per_page_ns", "thread_pool", 1.0),
        (1000, "50ms", "cpu_per_page_ns", "native_asyncio", cpu),
    ]
    timed = [
        row
        for cap, latency, read, name, times in cells
        for row in arm_rows(
            name, *_around(20_000 * times, 0.01 * (times != 1)), latency=latency, in_flight=cap, read=read
        )
    ]
    return [*timed, *_weights(thread_pool=20_000, native_asyncio=memory)]


def _crowded(*kept: float) -> list[Row]:
    """Make the blocks of two models that keep so much of their pages per second of CPU time."""
    return [
        row
        for name, share in zip(("callbacks", "thread_pool"), kept, strict=True)
        for role, cap, cost in (("reference", 100, 20_000), ("compared", 3000, 20_000 / share))
        for row in arm_rows(name, *_around(cost, 0.01 * (cap > 100)), role=role, in_flight=cap, cell=name)
    ]


def _makespans(*slowest_ns: float) -> list[Row]:
    return [
        row
        for name, slowest in zip(("callbacks", "thread_pool"), slowest_ns, strict=True)
        for row in timed_rows(name, slowest, slowest, read="makespan_ns", latency="lognormal 100ms 500ms", pages=1500)
    ]


def _site_rows(site: str, times: dict[str, float], swing: float) -> list[Row]:
    """Make the rows of a block on one site: CPU time per page as multiples; the first strategy does not swing."""
    links = SITES[site]
    return [
        edited(row, workload={"site": {"links": links}})
        for n, (name, factor) in enumerate(times.items())
        for row in arm_rows(name, *_around(20_000 * factor, swing if n else 0.0), cell=site)
    ]


def _on_sites(times: dict[str, float], only: str | None, swing: float) -> list[Row]:
    return [row for site in SITES if only in {None, site} for row in _site_rows(site, times, swing)]


def _loops(asyncio: float, only: str | None = None, swing: float = 0.01) -> list[Row]:
    """Make the blocks of uvloop-faster: on asyncio's loop a page costs that many times as much as on uvloop."""
    sides = [(uvloop, 1.0) for _, uvloop in USES.values()] + [(name, asyncio) for name, _ in USES.values()]
    return _on_sites(dict(sides), only, swing)


def _layers(streams: float, sockets: float, only: str | None = None, swing: float = 0.01) -> list[Row]:
    """Make the blocks of streams-cost: CPU time per page as a multiple of that of Protocols."""
    times = {"asyncio_protocol": 1.0, "native_asyncio": streams, "asyncio_sockets": sockets}
    return _on_sites(times, only, swing)


def _convoy(per_s: float, swing: float = 0.01, **same: Any) -> list[Row]:
    """Make the blocks of convoy: pages per second beside a thread that computes, of 10,000 without it."""
    return [
        row
        for threads, rates in ((0, _around(10_000.0, 0.0)), (1, _around(per_s, swing)))
        for name in ("native_asyncio", "callbacks", "thread_pool")
        for row in arm_rows(name, *rates, read="pages_per_s", in_flight=1, busy_threads=threads, cell=name, **same)
    ]


def _awaited(small: float, usual: float, swing: float = 0.01) -> list[Row]:
    return [
        row
        for site, factor in (("small", small), ("usual", usual))
        for row in _site_rows(site, {"generators": 1.0, "await_by_hand": factor}, swing)
    ]


def _eager(small: float, usual: float) -> list[Row]:
    return [
        row
        for site, factor in (("small", small), ("usual", usual))
        for row in _site_rows(site, {"eager_tasks": 1.0, "asyncio_tasks": factor}, 0.01)
    ]


def _clients(**kept: tuple[float, float]) -> list[Row]:
    """Make the crawls of clients with 16, 64 and 200 in flight: the shares that they keep of their rate with 16."""
    return [
        row
        for name, shares in kept.items()
        for cap, share in zip((16, 64, 200), (1.0, *shares), strict=True)
        for row in timed_rows(name, *_around(1000 * share, 0.01 * (cap > 16)), in_flight=cap, pages=1000)
    ]


def _greenlets(times: float) -> list[Row]:
    """Make the block of greenlets and threads: CPU time per page as a multiple of the threads'."""
    return [
        row
        for name, factor, swing in (("thread_pool", 1, 0.0), ("gevent_greenlets", times, 0.01))
        for row in arm_rows(name, *_around(20_000 * factor, swing))
    ]


def _without(rows: Sequence[Row], name: str) -> list[Row]:
    """Return the rows with those of some strategies skipped, because a distribution is not installed."""
    return [
        changed(row, status="skipped", reason=f"needs {name}", cause="not installed", measured={}, knobs={}, checks=())
        if row.strategy.startswith(name)
        else row
        for row in rows
    ]


def _spin(spin: float, rest: float) -> list[Row]:
    arguments = {"waits_for": "answer", "sockets": 1, "wait_ms": 500}
    return [
        row
        for how, share in (("spin", spin), ("selector", rest))
        for row in probe_rows("spin", {"how": how} | arguments, *[{"cpu_share": share, "attempts": 9}] * 2)
    ]


def _page(cost: float) -> dict[str, Any]:
    return {"cpu_per_page_ns": round(cost)}


def _selectors(poll: float, epoll: float, *, stopped: bool = True) -> list[Row]:
    rows = []
    for kind, growth in (("poll", poll), ("epoll", epoll)):
        for idle, cost in ((8000, 20_000 * growth), (0, 20_000.0)):
            arguments = {"selector": kind, "idle": idle}
            rows += probe_rows("selectors", arguments, *[_page(cost)] * 3)
    end = {"stopped_by": "FD_SETSIZE", "error": "filedescriptor out of range"} if stopped else _page(20_000)
    return [*rows, *probe_rows("selectors", {"selector": "select", "idle": 2000}, end)]


def _pools(connections: float, threads: float) -> list[Row]:
    rows = [
        row
        for name in ("thread_pool", "callbacks", "native_asyncio")
        for role, use, times in (("reference", "keep-alive", 1), ("compared", "per-fetch", connections))
        for row in arm_rows(
            name,
            *_around(20_000 * times, 0.01 * (role == "compared")),
            role=role,
            connection=use,
            in_flight=10,
            cell=name,
        )
    ]
    for how, times in (("pool", 1.0), ("thread-per-fetch", threads)):
        arguments = {"how": how, "connection": "per-fetch", "in_flight": 10}
        rows += probe_rows("thread_per_fetch", arguments, *[_page(cost) for cost in _around(40_000 * times)])
    return rows


def _races(threads: int, coroutines: int = 0, locked: int = 0, lost: int = 0) -> list[Row]:
    counts = {"threads": threads, "threads-locked": locked, "coroutines": coroutines, "asyncio": 0}
    said = {"links_seen": 96_000, "lost_updates": lost}
    return [
        row
        for model, duplicates in counts.items()
        for row in probe_rows("races", {"model": model}, said | {"duplicates": duplicates})
    ]


def _grown(threads: int, extra_s: float) -> list[Row]:
    rows = []
    for name in ("thread_pool", "generators", "native_asyncio"):
        for cap in (10, 10_000):
            more = cap == 10_000 and name != "thread_pool"
            taken = 100 * MS + round(extra_s * S if more else 0)
            changes = {"peak_threads": threads if name == "thread_pool" else 1, "uss_bytes": 10**7 + 2 * 10**7 * more}
            rows += timed_rows(
                name,
                taken,
                taken,
                read="makespan_ns",
                latency="100ms",
                in_flight=cap,
                pages=10,
                changes=changes,
            )
    return rows


def _ripped(**names_starter: bool) -> list[Row]:
    told = {"callbacks": False, "generators": True, "native_asyncio": True} | names_starter
    return [
        row
        for name, keeps in told.items()
        for row in probe_rows(
            "stack_ripping",
            {"strategy": name, "at": 5},
            {
                "names_starter": keeps,
                "traceback": ["crawl", "work"],
                "lost": [] if keeps else ["begin"],
                "text": f"Traceback of {name}\nRuntimeError: planted\n",
            },
        )
    ]


def _redirected(name: str, requests: int = 600, *, redirects: int = 300, invalid: bool = False) -> Row:
    statuses = {"200": 600 - redirects, "302": redirects}
    server = {"requests": requests, "responses_by_status": statuses}
    return held_row(name, 10, invalid=invalid, changes={"pages": 600}, server=server, site={"redirect_targets": 5})


def _workers(closed: str, run: str, left: int = 0) -> list[Row]:
    said = {
        ("callbacks", "cancelled"): ("", left),
        ("native_asyncio", "cancelled"): ("", 0),
        ("native_asyncio", "left-out"): (closed, 8 if closed else 0),
        ("native_asyncio", "left-out-run"): (run, 0),
        ("thread_pool", "left-out"): ("", 8),
    }
    return [
        row
        for (name, variant), (complaint, tasks) in said.items()
        for row in probe_rows(
            "cancel_workers",
            {"strategy": name, "variant": variant},
            {"complaint": complaint, "left": left_behind(tasks), "ended": True},
        )
    ]


def left_behind(tasks: int = 0, threads: int = 0, coroutines: int = 0, descriptors: int = 0) -> dict[str, int]:
    return {"tasks": tasks, "threads": threads, "coroutines": coroutines, "descriptors": descriptors}


def untested() -> Iterator[Case]:
    """Yield for each claim that nothing was measured."""
    for claim in RULES:
        yield claim, "nothing", [], NOT_TESTED


CASES: list[Case] = [
    *memory(), *ceilings(), *speed(), *loops(), *interpreters(), *libraries(), *crowds(),
    *demonstrations(), *programs(), *behaviour(), *untested(),
]  # fmt: skip
