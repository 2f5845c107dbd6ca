"""The way in for programs and notebooks: ``load`` a stored run, or ``run`` an experiment, and get its ``Results``.

What stands here without an underscore is stable (``docs/api.md`` says what that means). Every refusal is one sentence:
``RowsError`` (not a run), ``ExperimentError`` and ``RunError`` (cannot be run so), ``NotInRunError`` (not in this run).
The measuring half is imported when something is measured: reading needs no strategy installed.
"""

import json
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.core import judge, rows
from inflight.bench.core.judge import ExperimentError
from inflight.bench.core.rows import MACHINE_FILE, Row, RowsError
from inflight.bench.report.results import Results
from inflight.bench.report.tidy import NotInRunError

if TYPE_CHECKING:
    from inflight.bench.core.experiment import Experiment

__all__ = ["ExperimentError", "NotInRunError", "Results", "RowsError", "load", "run"]


def load(folder: str | PathLike[str]) -> Results:
    """Return the results of a stored run, also of an interrupted one.

    Raises RowsError for a folder that holds none, and for rows or a ``machine.json`` that cannot be read. Without a
    ``machine.json`` the machine is empty.
    """
    path = Path(folder)
    return Results(path, rows.read(path), _machine(path / MACHINE_FILE))


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

    ``strategies``, ``rounds`` and ``seed`` replace what the experiment says. ``out`` is where the run's folder is made.
    A line a trial goes to standard error unless ``quiet``. ``memory_budget`` ends a trial that needs more, in bytes or
    as ``"4GB"``; by default half of what is free. Nothing is drawn: ask the results for what you want to see.

    Raises ExperimentError, RunError or StrategyError when it cannot be run so. An interrupted run raises
    KeyboardInterrupt with a note: the rows so far are kept.
    """
    from inflight.bench.commands import run as commands
    from inflight.bench.measure import host
    from inflight.bench.measure import run as runs

    asked, options = _asked(str(experiment), strategies, rounds, seed)
    budget_bytes = _bytes(memory_budget)
    trials = runs.plan(asked)
    machine = host.machine() | {"command": ["inflight", "run", str(experiment), *options]}
    folder = runs.new_folder(Path(out), asked, machine)
    if not quiet:
        commands.say_shortages(runs.shortages(trials))
    # Signals can be handled in the main thread only; elsewhere nobody's Ctrl-C arrives.
    is_main = threading.current_thread() is threading.main_thread()
    try:
        with commands.interruptible() if is_main else nullcontext():
            runs.execute(folder, asked, trials, _ignore if quiet else _say, budget_bytes)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(
            f"the rows so far are in {folder}: inflight.load reads them, `inflight run --resume {folder}` goes on"
        )
        raise
    return load(folder)


def _asked(
    name: str, chosen: str | Iterable[str] | None, rounds: int | None, seed: int | None
) -> tuple["Experiment", list[str]]:
    """Return the experiment with its changes, and the options of the command line that would make them."""
    from inflight.bench.core import experiment as experiments
    from inflight.strategies import names

    known = names()
    changes: dict[str, Any] = {}
    if chosen is not None:
        wanted = [part.strip() for part in chosen.split(",")] if isinstance(chosen, str) else list(chosen)
        judge.need(bool(wanted), "strategies names none; leave it out for all of the experiment's")
        for strategy in wanted:
            judge.check_known(strategy, known, "strategy", "strategies")
        changes["strategies"] = tuple(dict.fromkeys(wanted))
    if rounds is not None:
        changes["rounds"] = judge.whole(rounds, 1, judge.MOST_ROUNDS, "rounds")
    if seed is not None:
        changes["seed"] = judge.whole(seed, 0, experiments.MOST_SEED, "seed")
    texts = {key: ",".join(value) if key == "strategies" else str(value) for key, value in changes.items()}
    options = [word for key, text in texts.items() for word in (f"--{key}", text)]
    return replace(experiments.load(name, known), **changes), options


def _bytes(budget: str | int | None) -> int | None:
    from inflight.bench.commands import run as commands

    if budget is None or isinstance(budget, str):
        return None if budget is None else commands.size_bytes(budget, "memory_budget")
    return judge.whole(budget, 1, sys.maxsize, "memory_budget")


def _say(number: int, total: int, found: Sequence[Row]) -> None:
    from inflight.bench.commands.output import say
    from inflight.bench.report.trial_lines import trial_line

    for row in found:
        say(trial_line(number, total, row))


def _ignore(_number: int, _total: int, _found: Sequence[Row]) -> None:
    """Say nothing."""


def _machine(path: Path) -> dict[str, Any]:
    try:
        machine = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RowsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path} is not JSON: {error}") from error
    if not isinstance(machine, dict):
        raise RowsError(f"{path} does not describe a machine: it holds no JSON object")
    return machine
