"""The claims on interpreters: the global lock, versions, the garbage collector. Pure.

Each is decided in blocks in which one model is compared with itself on another interpreter, or on more cores.

Claims on a second core are about machines on which it is free. Other programs take it for some hundred milliseconds,
and then threads without the lock wait for those of their own that were stopped. So these claims look at the freest
slices only: those of an arm, in all its blocks, in which its worker had most CPU time. Which ones these are does not
depend on the pages. Free slices of two arms are seldom in the same block, so they are no pairs.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from inflight.bench.core.cells import Read, cpu_per_page_ns
from inflight.bench.plan.arm import FREE_THREADED, GENERATIONAL, INCREMENTAL, NEWEST, OLDEST, WITH_THE_LOCK
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules.evidence import (
    SHARE,
    Figure,
    arms,
    over_rounds,
    ratio,
    ratio_of,
    resident_bytes,
    value,
    values,
)
from inflight.bench.studies.claims.rules.parts import Part, compared, outcome
from inflight.bench.studies.claims.rules.speed import CPU, PAYS
from inflight.bench.studies.claims.verdicts import Outcome, Value

BUILDS = (FREE_THREADED, WITH_THE_LOCK)
CORE = ("callbacks", "native_asyncio", "thread_pool")
"""The models that the claims on versions and builds look at; each is the simplest of its kind."""
SCALING = ("thread_pool", "loop_per_thread")
"""The models of free-threading-scales."""
FREEST, LEAST_SLICES = 24, 3
"""The freest slices of an arm are one in so many, and at least so many."""
FREE = 0.9
"""Minimum share of a core for threads with the lock; with less, others used the cores, and no gain says nothing."""
PUBLISHED_COST = 1.10
"""The upper end of the published cost of a free-threaded build."""
SECOND_CORE = 1.25
"""Minimum ratio that counts as use of a second core, on which the server runs, too."""
MORE_MEMORY = 1.25
"""Minimum ratio of memory that counts as a price of the incremental collector; versions differ by about a tenth."""


def no_gil(rows: Sequence[Row]) -> Outcome:
    """Judge whether threads do better without a global lock: the gain on two cores, and the price on one."""
    gain = _when_free(*(_of(_on(rows, cores=2), build) for build in BUILDS))
    price = _between(*BUILDS, _on(rows, cores=1), cpu_per_page_ns)
    share = _share(_on(rows, cores=2))
    gains = compared("two cores", gain, "at least", PAYS, "gain", of="pages/s without the lock over pages/s with it")
    pays = compared(
        "one core", price, "not clearly above", PAYS, of=f"{CPU} without the lock over that with it", near=False
    )
    found = values("_ratio", {"gain": gain, "price": price})
    return outcome(rows, [_if_free(gains, share), pays], found | _versions(rows, python=FREE_THREADED), _told(share))


def free_threading_cost(rows: Sequence[Row]) -> Outcome:
    """Judge for each model whether a free-threaded build needs at most 10 % more CPU time per page on one core."""
    costs = {name: _between(*BUILDS, arms(rows, name), cpu_per_page_ns) for name in CORE}
    of = f"{CPU}, free-threaded build over build with the lock"
    parts = [compared(name, found, "below", PUBLISHED_COST, "cheap", of=of) for name, found in costs.items()]
    return outcome(rows, parts, values("_ratio", costs) | _versions(rows, python=FREE_THREADED))


def free_threading_scales(rows: Sequence[Row]) -> Outcome:
    """Judge whether threads fetch more pages on two cores than on one without the lock, and not with it."""
    free, locked = (
        {name: _speed_up(_of(rows, python), name) for name in SCALING} for python in (FREE_THREADED, WITH_THE_LOCK)
    )
    share = _share(_on(rows, cores=2))
    of = "pages/s on two cores over one"
    parts = [
        _if_free(compared(name, found, "at least", SECOND_CORE, "scales", of=f"{of}, without the lock"), share)
        for name, found in free.items()
    ]
    parts += [
        compared(name, found, "below", SECOND_CORE, of=f"{of}, with the lock", near=False)
        for name, found in locked.items()
    ]
    found = values("_ratio", free) | values("_locked_ratio", locked)
    return outcome(rows, parts, found | _versions(rows, python=FREE_THREADED), _told(share))


def newer_is_faster(rows: Sequence[Row]) -> Outcome:
    """Judge for each model whether the newest release fetches more pages per second of CPU time than the oldest."""
    gains = {name: _between(OLDEST, NEWEST, arms(rows, name), cpu_per_page_ns) for name in CORE}
    parts = [
        compared(name, found, "at least", PAYS, "faster", of="pages per second of CPU time, newest over oldest")
        for name, found in gains.items()
    ]
    return outcome(rows, parts, values("_ratio", gains) | _versions(rows, oldest=OLDEST, newest=NEWEST))


def incremental_gc_memory(rows: Sequence[Row]) -> Outcome:
    """Judge whether a process with the incremental collector has clearly more memory after it has crawled."""
    uses = {"kept": "keep-alive", "fresh": "per-fetch"}
    heavier = {
        name: _between(INCREMENTAL, GENERATIONAL, arms(rows, connection=use), resident_bytes)
        for name, use in uses.items()
    }
    of = "resident memory, incremental over generational"
    parts = [compared(uses[name], found, "at least", MORE_MEMORY, "more", of=of) for name, found in heavier.items()]
    versions = _versions(rows, incremental=INCREMENTAL, generational=GENERATIONAL)
    return outcome(rows, parts, values("_ratio", heavier) | versions)


def _when_free(one: Iterable[Row], other: Iterable[Row]) -> Figure:
    """Return the ratio of pages per second in the freest slices of two arms, with its 95 % interval by Welch's t."""
    logs = [
        {(side, number): math.log(rate) for number, rate in enumerate(_free_rates(rows)) if rate}
        for side, rows in enumerate((one, other))
    ]
    return ratio_of(*logs)


def _free_rates(rows: Iterable[Row]) -> list[float]:
    """Return the pages per second of each of the freest slices of an arm in all its blocks."""
    slices: list[Any] = [each for row in rows if row.valid for each in row.measured.windows or ()]
    slices.sort(key=lambda each: each.cpu_ns / each.wall_ns, reverse=True)
    return [each.pages / each.wall_ns * 1e9 for each in slices[: max(LEAST_SLICES, len(slices) // FREEST)]]


def _of(rows: Iterable[Row], python: str) -> list[Row]:
    """Return the arms on an interpreter by its name in the experiment."""
    return [row for row in arms(rows) if row.workload.arm.python == python]


def _on(rows: Iterable[Row], *, cores: int) -> list[Row]:
    """Return the arms on this many cores."""
    return [row for row in arms(rows) if (row.workload.arm.cores or 1) == cores]


def _between(one: str, other: str, rows: Sequence[Row], read: Read) -> Figure:
    """Return the ratio of a figure on one interpreter to that on another, by their names in the experiment."""
    return ratio(_of(rows, one), _of(rows, other), read)


def _speed_up(rows: Iterable[Row], strategy: str) -> Figure:
    own = arms(rows, strategy)
    return _when_free(_on(own, cores=2), _on(own, cores=1))


def _share(rows: Iterable[Row]) -> Figure:
    """Return the share of a core that threads with the lock had where two cores were theirs."""
    return over_rounds(_of(rows, WITH_THE_LOCK), lambda row: row.measured.cpu_share, SHARE, 1)


def _if_free(part: Part, share: Figure) -> Part:
    """Return a part that is unknown instead of false if the cores were not free."""
    return replace(part, so=None) if part.so is False and not _is_free(share) else part


def _told(share: Figure) -> list[str]:
    return [] if _is_free(share) else [f"share of a core that threads with the lock had: {share}"]


def _is_free(share: Figure) -> bool:
    return (value(share) or 0) >= FREE


def _versions(rows: Iterable[Row], **pythons: str) -> dict[str, Value]:
    """Return the versions of interpreters, which are given by their names in the experiment."""
    own = list(rows)
    return {
        name: next((str(row.knobs.python) for row in _of(own, python) if row.valid), None)
        for name, python in pythons.items()
    }
