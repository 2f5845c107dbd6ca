"""How the ratios of twelve blocks beside a neighbour differ from those without one, for docs/method-notes.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from inflight.bench.frame.statistics import Interval
from inflight.bench.present.markdown import row
from inflight.bench.rows.files import Row
from inflight.bench.studies.throughput.read import contrasts
from tools.document.stored import folders, newest, run

EXPERIMENT = "hundred"
"""All strategies with 100 in flight and no added latency: the blocks of ``quick``, twice as many."""
ALONE = "none"


def part(runs: Path, _beside: Path) -> str:
    """Return the ratios of each strategy in the newest run, and in the disturbed ones after it, over those of it."""
    alone = newest(runs, EXPERIMENT)
    later = [run(folder) for folder in folders(runs, f"{EXPERIMENT}-disturbed") if folder.name > alone.folder.name]
    found = {ALONE: ratios(alone.rows)} | {str(one.machine["neighbour"]): ratios(one.rows) for one in later}
    heads = ("CPU per page, ratio to callbacks", *(f"neighbour: {kind}" for kind in found))
    lines = [[name, *(_cell(own.get(name), found[ALONE][name]) for own in found.values())] for name in found[ALONE]]
    return "\n".join([row(heads), f"|{'---|' * len(heads)}", *(row(line) for line in lines)])


def ratios(rows: Sequence[Row]) -> Mapping[str, Interval]:
    """Return the ratio of each arm to the reference where no latency is added, by the arm's name."""
    return {one.arm: one.interval for one in contrasts(rows) if not one.workload.mean_latency_ns}


def _cell(found: Interval | None, alone: Interval) -> str:
    if found is None:
        return "-"
    told = f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})"
    off = 100 * (found.estimate / alone.estimate - 1)
    return told if found is alone else f"{told}, {off:+.1f} %"
