"""The claims on memory: per thread, per coroutine, their ratio, and how many coroutines start. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from inflight.bench.core import units
from inflight.bench.core.layers import RSS, cost, n_of, size_of
from inflight.bench.frame.slopes import NoSlope, Slope, memory_slope
from inflight.bench.rows.crawls import Idle, Memory
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules.evidence import (
    SPAN,
    Figure,
    R,
    Range,
    arms,
    of_type,
    ratio,
    resident_bytes,
    shows_a_limit,
    slope,
    slopes,
    values,
)
from inflight.bench.studies.claims.rules.parts import Part, compared, outcome
from inflight.bench.studies.claims.verdicts import Outcome, Value

PUBLISHED_BYTES, DRAFT_BYTES = 50_000, 22_000
TENS_FROM, TENS_TO = 10_000, 100_000
"""Range of "tens of kilobytes"."""
MANY_THREADS, CLAIMED_BYTES = 10_000, 10_000_000_000
"""The number of threads of thread-megabytes, and what they are said to take."""
LESS, CURED = 0.8, 0.5
"""Shares of the memory below which MALLOC_ARENA_MAX reduces it, and cures it."""
MATCH = 1.25
"""Maximum factor between a figure and a published one with one significant digit ("around 50k")."""
BARELY = 3_500
"""Limit of what is written as 3k."""
ORDER = 10
"""An order of magnitude."""
HUNDREDS_OF_THOUSANDS = 500_000
EASY_NS = 60_000_000_000
"""Maximum time for an "easy" start."""
COROUTINES = {
    "generator": "generators",
    "generator_task": "generators in tasks",
    "asyncio_task": "asyncio tasks",
    "asyncio_task_socket": "asyncio tasks with a socket",
    "asyncio_task_stream": "asyncio tasks with a stream",
}
PARKED = ("asyncio_task", "generator_task", "generator")
TASKS = ("generator_task", "asyncio_task")
_WHERE = {"parked": "parked", "flying": "in flight"}


def thread_memory(rows: Sequence[Row]) -> Outcome:
    """Judge whether a parked thread costs tens of kilobytes, and the published 50k within a quarter."""
    threads = of_type(rows, Idle, "thread")
    found, by_ps = cost(threads), slope(_by_ps(threads))
    full = slope(found.full)
    edges = PUBLISHED_BYTES / MATCH, PUBLISHED_BYTES * MATCH
    matched = edges[0] <= full.value <= edges[1] if isinstance(full, Range) else None
    parts = [
        compared("in all layers", full, "at least", TENS_FROM, "tens of kilobytes"),
        compared("in all layers", full, "below", TENS_TO, "not more than tens"),
        Part(
            "in all layers",
            matched,
            rule=f"within {units.times(MATCH, 3)} of the published {units.size(PUBLISHED_BYTES, 2)}",
            close=isinstance(full, Range) and full.is_close_to(*edges),
        ),
    ]
    figures = [f"by ps: {by_ps}"] if isinstance(by_ps, Range) else []
    if isinstance(by_ps, Range) and by_ps.value > 0:
        figures.append(f"the draft's 22 kB is {units.times(DRAFT_BYTES / by_ps.value)} of this")
    layers = {name.replace(" ", "_"): slope(layer) for name, layer in found.layers.items()}
    published: dict[str, Value] = {"published_bytes": PUBLISHED_BYTES, "draft_bytes": DRAFT_BYTES}
    return outcome(rows, parts, values("_bytes", {"full": full, "ps": by_ps} | layers) | published, figures)


def thread_megabytes(rows: Sequence[Row]) -> Outcome:
    """Judge whether 10,000 threads take gigabytes, and at least half of the 10 GB that they are said to take."""
    each = slope(cost(of_type(rows, Idle, "thread")).full)
    found: Figure = each
    if isinstance(each, Range):
        value, low, high = (MANY_THREADS * size for size in (each.value, each.low, each.high))
        found = Range(value, low, high, each.unit)
    of = f"{units.count(MANY_THREADS)} threads in all layers"
    parts = [
        compared("parked", found, "at least", CLAIMED_BYTES / 10, "gigabytes", of=of),
        compared("parked", found, "at least", CLAIMED_BYTES / 2, of=of),
    ]
    return outcome(rows, parts, values("_bytes", {"all": found, "each": each}))


def arena_max(rows: Sequence[Row]) -> Outcome:
    """Judge whether MALLOC_ARENA_MAX=2 reduces the memory of threads: per thread, and after a crawl."""
    parked, parked_plain = by_variables(of_type(rows, Idle, "thread"))
    flying, flying_plain = by_variables(of_type(rows, Memory, "thread_pool"))
    crawled, crawled_plain = by_variables(arms(rows, "thread_pool"))
    of = "memory with the variable over memory without it"
    found = {
        "parked": slopes(cost(parked).full, cost(parked_plain).full),
        "flying": slopes(cost(flying).full, cost(flying_plain).full),
        "crawled": ratio(crawled, crawled_plain, resident_bytes),
    }
    named = {"parked": "per parked thread", "flying": "per thread in flight", "crawled": "process after a crawl"}
    parts = [compared(named[name], one, "below", LESS, "less", of=of) for name, one in found.items()]
    parts += [compared(named[name], one, "below", CURED, of=of, near=False) for name, one in found.items()]
    return outcome(rows, parts, values("_ratio", found))


def by_variables(rows: Iterable[R]) -> tuple[list[R], list[R]]:
    """Return the rows whose process had environment variables, and those without."""
    found: tuple[list[R], list[R]] = [], []
    for row in rows:
        settings = row.workload if row.kind == "idle" else row.workload.arm
        found[0 if settings is not None and settings.variables else 1].append(row)
    return found


def coroutine_memory(rows: Sequence[Row]) -> Outcome:
    """Judge which kinds of coroutines cost barely 3k."""
    costs = {name: cost(of_type(rows, Idle, name)) for name in COROUTINES}
    full = {name: slope(found.full) for name, found in costs.items()}
    user = {name: slope(found.user) for name, found in costs.items()}
    parts = [
        compared(COROUTINES[name], found, "below", BARELY, "tasks" if name in TASKS else "")
        for name, found in full.items()
    ]
    return outcome(rows, parts, values("_bytes", full) | values("_user_bytes", user))


def memory_ratio(rows: Sequence[Row]) -> Outcome:
    """Judge whether threads cost ten times as much as coroutines in all layers: parked, and in flight."""
    thread, task = (cost(of_type(rows, Idle, name)) for name in ("thread", "asyncio_task"))
    pool, asyncio = (cost(of_type(rows, Memory, name)) for name in ("thread_pool", "native_asyncio"))
    full = {"parked": slopes(thread.full, task.full), "flying": slopes(pool.full, asyncio.full)}
    user = {"parked": slopes(thread.user, task.user), "flying": slopes(pool.user, asyncio.user)}
    parts = [compared(_WHERE[name], one, "at least", ORDER, "any", of="all layers") for name, one in full.items()]
    published: dict[str, Value] = {"published_ratio": PUBLISHED_BYTES / 3000, "draft_ratio": DRAFT_BYTES / 3000}
    found = values("_user_ratio", user) | values("_full_ratio", full) | published
    shown = (f"user memory, {_WHERE[name]}: {one}" for name, one in user.items() if isinstance(one, Range))
    return outcome(rows, parts, found, shown)


def many_coroutines(rows: Sequence[Row]) -> Outcome:
    """Judge whether hundreds of thousands of coroutines start, each kind within a minute."""
    tried = [row for row in of_type(rows, Idle) if row.workload.n >= HUNDREDS_OF_THOUSANDS]
    started = [row for row in tried if row.valid]  # a check of each row says whether all were started
    parts = [part for name in PARKED for part in _started(name, [row for row in tried if row.strategy == name])]
    found: dict[str, Value] = {
        "most": max((row.workload.n for row in started), default=None),
        "slowest_ns": max((row.measured.start_ns or 0 for row in started), default=None),
        "largest_bytes": max((size_of(row, RSS) or 0 for row in started), default=None),
        "least_n": HUNDREDS_OF_THOUSANDS if started else None,
    }
    return outcome(tried, parts, found)


def _started(name: str, rows: Sequence[Idle]) -> list[Part]:
    """Return whether coroutines of a kind start, and within a minute; the figure is of the largest trial."""
    broken, valid = [row for row in rows if row.status != "ok"], [row for row in rows if row.valid]
    so = False if any(map(shows_a_limit, broken)) else True if valid and not broken else None
    starts = Part(COROUTINES[name], so, rule="start", core="any")
    if not valid:
        return [starts]
    slow = max(row.measured.start_ns or 0 for row in valid)
    most = max(row.workload.n for row in valid)
    largest = [row for row in valid if row.workload.n == most]
    time, size = max(row.measured.start_ns or 0 for row in largest), max(size_of(row, RSS) or 0 for row in largest)
    figure = f"{units.count(most)} in {units.duration(time, 2)}, {units.size(size, 2)}"
    quick = compared(COROUTINES[name], Range(slow, slow, slow, SPAN), "below", EASY_NS, of="time")
    return [replace(starts, figure=figure), replace(quick, figure="")]


def _by_ps(rows: Sequence[Idle]) -> Slope | NoSlope:
    """Return the slope of the resident memory that ps shows."""
    points = [(n_of(row), size) for row in rows if row.valid and (size := row.measured.ps_rss_bytes) is not None]
    return memory_slope(*zip(*points, strict=True)) if points else NoSlope("no valid row")
