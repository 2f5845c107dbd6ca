"""The API for programs and notebooks: ``load`` a stored run or ``run`` an experiment, and get its ``Results``.

Users call it as ``inflight.load`` and ``inflight.run``. Names without an underscore are stable (``docs/api.md``). Each
error has one sentence: ``RowsError`` (not a run), ``ExperimentError`` and ``RunError`` (cannot be run),
``NotInRunError`` (not in this run). Reading needs no strategy installed: the measuring half is imported when something
is measured. ``commands`` below is the module of ``inflight run``, whose functions are used; ``runs`` is what measures.
"""

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from inflight.bench.plan import judge
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, RowsError
from inflight.bench.show.results import Results
from inflight.bench.show.words import NotInRunError

if TYPE_CHECKING:
    from inflight.bench.plan.trial import Trial

__all__ = ["ExperimentError", "NotInRunError", "Results", "RowsError", "load", "run"]


def load(folder: str | PathLike[str]) -> Results:
    """Return the results of a stored run; it may have been interrupted.

    Raises RowsError for a folder that is not a run, and for rows or a ``machine.json`` that cannot be read. Without a
    ``machine.json`` the machine is empty.
    """
    path = Path(folder)
    return Results(path, rows.read(path), rows.machine(path))


def run(
    experiment: str | PathLike[str] = "quick",
    *,
    strategies: str | Iterable[str] | None = None,
    rounds: int | None = None,
    seed: int | None = None,
    out: str | PathLike[str] = "results",
    quiet: bool = False,
    memory_budget: str | int | None = None,
) -> Results:
    """Run a preset or the TOML file of an experiment, as ``inflight run`` does, and return its results.

    ``strategies``, ``rounds`` and ``seed`` replace those of the experiment. The run gets a new folder in ``out``. Each
    trial prints a line on standard error, unless ``quiet``. A trial that needs more than ``memory_budget`` is stopped:
    bytes, or a text such as ``"4GB"``; by default half of the free memory. No plots are drawn.

    Raises ExperimentError, RunError or StrategyError if the experiment cannot be run. An interrupted run raises
    KeyboardInterrupt with a note that names the folder: finished rows are kept.
    """
    from inflight.bench.commands import run as commands
    from inflight.bench.measure import host
    from inflight.bench.measure import run as runs

    asked = commands.experiment_of(str(experiment), strategies, rounds, seed, where=str)
    names = () if strategies is None else asked.strategies
    changes = [*(("--strategy", name) for name in names), ("--rounds", rounds), ("--seed", seed)]
    options = [text for option, value in changes if value is not None for text in (option, str(value))]
    budget_bytes = _bytes(memory_budget)
    trials = runs.plan(asked)
    machine = host.machine() | {"command": ["inflight", "run", str(experiment), *options]}
    folder = runs.new_folder(Path(out), asked, machine)
    if not quiet:
        commands.say_left_out(asked, trials)
    # Only the main thread can handle signals.
    is_main = threading.current_thread() is threading.main_thread()
    try:
        with commands.interruptible() if is_main else nullcontext():
            runs.execute(folder, asked, trials, _ignore if quiet else _sayer(trials), budget_bytes)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(
            f"finished rows are in {folder}: inflight.load reads them, `inflight run --resume {folder}` continues"
        )
        raise
    return load(folder)


def _bytes(budget: str | int | None) -> int | None:
    """Return the bytes of a memory budget, given as a text or as a number; None without one. Raises ExperimentError."""
    from inflight.bench.commands import run as commands

    if budget is None or isinstance(budget, str):
        return commands.budget_bytes(budget, "memory_budget")
    return judge.whole(budget, 1, sys.maxsize, "memory_budget")


def _sayer(trials: "Iterable[Trial]") -> Callable[[int, int, Sequence[Row]], None]:
    """Return a function that prints the lines of finished trials."""
    from inflight.bench.commands.output import say
    from inflight.bench.plan.trial import row_trials
    from inflight.bench.show.progress import name_width, trial_line

    width = name_width(part.name for trial in trials for part in row_trials(trial))

    def report(number: int, total: int, rows: Sequence[Row]) -> None:
        """Print a line for each row of a trial; ``number`` of ``total`` trials have ended."""
        for row in rows:
            say(trial_line(number, total, row, width))

    return report


def _ignore(_number: int, _total: int, _found: Sequence[Row]) -> None:
    """Take the place of ``_sayer`` when ``quiet``."""
