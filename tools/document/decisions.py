"""What the series of real decisions in results/decisions/ came to, for docs/verdicts.md."""

import json
from pathlib import Path

from inflight.bench.core import units
from inflight.bench.present.markdown import row
from inflight.bench.rows.files import MACHINE_FILE
from inflight.bench.studies.compare.simulation import rate_bounds
from tools.selftest_long import DECISIONS_FILE, Kind, kinds, made

STORED = "decisions"
"""The folder of the series, beside that of the runs."""


def part(runs: Path, _beside: Path) -> str:
    """Return a table with a line for each kind of decision."""
    heads = (
        "decisions",
        "neighbour",
        "verdicts",
        "mean change",
        "blocks per decision",
        "seconds per decision",
        "longest (s)",
    )
    lines = [row(heads), "|---|---|---|---:|---:|---:|---:|"]
    for folder in sorted(path.parent for path in (runs.parent / STORED).glob(f"*/{DECISIONS_FILE}")):
        machine = json.loads((folder / MACHINE_FILE).read_text(encoding="utf-8"))
        lines += [row(_cells(kind, machine.get("neighbour") or "none")) for kind in kinds(made(folder).values())]
    return "\n".join(lines)


def false_alarms(runs: Path) -> str:
    """State how many comparisons without a change were called a regression, and the bound of their rate."""
    folders = sorted(path.parent for path in (runs.parent / STORED).glob(f"*/{DECISIONS_FILE}"))
    same = [kind for folder in folders for kind in kinds(made(folder).values()) if kind.name == "aa"]
    alarms, decided = sum(kind.verdicts.get("regression", 0) for kind in same), sum(kind.decisions for kind in same)
    most = units.percent(rate_bounds(alarms, decided)[1], 1)
    return f"{alarms} false alarms in {decided} real comparisons without a change (95 %: at most {most})"


def _cells(kind: Kind, beside: str) -> tuple[str, ...]:
    planted = "without a change" if kind.name == "aa" else f"planted, meant to be {kind.name.rpartition('-')[2]} %"
    figures = f"{100 * kind.seen:+.1f} %", f"{kind.blocks:.1f}", f"{kind.mean_s:.0f}", f"{kind.most_s:.0f}"
    return f"{kind.decisions} {planted}", beside, kind.told, *figures
