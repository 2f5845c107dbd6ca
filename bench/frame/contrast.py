"""Means of figures over blocks, and their ratios along one axis. The one definition of "differs" is behind them.

``show`` (tables, findings, answer), ``runs``, ``predict`` and ``claims`` call ``summary`` and ``contrast`` on lines of
the frame (``frame.frame``). Both work on logarithms: the mean of a figure is a geometric one, and a difference is the
logarithm of a ratio (``statistics``). A *unit* is what varies independently: a block, or a round of whole crawls.
"""

import math
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import pandas as pd

from inflight.bench.frame import ratios
from inflight.bench.frame import statistics as stats

SUMMARY = ("estimate", "low", "high", "n", "valid")
"""Columns of ``summary`` behind those that it groups by."""
CONTRAST = ("baseline", "estimate", "low", "high", "next_low", "next_high", "n", "p", "resolution", "answer")
"""Columns of ``contrast`` behind those of the groups and the axis."""
OF_CELL = (
    *("cycles", "cell", "is_waiting", "is_noisy", "is_unstable", "spread"),
    *("arm", "strategy", "stack", "role", "figure"),
)
"""The columns that say how far arms of blocks vary, if there are any."""


def summary(lines: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the mean of ``value`` over the units of each group, with a line for each group.

    ``estimate``: the geometric mean of the valid lines; without any, of the others (then ``valid`` is false). ``low``,
    ``high``: the 95 % t interval; 0 and infinity for one unit. ``n``: the number of units. Values of 0 or less have no
    logarithm, and do not count.
    """
    has_valid = lines.groupby(list(by), dropna=False)["valid"].transform("any")
    counted = lines[(lines["valid"] | ~has_valid) & (lines["value"] > 0)]
    groups = counted.groupby(list(by), sort=False, dropna=False).agg({"value": list, "valid": "first"})
    means = []
    for *key, values, is_valid in groups.reset_index().itertuples(index=False, name=None):
        mean = stats.mean(list(map(math.log, values)))
        means.append((*key, *astuple(mean.interval().ratio()), is_valid))
    return pd.DataFrame(means, columns=[*by, *SUMMARY])


def contrast(lines: pd.DataFrame, over: str, baseline: object, by: Sequence[str]) -> pd.DataFrame:
    """Return the ratio of ``value`` to that of the baseline along one axis, with a line for each other value of it.

    ``over`` is the axis, a column; ``baseline`` a value of it, or the column that has each group's. Only valid lines
    count. ``by`` are the columns in which compared lines are equal: a family of comparisons, within which p values are
    corrected (Holm). ``low``, ``high``: the 95 % interval of this run; ``next_low``, ``next_high``: where the next run
    lies in 90 % of cases; of an unstable arm both are the range of its blocks. ``resolution``: the least ratio that can
    be told from 1. ``answer`` is ``differs``, ``same`` (surely within 2 %), ``unstable`` or ``unknown``, which all are
    in a noisy run. A group without the baseline has no lines.

    Lines ``with_cycles`` are compared by cycles, with the spread of their cell and that between runs. ``as_log``: the
    same as a ``ratios.Ratio``, to compare it with that of another run.
    """
    table: list[tuple[Any, ...]] = []
    needed = [*by, over, "unit", "value", baseline, *OF_CELL]  # groups of fewer columns are faster
    is_counted = lines["valid"] & (lines["value"] > 0)
    counted = lines.loc[is_counted, lines.columns.isin(needed)]
    for key, group in counted.groupby(list(by), sort=False, dropna=False):
        sides: dict[Any, Any] = {side: ratios.readings(part) for side, part in group.groupby(over, sort=False)}
        base = group[baseline].iloc[0] if baseline in group.columns else baseline
        if base not in sides:
            continue
        is_noisy = "is_noisy" in group and group["is_noisy"].any()
        pairs = _pairs(group, over, base)
        of_base = sides.pop(base)
        compared = {}
        for side, readings in sides.items():
            compared[side] = ratios.compare(readings, of_base, pairs.get(side, ratios.ALONE))
        for side, p in _corrected(compared).items():
            ratio = compared[side]
            this_run = ratio.this_run().ratio()
            table.append(
                (
                    *key,
                    side,
                    base,
                    this_run.estimate,
                    this_run.low,
                    this_run.high,
                    *map(stats.exp, ratio.next_run()),
                    this_run.n,
                    p,
                    stats.exp(ratio.resolution),
                    "unknown" if is_noisy else ratio.answer(p),
                    ratio,
                )
            )
    return pd.DataFrame(table, columns=[*by, over, *CONTRAST, "as_log"])


def _pairs(group: pd.DataFrame, over: str, base: object) -> dict[Any, ratios.Pair]:
    """Return what is known of each side and the baseline, if all are arms of one cell; else nothing."""
    spreads = list(set(group["spread"])) if "spread" in group else [None]
    spread: ratios.Spread | None = spreads[0]
    if spread is None or len(spreads) > 1:
        return {}
    sides = {getattr(line, over): line for line in group.drop_duplicates(over).itertuples()}
    return {side: ratios.pair(line, sides[base], spread) for side, line in sides.items()}


def _corrected(compared: dict[Any, ratios.Ratio]) -> dict[Any, float]:
    """Return the p value of each ratio, corrected for the number of those that are comparisons of their cell."""
    every = {side: ratio.in_any_run for side, ratio in compared.items()}
    counted = {side: every[side] for side, ratio in compared.items() if ratio.pair.is_counted}
    return {side: estimate.p for side, estimate in every.items()} | stats.adjusted(counted)


def records(table: pd.DataFrame) -> list[Any]:
    """Return the lines of a table as named tuples."""
    return list(table.itertuples(index=False))
