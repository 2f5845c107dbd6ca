"""Which model is fastest where, for docs/decisions.md."""

from pathlib import Path

from inflight.bench.studies.decision_map import show
from tools.document.stored import newest


def part(runs: Path, beside: Path) -> str:
    """Return the finding of the newest decision map, its plot, and how it was made."""
    return newest(runs, "map").finding(show.sections, "map", "The decision map", beside)
