"""Memory per additional fetch, thread or task: in layers, as slopes over the number held. Pure.

The study of memory (``show.study``), ``history`` and claims call ``layers`` on trials of the frame, and ``slopes`` on
its lines. A slope and not a quotient, because a process has memory before its first fetch.
``inflight.bench.measure.memory`` describes what is read. An unknown layer is left out and never counted as 0. The
system-wide layers of the kernel are unknown in a trial that other processes disturbed.
"""

import math
import operator
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from inflight.bench.frame.statistics import Estimate
from inflight.bench.rows.kinds import FEW_SIZES, OVER_TLS
from inflight.bench.rows.parts import REACHED

if TYPE_CHECKING:
    import pandas as pd

GROUPS = {
    "idle": "idle threads and tasks",
    "parked": "parked strategies",
    "held": "fetches in flight",
    "swarm": "fetches in a swarm",
}
"""What is held, in display order."""
LAYERS = ("user", "page tables", "kernel stacks", "slab and sockets")
"""In order: from the memory that the process sees to that which only the kernel sees."""
SERVER = "server"
"""The processes of the server, of a swarm."""
FULL = "all layers"
"""The sum of all layers."""
RSS = "resident (RSS)"
"""What is usually reported; it is no layer."""
BY = ("group", "connection", "site", "cpu", "arm", "stack")
"""The columns in which the trials behind a slope are equal."""
MIN_SIZES = 5
"""Minimum number of different numbers in flight for a slope; FEW_SIZES where steps of memory are small beside it."""
BUSY = "the machine was busy, and other processes changed the counts of the kernel in too many trials"
"""Why a layer of the kernel has no slope though trials were valid."""
MAX_BEND = 0.20
"""Maximum difference between the slopes of the two halves of a straight line, as a share of the whole slope."""

_OF_PROCESS = {"user": "uss_bytes", "page tables": "page_tables_bytes", RSS: "rss_bytes"}
"""The field of a row behind each layer of the process (``rows.parts.LAYERS``)."""
_OF_SYSTEM = {"kernel stacks": ("kernel_stack_bytes",), "slab and sockets": ("slab_bytes", "socket_bytes")}
"""The fields behind each system-wide layer."""
_OF_SERVER = ("server_uss_bytes", "server_page_tables_bytes")
"""The fields behind the server's memory, of a swarm."""
_STAGES = {
    "idle": ("idle", "held"),
    "parked": ("memory", "parked"),
    "held": ("memory", "held"),
    "swarm": ("swarm", "held"),
}
"""The kind of trial of each group, and when its memory is read."""


class Slope(NamedTuple):
    """What one more fetch in flight costs, in bytes.

    ``low`` to ``high`` is the 95 % interval of the slope. A line that is not straight has no one slope: then it is
    the range from the flatter half to the steeper one, intervals included, and that range is what should be shown.
    """

    estimate: float
    low: float
    high: float
    intercept: float
    """Bytes at no fetch in flight, of the fitted line."""
    is_straight: bool
    points: int
    """Number of readings."""
    sizes: int
    """Number of different numbers in flight."""

    @property
    def error(self) -> float:
        """The greater half of the interval."""
        return max(self.high - self.estimate, self.estimate - self.low)


SLOPE = Slope._fields
"""The columns that say what a slope is."""


@dataclass(frozen=True, slots=True)
class NoSlope:
    """Why there is no slope."""

    reason: str


def layers(trials: "pd.DataFrame") -> "pd.DataFrame":
    """Return one line for each trial of memory, group and layer: BY, ``n`` (the number held), ``row`` (its index).

    ``size``: the bytes of the layer: of a layer of the process all of it, of a system-wide one its growth since nothing
    was held. ``added``: its growth. Of a swarm, which has more processes the larger it is, both are the growth. NaN:
    unknown. LAYERS, FULL and RSS are the layers, and SERVER that of a swarm.
    """
    import pandas as pd

    good = trials[trials["status"] == "ok"]
    kinds = set(good["kind"])
    known = {group: of for group, of in _STAGES.items() if of[0] in kinds and f"{of[1]}_uss_bytes" in good}
    many = [
        _layers(
            good[good["kind"] == kind],
            group,
            stage,
        )
        for group, (kind, stage) in (known or _STAGES).items()
    ]
    return pd.concat(many, ignore_index=True)


def _layers(trials: "pd.DataFrame", group: str, stage: str) -> "pd.DataFrame":
    """Return the lines of one group, whose memory was read at ``stage``."""
    import pandas as pd

    unknown = pd.Series(math.nan, trials.index)

    def read(name: str) -> "pd.Series[float]":
        """Return a field at the moment of the group, of each trial."""
        return trials.get(name, unknown).astype(float)

    def change(name: str) -> "pd.Series[float]":
        """Return its growth since nothing was held."""
        return read(f"{stage}_{name}") - read(f"base_{name}")

    is_quiet = trials.get(f"{stage}_disturbed", unknown).isna()
    added = {layer: change(name) for layer, name in _OF_PROCESS.items()}
    added |= {layer: _sum(map(change, names)).where(is_quiet) for layer, names in _OF_SYSTEM.items()}
    size = added | {layer: read(f"{stage}_{name}") for layer, name in _OF_PROCESS.items()}
    if group == "swarm":
        added[SERVER] = _sum(map(change, _OF_SERVER))
        size = dict(added)
    n = trials["in_flight"] if group == "idle" else read("held_in_flight").fillna(0).astype(int)
    trials = trials[["trial", "connection", "site", "cpu", "arm", "stack", "valid"]].assign(
        group=group, n=n, row=trials.index, is_quiet=is_quiet
    )
    trials["arm"] = trials["arm"].str.replace(REACHED, "", regex=True)  # one subject: n is what each trial reached
    for sizes in (size, added):
        sizes[FULL] = _sum(sizes[layer] for layer in (*LAYERS, SERVER) if layer in sizes)
    many = pd.DataFrame(
        pd.concat(
            [
                trials.assign(
                    layer=name,
                    size=size[name],
                    added=added[name],
                )
                for name in size
            ]
        )
    )
    if group != "parked":
        return many
    is_known = size["user"].notna()
    return many[many["row"].isin(trials.index[is_known])]


def _sum(sizes: "Iterable[pd.Series[float]]") -> "pd.Series[float]":
    """Return the sums; NaN where one is unknown."""
    return reduce(operator.add, sizes)


def slopes(lines: "pd.DataFrame", by: Sequence[str] = BY) -> "pd.DataFrame":
    """Return one line for each layer of each group of ``layers`` that is equal in ``by``, of its valid trials.

    ``estimate``, ``low``, ``high``, ``intercept``, ``is_straight``, ``points``, ``sizes``: as in Slope. ``reason``: why
    there is no slope, else empty.
    """
    import pandas as pd

    keys = [*by, "layer"]
    fitted = []
    for key, group in lines.groupby(keys, sort=False, dropna=False):
        sizes = group[group["valid"] & group["size"].notna()]
        min_sizes = MIN_SIZES
        first = group.iloc[0]
        if first["stack"] == "own" or first["connection"].endswith(OVER_TLS):
            min_sizes = FEW_SIZES
        slope: Slope | NoSlope = NoSlope("unknown here")
        if len(sizes):
            slope = memory_slope(list(sizes["n"]), list(sizes["size"]), min_sizes)
        if isinstance(slope, Slope):
            fitted.append((*key, *slope, ""))
        else:
            unknown = [math.nan] * 4
            is_lost = group["valid"] & group["size"].isna() & ~group["is_quiet"]
            in_quiet = {*sizes["n"], *group.loc[is_lost, "n"]}
            reason = BUSY if is_lost.any() and len(in_quiet) >= min_sizes else slope.reason
            fitted.append((*key, *unknown, True, len(sizes), sizes["n"].nunique(), reason))
    return pd.DataFrame(fitted, columns=[*keys, *SLOPE, "reason"])


def memory_slope(
    in_flight: Sequence[int], memory_bytes: Sequence[float], min_sizes: int = MIN_SIZES
) -> Slope | NoSlope:
    """Fit memory over fetches in flight: least squares on the median of each size, with a t interval of 95 %.

    The unit of analysis is the size. Processes of one size agree to some 20 kB, but all of them have the same steps of
    memory on them (tables that grow by doubling, arenas): 50 to 300 kB, which only other sizes can show. In simulations
    with such steps this interval covers 93 to 97 %; a bootstrap over the processes of each size covers 10 to 20 %, and
    residuals of single readings 83 %. One process per size is enough; the median guards against a wild one of three.

    ``in_flight`` and ``memory_bytes`` are the readings, in pairs.

    Linearity: two lines that meet in the middle size are fitted as well. Where their slopes differ by more than chance
    and by more than MAX_BEND of the whole slope, the line is bent. Fewer than MIN_SIZES sizes cannot show that.
    """
    import numpy as np

    sizes = sorted(set(in_flight))
    if len(sizes) < min_sizes:
        return NoSlope(f"needs {min_sizes} different numbers in flight, has {len(sizes)}")
    readings = list(zip(in_flight, memory_bytes, strict=True))
    medians = [statistics.median(memory for n, memory in readings if n == size) for size in sizes]
    x = np.array(sizes, dtype=float)
    middle = sizes[len(sizes) // 2]
    start, slope = _least_squares([x], medians, [(1, 0), (0, 1)])
    if len(sizes) < MIN_SIZES:
        interval = slope.interval()
        return Slope(slope.value, interval.low, interval.high, start.value, True, len(in_flight), len(sizes))
    # One column grows up to the middle, the other from there on: their coefficients are the slopes of the two halves.
    halves = [np.minimum(x, middle), np.maximum(x - middle, 0)]
    lower, upper, bend = _least_squares(
        halves,
        medians,
        [(0, 1, 0), (0, 0, 1), (0, -1, 1)],
    )
    apart = bend.interval()
    is_straight = apart.low <= 0 <= apart.high or abs(bend.value) <= MAX_BEND * abs(slope.value)
    ends = [fitted.interval() for fitted in ([slope] if is_straight else [lower, upper])]
    low = min(interval.low for interval in ends)
    high = max(interval.high for interval in ends)
    return Slope(slope.value, low, high, start.value, is_straight, len(in_flight), len(sizes))


def _least_squares(
    columns: Sequence[Any], values: Sequence[float], wanted: Sequence[Sequence[int]]
) -> Iterator[Estimate]:
    """Yield each wanted sum of the coefficients (the constant's first), by ordinary least squares.

    ``wanted`` has a weight for each coefficient: (0, -1, 1) is the third minus the second. Columns are scaled to a
    maximum of 1, because sizes and bytes differ by powers of ten, which makes the matrix hard to invert.
    """
    import numpy as np

    design = np.column_stack([np.ones(len(values)), *columns])
    y = np.array(values, dtype=float)
    scale = np.abs(design).max(axis=0)
    coefficients, *_ = np.linalg.lstsq(design / scale, y, rcond=None)
    left = y - design / scale @ coefficients
    freedom = len(y) - len(scale)
    covariance = np.linalg.inv((design / scale).T @ (design / scale)) * float(left @ left) / freedom
    for weights in wanted:
        sums = np.array(weights) / scale
        error = math.sqrt(max(0.0, float(sums @ covariance @ sums)))
        yield Estimate(float(sums @ coefficients), error, freedom, len(y))
