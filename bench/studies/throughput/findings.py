"""Who is fastest where, and who ties: sentences for the top of a report, and the bars of a terminal. Pure."""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell, Figure
from inflight.bench.frame.statistics import Answer, Key, adjusted, answer, compare, holm
from inflight.bench.present import words
from inflight.bench.present.text_bars import Bar, Bars
from inflight.bench.studies.throughput import read

Named = tuple[str, Figure]
"""A strategy and its throughput."""
TOO_FAR = 2
"""A strategy that the fastest exceeds by this factor is not called tied with it, whatever its interval is."""
TIES, STEP = " = ", ", then "
"""What stands between two neighbours in the order of the strategies: no significant difference, and one."""


def at_shortest(found: Sequence[Cell], setting: str) -> str:
    """Say who is fastest at the shortest latency; empty if two strategies were not measured there.

    ``setting`` names the setting of the cells at the end of the sentence; it is empty if there is only one.
    """
    return _fastest(read.at(found, read.cpu_column(found)), setting)


def order(found: Sequence[Cell], setting: str) -> str:
    """Put the strategies of each stack in their order where ``at_shortest`` compares them, with the ties of neighbours.

    Empty if a strategy has one round only, and for two strategies of one stack, whose order ``at_shortest`` states.
    """
    here = read.at(found, read.cpu_column(found))
    stacks = [_fastest_first(_rates([cell for cell in here if cell.stack == one])) for one in ("shared", "own")]
    chains = [_chain(one) for one in stacks if len(one) > 1]
    if sum(map(len, stacks)) < 3 or not chains or any(one.rounds < 2 for stack in stacks for _, one in stack):
        return ""
    ties, steps = (any(sign in one for one in chains) for sign in (TIES, STEP))
    if steps and not ties:
        key = ". Each is significantly slower than the one before it"
        chains = [one.replace(STEP, ", ") for one in chains]
    else:
        key = f" (=: not significantly slower{'; then: significantly slower' if steps else ''})"
    alone = [words.name(name) for stack in stacks if len(stack) == 1 for name, _ in stack]
    rest = f" Not compared with these: {words.listed(alone)}, whose HTTP stack is another one." if alone else ""
    return f"Fastest first, {_where(here[0])}{setting}: {'; '.join(chains)}{key}.{rest}"


def _chain(rates: Sequence[Named]) -> str:
    """Write strategies from the fastest to the slowest: ``a = b, then c`` if only the last two differ."""
    found = answers({slower: (first, second) for (_, first), (slower, second) in pairwise(rates)})
    rest = (f"{STEP if found[name] == 'differs' else TIES}{words.plain(name, 30)}" for name, _ in rates[1:])
    return words.plain(rates[0][0], 30) + "".join(rest)


def of_cpu(found: Sequence[Cell]) -> str | None:
    """Return what replaces the title on CPU time: nothing where ``at_shortest`` has said as much of the throughput.

    Without added latency the core is full, so CPU time per page and throughput say the same.
    """
    return "" if at_shortest(found, "") and read.at(found, read.cpu_column(found))[0].mean_latency_ns == 0 else None


def at_longest(found: Sequence[Cell], setting: str) -> tuple[str, bool]:
    """Say who is fastest at the longest latency with the most in flight; empty if ``at_shortest`` says it.

    True if it also says what the title says: with one number in flight, the title compares the same figures.
    """
    column = _busiest(found)
    if column != read.cpu_column(found):
        return _fastest(read.at(found, column), setting), False
    here = [cell for cell in found if cell.latency == column.latency and cell.valid_figure(c.pages_per_s)]
    names = [cell.strategy for cell in here if cell.stack == "shared"]
    has_gain = len(names) > len(set(names))
    return "", not has_gain and bool(at_shortest(found, setting))


def against_one(found: Sequence[Cell], setting: str) -> str:
    """Compare the strategies with many in flight with the one that has one, at the longest latency.

    The number in flight is that at which most of them have more than one round, the greatest of these. Empty without a
    strategy that was measured with one in flight only, and if another may be no faster.
    """
    shared = [cell for cell in found if cell.stack == "shared" and cell.mean_latency_ns and _rounds(cell) > 1]
    longest = [cell for cell in shared if cell.latency == c.latencies(shared)[-1]]
    caps = {name: {cell.in_flight for cell in longest if cell.strategy == name} for name in c.strategies_of(longest)}
    ones = [cell for cell in longest if caps[cell.strategy] == {1}]
    columns = [[cell for cell in longest if cell.in_flight == cap] for cap in set().union(*caps.values()) - {1}]
    here = max(columns, key=lambda column: (len(column), column[0].in_flight), default=[])
    if len(ones) != 1 or len(here) < 2:
        return ""
    ratios = [ratio for cell in here if (ratio := c.ratio(cell, ones[0], c.pages_per_s))]
    if min(ratio.low for ratio in ratios) <= 1:
        return ""
    who = _all(len(here)) if len(here) == len(caps) - 1 else len(here)
    many = f"{_at(here[0])}, {who} models fetch {_range(_fastest_first(_rates(here)))}{setting}"
    return f"{many}; {words.plain(ones[0].strategy, 30)}, with 1 in flight, fetches {_range(_rates(ones))}."


def bars(found: Sequence[Cell], setting: str) -> Bars | None:
    """Return the throughput of each strategy where ``at_shortest`` compares them; None without two of them."""
    here = read.at(found, read.cpu_column(found))
    rates = _fastest_first(_rates(here))
    if len(rates) < 2:
        return None
    drawn = (Bar(words.name(name), one.estimate, units.number(one.estimate, one.digits)) for name, one in rates)
    return Bars(f"Pages per second {_where(here[0])}{setting}", tuple(drawn))


def answers(pairs: Mapping[Key, tuple[Figure, Figure]]) -> dict[Key, Answer]:
    """Return whether the figures of each pair differ; the p values are corrected for the number of pairs (Holm)."""
    compared = {key: compare(one.logs, other.logs) for key, (one, other) in pairs.items()}
    p_values = adjusted(compared, holm)
    return {key: answer(pair, p_values[key]) for key, pair in compared.items()}


def _busiest(found: Sequence[Cell]) -> read.Column:
    """Return the column of the longest latency with the most in flight that two strategies share."""
    columns = read.rate_columns(found)
    return next((one for one in reversed(columns) if len(_compared(read.at(found, one))) > 1), columns[-1])


def _fastest(here: Sequence[Cell], setting: str) -> str:
    """Name the fastest, those that tie with it, and the slowest of the others."""
    rates = _fastest_first(_compared(here))
    if len(rates) < 2 or any(one.rounds < 2 for _, one in rates):
        return ""
    (name, best), others = rates[0], dict(rates[1:])
    found = answers({other: (best, figure) for other, figure in others.items()})
    ties = [other for other in others if found[other] != "differs"]
    where = _at(here[0])
    if len(ties) == len(others):
        is_part = len(rates) < len(_rates(here))
        return f"{where}, {_all_tied(rates, ' with the shared HTTP code' if is_part else '')}{setting}."
    is_far = {one: others[one].estimate * TOO_FAR < best.estimate for one in ties}
    beside, wild = ([words.plain(one, 30) for one in ties if is_far[one] == far] for far in (False, True))
    slowest = next(one for one in reversed(rates) if one[0] not in ties)
    fastest = f"{words.plain(name, 30)} is fastest with {_rate(best)}: {_gain(rates[0], slowest)}"
    is_tied = f", but not significantly faster than {words.listed(beside)}" if beside else ""
    noisy = f"; {words.listed(wild)} {'varies' if len(wild) == 1 else 'vary'} too much to compare" if wild else ""
    return f"{where}, {fastest}{is_tied}{setting}{noisy}."


def _all_tied(rates: Sequence[Named], of: str) -> str:
    """Say what is known of strategies none of which differs from the fastest: two others may differ all the same.

    ``of`` says which models they are, if there are others.
    """
    pairs = list(combinations(rates, 2))
    found = answers({place: (faster, slower) for place, ((_, faster), (_, slower)) in enumerate(pairs)})
    if differ := [pairs[place] for place, one in found.items() if one == "differs"]:
        faster, slower = max(differ, key=lambda pair: pair[0][1].estimate / pair[1][1].estimate)
        told = f"{words.plain(faster[0], 30)} is {_gain(faster, slower)}"
        return f"{told}; no model differs significantly from the fastest, {words.plain(rates[0][0], 30)}"
    if all(one == "same" for one in found.values()):
        return f"{_all(len(rates))} models{of} are equally fast, at {_range(rates)}"
    who = f"the {'two' if len(rates) == 2 else len(rates)} models{of}"
    return f"no difference between {who} is significant, at {_range(rates)}: noise may hide one"


def _all(number: int) -> str:
    return "both" if number == 2 else f"all {number}"


def _gain(faster: Named, slower: Named) -> str:
    times = units.times(faster[1].estimate / slower[1].estimate)
    return f"{times} as fast as {words.plain(slower[0], 30)} ({_rate(slower[1])})"


def _fastest_first(rates: Sequence[Named]) -> list[Named]:
    return sorted(rates, key=lambda one: (-one[1].estimate, one[0]))


def _compared(here: Sequence[Cell]) -> list[Named]:
    """Return the valid throughputs of the shared stack; of all stacks if it has fewer than two."""
    shared = _rates([cell for cell in here if cell.stack == "shared"])
    return shared if len(shared) > 1 else _rates(here)


def _rates(here: Sequence[Cell]) -> list[Named]:
    return [(cell.strategy, figure) for cell in here if (figure := cell.valid_figure(c.pages_per_s))]


def _rounds(cell: Cell) -> int:
    figure = cell.valid_figure(c.pages_per_s)
    return figure.rounds if figure else 0


def _range(rates: Sequence[Named]) -> str:
    """Write the throughput of the slowest and the fastest, in that order; once if both are written alike."""
    return " to ".join(dict.fromkeys((_rate(rates[-1][1]), _rate(rates[0][1]))))


def _rate(figure: Figure) -> str:
    return units.rate(figure.estimate, figure.digits)


def _where(cell: Cell) -> str:
    return f"{words.at_latency(cell.latency)} with {words.in_flight(cell.in_flight)}"


def _at(cell: Cell) -> str:
    """Write the workload of a cell as the beginning of a sentence."""
    where = _where(cell)
    return f"{where[0].upper()}{where[1:]}"
