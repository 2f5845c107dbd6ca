"""What the timed crawls answer, in sentences: when more in flight help, which model is fastest, what CPU work changes.

A difference is named only where chance does not explain that the two which are farthest apart are (``extremes``), and
models are compared with models: clients with an HTTP stack of their own have a sentence apart, because their parsers
would be compared too. Pure.
"""

from collections.abc import Sequence
from itertools import takewhile
from statistics import median

from bench.core import cells as c
from bench.core import extremes, units
from bench.core.cells import Cell
from bench.core.columns import choose_caps, usual_cap
from bench.core.figures import Spread, differ
from bench.core.model import FULL, Fit, core_share, fit
from bench.core.stats import Logs, differs
from bench.present import words
from bench.studies.throughput.scene import ALIKE, Level, Scene, best_of, by_cap, comparable, levels, rate_of

MOST_NAMES = 3
MOST_FITS = 4


def of_waiting(seen: Scene) -> str | None:
    """Say what more in flight bring the fastest model, where there is most waiting and where there is least."""
    best = best_of(seen.cells, seen.longest)
    own = list(by_cap(seen.cells, best, seen.longest).values())
    if len(own) < 2:
        return None
    few, many = own[0], own[-1]
    added = "" if seen.longest == "0" else " of added latency"
    text = (
        f"{words.at_latency(seen.longest)}{added}{_work(few)}, {words.in_flight(many.in_flight)} bring {_name(best)} "
        f"{_gained(few, many)} the pages/s of {units.count(few.in_flight)}{_once(rate_of(few), rate_of(many))}"
    )
    short = list(by_cap(seen.cells, best, seen.shortest).values())
    if seen.shortest != seen.longest and len(short) > 1:
        caps = (short[-1].in_flight, short[0].in_flight)
        against = "" if caps == (many.in_flight, few.in_flight) else f" ({caps[0]:,} against {caps[1]:,})"
        text += f"; {words.at_latency(seen.shortest)}, {_gained(short[0], short[-1])}{against}"
    return text + _one_at_a_time(seen)


def of_models(seen: Scene) -> str | None:
    """Say up to how many in flight the models fetch alike, and who is fastest and slowest beyond."""
    found = comparable(seen.cells, seen.longest)
    if not found:
        return None
    alike = list(takewhile(lambda level: level.is_alike, found))
    rest = found[len(alike) :]
    parts = [_alike(alike, "the models" if seen.cells[0].stack == "shared" else "the clients")] if alike else []
    if len(rest) > 1 and all(level.differs for level in rest):
        parts.append(f"from {units.count(rest[0].in_flight)} on they differ")
    if rest:
        shown = next((level for level in reversed(rest) if level.differs), rest[-1])
        parts.append(f"with {words.in_flight(shown.in_flight)} {_ends(shown)}")
    return f"{words.at_latency(seen.longest)}{_work(seen.cells[0])}, {'; '.join(parts)}{_full_core(seen, found[-1])}"


def of_cpu(seen: Scene) -> str | None:
    """Say who is fastest and slowest where there is least waiting, and what CPU time a page takes."""
    level = _usual(comparable(seen.cells, seen.shortest) or levels(seen.cells, seen.shortest))
    is_told = seen.shortest == seen.longest and len(level.cells) > 1
    told = [*([] if is_told else [_ends(level)]), *_costs(level)]
    if not told:
        return None
    where = f"{words.at_latency(seen.shortest)}{_work(level.cells[0])} with {words.in_flight(level.in_flight)}"
    full = ", every core full" if all(_core(cell) >= FULL for cell in level.cells) else ""
    return f"{where}{full}, {'; '.join(told)}"


def of_clients(seen: Scene) -> str | None:
    """Say how fast the clients with an HTTP stack of their own are, where there is least waiting."""
    if not seen.clients:
        return None
    latency = c.latencies(seen.clients)[0]
    level = _usual(levels(seen.clients, latency))
    where = f"{words.at_latency(latency)} with {words.in_flight(level.in_flight)}"
    told = "; ".join([_ends(level), *_costs(level)])
    return f"clients with an HTTP stack of their own are compared apart: {where}, {told}"


def of_work(seen: Scene) -> str | None:
    """Say how the gain of more in flight, and the fastest model's lead, change with the CPU work of a page."""
    shared = set.intersection(*({cell.latency for cell in own} for own in seen.works))
    if len(seen.works) < 2 or not shared:
        return None
    latency = [one for one in c.latencies(seen.cells) if one in shared][-1]
    return "; ".join(filter(None, [_gains(seen, latency), _leads(seen, latency)])) or None


def _gains(seen: Scene, latency: str) -> str:
    best = best_of(seen.cells, latency)
    own = [by_cap(cells, best, latency) for cells in _some(seen.works)]
    caps = sorted(set.intersection(*map(set, own)))
    if len(caps) < 2:
        return ""
    ends = [(cells[caps[0]], cells[caps[-1]]) for cells in own]
    one, other = rate_of(ends[0][0]), rate_of(ends[0][1])
    last_one, last_other = (rate_of(cell) for cell in ends[-1])
    several = min(one.rounds, other.rounds, last_one.rounds, last_other.rounds) > 1
    gain, last_gain = _gain(one, other), _gain(last_one, last_other)
    less = other.median / one.median > last_other.median / last_one.median and differs(gain, last_gain) == "differs"
    head = "the more CPU work a page takes, the less more in flight bring: " if less else ""
    first, *others = [f"{_gained(*pair)}{{}} {_with_work(pair[0])}" for pair in ends]
    gains = words.listed([first.format(" the pages/s"), *(text.format("") for text in others)])
    return (
        f"{head}{words.at_latency(latency)}, {words.in_flight(caps[-1])} instead of {units.count(caps[0])} bring "
        f"{_name(best)} {gains}{'' if several else ' (one round)'}"
    )


def _gain(few: Spread, many: Spread) -> Logs:
    return {block: many.logs[block] - few.logs[block] for block in few.logs.keys() & many.logs.keys()}


def _leads(seen: Scene, latency: str) -> str:
    found = [{level.in_flight: level for level in comparable(cells, latency)} for cells in _some(seen.works)]
    caps = set.intersection(*map(set, found))
    if not caps:
        return ""
    tops = [own[max(caps)] for own in found]
    leads = [f"{_lead(level)} {_with_work(level.cells[0])}" for level in tops]
    once = _once(*(spread for level in tops for spread in (level.slowest, level.fastest)))
    return f"with {words.in_flight(max(caps))} the fastest model is ahead of the slowest by {words.listed(leads)}{once}"


def _some(works: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """Return at most four, the first and the last among them."""
    return [works[place] for place in choose_caps(range(len(works)))]


def _lead(level: Level) -> str:
    if min(level.slowest.rounds, level.fastest.rounds) > 1 and not level.is_apart:
        return "nothing that the rounds show"
    return units.times(level.ratio) if level.ratio > ALIKE else f"less than {100 * (ALIKE - 1):.0f} %"


def _alike(found: Sequence[Level], who: str) -> str:
    upto = "up to " if len(found) > 1 else ""
    within = units.number(100 * (max(level.ratio for level in found) - 1), 1)
    once = ", one round" if any(_once(level.slowest, level.fastest) for level in found) else ""
    return f"with {upto}{words.in_flight(found[-1].in_flight)} {who} fetch alike (within {within} %{once})"


def _ends(level: Level) -> str:
    """Name the fastest and the slowest, and how far apart they are if the rounds say so."""
    least, most = level.cells[0], level.cells[-1]
    fastest = units.rate(level.fastest.median, words.digits(level.fastest))
    if least is most:
        return f"{_name(most.strategy)} fetches {fastest}{_once(level.fastest)}"
    slowest = units.number(level.slowest.median, words.digits(level.slowest))
    difference = _difference(level.slowest, level.fastest, by_chance=not level.is_apart)
    if len(level.cells) == 2:
        return f"{_name(most.strategy)} fetches {fastest}, {_name(least.strategy)} {slowest}{difference}"
    return (
        f"{_name(most.strategy)} fetches most, {fastest}{_near(level)}, and {_name(least.strategy)} least, "
        f"{slowest}{difference}"
    )


def _near(level: Level) -> str:
    """Name those that the rounds do not tell from the fastest, where they tell the slowest from it."""
    near = [cell.strategy for cell in level.cells[1:-1] if differ(rate_of(cell), level.fastest) != "differs"]
    if not near or not level.differs:
        return ""
    who = words.listed(list(map(_name, near))) if len(near) <= MOST_NAMES else f"{len(near)} others"
    return f" (the rounds do not tell it from {who})"


def _costs(level: Level) -> list[str]:
    """Say what CPU time a page takes with the cheapest and the dearest."""
    figures = [(cell.strategy, figure.spread) for cell in level.cells if (figure := cell.figure(c.cpu_per_page_ns))]
    if not figures:
        return []
    ordered = sorted(figures, key=lambda item: item[1].median)
    (cheap, least), (dear, most) = ordered[0], ordered[-1]
    text = f"a page takes {units.duration(least.median, words.digits(least))} of CPU time"
    if len(ordered) == 1:
        return [text + _once(least)]
    dearest = units.duration(most.median, words.digits(most))
    by_chance = not extremes.of_cells(level.cells, c.cpu_per_page_ns)
    return [f"{text} with {_name(cheap)}, {dearest} with {_name(dear)}{_difference(least, most, by_chance=by_chance)}"]


def _difference(least: Spread, most: Spread, *, by_chance: bool) -> str:
    """Write the ratio of two figures; or why it is none."""
    if min(least.rounds, most.rounds) == 1:
        return " (one round: whether they differ is not known)"
    if by_chance:
        return ", which chance may explain"
    return f": {units.times(most.median / least.median)}"


def _gained(few: Cell, many: Cell) -> str:
    one, other = rate_of(few), rate_of(many)
    ratio = other.median / one.median
    if 1 / ALIKE <= ratio <= ALIKE:
        return "about 1x"
    by_chance = min(one.rounds, other.rounds) > 1 and differ(one, other) != "differs"
    return units.times(ratio) + (" (which chance may explain)" if by_chance else "")


def _one_at_a_time(seen: Scene) -> str:
    """Name a strategy that has one in flight and no more, where others have more."""
    most = {cell.strategy: 0 for cell in seen.cells}
    for cell in seen.cells:
        most[cell.strategy] = max(most[cell.strategy], cell.in_flight)
    alone = [cell for cell in seen.cells if cell.latency == seen.longest and most[cell.strategy] == 1]
    if not alone or max(most.values()) == 1:
        return ""
    spread = rate_of(alone[0])
    rate = units.rate(spread.median, words.digits(spread))
    more = "" if len(alone) == 1 else f" (as {len(alone) - 1} more)"
    return f"; {_name(alone[0].strategy)} was tried with 1 in flight only{more}: {rate} there"


def _full_core(seen: Scene, top: Level) -> str:
    """Say from how many in flight on a core is full: the lowest knee, where all full ones have one; or that none is."""
    full = [cell.strategy for cell in top.cells if _core(cell) >= FULL]
    if not full:
        return f"; no core is full with {units.count(top.in_flight)}"
    here = [cell for cell in seen.cells if cell.latency == seen.longest]
    own = {name: [cell for cell in here if cell.strategy == name] for name in full[:MOST_FITS]}
    knees = {found.knee: name for name in own if isinstance(found := fit(own[name]), Fit)}
    if len(knees) < len(full):
        who = words.listed(list(map(_name, full))) if len(full) <= MOST_NAMES else f"{len(full)} of {len(top.cells)}"
        return f"; with {words.in_flight(top.in_flight)} the core of {who} is full"
    knee, first = min(knees), "" if len(full) == 1 else ", the first of them,"
    return f"; the core of {_name(knees[knee])}{first} is full from about {units.number(knee, 2)} in flight on"


def _core(cell: Cell) -> float:
    """Return how much of a core the client used, over the rounds."""
    return median(core_share(row) for row in cell.valid_rows)


def _usual(found: Sequence[Level]) -> Level:
    cap = usual_cap([level.in_flight for level in found])
    return next(level for level in found if level.in_flight == cap)


def _work(cell: Cell) -> str:
    return f" and {units.latency(cell.cpu)} of CPU work a page" if cell.cpu_ns else ""


def _with_work(cell: Cell) -> str:
    return f"with {units.latency(cell.cpu)}" if cell.cpu_ns else "without CPU work"


def _once(*spreads: Spread) -> str:
    return " (one round)" if min(spread.rounds for spread in spreads) == 1 else ""


def _name(strategy: str) -> str:
    return words.plain(strategy, 30)
