"""The command ``inflight race``: measure or read a run, write the page, play the race, print its result.

``lanes`` makes the race of the rows, ``page`` draws it; ``inflight demo`` calls ``show``, too. Two modules are called
``run``: ``commands`` is that of ``inflight run``, whose functions all commands share, ``runs`` is the one that measures
(``measure.run``).
"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from inflight.bench.commands.options import PLACE, QUIET, many_strategies, option
from inflight.bench.commands.output import put, say
from inflight.bench.commands.run import execute, experiment_of, interruptible, say_left_out
from inflight.bench.measure.run import RunError, new_folder, plan
from inflight.bench.plan.experiment import named
from inflight.bench.plan.judge import need
from inflight.bench.race.lanes import Race, races
from inflight.bench.race.page import REPLAY_S, fragment, page, watch
from inflight.bench.race.page import section as result
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import RowsError
from inflight.bench.show import terminal
from inflight.bench.show.terminal import wants_live

PRESET = "race"
"""The preset that is measured."""
MAX_WIDTH = 100
"""Maximum width of the result in columns."""


@click.argument("folder", required=False, metavar="[RUN]", type=PLACE)
@many_strategies("Without it, all.")
@click.option(
    "--speed",
    metavar="N",
    type=click.FloatRange(0.01, 100),
    default=1.0,
    help="Speed of the replay.",
)
@option("--out", note="A new run gets a new folder in it. [default: results, or with RUN its folder]")
@QUIET
def run(*, folder: Path | None, chosen: Sequence[str], speed: float, out: Path | None) -> int:
    """Replay recorded crawls of the strategies side by side.

    Each strategy was recorded alone, on the same site.

    \b
    inflight race                          measure the preset race, then watch it
    inflight race results/20261120T101500000Z-laptop-quick --speed 0.5
    inflight race --strategy callbacks --strategy thread_pool

    A terminal plays the race once, in ten seconds at speed 1. The page race.html has controls.
    """
    need(speed > 0, "--speed: nan is not in the range 0.01<=x<=100")  # click lets it pass
    run_folder = folder
    if run_folder is None:
        experiment = experiment_of(PRESET, chosen or None)
        need(len(experiment.strategies) >= 2, "--strategy is given once; a race needs two strategies")
        trials = plan(experiment)
        say_left_out(experiment, trials)
        run_folder = new_folder(out or Path("results"), experiment)
        if execute(run_folder, experiment, trials):
            raise KeyboardInterrupt
    stored = rows.read(run_folder)
    known = sorted({row.arm for row in stored if row.kind == "crawl"})
    names = {named(name, "--strategy", known) for name in chosen}
    raced = [row for row in stored if not chosen or row.arm in names]
    body = fragment(raced)
    if body is None:
        raise RowsError(f"{run_folder} has no two strategies on one workload with a time line")
    _write(page(body, f"inflight: the race of {run_folder.resolve().name}"), run_folder, out if folder else None)
    show(races(raced)[0], REPLAY_S / speed)
    return 0 if folder or any(row.valid for row in stored) else 1


def show(race: Race, seconds: float) -> None:
    """Play a race on a terminal, and print its result."""
    if wants_live(sys.stdout):
        with interruptible():
            watch(race, seconds)
    width = min(MAX_WIDTH, shutil.get_terminal_size((MAX_WIDTH, 24)).columns)
    put(terminal.text(result(race), width).plain)


def _write(text: str, folder: Path, out: Path | None) -> None:
    """Write the page, by default into the folder of the run, which may be read-only. Raises RunError for ``out``."""
    path = (out or folder) / "race.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        rows.write(path, text)
        say(f"race:  {path}")
    except OSError as error:
        if out is not None:
            raise RunError(f"--out: cannot write {path}: {error.strerror}") from error
        say(f"race:  not written: cannot write {path} ({error.strerror})")
