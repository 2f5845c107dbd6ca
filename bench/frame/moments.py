"""Figures over time: one line for each trial, moment and figure. Pure."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from inflight.bench.frame.frame import KEYS, OF_TRIAL

if TYPE_CHECKING:
    from inflight.bench.rows.files import Row


def moments(rows: Iterable["Row"], wide: pd.DataFrame) -> pd.DataFrame:
    """Return KEYS and OF_TRIAL of each trial of ``wide``, with ``at_ns`` (since it began), ``figure`` and ``value``.

    Figures: ``in_flight`` and ``completions`` of a crawl, ``threads``, ``rss_bytes`` and ``cpu_ns`` (samples from
    outside), ``window_cpu_per_page_ns`` of each window of an arm, ``waiting`` of an open loop, ``held`` and
    ``used_bytes`` of a swarm, and ``found`` of a limit, which is what was reached so far.
    """
    points = [(number, *moment) for number, row in enumerate(rows) for moment in _moments(row.measured)]
    lines = pd.DataFrame(points, columns=["row", "at_ns", "figure", "value"])
    return lines.join(wide[[*KEYS, *OF_TRIAL]], on="row").drop(columns="row").dropna(subset="value")


def _moments(measured: Any) -> Iterator[tuple[int, str, float]]:
    for name in ("samples", "backlog", "timeline"):
        if (line := getattr(measured, name, None)) is not None:
            yield from _line(line)
    windows = [window for window in getattr(measured, "windows", None) or () if window.pages]
    for window in windows:
        yield window.begin_ns - windows[0].begin_ns, "window_cpu_per_page_ns", window.cpu_ns / window.pages


def _line(line: Any) -> Iterator[tuple[int, str, float]]:
    if isinstance(line, list):
        for pair in line:
            yield pair[0], "found", pair[1]
        return
    figures = [name for name in line.__struct_fields__ if name not in {"at_ns", "bin_ns"}]
    for name in figures:
        values = getattr(line, name)
        times = getattr(line, "at_ns", None) or [(n + 1) * line.bin_ns for n in range(len(values))]
        for at, value in zip(times, values, strict=True):
            yield at, name, value
