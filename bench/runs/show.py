"""The comparison of stored runs as text, Markdown, JSON and a plot.

``inflight compare`` (``runs.command``) calls ``text``, ``markdown``, ``to_json`` and ``picture`` with what
``compare`` has found. A *place* of a run is its number in the comparison, from 0.
"""

import json
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import records
from inflight.bench.frame.figures import FIGURES
from inflight.bench.runs.compare import KEYS, MIN_RUNS, ComparedRuns
from inflight.bench.show import markdown as form
from inflight.bench.show import terminal, words
from inflight.bench.show.looks import GREY, looks
from inflight.bench.show.pictures import MAX_LINES, Label, Panel, Picture, Point, draw_labels, draw_series
from inflight.bench.show.study import site_differences
from inflight.bench.show.table import Group, Line, Section, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 100
"""Maximum width in a terminal."""
FORMAT = 2
"""Format of the JSON."""
TITLE = "{verdict}: {worse} worse, {better} better, {equal} equal within 2 %, {range} in range, {tell} can't tell"
"""The verdict, and the number of figures with each answer."""
SIGNS = {"equal": "=", "in range": "in range", "can't tell": "?", "worse": "worse", "better": "better"}
"""Sign of each answer in the table."""
NOTES = (
    "Times are ratios to the baseline of the same run. The line of the baseline itself, and memory, are absolute.",
    "Last column: the last run over the first, with its 95 % interval. =: equal within 2 %. ?: can't tell.",
    "In range: the last run is in the interval in which the first expected the next one in 90 % of cases.",
    "The answers allow for the number of comparisons within a workload; the intervals do not.",
    "A baseline that got worse is no regression: the machine or the code changed. `inflight ab` decides which.",
)
"""Sentences below the tables."""
UNLIKE = "No verdict (machines or clocks differ, or are unknown)"
"""Verdict on runs that cannot be compared."""
POINTS = "Change points are by Apache Otava: p at most 0.001, not corrected for their number, and at least 2 %."
"""What stands below change points."""
NO_POINTS = "Change points need Apache Otava: pip install apache-otava."
"""What stands there without Otava."""
MAX_PANELS = 6
"""Maximum number of panels of a plot."""
BESIDE = 0.05
"""Distance between the points of two strategies in a run, so that their intervals do not cover each other.

In units of the axis of runs, on which two runs are 1 apart.
"""
OF_PLOT = (
    "Points: means over blocks, a ratio to the baseline of the same run. Bars: 95 % intervals of that run. "
    "Dashed: a change point."
)
"""How to read the plot."""


def title(comparison: ComparedRuns) -> str:
    """Return the verdict, and how many figures have each answer."""
    counts = comparison.changes["answer"].value_counts()
    numbers = {answer.split()[-1]: counts.get(answer, 0) for answer in SIGNS}
    verdict = UNLIKE if comparison.is_unlike else comparison.verdict.capitalize()
    return TITLE.format(verdict=verdict, **numbers)


def text(comparison: ComparedRuns) -> str:
    """Return the comparison for a terminal."""
    return terminal.text(_section(comparison), WIDTH).plain


def markdown(comparison: ComparedRuns) -> str:
    """Return the comparison as Markdown."""
    return f"# Comparison of stored runs\n\n{form.markdown(_section(comparison))}\n"


def to_json(comparison: ComparedRuns) -> dict[str, Any]:
    """Return the comparison as values for JSON. Ends of the interval of a single value are null."""
    runs = comparison.runs
    return {
        "format": FORMAT,
        "verdict": comparison.verdict,
        "headline": title(comparison),
        "runs": [{"name": run.name, "trials": len(run.rows), "valid": run.valid} for run in runs],
        "differences": dict(comparison.differences),
        "figures": _values(comparison.means),
        "changes": _values(comparison.changes),
        "change_points": None if comparison.points is None else _values(comparison.points),
        "not_compared": _values(comparison.lonely.reset_index()),
    }


def workloads(means: pd.DataFrame) -> "pd.Series[str]":
    """Return the workload of each line of one figure: latency, number in flight, and what differs between lines."""
    lines = means.assign(site=site_differences(means["site"]))
    varied = [key for key in ("cpu", "connection", "site", "site_pages", "kind") if len(set(lines[key])) > 1]
    names = []
    for line in lines[["latency", "in_flight", *varied]].to_dict("records"):
        texts = [words.value_name(str(key), value) for key, value in line.items() if value]
        names.append(words.join(", ", *texts))
    return pd.Series(names, means.index)


def value_text(line: Any, value: float) -> str:
    """Write a value of a line: a ratio, or a figure in its unit."""
    if line.is_ratio:
        return units.times(value, 3)
    return FIGURES[line.figure].write(value, 3).removesuffix(" pages/s")


def _section(comparison: ComparedRuns) -> Section:
    """Return the comparison as tables."""
    lines = []
    for number, run in enumerate(comparison.runs, 1):
        lines.append((f"{number}: {words.plain(run.name, 80)}", str(len(run.rows)), str(run.valid)))
    notes = list(NOTES)
    if comparison.points is None and len(lines) >= MIN_RUNS:
        notes.append(NO_POINTS)
    if comparison.points is not None and len(comparison.points):
        notes.append(POINTS)
    tables = (Table("Runs", ("", "trials", "valid"), tuple(lines)), _ratios(comparison), *_others(comparison))
    return Section(title(comparison), tables, tuple(notes))


def _ratios(comparison: ComparedRuns) -> Table:
    """Return the table of all figures over the runs, by figure and workload."""
    changes = {change[: len(KEYS)]: change for change in records(comparison.changes)}
    points: dict[Any, list[str]] = {}
    for point in [] if comparison.points is None else records(comparison.points):
        points.setdefault(point[: len(KEYS)], []).append(f"from {point.run + 1}: {value_text(point, point.after)}")
    places = range(len(comparison.runs))
    heads = ["", *(str(place + 1) for place in places), "last / first"]
    if points:
        heads.append("change points")
    lines: list[Line] = []
    for figure, group in comparison.means.groupby("figure", sort=False):
        for workload, means in group.groupby(workloads(group), sort=False):
            lines.append(Group(f"{FIGURES[str(figure)].words}, {workload}"))
            for key, series in means.groupby(KEYS, sort=False):
                change = changes[key]
                values = {mean.run: value_text(mean, mean.estimate) for mean in records(series)}
                ends = "" if math.isinf(change.high) else f" ({change.low:.2f} to {change.high:.2f})"
                text = f"{units.times(change.estimate, 3)}{ends} {SIGNS[change.answer]}"
                cells = [words.name(change.arm), *(values.get(place, "-") for place in places), text]
                if points:
                    cells.append(", ".join(points.get(key, [])))
                lines.append(tuple(cells))
    return Table("Ratios over runs", tuple(heads), tuple(lines))


def _others(comparison: ComparedRuns) -> Iterator[Table]:
    """Yield what the runs do not have in common, and what differs between them."""
    if len(comparison.lonely):
        places = range(len(comparison.runs))
        heads = ("", *(str(place + 1) for place in places))
        lonely = comparison.lonely.reindex(columns=places, fill_value=0)
        lines: list[Line] = [(words.name(arm), *map(str, numbers)) for arm, *numbers in lonely.itertuples()]
        yield Table("Not compared: figures without a baseline, or not in the first and last run", heads, tuple(lines))
    if comparison.differences:
        values = {name: dict.fromkeys(texts) for name, texts in comparison.differences.items()}
        lines = [(name, words.plain(" / ".join(texts), 76)) for name, texts in values.items()]
        yield Table("Different between the runs", ("", "value"), tuple(lines))


def _values(lines: pd.DataFrame) -> Any:
    """Return the lines of a table as objects; infinity and NaN become null."""
    return json.loads(lines.to_json(orient="records"))


# The plot


def picture(comparison: ComparedRuns) -> Picture:
    """Return the first figure that has ratios, or else the first one; of many workloads, those with the most lines."""
    means = comparison.means
    if means["is_ratio"].any():
        means = means[means["is_ratio"]]
    means = means[means["figure"] == means["figure"].iloc[0]]
    means = means.assign(workload=workloads(means))
    largest = means["workload"].value_counts(sort=False).nlargest(MAX_PANELS)
    names = list(means["arm"].unique())
    panels = []
    for workload, lines in means.groupby("workload", sort=False):
        if workload in largest:
            draw = partial(_draw_workload, means=lines, names=names, comparison=comparison)
            panels.append(Panel(str(workload), draw))
    runs = [f"{n}:\N{NO-BREAK SPACE}{words.plain(run.name, 60)}" for n, run in enumerate(comparison.runs, 1)]
    note = f"{title(comparison)}. {OF_PLOT}"
    return Picture("compare", "Ratios over runs", note, panels, footer=" · ".join(runs))


def _draw_workload(axes: "Axes", means: pd.DataFrame, names: Sequence[str], comparison: ComparedRuns) -> None:
    """Draw the ratios of one workload over the runs: a line for each of these names, and its change points."""
    known = looks(names[:MAX_LINES])
    labels = list[Label]()
    middle = (means["arm"].nunique() - 1) / 2
    for place, (arm, group) in enumerate(means.groupby("arm", sort=False)):
        aside = 1 + BESIDE * (place - middle)
        points = [Point(each.run + aside, each.estimate, each.low, each.high) for each in records(group)]
        labels += draw_series(axes, str(arm), points, known.get(str(arm)))
    low = means["estimate"].min()
    high = means["estimate"].max()
    room = max(high - low, 0.05 * high)
    bars = means[means["n"] > 1]
    lowest = min([low, *bars["low"]])
    highest = max([high, *bars["high"]])
    axes.set_ylim(max(lowest, low - room) - 0.1 * room, min(highest, high + room) + 0.1 * room)
    axes.set_xlim(0.6, len(comparison.runs) + 0.4)
    axes.set_xticks(range(1, len(comparison.runs) + 1))
    first = records(means)[0]
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.6g}" if first.is_ratio else value_text(first, value))
    axes.set_xlabel("run")
    against = f", ratio to {words.name(first.against)}" if first.is_ratio else ""
    axes.set_ylabel(f"{FIGURES[first.figure].words}{against}")
    if comparison.points is not None:
        for run in comparison.points.merge(means, on=KEYS)["run_x"].unique():
            axes.axvline(run + 0.5, color=GREY, linestyle=(0, (4, 3)), linewidth=1.5, zorder=1)
    draw_labels(axes, labels)
