"""Advice held against what was measured at that very workload. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.analyse.advice import Advice, Expected
from bench.analyse.cells import Cell
from bench.analyse.observed import observed
from bench.rows import Row


@dataclass(frozen=True, slots=True)
class Verified:
    """One strategy, measured at the very workload: what was expected of that crawl, and what came."""

    strategy: str
    expected_per_s: float
    measured_per_s: float | None
    """The geometric mean over the valid rounds; None without any."""
    rounds: int
    why: str
    """Why there is no figure; empty where there is one."""

    @property
    def off(self) -> float | None:
        """By which share the figure is off what was expected; below 0 where it is less."""
        return None if self.measured_per_s is None else self.measured_per_s / self.expected_per_s - 1


def candidates(advice: Advice, number: int = 2) -> list[Expected]:
    """Return what is worth measuring: the advised strategy and the next, or the first ones where none is advised."""
    able = [one for one in advice.expected if one.in_flight == advice.wanted.in_flight]
    return sorted(able, key=lambda one: one.strategy != advice.advised)[:number]


def verify(chosen: Sequence[Expected], cells: Iterable[Cell]) -> list[Verified]:
    """Hold the cells of a run of that very workload against what is expected of a crawl of that many pages.

    With the CPU work that a page really cost there, which may differ a little from what was asked for.
    """
    own = {cell.strategy: cell for cell in cells}
    found = []
    for one in chosen:
        cell = own.get(one.strategy)
        point = next(iter(observed([cell])), None) if cell is not None else None
        if point is None:
            states = sorted({why for row in cell.rows for why in _states(row)}) if cell else ["not run"]
            found.append(Verified(one.strategy, one.per_s, None, 0, f"no valid trial ({', '.join(states)})"))
        else:
            found.append(Verified(one.strategy, one.surface.per_s(point.at), point.per_s, point.rounds, ""))
    return found


def worst_off(found: Iterable[Verified]) -> float | None:
    """Return by how much the worst figure is off; None where one is missing."""
    shares = [one.off for one in found]
    return None if not shares or None in shares else max(abs(share) for share in shares if share is not None)


def lost_by(found: Sequence[Verified]) -> float:
    """Return by which share another one fetched more than the first, which was advised; 0 where none did."""
    first, *others = (one.measured_per_s or 0.0 for one in found)
    return max((other / first - 1 for other in others if first and other > first), default=0.0)


def _states(row: Row) -> list[str]:
    """Return why a row is no basis for a conclusion: its failed checks, or how it ended."""
    return [f'red: "{check.name}"' for check in row.failed_checks] if row.status == "ok" else [row.status]
