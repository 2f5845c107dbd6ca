"""The command ``inflight race``: measure or read a run, write the page, replay the race, print its result."""

import math
import shutil
import sys
from pathlib import Path

from inflight.bench.commands import run as commands
from inflight.bench.commands.output import say
from inflight.bench.core import rows
from inflight.bench.core.experiment import ExperimentError, named
from inflight.bench.core.records.crawls import Crawl
from inflight.bench.core.rows import Row, RowsError
from inflight.bench.measure import run as runs
from inflight.bench.present import section
from inflight.bench.studies.race import show
from inflight.bench.studies.race.page import fragment, page
from inflight.bench.studies.race.read import races
from inflight.bench.studies.race.terminal import is_watched, watch

PRESET = "race"
PAGE_FILE = "race.html"
WIDEST = 100
REFUSALS = commands.REFUSALS


def run(*, folder: Path | None, chosen: str | None, speed: float, out: Path) -> int:
    """Replay a run, or a new one of the preset; return the exit code.

    0; 1 when a new run has no valid row. Raises RowsError for a run without a race, ExperimentError for an unknown
    strategy, and KeyboardInterrupt.
    """
    if not math.isfinite(speed):
        raise ExperimentError(f"--speed must be a number such as 0.5, not {speed}")
    run_folder = folder or _measured(chosen, out)
    found = rows.read(run_folder)
    raced = _chosen(found, chosen)
    shown = fragment(raced)
    if shown is None:
        raise RowsError(f"{run_folder} has no two strategies on one workload with a time line")
    path = run_folder / PAGE_FILE
    try:
        path.write_text(page(shown, f"inflight: the race of {run_folder.resolve().name}"), encoding="utf-8")
        say(f"race:  {path}")
    except OSError as error:
        say(f"race:  not written: cannot write {path} ({error.strerror})")
    best = races(raced)[0]
    if is_watched():
        with commands.interruptible():
            watch(best, speed)
    width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns) if sys.stdout.isatty() else WIDEST
    print(section.text(show.section(best), width).plain)
    return 0 if folder or any(row.valid for row in found) else 1


def _measured(chosen: str | None, out: Path) -> Path:
    """Run the preset; return its folder. Raises KeyboardInterrupt when that was interrupted."""
    experiment = commands.experiment_of(PRESET, chosen)
    if len(experiment.strategies) < 2:
        raise ExperimentError("--strategies names only one; a race needs two")
    trials = runs.plan(experiment)
    commands.say_left_out(experiment, trials)
    folder = runs.new_folder(out, experiment)
    if commands.execute(folder, experiment, trials):
        say(f"interrupted; go on with: inflight run --resume {folder}")
        raise KeyboardInterrupt
    return folder


def _chosen(found: list[Row], names: str | None) -> list[Row]:
    """Return the rows of the named strategies. Raises ExperimentError for a name that no row has."""
    if names is None:
        return found
    known = sorted({row.strategy for row in found if isinstance(row, Crawl)})
    wanted = {part.strip() for part in names.split(",") if part.strip()}
    if not wanted:
        raise ExperimentError("--strategies is empty; separate names with commas, as in callbacks,thread_pool")
    chosen = {named(name, "--strategies", known) for name in sorted(wanted)}
    return [row for row in found if row.strategy in chosen]
