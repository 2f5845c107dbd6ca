"""The claims that small programs show: selectors and races (``bench/studies/probes/programs``). Pure."""

from collections.abc import Sequence

from bench.core import units
from bench.core.cells import cpu_per_page_ns
from bench.core.rows import Row
from bench.studies.claims.rules.evidence import Case, Range, arguments, between, of_kind, rated, ratio
from bench.studies.claims.rules.outcome import Outcome, Value

GROWS = 3.0
"""A price that triples with connections on which nothing happens does not scale with what happens."""
FLAT = 1.5
"""CPython hands epoll_wait() room for as many events as there are descriptors, which alone costs a little."""


def select_scales(rows: Sequence[Row]) -> Outcome:
    """Judge whether select and poll get dearer with idle connections, and epoll does not."""
    own = of_kind(rows, "probe", "selectors")
    idle = sorted({int(row.workload["arguments"]["idle"]) for row in own})
    poll, epoll = (_growth(arguments(own, selector=kind)) for kind in ("poll", "epoll"))
    growth = {"poll": poll, "epoll": epoll}
    stopped = [row for row in arguments(own, selector="select") if row.valid and row.measured.get("stopped_by")]
    by = sorted({str(row.measured["stopped_by"]) for row in stopped})
    figures = [
        f"{kind}: {rated(one)} the CPU time per page with {units.count(idle[-1])} idle ones as with none"
        for kind, one in growth.items()
        if one
    ]
    if stopped:
        at = min(int(row.workload["arguments"]["idle"]) for row in stopped)
        figures.append(f"select: stopped by {by[0]} at {units.count(at)} idle ones")
    values: dict[str, Value] = {f"{kind}_ratio": one.value if one else None for kind, one in growth.items()}
    case = Case(
        own,
        f"{between(idle)} idle connections, 10 fetches in flight",
        values | {"idle": max(idle, default=None), "stopped_by": by[0] if by else None},
        figures,
        f"does not scale: {units.times(GROWS)} the CPU time per page, or stopped; scales: at most {units.times(FLAT)}; "
        "by 95 % intervals",
    )
    if poll is None or epoll is None or not arguments(own, selector="select"):
        return case.undecided("too few valid rounds")
    sides = poll.side_of(GROWS), epoll.side_of(FLAT)
    close = poll.is_close_to(GROWS) or epoll.is_close_to(FLAT)
    if "across" in sides:
        return case.undecided("an interval lies across its boundary")
    if sides == ("above", "below") and stopped:
        return case.decided("holds", "select and poll do not, epoll does", close=close)
    if sides[0] == "below" and not stopped:
        return case.decided("does not hold here", "all of them do", close=close)
    return case.decided("holds differently", "not each of the three as claimed", close=close)


def races(rows: Sequence[Row]) -> Outcome:
    """Judge whether check-then-act without a lock goes wrong between threads, and never between coroutines' yields."""
    tried = of_kind(rows, "probe", "races")
    own = [row for row in tried if row.valid]
    most = {
        model: max((row.measured["duplicates"] for row in arguments(own, model=model)), default=None)
        for model in _MODELS
    }
    lost = max((row.measured["lost_updates"] for row in arguments(own, model="threads")), default=None)
    links = max((row.measured["links_seen"] for row in own), default=None)
    values: dict[str, Value] = {f"{model.replace('-', '_')}_duplicates": found for model, found in most.items()}
    figures = [f"{_MODELS[model]}: {units.count(found)}" for model, found in most.items() if found is not None]
    figures[:1] = [f"fetches too many by {figures[0]}"] if figures else []
    figures += [f"counts lost by threads: {units.count(lost)}"] if lost and not most["threads"] else []
    case = Case(
        tried,
        f"{units.count(links or 0)} looks at links by 8 workers, threads switched as often as CPython can",
        values | {"lost_updates": lost, "links": links},
        figures,
        "holds if unlocked threads fetch something more than once, and locked ones and coroutines never do",
    )
    missing = [model for model in _DECIDE if most[model] is None]
    if missing:
        return case.undecided(f"no valid row of {missing[0]}")
    if most["coroutines"] or most["asyncio"]:
        return case.decided("does not hold here", "coroutines did")
    if most["threads-locked"]:
        return case.undecided("locked threads fetched twice: the probe is not to be believed")
    if most["threads"]:
        return case.decided("holds", "that is what happened")
    if lost:
        return case.decided("holds differently", "threads lost counts, and fetched nothing twice")
    return case.undecided("no race was seen, which does not show that there is none")


_MODELS = {
    "threads": "threads",
    "threads-locked": "threads with a lock",
    "coroutines": "coroutines",
    "asyncio": "asyncio",
    "coroutines-yielding": "coroutines that yield in between",
}
_DECIDE = ("threads", "threads-locked", "coroutines", "asyncio")


def _growth(rows: Sequence[Row]) -> Range | None:
    """Return how many times the CPU time per page is with most idle connections, against none."""
    usable = [row for row in rows if row.valid and "stopped_by" not in row.measured]
    idle = sorted({int(row.workload["arguments"]["idle"]) for row in usable})
    if len(idle) < 2 or idle[0] != 0:
        return None
    return ratio(arguments(usable, idle=idle[-1]), arguments(usable, idle=0), cpu_per_page_ns)
