"""The command ``inflight limits``: predict each limit, find it, and explain the finding."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from inflight import strategies
from inflight.bench import units
from inflight.bench.commands.output import say, say_plots
from inflight.bench.commands.run import interruptible
from inflight.bench.measure import limits
from inflight.bench.measure import run as runs
from inflight.bench.measure.limits import Ceiling
from inflight.bench.measure.limits.ceilings import SHARED_PART, polite
from inflight.bench.measure.limits.run import limit_row
from inflight.bench.measure.trial import Begin
from inflight.bench.plan import bare, experiment
from inflight.bench.plan import trials as plan
from inflight.bench.plan.judge import check_known
from inflight.bench.rows import files as rows
from inflight.bench.rows.bare import limit_text

REFUSALS = (runs.RunError, experiment.ExperimentError)
LABEL = 10
ABOUT = "The limits of this machine, as found by inflight limits."
Save = Callable[[str, dict[str, Any], Begin], None]
"""Function that stores the finding about a resource, and when it began."""
WHAT_FOLLOWS = {
    "threads": "about to start threads, up to {most}",
    "descriptors": "about to open files, up to {most}",
    "ports": "about to bind sockets to a private loopback address, up to {most}",
    "backlog": "about to open connections that are never accepted, up to {most}",
    "memory": "reserving nothing, unless a limit of the process itself binds before {most}",
}


def run(*, resources: Sequence[str], only_predict: bool, through_shared: bool, as_json: bool, out: Path | None) -> int:
    """Predict the limits, and find them unless ``only_predict``; print both. Returns 0. Raises as REFUSALS."""
    chosen = tuple(dict.fromkeys(resources)) or limits.RESOURCES
    for resource in chosen:
        check_known(resource, limits.RESOURCES, "resource", "limits")
    printer = Printer(sys.stderr if as_json else sys.stdout)
    save = None if out is None or only_predict else _saver(out, chosen, through_shared=through_shared)
    with interruptible():
        if only_predict:
            told = {resource: _predict(resource, printer) for resource in chosen}
        else:
            told = {resource: _find(resource, printer, save, through_shared=through_shared) for resource in chosen}
    if as_json:
        print(json.dumps(told))
    return 0


def _predict(resource: str, printer: "Printer") -> dict[str, Any]:
    predicted = limits.predict(resource)
    printer.head(resource)
    printer.predictions(resource, predicted)
    return {"ceilings": [asdict(ceiling) for ceiling in predicted]}


def _find(resource: str, printer: "Printer", save: Save | None, *, through_shared: bool) -> dict[str, Any]:
    predicted = limits.predict(resource)
    printer.head(resource)
    printer.plan(resource, predicted, through_shared=through_shared)
    begin = Begin.now()
    found = limits.find(resource, through_shared=through_shared)
    printer.finding(resource, found)
    if save is not None:
        save(resource, found, begin)
    return found


class Printer:
    """Print for people: a heading for each resource, lines with labels, bold on a terminal only."""

    def __init__(self, file: Any) -> None:
        self._console = Console(file=file, highlight=False, soft_wrap=True)

    def head(self, resource: str) -> None:
        """Print the heading of a resource."""
        self._console.print(Text(resource, "bold"))

    def plan(self, resource: str, predicted: Sequence[Ceiling], *, through_shared: bool) -> None:
        """Print what is about to be done."""
        what = WHAT_FOLLOWS[resource]
        if not predicted:
            self._line("plan", f"{what.format(most='the first refusal')}: no limit is known")
            return
        first = predicted[0]
        self._line("plan", f"{what.format(most=amount(resource, first.most))}, the estimated limit of {first.name}")
        self._line("", first.evidence)
        stop = polite(predicted)
        if through_shared:
            self._line("", "does not stop at limits that other processes share, as asked")
        elif stop is not None and stop[0] < first.most:
            most, shared = amount(resource, stop[0]), stop[1].name
            part = f"{units.percent(SHARED_PART)} of what {shared} leaves"
            self._line("", f"stops at {most}: {part}, which other processes share")

    def predictions(self, resource: str, predicted: Sequence[Ceiling]) -> None:
        """Print all ceilings, the lowest first."""
        for ceiling in predicted:
            shared = ", shared with other processes" if ceiling.shared else ""
            self._line(amount(resource, ceiling.most), f"{ceiling.name}{shared}")
            self._line("", ceiling.evidence)
            self._line("", f"to raise: {ceiling.remedy}")
        if not predicted:
            self._line("", "no limit is known on this system")

    def finding(self, resource: str, found: dict[str, Any]) -> None:
        """Print the number found, the limit that bound, the evidence, the remedy, and the next limit."""
        number = "nothing" if found["found"] is None else amount(resource, found["found"])
        self._line("found", f"{number} ({found['stopped_by']})", "bold")
        if found["stopped_by"] == "failure":
            self._line("bound by", limit_text(found["bound_by"]) or "none of the limits known on this system", "bold")
        for sentence in found["evidence"]:
            self._line("evidence", sentence)
        if found["remedy"]:
            self._line("to raise", found["remedy"])
        if found["next"]:
            self._line("next", f"{found['next']['name']}, at {amount(resource, found['next']['most'])}")
        self._console.print()

    def _line(self, label: str, text: str, style: str = "") -> None:
        self._console.print(Text.assemble(f"  {label:<{LABEL}} ", (text, style)))


def amount(resource: str, number: int) -> str:
    """Write an amount of a resource."""
    return units.size(number) if resource == "memory" else f"{units.count(number)} {_NOUNS[resource]}"


_NOUNS = {"threads": "threads", "descriptors": "descriptors", "ports": "ports", "backlog": "connections"}


def _saver(out: Path, chosen: Sequence[str], *, through_shared: bool) -> Save:
    """Make the folder of a run, and return the function that appends rows to it."""
    table = {"resources": list(chosen), "through_shared": through_shared}
    wanted = experiment.parse({"about": ABOUT, "limit": [table]}, "limits", strategies.models(), "limits")
    folder = runs.new_folder(out, wanted)
    trials = {trial.strategy: trial for trial in plan.expand(wanted, {}) if isinstance(trial, bare.BareTrial)}

    def save(resource: str, found: dict[str, Any], begin: Begin) -> None:
        row = limit_row(trials[resource], folder.name, begin, found)
        try:
            rows.append(folder, row)
        except OSError as error:
            raise runs.RunError(f"cannot write {folder / rows.ROWS_FILE}: {error.strerror}") from error
        if len(rows.read(folder)) == len(chosen):
            _draw(folder)

    return save


def _draw(folder: Path) -> None:
    """Save the plots of a whole run, and print where its files are."""
    from inflight.bench.report.studies import Studies

    machine = json.loads((folder / rows.MACHINE_FILE).read_text(encoding="utf-8"))
    say(f"rows:  {folder / rows.ROWS_FILE}")
    try:
        saved = Studies(rows.read(folder)).save_plots(machine, folder / "plots")
    except OSError as error:
        raise runs.RunError(f"cannot write plots to {folder}: {error.strerror}; its rows are complete") from error
    say_plots(saved)
