"""Which Python, and what a second core adds, for docs/interpreters.md."""

from pathlib import Path

from inflight.bench.studies.interpreters import show as versions
from inflight.bench.studies.scaling import show as cores
from tools.document.stored import newest


def interpreters(runs: Path, beside: Path) -> str:
    """Return the finding of the newest run of several interpreters, its plot, and how it was made."""
    run = newest(runs, "interpreters")
    return run.finding(versions.sections, "interpreters", "CPU time per page on each interpreter", beside)


def scaling(runs: Path, beside: Path) -> str:
    """Return which models use a second core, by the newest run of scaling, its plot, and how it was made."""
    run = newest(runs, "scaling")
    return run.finding(cores.sections, "scaling", "Speed-up on two cores over the CPU work per page", beside)
