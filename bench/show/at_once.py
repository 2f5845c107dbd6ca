"""How many fetches a process can have at once, by model: the limits that the fetches of each model need.

``answer`` has it as a column (``rooms``), ``studies`` as a plot (``draw``); both use ``base`` and ``slopes``, too. It
combines rows of the kind limit (what the machine allows) with the slopes of memory per fetch of the same run. Every
fetch needs a descriptor, a local port and memory; with a thread for each fetch it needs a thread, too.
"""

import math
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import records
from inflight.bench.frame.slopes import FULL
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import OVER_TLS
from inflight.bench.rows.parts import REACHED
from inflight.bench.rows.records import RECORDS
from inflight.bench.show import pictures, words
from inflight.bench.show.looks import COLOURS, GREY
from inflight.bench.show.pictures import MAX_BARS, ROW, Bar, Panel, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from inflight.bench.show.studies import Studies

NAME = "at_once"
"""Name of the plot, and of the column of an answer."""
SHARED = ("descriptors", "ports")
"""Limits that the fetches of every model need."""
MEMORY, THREADS = "memory", "threads"
"""Limits that depend on the model."""
ONE, OWN = "at a time", "its own limit"
"""What stops a model that never has more than one fetch in flight, and a client with a limit of its own."""
CRAWLED = [kind for kind, record in RECORDS.items() if record.IS_CRAWL and kind != "counts"]
"""Kinds of trials in which a model has as many in flight as were asked for; what is counted has one."""
C10K = 10_000
"""The number of the C10K problem."""
TITLE = "How many fetches at once in one process"
"""Title of the plot."""
NOTES = (
    "Bars: what the memory, and the threads, of this machine allow each model; a bar that ends at the edge goes on. "
    "Lines: what every model needs, and the 10,000 of C10K."
)
"""How to read it."""
Rooms = dict[str, int]
"""How many fetches each limit allows, by the resource."""


class MachineLimit(NamedTuple):
    """How much of a resource a process can have."""

    most: int
    by: str
    """The name of the limit, or of several that are equally low."""
    is_predicted: bool
    """Whether nothing was tried."""


def base(line: str) -> str:
    """Return the name of a line without what a client with a limit of its own has reached."""
    return re.sub(REACHED, "", words.name(line))


def limits(rows: Sequence[Row]) -> dict[str, MachineLimit]:
    """Return the limits of this machine that the run looked for and that are known, by the resource."""
    known = dict[str, MachineLimit]()
    for row in rows:
        if row.kind != "limit" or not row.valid:
            continue
        measured = row.measured
        is_predicted = measured.found is None
        most = measured.predicted if is_predicted else measured.found
        by = measured.predicted_by if is_predicted else measured.bound_by
        names = by if isinstance(by, list) else [by or "unknown limit"]
        if most is not None:
            each = MachineLimit(int(most), words.plain(" or ".join(names), 60), is_predicted)
            known.setdefault(row.workload.resource, each)
    return known


def crawled(studies: "Studies") -> pd.DataFrame:
    """Return the valid trials in which a model crawls, without controls; the column ``model`` has its name."""
    trials = studies.trials
    is_counted = trials["valid"] & trials["kind"].isin(CRAWLED) & (trials["role"] != "placebo")
    of_models = trials[is_counted]
    return of_models.assign(model=of_models["arm"].map(base))


def with_threads(trials: pd.DataFrame) -> set[str]:
    """Return the models that have a thread for each fetch: as many threads as fetches in flight, or more."""
    if "peak_threads" not in trials:
        return set()
    is_many: pd.Series[bool] = (trials["in_flight"] > 1) & (trials["peak_threads"] >= trials["in_flight"])
    return set(trials.loc[is_many, "model"])


def slopes(studies: "Studies", *, over_tls: bool = False) -> dict[str, Any]:
    """Return the slope of all layers of each thread, task or fetch, by its name; parked workers are left out.

    Fetches of https are left out with ``over_tls`` false, unless no other fetch was held; they alone remain with true.
    """
    idle: dict[str, Any] = {}
    for is_tls in [True] if over_tls else [False, True]:
        for part in studies.parts["memory"]:
            table = part.figures
            able = table[(table["layer"] == FULL) & (table["group"] != "parked") & table["estimate"].notna()]
            able = able[able["connection"].str.endswith(OVER_TLS) == is_tls]
            sizes = {slope.line: slope for slope in records(able)}
            if (able["group"] != "idle").any():
                return sizes
            idle = idle or sizes
    return idle


def rooms(studies: "Studies") -> dict[str, Rooms]:
    """Return how many fetches each limit allows each model; nothing if the run did not look for limits.

    A model is left without any limit where none is known.
    """
    rows = studies.rows
    if not any(row.kind == "limit" for row in rows):
        return {}
    known = limits(rows)
    trials = crawled(studies)
    sizes = slopes(studies)
    of_threads = with_threads(trials)
    largest = trials.groupby("model", sort=False)["in_flight"].max()
    limited = {base(row.arm): row.measured.reached_in_flight for row in rows if row.reached}
    table = {}
    for model, in_flight in largest.items():
        room = {name: known[name].most for name in SHARED if name in known}
        if model in limited:
            room[OWN] = limited[model]
        if model in of_threads and THREADS in known:
            room[THREADS] = known[THREADS].most
        if model in sizes and MEMORY in known and sizes[model].estimate > 0:
            room[MEMORY] = math.floor(known[MEMORY].most / sizes[model].estimate)
        if in_flight == 1 < largest.max():
            room = {ONE: 1}
        table[str(model)] = room
    return table


def draw(studies: "Studies") -> Picture | None:
    """Return the picture: of the models, or else of the limits alone; None if the run did not look for limits."""
    every = limits(studies.rows)
    known = {name: every[name] for name in (THREADS, *SHARED) if name in every}
    if not known:
        return None
    lines = {C10K: "10,000 (C10K)"}
    end = 1.5 * max(C10K, min(each.most for each in known.values()))
    table = {model: room for model, room in rooms(studies).items() if set(room) - {*SHARED}}
    bars = []
    for model, room in list(table.items())[:MAX_BARS]:
        most, by = min((most, name) for name, most in room.items() if name not in SHARED)
        text = units.count(round(most, -4 if by == MEMORY else 0))
        bars.append(Bar(model, min(most, end), f"{text} {by}", model, studies.stacks[model]))
    if bars:
        lines |= {known[name].most: f"{units.count(known[name].most)} {name}" for name in SHARED if name in known}
    else:
        for name, each in known.items():
            bars.append(Bar(name, min(each.most, end), f"{units.count(each.most)}, {each.by}", name))
    height = 1.9 + ROW * max(2, len(bars))
    return Picture(
        NAME,
        TITLE,
        NOTES,
        [Panel(TITLE, partial(_draw, bars=bars, lines=lines, end=end), height)],
    )


def _draw(axes: "Axes", bars: Sequence[Bar], lines: dict[int, str], end: float) -> None:
    """Draw the bars up to the end of the axis, and a line for each limit of every model that is before it."""
    pictures.draw_bars(axes, bars)
    axes.set_xlim(0, end)
    for place, most in enumerate(sorted((most for most in lines if most < end), reverse=True)):
        axes.axvline(
            most,
            color=GREY if most != C10K else COLOURS[1],
            linestyle=(0, (5, 3)),
            linewidth=1.4,
        )
        aside: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
        axes.annotate(
            lines[most],
            (most, 1),
            xytext=(-3, 3 + 14 * place),
            ha="right",
            **aside,
        )
    pictures.set_ticks(axes.xaxis, units.count, 3)
    axes.set_xlabel("fetches at once")
