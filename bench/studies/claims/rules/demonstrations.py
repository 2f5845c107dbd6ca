"""The claims that are true by construction, and whose figures show how: waiting, spinning, growing. Pure."""

from collections.abc import Sequence

from bench.core import units
from bench.core.cells import Read
from bench.core.rows import Row
from bench.studies.claims.rules.evidence import (
    Case,
    Range,
    arguments,
    between,
    is_absent,
    of_kind,
    over_rounds,
    strategies,
    timed,
)
from bench.studies.claims.rules.outcome import Outcome, Value, Word

UNDER_NS = 3_000_000_000
XKCD_PAGES = 1500
WASTES = 0.5
"""Who waits and uses half a core or more wastes power."""
RESTS = 0.05
"""Who waits and uses less than a twentieth of a core rests: waking up costs something as well."""
AT_ONCE_NS = 1_000_000_000
"""Ten thousand workers within a second are started at once: no user would notice more of them."""
ON_DEMAND = 0.1
"""A pool that grew on demand has at most a tenth of the threads that the cap allows, for a thousandth of the work."""
COROUTINES = ("generators", "native_asyncio")


def xkcd(rows: Sequence[Row]) -> Outcome:
    """Judge whether a site of 1,500 pages is visited in under three seconds, by each strategy."""
    own = [row for row in of_kind(rows, "crawl") if not is_absent(row)]
    spans = {
        name: found
        for name in strategies(own)
        if (found := over_rounds([row for row in own if row.strategy == name], _read("makespan_ns")))
    }
    sides = {name: found.side_of(UNDER_NS) for name, found in spans.items()}
    quick = [name for name, side in sides.items() if side == "below"]
    delays = ", ".join(sorted({units.latency(row.workload["latency"]) for row in own}))
    best = min(spans, key=lambda name: spans[name].value, default=None)
    case = Case(
        rows,
        f"{units.count(XKCD_PAGES)} pages, {delays}, {between([row.workload['in_flight'] for row in own])} in flight",
        {
            "quickest": best,
            "quickest_ns": spans[best].value if best else None,
            "slowest_ns": max((one.value for one in spans.values()), default=None),
            "slow": ", ".join(name for name, side in sides.items() if side != "below") or None,
            "pages_per_s": XKCD_PAGES / spans[best].value * 1e9 if best and spans[best].value else None,
        },
        [f"{name} {timed(one)}" for name, one in sorted(spans.items(), key=lambda item: item[1].value)],
        f"under {units.duration(UNDER_NS, 1)} in every round",
    )
    unsure = [name for name in strategies(own) if sides.get(name, "across") == "across"]
    if unsure or not sides:
        return case.undecided(f"not known of {', '.join(unsure) or 'any'}")
    verdict: Word = "holds" if len(quick) == len(sides) else "holds differently" if quick else "does not hold here"
    told = "all are" if verdict == "holds" else f"{', '.join(quick) or 'none'}"
    return case.decided(verdict, told, close=any(one.is_close_to(UNDER_NS) for one in spans.values()))


def spin_wastes(rows: Sequence[Row]) -> Outcome:
    """Judge whether polling in a tight loop burns a core where a selector rests, with one socket and with many."""
    own = of_kind(rows, "probe", "spin")
    spun, told = (arguments(own, how=how) for how in ("spin", "selector"))
    spin, rest = (over_rounds(some, _read("cpu_share")) for some in (spun, told))
    values: dict[str, Value] = {
        "spin_share": spin.value if spin else None,
        "selector_share": rest.value if rest else None,
        "factor": spin.value / rest.value if spin and rest and rest.value > 0 else None,
        "attempts": max((row.measured["attempts"] for row in spun if row.valid), default=None),
    }
    case = Case(
        own,
        f"waits of {_told(own, 'wait_ms')} ms for {_told(own, 'waits_for')}, on {_told(own, 'sockets')} sockets",
        values,
        [
            f"{name}: {found.value:.1%} ({found.low:.1%} to {found.high:.1%}) of a core while waiting"
            for name, found in (("spinning", spin), ("a selector", rest))
            if found
        ],
        f"wastes: {WASTES:.0%} of a core or more while it waits; a selector rests below {RESTS:.0%}",
    )
    if spin is None or rest is None:
        return case.undecided("too few valid rounds")
    sides = spin.side_of(WASTES), rest.side_of(RESTS)
    close = spin.is_close_to(WASTES) or rest.is_close_to(RESTS)
    if "across" in sides:
        return case.undecided("a range lies across its boundary")
    if sides[0] == "below":
        return case.decided("does not hold here", "spinning does not waste", close=close)
    if sides[1] == "above":
        return case.decided("holds differently", "no selector rests here", close=close)
    return case.decided("holds", "both as claimed", close=close)


def grow_on_demand(rows: Sequence[Row]) -> Outcome:
    """Judge whether the pool starts few threads for little work, and coroutines start all their workers at once."""
    own = of_kind(rows, "crawl")
    caps = sorted({row.workload["in_flight"] for row in own})
    few, most = (caps[0], caps[-1]) if caps else (0, 0)
    pages = max((row.workload["site"]["pages"] for row in own), default=0)
    threads = over_rounds(_at(own, "thread_pool", most), _read("peak_threads"))
    extra = {name: _extra(own, name, few, most, "makespan_ns") for name in COROUTINES}
    memory = {name: _extra(own, name, few, most, "uss_bytes") for name in COROUTINES}
    values: dict[str, Value] = {f"{name}_ns": one.value if one else None for name, one in extra.items()}
    values |= {f"{name}_bytes": one.value if one else None for name, one in memory.items()}
    figures = [f"pool: {units.count(round(threads.high))} threads at most"] if threads else []
    figures += [
        f"{name}: {timed(one)} more" + (f", {units.size(max(0.0, heavy.value), 2)}" if (heavy := memory[name]) else "")
        for name, one in extra.items()
        if one
    ]
    case = Case(
        own,
        f"{pages} pages of work, a cap of {units.count(most)} against one of {units.count(few)}",
        values | {"threads": threads.high if threads else None, "workers": most or None, "pages": pages or None},
        figures,
        f"on demand is at most {ON_DEMAND:.0%} of the threads that the cap allows; "
        f"at once is all {units.count(most)} workers within {units.duration(AT_ONCE_NS, 1)}",
    )
    times = [one for one in extra.values() if one is not None]
    if threads is None or len(times) < len(COROUTINES) or few == most:
        return case.undecided("too few valid rounds")
    sides = {one.side_of(AT_ONCE_NS) for one in times}
    if "across" in sides:
        return case.undecided("a range lies across the boundary")
    if threads.high > ON_DEMAND * most:
        return case.decided("does not hold here", "the pool did not wait for demand")
    close = any(one.is_close_to(AT_ONCE_NS) for one in times)
    if sides == {"below"}:
        return case.decided("holds", "both did", close=close)
    return case.decided("holds differently", "not all coroutines were there at once", close=close)


def _extra(rows: Sequence[Row], name: str, few: int, most: int, key: str) -> Range | None:
    """Return how much more the largest cap takes than the smallest one, at least and at most."""
    one, other = (over_rounds(_at(rows, name, cap), _read(key)) for cap in (most, few))
    if one is None or other is None:
        return None
    return Range(one.value - other.value, one.low - other.high, one.high - other.low)


def _at(rows: Sequence[Row], name: str, cap: int) -> list[Row]:
    return [row for row in rows if row.strategy == name and row.workload["in_flight"] == cap]


def _told(rows: Sequence[Row], argument: str) -> str:
    """Write which values an argument had."""
    told = (row.workload["arguments"].get(argument, row.measured.get(argument)) for row in rows)
    found = sorted({value for value in told if value is not None})
    return " and ".join(str(value) for value in found) or "no"


def _read(key: str) -> Read:
    return lambda row: row.measured.get(key)
