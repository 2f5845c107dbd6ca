"""``inflight claims``: plan the trials, reuse stored rows, run the other trials, judge the claims, and report.

``claims`` has the claims, ``trials`` finds what is stored, ``evaluate`` judges, ``show`` writes. Claims share trials:
each is run once. ``commands`` is the module of ``inflight run``, whose functions all commands share; ``runs`` measures;
``plans`` are the trials of claims.
"""

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import msgspec

from inflight import strategies
from inflight.bench.claims import claims
from inflight.bench.claims import trials as plans
from inflight.bench.claims.claims import Claim
from inflight.bench.claims.trials import Key
from inflight.bench.claims.verdicts import Report, save
from inflight.bench.commands import run as commands
from inflight.bench.commands.options import JSON, MEMORY_BUDGET, OUT, QUIET, many_strategies, option
from inflight.bench.commands.output import complain, put, say, seconds
from inflight.bench.measure import interpreters
from inflight.bench.measure import run as runs
from inflight.bench.plan.experiment import Experiment, ExperimentError, named
from inflight.bench.plan.trial import Trial
from inflight.bench.plan.trials import estimate_ns
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row


@dataclass(frozen=True, slots=True)
class Needed:
    """The chosen claims and the trials that they need."""

    experiments: list[tuple[Claim, Experiment]]
    experiment: Experiment
    """All experiments in one."""
    trials: dict[Key, Trial]
    left_out: tuple[str, ...]
    """Ids of the claims without a quick experiment."""

    def rows_of(self, rows: Sequence[Row]) -> list[tuple[Claim, list[Row]]]:
        """Return each claim with the rows of its trials."""
        keyed = [(plans.key_of_row(row), row) for row in rows]
        wanted = [(claim, plans.parts_of(runs.all_trials(experiment))) for claim, experiment in self.experiments]
        return [(claim, [row for key, row in keyed if key in parts]) for claim, parts in wanted]


@click.argument("chosen", nargs=-1, metavar="[ID...]")
@option("--quick", note="Only the claims that have a short experiment.")
@JSON
@click.option("--fresh", is_flag=True, help="Measure everything again, even if stored rows exist.")
@option(
    "--python",
    multiple=True,
    note="Repeatable: the claims on interpreters use these before others of this machine.",
)
@click.option(
    "--free-threaded", metavar="PATH", help="Interpreter without a global lock, for the claims that need one."
)
@many_strategies("The claim client-collapse tests it, too.", keyword="added")
@OUT
@MEMORY_BUDGET
@option("--dry-run", note="With the estimated time.")
@QUIET
def run(
    *,
    chosen: Sequence[str],
    quick: bool,
    as_json: bool,
    fresh: bool,
    python: Sequence[str],
    free_threaded: str | None,
    added: Sequence[str],
    out: Path,
    memory_budget: str | None,
    dry_run: bool,
) -> int:
    """Test common claims about concurrency on this machine.

    They are about threads, coroutines and callbacks. Each claim gets a verdict.

    \b
    inflight claims                        all claims
    inflight claims --quick
    inflight claims stack-ripping          one claim, with its explanation
    """
    budget_bytes = commands.budget_bytes(memory_budget)
    given = [] if free_threaded is None else [interpreters.free_threaded(free_threaded)]
    given += [interpreters.ask(name).executable for name in python]
    needed = work_out(_claims(chosen, added), quick=quick)
    if dry_run:
        return _list(needed, as_json=as_json)
    together = [plans.trials_of(experiment) for _, experiment in needed.experiments]
    known = {} if fresh else plans.find_rows(out, needed.trials, together, tuple(given))
    folder = runs.new_folder(out, needed.experiment)
    there = [row for key, many in known.items() for row in plans.as_rows_of(needed.trials[key], many)]
    for row in there:
        rows.append(folder, row)
    missing = [trial for key, trial in needed.trials.items() if key not in known]
    say(f"{len(missing)} trials to run, about {seconds(estimate_ns(missing))}")
    if there:
        say(f"{len(there)} rows of earlier runs are reused (--fresh measures everything again)")
    trials = [trial if key in known else runs.judge(trial) for key, trial in needed.trials.items()]
    commands.say_shortages(trials)
    try:
        again = "the same command without --fresh uses them again"
        interrupted = commands.execute(folder, needed.experiment, trials, budget_bytes, tuple(given), again=again)
    except runs.RunError as error:
        complain(f"inflight claims: {error}")
        return 1
    if interrupted:
        return 130
    return _report(folder, needed, len(there), as_json=as_json, is_whole=len(chosen) == 1)


def work_out(chosen: Iterable[Claim], *, quick: bool) -> Needed:
    """Return the trials of these claims, each once. Raises ExperimentError if none of them has a quick experiment.

    The experiment of a single claim is named after it. So the run of a claim can be stored beside that of all.
    """
    experiments, left_out = [], []
    for claim in chosen:
        experiment = claim.quick if quick else claim.experiment
        if experiment is None:
            left_out.append(claim.id)
        else:
            experiments.append((claim, experiment))
    if not experiments:
        raise ExperimentError(f"{', '.join(left_out)}: not part of --quick; leave --quick out")
    name = "claims-quick" if quick else "claims"
    if len(experiments) == 1:
        name = f"{experiments[0][0].id}-claim"
    union = plans.union(name, "The trials of `inflight claims`.", [experiment for _, experiment in experiments])
    return Needed(experiments, union, plans.trials_of(union), tuple(left_out))


def report_of(folder: Path, needed: Needed, reused: int) -> Report:
    """Return the verdicts of the rows in a folder, with the machine and the runs that they are based on."""
    from inflight.bench.claims.evaluate import judge
    from inflight.bench.show.folder import source

    machine, stored = rows.machine(folder), rows.read(folder)
    return Report(
        machine=machine,
        source=source([], machine) + (f" · {stored[0].started_at[:10]}" if stored else ""),
        runs=tuple(sorted({row.run for row in stored})),
        measured=len(stored) - reused,
        reused=reused,
        left_out=needed.left_out,
        claims=tuple(judge(claim, part) for claim, part in needed.rows_of(stored)),
    )


def _is_broken(row: Row) -> bool:
    """Return whether a trial failed for another reason than a limit, which would be an answer."""
    return row.status in {"failed", "timeout"} and row.cause is None


def _claims(chosen: Sequence[str], added: Sequence[str]) -> list[Claim]:
    """Return the chosen claims, or all; with more strategies those that take them. Raises ExperimentError."""
    names = [named(name, "--strategy") for name in added]
    known = strategies.names()
    loaded = [claims.load(claim, known) for claim in dict.fromkeys(chosen) or claims.ids()]
    loaded.sort(key=lambda claim: claim.file.order)
    for place, claim in enumerate(loaded if added else ()):
        if claim.file.takes_strategies:
            more = tuple(dict.fromkeys((*claim.experiment.strategies, *names)))
            loaded[place] = replace(claim, experiment=msgspec.structs.replace(claim.experiment, strategies=more))
        elif chosen:
            raise ExperimentError(f"{claim.id} compares what its text names, and takes no --strategy")
    return loaded


def _list(needed: Needed, *, as_json: bool) -> int:
    """Print what would be run, and the estimated time."""
    listed: list[dict[str, Any]] = [
        {
            "id": claim.id,
            "claim": claim.file.claim,
            "estimated_s": round(estimate_ns(plans.trials_of(experiment).values()) / 1e9, 1),
        }
        for claim, experiment in needed.experiments
    ]
    if as_json:
        put(json.dumps({"claims": listed, "left_out": needed.left_out, "trials": len(needed.trials)}))
        return 0
    for of_claim in listed:
        put(f"{of_claim['id']:<22} about {seconds(1e9 * of_claim['estimated_s']):>6}  {of_claim['claim']}")
    for claim_id in needed.left_out:
        put(f"{claim_id:<22} not part of --quick")
    total = seconds(estimate_ns(needed.trials.values()))
    say(f"{len(needed.trials)} trials, about {total}: a trial that several claims need is run once")
    return 0


def _report(folder: Path, needed: Needed, reused: int, *, as_json: bool, is_whole: bool) -> int:
    """Print the verdicts, write them into the folder, and return the exit code."""
    from inflight.bench.claims import show
    from inflight.bench.show.terminal import wants_colour

    report = report_of(folder, needed, reused)
    with commands.writing(folder):
        save(report, folder)
    if as_json:
        put(json.dumps(msgspec.to_builtins(report) | {"folder": str(folder)}))
    else:
        put("\n".join([report.source, *show.lines(report, colour=wants_colour(sys.stdout))]))
        width = min(160, max(80, shutil.get_terminal_size((120, 24)).columns))
        for verdict in report.claims if is_whole else ():
            put(f"\n{show.whole(verdict, width)}")
    say(f"rows: {folder / rows.ROWS_FILE}\npage: inflight report {folder}")
    of_claims = needed.rows_of(rows.read(folder))
    broken = [claim.id for claim, trials in of_claims if trials and all(map(_is_broken, trials))]
    if broken:
        complain(f"could not be tested: {', '.join(broken)}")
    return 1 if broken else 0
