"""Means of figures over blocks, and their ratios along one axis. The one definition of "differs" is behind them.

Both work on logarithms: the mean of a figure is a geometric one, and a difference is the logarithm of a ratio
(``statistics``).
"""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from inflight.bench.frame import statistics as stats

WORKLOAD = ("kind", "site", "connection", "cpu", "cpu_ns", "latency", "latency_ns", "in_flight", "length")
"""The columns in which the lines of one workload are equal. ``crawl`` and ``arm`` are timed differently."""
SUMMARY = ("estimate", "low", "high", "n", "valid")
CONTRAST = ("baseline", "estimate", "low", "high", "n", "p", "answer")


def summary(lines: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the mean of ``value`` over the units of each group, with a line for each group.

    ``estimate``: the geometric mean of the valid lines; without any, of the others (then ``valid`` is false). ``low``,
    ``high``: the 95 % t interval; 0 and infinity for one unit. ``n``: the number of units. Values of 0 or less have no
    logarithm, and do not count.
    """
    has_valid = lines.groupby(list(by), dropna=False)["valid"].transform("any")
    counted = lines[(lines["valid"] | ~has_valid) & (lines["value"] > 0)]
    groups = counted.groupby(list(by), sort=False, dropna=False).agg({"value": list, "valid": "first"})
    means = [
        (*_key(key), *_interval(stats.mean(list(map(math.log, values)))), is_valid)
        for key, values, is_valid in groups.itertuples(name=None)
    ]
    return pd.DataFrame(means, columns=[*by, *SUMMARY])


def contrast(lines: pd.DataFrame, over: str, baseline: object, by: Sequence[str]) -> pd.DataFrame:
    """Return the ratio of ``value`` to that of the baseline along one axis, with a line for each other value of it.

    ``over`` is the axis, a column; ``baseline`` a value of it, or the column that has each group's. Only valid lines
    count. ``by`` are the columns in which compared lines are equal: a family of comparisons, within which p values are
    corrected (Holm). ``answer`` is ``differs``, ``same`` (surely within 2 %) or ``unknown``. A group without the
    baseline has no lines.
    """
    ratios: list[tuple[Any, ...]] = []
    needed = [*by, over, "unit", "value", baseline]  # groups of fewer columns are faster
    counted = lines.loc[lines["valid"] & (lines["value"] > 0), lines.columns.isin(needed)]
    for key, group in counted.groupby(list(by), sort=False, dropna=False):
        logs: dict[Any, dict[str, float]] = {side: side_logs(part) for side, part in group.groupby(over, sort=False)}
        base = group[baseline].iloc[0] if baseline in group.columns else baseline
        if base not in logs:
            continue
        compared = {side: stats.compare(units, logs[base]) for side, units in logs.items() if side != base}
        p_values = stats.adjusted(compared)
        ratios += [
            (*_key(key), side, base, *_interval(estimate), p_values[side], stats.answer(estimate, p_values[side]))
            for side, estimate in compared.items()
        ]
    return pd.DataFrame(ratios, columns=[*by, over, *CONTRAST])


def side_logs(lines: pd.DataFrame) -> dict[str, float]:
    """Return the logarithm of each unit."""
    return {unit: math.log(value) for unit, value in zip(lines["unit"], lines["value"], strict=True)}


def records(table: pd.DataFrame) -> list[Any]:
    """Return the lines of a table as named tuples."""
    return list(table.itertuples(index=False))


def _key(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _interval(estimate: stats.Estimate) -> tuple[float, float, float, int]:
    interval = estimate.interval().ratio()
    return interval.estimate, interval.low, interval.high, interval.n
