"""What the tests of the Python API share: results of made rows, and of the reference runs."""

from pathlib import Path

from inflight.bench.api import Results
from inflight.bench.measure.process import ROOT
from inflight.bench.rows.files import Row
from tests.made_rows import MACHINE

HOSTILE = "$x^{2}\\bad$ <b>\n\x1b[31m"


def reference(experiment: str) -> Path:
    """Return the newest reference run of a preset."""
    return max((ROOT / "results" / "reference").glob(f"*-{experiment}"))


def made(rows: list[Row]) -> Results:
    """Return results that are stored nowhere."""
    return Results(Path("made"), rows, MACHINE)
