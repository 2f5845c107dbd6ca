"""Explain one comparison of the newest run of ``quick`` step by step, for docs/method.md."""

import math
from collections.abc import Sequence
from pathlib import Path

from inflight.bench.core import units
from inflight.bench.frame import statistics as stats
from inflight.bench.present.markdown import row as line
from inflight.bench.rows.files import Row
from inflight.bench.studies.throughput import read
from inflight.bench.studies.throughput.read import Contrast
from tools.document.stored import DocumentError, joined, newest

EXPERIMENT = "quick"
COMPARED = "thread_pool"
VERDICTS = {
    "differs": "They differ: p is below 5 %, and the ratio is off by 2 % or more",
    "same": "They tie: the ratio is surely within 2 % of 1",
    "unknown": "Undecided: the blocks neither show a difference of 2 % nor rule it out",
}


def part(runs: Path, _beside: Path) -> str:
    """Return the provenance of the run, the slices of one block, the ratios of all blocks, and the verdict."""
    shown = newest(runs, EXPERIMENT)
    compared, placebo = chosen(shown.rows)
    (first, *_) = (block for block in read.blocks(shown.rows) if block[0].workload.id == compared.workload.id)
    arms = [row for name in (compared.reference, placebo.arm, compared.arm) for row in first if row.strategy == name]
    return joined(
        shown.provenance,
        f"**Step 1: the slices of one block.** {slices(arms[0], compared.workload.in_flight)} The sums of all slices:",
        sums(arms),
        "**Step 2: one ratio per block.** Each ratio compares two arms of the same block. It is calculated from the "
        "stored CPU times per page, which are whole nanoseconds:",
        ratios(compared, placebo),
        "**Step 3: an interval over the blocks.** Calculated with the natural logarithms of the ratios:",
        steps(compared, placebo),
    )


def chosen(rows: Sequence[Row]) -> tuple[Contrast, Contrast]:
    """Return the contrasts of the strategy and of the placebo without latency. Raises DocumentError."""
    found = [one for one in read.contrasts(rows) if not one.workload.mean_latency_ns]
    compared = [one for one in found if one.arm == COMPARED]
    placebos = read.placebos(found)
    if not compared or not placebos:
        raise DocumentError(f"the newest run of {EXPERIMENT} has no valid block of {COMPARED} with a placebo")
    return compared[0], placebos[0]


def slices(arm: Row, in_flight: int) -> str:
    """Return how the windows of one arm vary, in sentences."""
    windows = arm.measured.windows
    lengths, pages = [one.wall_ns for one in windows], [round(one.pages) for one in windows]
    lasted = f"{units.duration(min(lengths))} to {units.duration(max(lengths))}"
    fetched = f"{units.count(min(pages))} to {units.count(max(pages))}"
    return (
        f"In block 1, with {in_flight} in flight and no added latency, each arm had {len(windows)} slices. The window "
        f"of a slice of {arm.strategy} lasted {lasted}, in which it fetched {fetched} pages. "
        "A single slice is too noisy."
    )


def sums(arms: Sequence[Row]) -> str:
    """Return a table of the windows of arms in one block; the first arm is the reference."""
    reference = arms[0].measured.cpu_per_page_ns
    lines = [
        (
            one.strategy,
            units.duration(sum(window.cpu_ns for window in one.measured.windows), 4),
            units.count(round(sum(window.pages for window in one.measured.windows))),
            units.duration(one.measured.cpu_per_page_ns, 4),
            "1" if one is arms[0] else f"{one.measured.cpu_per_page_ns / reference:.3f}",
        )
        for one in arms
    ]
    windows = len(arms[0].measured.windows)
    heads = ("arm", f"CPU time in {windows} windows", "pages", "CPU time per page", f"ratio to {arms[0].strategy}")
    return "\n".join([line(heads), "|---|---:|---:|---:|---:|", *map(line, lines)])


def ratios(compared: Contrast, placebo: Contrast) -> str:
    """Return a table of the ratios of each block."""
    heads = ("block", f"{compared.arm} / {compared.reference}", f"{placebo.arm} / {placebo.reference}")
    pairs = [(compared.logs[block], placebo.logs.get(block, math.nan)) for block in compared.logs]
    lines = [(str(n), f"{math.exp(one):.3f}", f"{math.exp(again):.3f}") for n, (one, again) in enumerate(pairs, 1)]
    return "\n".join([line(heads), "|---:|---:|---:|", *map(line, lines)])


def steps(compared: Contrast, placebo: Contrast) -> str:
    """Return a table from the mean of the logarithms to the verdict."""
    found = stats.mean(list(compared.logs.values()))
    own, again = compared.interval, placebo.interval
    n, times = found.n, stats.t_quantile(found.freedom, 0.975)
    lines = [
        ("mean of the logarithms", f"{found.value:.4f}", f"a ratio of {own.estimate:.3f}"),
        ("standard deviation", f"{found.error * math.sqrt(n):.4f}", f"how much the {n} blocks vary"),
        ("standard error", f"{found.error:.4f}", f"standard deviation / sqrt({n})"),
        ("95 % interval", _between(own), f"mean ± {times:.2f} standard errors (Student's t), as ratios"),
        ("placebo", f"{again.estimate:.3f}", f"the same code twice: 95 % interval {_between(again)}"),
        ("p", _p(found.p), "two-sided: the chance of a mean this far from 0, or farther, if the arms do not differ"),
        ("verdict", stats.answer(found), VERDICTS[stats.answer(found)]),
    ]
    heads = ("number", "here", "where it comes from")
    return "\n".join([line(heads), "|---|---:|---|", *map(line, lines)])


def _between(interval: stats.Interval) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _p(p: float) -> str:
    return units.number(p, 2) if p >= 0.00001 else "below 0.00001"
