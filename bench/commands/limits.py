"""The command ``inflight limits``: predict each limit, find that of threads, and explain the finding.

``measure.limits`` predicts and finds; here its figures are printed, and stored as rows of a run with --out. A *ceiling*
is one limit with what it leaves.
"""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click
from msgspec.structs import asdict

from inflight import strategies
from inflight.bench import units
from inflight.bench.commands.options import JSON, QUIET, option
from inflight.bench.commands.output import printing, put
from inflight.bench.commands.run import interruptible
from inflight.bench.commands.run import save as store
from inflight.bench.measure import limits
from inflight.bench.measure import run as runs
from inflight.bench.measure.limits.threads import stop
from inflight.bench.measure.trial import Begin
from inflight.bench.plan import experiment
from inflight.bench.plan import trials as plan
from inflight.bench.plan.judge import check_known
from inflight.bench.rows import files as rows
from inflight.bench.rows.kinds import RESOURCES, Ceiling

LABEL = 10
"""Width of the labels before each line, in characters."""
ABOUT = "The limits of this machine, as found by inflight limits."
"""What the experiment of such a run measures."""
Line = tuple[str, str, str]
"""A line for people: its label, its text and its style, which only a terminal shows. A heading has no label."""


@click.argument("resources", nargs=-1, metavar="[RESOURCE...]")
@option("--dry-run")
@click.option(
    "--through-shared",
    is_flag=True,
    help="Let threads reach limits that all processes share. Other programs may fail meanwhile.",
)
@JSON
@option("--out", note="Each run gets a new folder in it. Without it, nothing is stored.")
@QUIET
def run(*, resources: Sequence[str], dry_run: bool, through_shared: bool, as_json: bool, out: Path | None) -> int:
    """Find how many threads, ports and so on a process can have.

    The resources are threads, descriptors, ports, backlog (connections that wait to be accepted) and memory. All are
    predicted from the settings of this machine. For threads, a process also starts them until one is refused.

    \b
    inflight limits                        all resources
    inflight limits threads --dry-run      which limit binds, and at how many
    inflight limits backlog ports --out results
    """
    chosen = tuple(dict.fromkeys(resources)) or RESOURCES
    for resource in chosen:
        check_known(resource, RESOURCES, "resource", "limits")
    show = partial(_print, file=sys.stderr if as_json else sys.stdout)
    table = {"resources": list(chosen), "through_shared": through_shared}
    wanted = experiment.parse({"about": ABOUT, "limit": [table]}, "limits", strategies.models(), "limits")
    trials = {trial.name: trial for trial in plan.expand(wanted, {})}
    folder = None if out is None or dry_run else runs.new_folder(out, wanted)
    answers: dict[str, Any] = {}
    try:
        with interruptible():
            for resource in chosen:
                show([("", resource, "bold")])
                if dry_run:
                    predicted = limits.predict(resource)
                    show(lines_of_predictions(resource, predicted))
                    answers[resource] = {"ceilings": [asdict(ceiling) for ceiling in predicted]}
                    continue
                if resource == "threads":
                    show(lines_of_plan(limits.predict(resource), through_shared=through_shared))
                begin = Begin.now()
                answers[resource] = limits.find(resource, through_shared=through_shared)
                show(lines_of_finding(resource, answers[resource]))
                if folder is not None:
                    runs.append(folder, limits.make_row(trials[resource], folder.name, begin, answers[resource]))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("all started processes have been stopped") from None
    if folder is not None:
        from inflight.bench.show.studies import Studies

        store(folder, Studies(rows.read(folder)))
    if as_json:
        put(json.dumps(answers))
    return 0


def lines_of_plan(predicted: Sequence[Ceiling], *, through_shared: bool) -> Iterator[Line]:
    """Yield how many threads are about to be started."""
    if not predicted:
        yield "plan", "about to start threads, up to the first refusal: no limit is known", ""
        return
    first = predicted[0]
    yield "plan", f"about to start threads, up to {first.most:,}, the estimated limit of {first.name}", ""
    yield " ", first.evidence, ""
    aim = stop(predicted, math.inf, None, through_shared=through_shared)
    if aim.most < first.most:
        yield " ", f"stops at {aim.most:,} {aim.sentence}", ""


def lines_of_predictions(resource: str, predicted: Sequence[Ceiling]) -> Iterator[Line]:
    """Yield all ceilings of a resource, the lowest first."""
    for ceiling in predicted:
        shared = ", shared with other processes" if ceiling.shared else ""
        yield amount(resource, ceiling.most), f"{ceiling.name}{shared}", ""
        yield " ", ceiling.evidence, ""
        yield " ", f"to raise: {ceiling.remedy}", ""
    if not predicted:
        yield " ", "no limit is known on this system", ""


def lines_of_finding(resource: str, values: dict[str, Any]) -> Iterator[Line]:
    """Yield the number, the limit that binds, the evidence, the remedy, and the next limit."""
    stopped_by = values["stopped_by"]
    number = values["predicted" if stopped_by == "predicted" else "found"]
    yield "limit", f"{'none' if number is None else amount(resource, number)} ({stopped_by})", "bold"
    if stopped_by in {"predicted", "failure"}:
        names = values["bound_by"]
        bound_by = f"ambiguous: {' or '.join(names)}" if isinstance(names, list) else names
        yield "bound by", bound_by or "none of the limits known on this system", "bold"
    for sentence in values["evidence"]:
        yield "evidence", sentence, ""
    if values["remedy"]:
        yield "to raise", values["remedy"], ""
    if values["next"]:
        yield "next", f"{values['next']['name']}, at {amount(resource, values['next']['most'])}", ""
    yield "", "", ""


def _print(lines: Iterable[Line], file: TextIO) -> None:
    """Print lines with their labels."""
    from rich.console import Console
    from rich.text import Text

    with printing(file):
        console = Console(file=file, highlight=False, soft_wrap=True)
        for label, text, style in lines:
            before = f"  {label:<{LABEL}} " if label else ""
            console.print(Text.assemble(before, (text, style)))


def amount(resource: str, number: int) -> str:
    """Write an amount of a resource."""
    return units.size(number) if resource == "memory" else f"{units.count(number)} {_NOUNS[resource]}"


_NOUNS = {"threads": "threads", "descriptors": "descriptors", "ports": "ports", "backlog": "connections"}
"""What an amount of each resource is called."""
