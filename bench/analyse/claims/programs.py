"""The claims that small programs show: spinning, selectors, pools, races (``bench/probes``). Pure."""

from collections.abc import Iterable, Sequence

from bench.analyse.cells import Read, cpu_per_page_ns
from bench.analyse.claims.evidence import (
    LEAST_ROUNDS,
    Range,
    between,
    crawls,
    decided,
    difference,
    inconclusive,
    of_kind,
    of_spread,
    rated,
    ratio,
    spread_of,
    why_too_little,
)
from bench.analyse.claims.outcome import Outcome, Value, Word
from bench.analyse.stats import Spread
from bench.present import units
from bench.rows import Row

WASTES = 0.5
"""Who waits and uses half a core or more wastes power."""
RESTS = 0.05
"""Who waits and uses less than a twentieth of a core rests: waking up costs something as well."""
GROWS = 3.0
"""A price that triples with connections on which nothing happens does not scale with what happens."""
FLAT = 1.5
"""CPython hands epoll_wait() room for as many events as there are descriptors, which alone costs a little."""
PAYS = 1.05
"""A saving below a twentieth is none that anybody would build a pool for."""
NO_LATENCY = "0"


def spin_wastes(rows: Sequence[Row]) -> Outcome:
    """Judge whether polling in a tight loop burns a core where a selector rests, with one socket and with many."""
    own = of_kind(rows, "probe", "spin")
    spun, told = (_where(own, how=how) for how in ("spin", "selector"))
    spin, rest = (spread_of(_usable(some), _share) for some in (spun, told))
    region = f"waits of {_told(own, 'wait_ms')} ms for {_told(own, 'waits_for')}, on {_told(own, 'sockets')} sockets"
    values: dict[str, Value] = {
        "spin_share": spin.median if spin else None,
        "selector_share": rest.median if rest else None,
        "factor": spin.median / rest.median if spin and rest and rest.median > 0 else None,
        "attempts": max((row.measured["attempts"] for row in _usable(spun)), default=None),
    }
    figures = [
        f"{name}: {_percent(found)} of a core while waiting"
        for name, found in (("spinning", spin), ("a selector", rest))
        if found
    ]
    rule = f"wastes: {WASTES:.0%} of a core or more while it waits; a selector rests below {RESTS:.0%}"
    if spin is None or rest is None or min(spin.rounds, rest.rounds) < LEAST_ROUNDS:
        return inconclusive(own, region, values, f"too few valid rounds; {why_too_little(own)}", "; ".join(figures))
    sides = of_spread(spin).side_of(WASTES), of_spread(rest).side_of(RESTS)
    close = of_spread(spin).is_close_to(WASTES) or of_spread(rest).is_close_to(RESTS)
    if "across" in sides:
        return inconclusive(own, region, values, f"a range lies across its boundary: {rule}", "; ".join(figures))
    if sides[0] == "below":
        return decided("does not hold here", figures, region, values, f"{rule}; spinning does not waste", close=close)
    if sides[1] == "above":
        return decided("holds differently", figures, region, values, f"{rule}; no selector rests here", close=close)
    return decided("holds", figures, region, values, f"{rule}; both as claimed", close=close)


def select_scales(rows: Sequence[Row]) -> Outcome:
    """Judge whether select and poll get dearer with idle connections, and epoll does not."""
    own = of_kind(rows, "probe", "selectors")
    idle = sorted({int(row.workload["arguments"]["idle"]) for row in own})
    region = f"{between(idle)} idle connections, 10 fetches in flight"
    growth = {kind: _growth(_where(own, selector=kind)) for kind in ("poll", "epoll")}
    stopped = [row for row in _where(own, selector="select") if row.valid and row.measured.get("stopped_by")]
    by = sorted({str(row.measured["stopped_by"]) for row in stopped})
    values: dict[str, Value] = {f"{kind}_ratio": one.value if one else None for kind, one in growth.items()}
    values |= {"idle": max(idle, default=None), "stopped_by": by[0] if by else None}
    figures = [
        f"{kind}: {rated(one)} the CPU time a page with {units.count(max(idle))} idle ones as with none"
        for kind, one in growth.items()
        if one
    ]
    if stopped:
        at = min(int(row.workload["arguments"]["idle"]) for row in stopped)
        figures.append(f"select: stopped by {by[0]} at {units.count(at)} idle ones")
    rule = f"does not scale: {units.times(GROWS)} the CPU time a page, or stopped; scales: at most {units.times(FLAT)}"
    poll, epoll = growth["poll"], growth["epoll"]
    if poll is None or epoll is None or not _where(own, selector="select"):
        return inconclusive(own, region, values, f"too few valid rounds; {why_too_little(own)}", "; ".join(figures))
    close = poll.is_close_to(GROWS) or epoll.is_close_to(FLAT)
    sides = poll.side_of(GROWS), epoll.side_of(FLAT)
    if sides[0] == "across" or sides[1] == "across":
        return inconclusive(own, region, values, f"a range lies across its boundary: {rule}", "; ".join(figures))
    if sides == ("above", "below") and stopped:
        return decided("holds", figures, region, values, f"{rule}; select and poll do not, epoll does", close=close)
    if sides[0] == "below" and not stopped:
        return decided("does not hold here", figures, region, values, f"{rule}; all of them do", close=close)
    reason = f"{rule}; not each of the three as claimed"
    return decided("holds differently", figures, region, values, reason, close=close)


def pooling_pays(rows: Sequence[Row]) -> Outcome:
    """Judge whether keeping connections saves CPU time, and whether keeping threads does."""
    own = of_kind(rows, "probe", "thread_per_fetch")
    pool = {
        use: spread_of(_where(own, how="pool", connection=use), cpu_per_page_ns) for use in ("keep-alive", "per-fetch")
    }
    each = spread_of(_where(own, how="thread-per-fetch", connection="per-fetch"), cpu_per_page_ns)
    sides = {"connections": (pool["per-fetch"], pool["keep-alive"]), "threads": (each, pool["per-fetch"])}
    for name in ("callbacks", "native_asyncio"):
        cells = [spread_of(_crawls(rows, name, use), cpu_per_page_ns) for use in ("per-fetch", "keep-alive")]
        if _pays(cells[0], cells[1]) is not None:  # two more examples, where they are known
            sides[f"connections of {name}"] = (cells[0], cells[1])
    found = {name: one for name, pair in sides.items() if pair[0] and pair[1] and (one := ratio(pair[0], pair[1]))}
    values: dict[str, Value] = {
        "connections_ratio": found["connections"].value if "connections" in found else None,
        "threads_ratio": found["threads"].value if "threads" in found else None,
        "kept_ns": pool["keep-alive"].median if pool["keep-alive"] else None,
        "each_ns": each.median if each else None,
    }
    region = f"no added latency, {_told(own, 'in_flight')} in flight; connections also at 100 in flight"
    figures = [f"without kept {name}: {rated(one)} the CPU time a page" for name, one in found.items()]
    rule = f"pays: more than {units.times(PAYS, 3)} the CPU time a page without, by more than chance explains"
    words = {name: _pays(*pair) for name, pair in sides.items()}
    unsure = [name for name, word in words.items() if word is None]
    if unsure:
        reason = f"not known of {', '.join(unsure)}: {rule}; {why_too_little(rows)}"
        return inconclusive(rows, region, values, reason, "; ".join(figures))
    paying = [name for name, word in words.items() if word]
    close = any(found[name].is_close_to(PAYS) for name in found)
    verdict: Word = "holds" if len(paying) == len(words) else "holds differently" if paying else "does not hold here"
    told = "all of it does" if verdict == "holds" else f"{', '.join(paying) or 'nothing'}"
    return decided(verdict, figures, region, values, f"{rule}; {told}", close=close)


def races(rows: Sequence[Row]) -> Outcome:
    """Judge whether check-then-act without a lock goes wrong between threads, and never between coroutines' yields."""
    own = [row for row in of_kind(rows, "probe", "races") if row.valid]
    most = {
        model: max((row.measured["duplicates"] for row in _where(own, model=model)), default=None) for model in _MODELS
    }
    lost = max((row.measured["lost_updates"] for row in _where(own, model="threads")), default=None)
    links = max((row.measured["links_seen"] for row in own), default=None)
    region = f"{units.count(links or 0)} looks at links by 8 workers, threads switched as often as CPython can"
    values: dict[str, Value] = {f"{model.replace('-', '_')}_duplicates": found for model, found in most.items()}
    values |= {"lost_updates": lost, "links": links}
    figures = [f"{_MODELS[model]}: {units.count(found)}" for model, found in most.items() if found is not None]
    figures[:1] = [f"fetches too many by {figures[0]}"] if figures else []
    rule = "holds if unlocked threads fetch something more than once, and locked ones and coroutines never do"
    told = {model: found for model, found in most.items() if model in _DECIDE}
    if None in told.values():
        missing = next(model for model, found in told.items() if found is None)
        reason = f"no valid row of {missing}; {why_too_little(of_kind(rows, 'probe', 'races'))}"
        return inconclusive(own, region, values, reason, "; ".join(figures))
    if most["coroutines"] or most["asyncio"]:
        return decided("does not hold here", figures, region, values, f"{rule}; coroutines did")
    if most["threads-locked"]:
        return inconclusive(
            own, region, values, "locked threads fetched twice: the probe is not to be believed", "; ".join(figures)
        )
    if most["threads"]:
        return decided("holds", figures, region, values, f"{rule}; that is what happened")
    if lost:
        figures.append(f"{units.count(lost)} counts lost by threads")
        return decided(
            "holds differently", figures, region, values, f"{rule}; threads lost counts, and fetched nothing twice"
        )
    return inconclusive(
        own, region, values, "no race was seen, which does not show that there is none", "; ".join(figures)
    )


_MODELS = {
    "threads": "threads",
    "threads-locked": "threads with a lock",
    "coroutines": "coroutines",
    "asyncio": "asyncio",
    "coroutines-yielding": "coroutines that yield in between",
}
_DECIDE = ("threads", "threads-locked", "coroutines", "asyncio")


def _growth(rows: Sequence[Row]) -> Range | None:
    """Return how many times the CPU time a page is with most idle connections, against none."""
    usable = _usable(rows)
    idle = sorted({int(row.workload["arguments"]["idle"]) for row in usable})
    if len(idle) < 2 or idle[0] != 0:
        return None
    none, most = (spread_of(_where(usable, idle=n), cpu_per_page_ns) for n in (0, idle[-1]))
    if none is None or most is None or min(none.rounds, most.rounds) < LEAST_ROUNDS:
        return None
    return ratio(most, none)


def _pays(without: Spread | None, with_it: Spread | None) -> bool | None:
    """Tell whether keeping something saves CPU time; None when that is not known."""
    if without is None or with_it is None:
        return None
    word = difference(without, with_it)
    if word in {"unknown", "unclear"}:
        return None
    return word == "more" and without.median > PAYS * with_it.median


def _crawls(rows: Sequence[Row], name: str, use: str) -> list[Row]:
    caps = {row.workload["in_flight"] for row in of_kind(rows, "crawl", name)}
    return [row for cap in caps for row in crawls(rows, name, NO_LATENCY, cap, use)]


def _where(rows: Iterable[Row], **arguments: object) -> list[Row]:
    """Return the rows of the probe's runs that had these arguments."""
    return [row for row in rows if arguments.items() <= row.workload["arguments"].items()]


def _usable(rows: Iterable[Row]) -> list[Row]:
    """Return the valid rows that came to their end, rather than being stopped by a limit."""
    return [row for row in rows if row.valid and "stopped_by" not in row.measured]


def _told(rows: Sequence[Row], argument: str) -> str:
    """Write which values an argument had."""
    told = (row.workload["arguments"].get(argument, row.measured.get(argument)) for row in rows)
    found = sorted({value for value in told if value is not None})
    return " and ".join(str(value) for value in found) or "no"


def _percent(found: Spread) -> str:
    return f"{found.median:.1%} ({found.low:.1%} to {found.high:.1%})"


_share: Read = lambda row: row.measured.get("cpu_share")  # noqa: E731  (a reading, as those of bench.analyse.cells)
