"""What the rows of memory, limits and claims say, as one sentence a plot: its title. Pure.

The rules are those of ``findings``: only valid trials count, a ratio needs intervals that do not meet and are narrow.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.analyse.layers import FULL
from bench.analyse.stats import Slope, Spread, differ
from bench.present import units, words
from bench.present.findings import NARROW
from bench.present.subjects import BLOCKS, IN_FLIGHT, PARKED, Subject

_STEADY = 0.02
"""A slope whose interval is within this share of it, up and down, is written with three digits; else two."""
_PAIR = ("thread", "asyncio_task")
"""The two building blocks that people compare."""
_PLURAL = frozenset({"thread", "generator", "asyncio_task"})
VERDICTS = ("holds", "holds differently", "does not hold here", "inconclusive", "not tested")
USER = "user memory"
_BY_INTEREST = (BLOCKS, IN_FLIGHT, PARKED)


def of_layers(found: Sequence[Subject]) -> str:
    """Compare what the dearest and the cheapest cost: blocks, if there are any, else strategies.

    In all layers; in user memory alone where only that is known of more than one.
    """
    for group in _BY_INTEREST:
        own = [subject for subject in found if subject.group == group]
        whole, user = ([(s, cost) for s in own if (cost := _straight(s, part))] for part in (FULL, USER))
        if len(whole) > 1 or (whole and len(user) < 2):
            return _costs(group, *_ends(whole), FULL)
        if user:
            return _costs(group, *_ends(user), USER)
    return "No slope of memory: nothing to conclude"


def of_ladder(found: Sequence[Subject]) -> str:
    """Say how much the largest numbers took: of the blocks that people compare, else of both ends."""
    for group in (BLOCKS, IN_FLIGHT):
        tops = [(s, max(points)) for s in found if s.group == group and (points := s.added(s.valid_rows))]
        if tops:
            tops.sort(key=lambda top: top[1][1] / max(1, top[1][0]))
            ends = _pair([s for s, _ in tops])
            low, high = (next(top for top in tops if top[0] is s) for s in ends)
            texts = [_top(*high, " in all layers"), *([] if low is high else [_top(*low)])]
            return "; ".join(texts) + _bends([s for s in found if s.group == group])
    return "No valid trial of all layers: nothing to conclude"


def of_ramp(measured: Mapping[str, Any]) -> str:
    """Say how many threads could be started, and what ended the ramp."""
    found, bound_by = measured.get("found"), limit_of(measured)
    number = f"{units.count(found)} threads" if isinstance(found, int) else "an unknown number of threads"
    number_first = number[0].upper() + number[1:]
    match measured.get("stopped_by"):
        case "failure" if bound_by.startswith("ambiguous"):
            return f"{number_first}, then no more; which limit bound is {bound_by}"
        case "failure":
            return f"{number_first}, then no more: {bound_by} is what binds"
        case "shared limit":
            return f"Stopped by itself at {number}: 90 % of what is left of {bound_by}, which other processes share"
        case stopped_by:
            return f"Stopped at {number} by the {words.plain(str(stopped_by), 30)}: no limit was reached"


def limit_of(measured: Mapping[str, Any]) -> str:
    """Return the name of the limit that bound; of a ramp that kept off it, of the lowest one that others share."""
    ceilings = measured.get("ceilings") or []
    shared = [ceiling for ceiling in ceilings if ceiling.get("shared")]
    name = measured.get("bound_by")
    if not name and measured.get("stopped_by") == "shared limit" and shared:
        name = min(shared, key=lambda ceiling: ceiling["most"])["name"]
    return words.plain(str(name or "a limit without a name"), 70)


def of_in_flight(number: int, reaches: Mapping[str, Mapping[str, Spread]], planned: int) -> str:
    """Say how many of the strategies held so many in flight in every setting, and how fast the first and the last.

    ``reaches`` has for each setting, by its name, what each strategy took that held all there.
    """
    everywhere = set.intersection(*(set(own) for own in reaches.values())) if reaches else set()
    if not everywhere:
        where = f" in all {len(reaches)} settings" if len(reaches) > 1 else ""
        return f"No strategy has valid trials with {units.count(number)} in flight{where}: nothing to conclude"
    who = "" if planned == 1 else f"{len(everywhere)} strategies hold "
    if len(everywhere) < planned:
        who = f"{len(everywhere)} of {planned} strategies {'holds' if len(everywhere) == 1 else 'hold'} "
    text = f"{who}{units.count(number)} fetches in flight at once"
    parts = [(name, _reached({one: own[one] for one in everywhere})) for name, own in reaches.items()]
    if len(parts) == 1:
        return f"{text}{parts[0][1]}"
    return f"{text}; {'; '.join(f'{name}{told}' for name, told in parts)}"


def _reached(reaches: Mapping[str, Spread]) -> str:
    """Say how fast the first and the last were, in one setting."""
    ordered = sorted(reaches.items(), key=lambda item: item[1].median)
    (first, soonest), (last, latest) = ordered[0], ordered[-1]
    once = " (one round)" if min(spread.rounds for spread in reaches.values()) == 1 else ""
    if first != last and differ(soonest, latest) != "differs" and not once:
        return f", within {_seconds(latest)} of the order"
    times = [
        f"{words.plain(name, 24)} after {_seconds(reach)}" for name, reach in dict(ordered[:1] + ordered[-1:]).items()
    ]
    return f": {', '.join(times)}{once}"


def of_claims(verdicts: Iterable[str], demonstrations: int = 0) -> str:
    """Count the verdicts on what was tested, from the best to none; say how many demonstrations there are besides."""
    counts = Counter(verdicts)
    if not counts:
        return "No claim was tested" + (f"; {_demonstrated(demonstrations)}" if demonstrations else "")
    total = sum(counts.values())
    parts = [
        (counts["holds"], "holds", "hold"),
        (counts["holds differently"], "holds differently", "hold differently"),
        (counts["does not hold here"], "does not hold here", "do not hold here"),
        (counts["inconclusive"], "is inconclusive", "are inconclusive"),
        (counts["not tested"], "was not tested", "were not tested"),
        (total - sum(counts[verdict] for verdict in VERDICTS), "has another verdict", "have another verdict"),
    ]
    texts = [f"{number} {one if number == 1 else many}" for number, one, many in parts if number]
    head = f"Of {total} claims, " if total > 1 else "Of one claim, "
    return head + words.listed(texts) + (f"; {_demonstrated(demonstrations)}" if demonstrations else "")


def _demonstrated(number: int) -> str:
    return f"{number} {'is a demonstration' if number == 1 else 'are demonstrations'}"


def size(slope: Slope) -> str:
    """Write a slope without its error, with the digits that it leaves."""
    error = max(slope.high - slope.per_fetch, slope.per_fetch - slope.low)
    return units.size(slope.per_fetch, 3 if error <= _STEADY * abs(slope.per_fetch) else 2)


def _costs(group: str, cheap: tuple[Subject, Slope], dear: tuple[Subject, Slope], part: str) -> str:
    what = "" if part == FULL else " of user memory"
    kernel = _kernel(dear[0]) if part == FULL else ""
    if group == BLOCKS:
        text = f"A parked {dear[0].name} costs {size(dear[1])}{what}{kernel}"
        other = f"; a parked {cheap[0].name} {size(cheap[1])}"
    else:
        state = "fetch in flight" if group == IN_FLIGHT else "parked worker"
        text = f"One more {state} costs {size(dear[1])}{what} with {dear[0].name}{kernel}"
        other = f"; {size(cheap[1])} with {cheap[0].name}"
    if cheap[0] is dear[0]:
        return text
    if cheap[1].high >= dear[1].low:
        return f"{text}{other}: the intervals overlap"
    if not (_is_narrow(cheap[1]) and _is_narrow(dear[1])):
        return text + other
    return f"{text}{other}: {units.times(dear[1].per_fetch / cheap[1].per_fetch)}"


def _kernel(subject: Subject) -> str:
    kernel = [slope for name, slope in subject.cost.layers.items() if name != "user" and isinstance(slope, Slope)]
    in_kernel = sum(slope.per_fetch for slope in kernel)
    full = subject.cost.full
    if not isinstance(full, Slope) or in_kernel < 0.05 * full.per_fetch:
        return ""
    return f", {units.size(in_kernel, 2)} of it in the kernel"


def _straight(subject: Subject, part: str) -> Slope | None:
    slope = subject.cost.full if part == FULL else subject.cost.user
    return slope if isinstance(slope, Slope) and slope.straight and slope.per_fetch > 0 else None


def _ends(sides: Sequence[tuple[Subject, Slope]]) -> tuple[tuple[Subject, Slope], tuple[Subject, Slope]]:
    """Return the cheaper side and the dearer one."""
    ordered = sorted(sides, key=lambda side: side[1].per_fetch)
    chosen = _pair([subject for subject, _ in ordered])
    one, other = (next(side for side in ordered if side[0] is subject) for subject in chosen)
    return (one, other) if one[1].per_fetch <= other[1].per_fetch else (other, one)


def _pair(ordered: Sequence[Subject]) -> tuple[Subject, Subject]:
    """Return the two to compare, of subjects in the order of their cost; with the shared stack, if possible."""
    known = {subject.strategy: subject for subject in ordered}
    if ordered[0].group == BLOCKS and set(_PAIR) <= set(known):
        return known[_PAIR[1]], known[_PAIR[0]]
    shared = [subject for subject in ordered if subject.stack == "shared"]
    chosen = shared if len(shared) > 1 else ordered
    return chosen[0], chosen[-1]


def _top(subject: Subject, point: tuple[int, int], where: str = "") -> str:
    n, taken = point
    if subject.group == BLOCKS:
        what = f"{subject.name}s" if subject.strategy in _PLURAL else f"x {subject.name}"
        return f"{units.count(n)} {what} take {units.size(taken, 3)}{where}"
    return f"{words.in_flight(n)} take {units.size(taken, 3)}{where} with {subject.name}"


def _bends(found: Sequence[Subject]) -> str:
    bent = [s.name for s in found if isinstance(s.cost.full, Slope) and not s.cost.full.straight]
    return f" (no straight line: {words.listed(bent[:3])})" if bent else ""


def _seconds(spread: Spread) -> str:
    return units.duration(spread.median, words.digits(spread))


def _is_narrow(slope: Slope) -> bool:
    return slope.high - slope.low <= NARROW * slope.per_fetch
