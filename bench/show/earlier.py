"""What earlier runs on the same machine found, beside what this one found."""

import math
import statistics

from inflight.bench.frame import ratios
from inflight.bench.frame.ratios import Place
from inflight.bench.plan.arm import REFERENCE
from inflight.bench.show import words
from inflight.bench.show.studies import Studies
from inflight.bench.show.table import Section, Table

MAX_LINES = 40
OUTSIDE = " *"
"""Mark of a ratio outside of the range of earlier runs."""


def section(studies: Studies) -> Section | None:
    """Return the ratios of a run beside those of earlier ones; None without an earlier run or a ratio."""
    latest = _ratios(ratios.estimates(studies.lines))
    runs = [_ratios(run.estimates) for run in studies.history.runs]
    lines = []
    for place, ratio in latest.items():
        before = [run[place] for run in runs if place in run]
        if before:
            ends = f"{min(before):.2f} to {max(before):.2f}"
            median = f"{statistics.median(before):.2f}x"
            here = f"{ratio:.2f}x{'' if min(before) <= ratio <= max(before) else OUTSIDE}"
            lines.append((_name(place), here, median, ends, str(len(before))))
    if not lines:
        return None
    outside = sum(line[1].endswith(OUTSIDE) for line in lines)
    notes = [words.SENTENCES["outside"]] if outside else []
    notes += [f"The first {MAX_LINES} of {len(lines)} ratios."] if len(lines) > MAX_LINES else []
    heads = ("ratio of CPU per page to the reference", "this run", "median", "range", "runs")
    table = Table("Earlier runs of these workloads on this machine", heads, tuple(lines[:MAX_LINES]), tuple(notes))
    counts = {"within": len(lines) - outside, "number": len(lines), "runs": len(runs)}
    return Section("", (table,), findings=(words.SENTENCES["within"].format(**counts),) if len(runs) > 1 else ())


def _ratios(estimates: ratios.Estimates) -> dict[Place, float]:
    """Return the ratios to the reference."""
    known = {}
    for (cell, pair), estimate in estimates.items():
        if REFERENCE in pair:
            is_first = min(pair) == REFERENCE
            known[cell, pair] = math.exp(-estimate.value if is_first else estimate.value)
    return known


def _name(place: Place) -> str:
    cell, pair = place
    (strategy,) = pair - {REFERENCE}
    values = dict(zip(ratios.OF_TABLE, cell, strict=True))
    workload = words.workload("arm", {key: values[key] for key in ("latency", "cpu", "in_flight")})
    return f"{words.plain(strategy, 60)}, {workload}"
