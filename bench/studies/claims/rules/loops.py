"""The claims on event loops and their layers: uvloop, streams, await, eager tasks. Pure.

Each is decided in blocks of arms, with small pages and with usual ones. A loop matters more if a page makes less work
outside of it, so small pages are the case in favour of these claims.
"""

from collections.abc import Iterable, Mapping, Sequence

from inflight.bench.core.cells import cpu_per_page_ns, lag_ns, pages_per_s
from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules.evidence import (
    PER_S,
    SPAN,
    Figure,
    Range,
    arms,
    of_subjects,
    over,
    over_rounds,
    ratio,
    values,
)
from inflight.bench.studies.claims.rules.parts import Part, compared, outcome
from inflight.bench.studies.claims.rules.speed import CPU, PAYS, SAME
from inflight.bench.studies.claims.verdicts import Outcome, Value

SITES = {"small": 1, "usual": 10}
"""Links per page of the two sites."""
TWICE = 2.0
"""Lower end of the published "2 to 4 times" and "2x to 5x"."""
USES = {
    "streams": ("native_asyncio", "uvloop_streams"),
    "protocols": ("asyncio_protocol", "uvloop_protocol"),
    "sockets": ("asyncio_sockets", "uvloop_sockets"),
}
"""How a connection is used, with the strategies on asyncio's loop and on uvloop's."""
CONVOYED = {"asyncio": "native_asyncio", "callbacks": "callbacks", "threads": "thread_pool"}
"""The names of the figures of convoy, with their strategies."""
TENTH, HUNDRED = 0.1, 100
"""Boundaries of convoy: a tenth of the pages per second, and about 100 of them, which is from half to twice that."""
PER_CPU_SECOND = "pages per second of CPU time"


def uvloop_faster(rows: Sequence[Row]) -> Outcome:
    """Judge whether the same coroutines fetch 2 to 4 times as many pages per second of CPU time on uvloop."""
    gains = {
        f"{site}_{use}": over(cell, asyncio, uvloop, cpu_per_page_ns)
        for site, cell in _cells(rows).items()
        for use, (asyncio, uvloop) in USES.items()
    }
    parts = _times_faster(gains, "uvloop over asyncio")
    decisive = of_subjects(rows, *(uvloop for _, uvloop in USES.values()))
    return outcome(decisive, parts, values("_ratio", gains) | _ends(gains.values()))


def streams_cost(rows: Sequence[Row]) -> Outcome:
    """Judge whether streams, and sockets used directly, need more CPU time per page than Protocols."""
    protocol, uvloop_protocol = USES["protocols"]
    cells = _cells(rows)
    dearer = {
        f"{site}_{use}": over(cell, USES[use][0], protocol, cpu_per_page_ns)
        for use in ("streams", "sockets")
        for site, cell in cells.items()
    }
    of = f"{CPU} over Protocols"
    parts = [compared(_told(name), found, "at least", PAYS, "dearer", of=of) for name, found in dearer.items()]
    on_uvloop = over(cells["usual"], USES["streams"][1], uvloop_protocol, cpu_per_page_ns)
    also = [f"usual pages, streams on uvloop: {on_uvloop}"] if isinstance(on_uvloop, Range) else []
    return outcome(rows, parts, values("_ratio", dearer | {"uvloop_streams": on_uvloop}), also)


def await_is_free(rows: Sequence[Row]) -> Outcome:
    """Judge whether await costs no more than yield from, on the same loop, by an equivalence test."""
    costs = {site: over(cell, "await_by_hand", "generators", cpu_per_page_ns) for site, cell in _cells(rows).items()}
    parts = [
        compared(_told(site), found, "below", SAME, "free", of=f"{CPU}, await over yield from")
        for site, found in costs.items()
    ]
    return outcome(rows, parts, values("_ratio", costs))


def eager_tasks(rows: Sequence[Row]) -> Outcome:
    """Judge whether eager tasks fetch 2 to 5 times as many pages per second of CPU time as scheduled ones."""
    gains = {site: over(cell, "asyncio_tasks", "eager_tasks", cpu_per_page_ns) for site, cell in _cells(rows).items()}
    version = next((str(row.knobs.python) for row in arms(rows, "eager_tasks") if row.valid), None)
    found = values("_ratio", gains) | {"python": version}
    decisive = of_subjects(rows, "eager_tasks")
    return outcome(decisive, _times_faster(gains, "eager over scheduled tasks"), found)


def convoy(rows: Sequence[Row]) -> Outcome:
    """Judge whether a loop beside a thread that computes fetches about 100 pages per second, a tenth of those alone.

    The lateness of a timer, in arms of their own, with the global lock and without it, completes the answer.
    """
    decisive = [row for row in rows if not row.workload.arm.lag]
    late = {
        f"{name}_{where}_{side}": over_rounds(_beside(own, strategy, is_busy=side == "beside"), lag_ns, SPAN)
        for where, own in _lagging(rows).items()
        for name, strategy in CONVOYED.items()
        for side in ("alone", "beside")
    }
    busy = {name: _beside(decisive, strategy, is_busy=True) for name, strategy in CONVOYED.items()}
    rates = {name: over_rounds(own, pages_per_s, PER_S) for name, own in busy.items()}
    left = {
        name: ratio(busy[name], _beside(decisive, strategy, is_busy=False), pages_per_s)
        for name, strategy in CONVOYED.items()
    }
    of, told = "pages per second beside the thread", "asyncio"
    parts = [
        compared(told, left["asyncio"], "below", TENTH, "slowed down", of=f"{of} over those alone"),
        compared(told, rates["asyncio"], "at least", HUNDRED / 2, of=of),
        compared(told, rates["asyncio"], "below", HUNDRED * 2, of=of),
    ]
    others = [f"{name}: {found}" for name, found in rates.items() if name != told and isinstance(found, Range)]
    others += [f"timer late, {name}: {found}" for name, found in _told_lags(late).items()]
    found = values("_per_s", rates) | values("_ratio", left) | values("_lag_ns", late)
    return outcome(decisive, parts, found, others)


def _told_lags(late: Mapping[str, Figure]) -> dict[str, Range]:
    """Return the lateness of the timers of asyncio by their names as text, as far as they are known."""
    return {
        name.replace("_locked_", " with the lock, ").replace("_free_", " without the lock, "): found
        for name, found in late.items()
        if name.startswith("asyncio") and isinstance(found, Range)
    }


def _lagging(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the arms whose lag was measured: with the global lock, and without it."""
    found = [row for row in arms(rows) if row.workload.arm.lag]
    return {
        "locked": [row for row in found if row.workload.arm.python is None],
        "free": [row for row in found if row.workload.arm.python is not None and row.knobs.gil is False],
    }


def _beside(rows: Sequence[Row], strategy: str, *, is_busy: bool) -> list[Row]:
    """Return the arms of a strategy with or without a thread that computes."""
    return [row for row in arms(rows, strategy) if bool(row.workload.arm.busy_threads) is is_busy]


def _cells(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the arms by site."""
    return {site: [row for row in arms(rows) if row.workload.site.links == links] for site, links in SITES.items()}


def _times_faster(gains: Mapping[str, Figure], of: str) -> list[Part]:
    """Return two parts per gain: faster at all, which is the core of the claim, and twice as fast."""
    return [
        compared(_told(name), found, "at least", edge, core, of=f"{PER_CPU_SECOND}, {of}")
        for edge, core in ((PAYS, "faster"), (TWICE, ""))
        for name, found in gains.items()
    ]


def _told(name: str) -> str:
    """Return a name such as ``small_streams`` as text."""
    site, _, use = name.partition("_")
    return f"{site} pages" + (f", {use}" if use else "")


def _ends(found: Iterable[Figure]) -> dict[str, Value]:
    known = [one.value for one in found if isinstance(one, Range)]
    return {"least_ratio": min(known, default=None), "most_ratio": max(known, default=None)}
