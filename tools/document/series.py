"""How far a ratio differs from run to run: its range over the series, beside the figure of one run."""

from collections.abc import Callable, Sequence

from inflight.bench.core import noise, units
from inflight.bench.frame.statistics import Interval
from inflight.bench.present import words
from inflight.bench.report import earlier
from inflight.bench.rows import machines
from inflight.bench.rows.files import Row, folders_in
from tools.document.stored import Run, run


def told(one: Run, ratio: Callable[[Sequence[Row]], Interval]) -> str:
    """Return the range of a ratio over the quiet runs of the series that are like ``one``: ``1.4x to 1.5x in 5 runs``.

    Empty without such a run. They are of the same machine, and read CPU time by the same clock.
    """
    others = map(run, folders_in(one.folder.parent.parent / earlier.SERIES))
    alike = [other for other in others if _is_like(other, one)]
    ratios = sorted(ratio(other.rows).estimate for other in alike)
    if not ratios:
        return ""
    ends = dict.fromkeys(units.times(end, 3) for end in (ratios[0], ratios[-1]))
    return f"{' to '.join(ends)} in {words.counted(len(ratios), 'run')} of the series"


def _is_like(other: Run, one: Run) -> bool:
    is_same = not machines.differences(other.machine, one.machine)
    return is_same and earlier.clock(other.rows) == earlier.clock(one.rows) and not noise.is_noisy(other.rows)
