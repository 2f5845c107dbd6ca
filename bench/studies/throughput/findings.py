"""What the rows say, as one sentence a plot: its title. Pure.

A sentence names a difference only between valid figures that differ by more than chance explains; figures of one round
are given with the words "one round". Strategies that parse with the shared code are compared with each other; clients
with a stack of their own only when there are no two others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.core import cells as c
from bench.core import extremes, units
from bench.core.cells import Cell, Figure
from bench.core.figures import Spread, differ
from bench.present import words


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a strategy and its spread."""

    strategy: str
    stack: str
    spread: Spread

    @property
    def name(self) -> str:
        """The name, made harmless."""
        return words.plain(self.strategy, 30)


def of_throughput(found: Sequence[Cell]) -> str:
    """Say what more in flight bring the strategy that is best with many, at the longest latency and at the shortest."""
    latencies = c.latencies(filter(_is_valid, found))
    best = _best(found, latencies[-1]) if latencies else None
    if best is None:
        return "No valid throughput: nothing to conclude"
    longest = latencies[-1]
    name = words.plain(best.strategy, 30)
    if (gain := _gain(found, best.strategy, longest)) is None:
        figure = best.figure(c.pages_per_s)
        assert isinstance(figure, Figure)
        rate = units.rate(figure.spread.median, words.digits(figure.spread))
        where = f"{words.at_latency(longest)} with {words.in_flight(best.in_flight)}"
        return _sentence(f"{name} fetches {rate} {where}{_rounds(figure.spread)}")
    least, most = gain
    text = (
        f"{words.at_latency(longest)}, {name} fetches {_times(least, most)} with {words.in_flight(most.in_flight)} "
        f"as with {units.count(least.in_flight)}{_rounds(_spread(least), _spread(most))}"
    )
    if len(latencies) > 1 and (short := _gain(found, best.strategy, latencies[0])):
        same = (short[0].in_flight, short[1].in_flight) == (least.in_flight, most.in_flight)
        caps = "" if same else f" with {units.count(short[1].in_flight)} as with {units.count(short[0].in_flight)}"
        text += f"; {words.at_latency(latencies[0])}, {_times(*short, what='')}{caps}{_rounds(*map(_spread, short))}"
    return _sentence(text)


def of_cpu(found: Sequence[Cell]) -> str:
    """Compare the CPU time a page of the cheapest and the dearest strategy; the cells share a workload."""
    sides = _sides(found, c.cpu_per_page_ns)
    if not sides:
        return "No valid CPU time: nothing to conclude"
    where = f"{words.at_latency(found[0].latency)} with {words.in_flight(found[0].in_flight)}"
    shared = [cell for cell in found if cell.stack == "shared"]
    by_chance = not extremes.of_cells(shared if len(shared) > 1 else found, c.cpu_per_page_ns)
    return _compared(sides, f"{where}, a page takes", "of CPU time", units.duration, by_chance=by_chance)


def of_times(sides: Sequence[Side], share: float, where: str) -> str:
    """Compare a quantile of the service time; ``where`` names latency and number in flight."""
    if not sides:
        return "No valid times: nothing to conclude"
    what = "half of the fetches take" if share == 0.5 else f"1 fetch in {round(1 / (1 - share))} takes"
    chosen = [side for side in sides if side.stack == "shared"]
    by_chance = not extremes.differ([side.spread.logs for side in (chosen if len(chosen) > 1 else sides)])
    return _compared(sides, f"{where}, {what} more than", "", units.duration, by_chance=by_chance)


def _compared(
    sides: Sequence[Side], before: str, after: str, write: Callable[[float, int], str], *, by_chance: bool
) -> str:
    shared = [side for side in sides if side.stack == "shared"]
    ordered = sorted(shared if len(shared) > 1 else sides, key=lambda side: side.spread.median)
    least, most = ordered[0], ordered[-1]
    low, high = (write(side.spread.median, words.digits(side.spread)) for side in (least, most))
    text = f"{before} {low}{f' {after}' if after else ''} with {least.name}"
    if len(ordered) == 1:
        return _sentence(text + _rounds(least.spread))
    text += f", {high} with {most.name}"
    if min(least.spread.rounds, most.spread.rounds) == 1:
        return _sentence(text + " (one round)")
    if by_chance:
        return _sentence(f"{text}, which chance may explain")
    return _sentence(f"{text}: {units.times(most.spread.median / least.spread.median)}")


def _sides(found: Sequence[Cell], read: c.Read) -> list[Side]:
    figures = [(cell, cell.figure(read)) for cell in found]
    return [Side(cell.strategy, cell.stack, figure.spread) for cell, figure in figures if figure and figure.valid]


def _best(found: Sequence[Cell], latency: str) -> Cell | None:
    """Return the cell with the highest valid throughput, with the most in flight that two strategies reached validly.

    Of the shared stack, if possible; where no two strategies reached the same number, of the one that reached most.
    """
    own = [cell for cell in found if cell.latency == latency and _is_valid(cell)]
    own = [cell for cell in own if cell.stack == "shared"] or own
    for cap in reversed(c.caps(own, latency)):
        here = [cell for cell in own if cell.in_flight == cap]
        if len(here) > 1 or len({cell.strategy for cell in own}) == 1:
            return max(here, key=lambda cell: _spread(cell).median)
    return max(own, key=lambda cell: (cell.in_flight, cell.strategy), default=None)


def _gain(found: Sequence[Cell], strategy: str, latency: str) -> tuple[Cell, Cell] | None:
    """Return the valid cells with the least and with the most in flight; None when they are the same."""
    own = [cell for cell in found if cell.strategy == strategy and cell.latency == latency and _is_valid(cell)]
    own.sort(key=lambda cell: cell.in_flight)
    return (own[0], own[-1]) if own and own[0].in_flight < own[-1].in_flight else None


def _times(least: Cell, most: Cell, what: str = " pages/s") -> str:
    one, other = _spread(least), _spread(most)
    said = differ(one, other)
    if said == "same":
        return f"about as many{what}"
    by_chance = said == "unknown" and min(one.rounds, other.rounds) > 1
    return f"{units.times(other.median / one.median)} as many{what}{' (which chance may explain)' if by_chance else ''}"


def _is_valid(cell: Cell) -> bool:
    figure = cell.figure(c.pages_per_s)
    return figure is not None and figure.valid and figure.spread.median > 0


def _spread(cell: Cell) -> Spread:
    figure = cell.figure(c.pages_per_s)
    assert isinstance(figure, Figure)
    return figure.spread


def _rounds(*spreads: Spread) -> str:
    return " (one round)" if min(spread.rounds for spread in spreads) == 1 else ""


def _sentence(text: str) -> str:
    """Begin with a capital letter, but leave the case of a strategy's name alone."""
    return text[0].upper() + text[1:] if text.startswith(("at ", "half ")) else text
