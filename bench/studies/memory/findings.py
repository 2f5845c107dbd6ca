"""What the rows of memory say, as one sentence a plot: its title. Pure.

Only valid trials count; a ratio needs intervals that do not meet and are narrow.
"""

from collections.abc import Mapping, Sequence

from bench.core import units
from bench.core.figures import NoSlope, Slope, Spread, differ
from bench.core.layers import FULL
from bench.present import words
from bench.studies.memory.subjects import BLOCKS, IN_FLIGHT, PARKED, Subject

NARROW = 0.4
"""Slopes whose interval is wider than this share of them are not made into a ratio."""
_STEADY = 0.02
"""A slope whose interval is within this share of it, up and down, is written with three digits; else two."""
_PAIR = ("thread", "asyncio_task")
"""The two building blocks that people compare."""
_PLURAL = frozenset({"thread", "generator", "asyncio_task"})
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


def of_user_memory(slopes: Mapping[str, tuple[str, Slope | NoSlope]]) -> str:
    """Compare the least and the greatest memory slope; ``slopes``: strategy to (stack, slope)."""
    fitted = {name: (stack, slope) for name, (stack, slope) in slopes.items() if isinstance(slope, Slope)}
    straight = {name: (stack, slope) for name, (stack, slope) in fitted.items() if slope.straight}
    if not straight:
        return "No straight line of memory: ranges only" if fitted else "No memory slope: nothing to conclude"
    shared = {name: slope for name, (stack, slope) in straight.items() if stack == "shared"}
    chosen = shared if len(shared) > 1 else {name: slope for name, (_, slope) in straight.items()}
    (low, least), *_, (high, most) = sorted((*chosen.items(), *chosen.items()), key=lambda item: item[1].per_fetch)
    text = f"One more fetch in flight takes {words.memory(least)} of user memory with {words.plain(low, 30)}"
    if low == high:
        return text
    if least.high >= most.low:
        return f"{text}, {words.memory(most)} with {words.plain(high, 30)}: the intervals overlap"
    ratio = f": {units.times(most.per_fetch / least.per_fetch)}" if _is_narrow(least) and _is_narrow(most) else ""
    return f"{text}, {words.memory(most)} with {words.plain(high, 30)}{ratio}"


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
