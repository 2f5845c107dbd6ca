"""``inflight claims``: plan the trials, reuse stored rows, run the other trials, judge the claims, and report."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from inflight import strategies
from inflight.bench.commands import run as commands
from inflight.bench.commands.output import complain, say, seconds
from inflight.bench.measure import interpreters
from inflight.bench.measure import run as runs
from inflight.bench.plan.experiment import Experiment, ExperimentError, named
from inflight.bench.plan.trials import AnyTrial, estimate_ns
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.studies import claims
from inflight.bench.studies.claims import Claim, cells, reuse, show
from inflight.bench.studies.claims.cells import Key
from inflight.bench.studies.claims.rules import RULES
from inflight.bench.studies.claims.verdicts import Report, Trials, Verdict, save

REFUSALS = commands.REFUSALS
ABOUT = "The trials of `inflight claims`."
MARKDOWN_FILE = "claims.md"


@dataclass(frozen=True, slots=True)
class Needed:
    """The chosen claims and the trials that they need."""

    experiments: list[tuple[Claim, Experiment]]
    experiment: Experiment
    """All experiments in one."""
    trials: dict[Key, AnyTrial]
    left_out: tuple[str, ...]
    """Ids of the claims without a quick experiment."""


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
    only_list: bool,
) -> int:
    """Judge the chosen claims and report.

    Returns 0 whatever the verdicts, 1 if a claim could not be tested, 130 if interrupted.
    """
    budget_bytes = commands.budget_bytes(memory_budget)
    given = [] if free_threaded is None else [interpreters.free_threaded(free_threaded)]
    given += [interpreters.ask(name).executable for name in python]
    needed = work_out(_claims(chosen, added), quick=quick)
    if only_list:
        return _list(needed, as_json=as_json)
    together = [cells.trials_of(experiment) for _, experiment in needed.experiments]
    found = {} if fresh else reuse.find(out, needed.trials, together, tuple(given))
    folder = runs.new_folder(out, needed.experiment)
    there = [row for key, own in found.items() for row in reuse.as_rows_of(needed.trials[key], own)]
    for row in there:
        rows.append(folder, row)
    missing = [trial for key, trial in needed.trials.items() if key not in found]
    say(_plan_told(there, missing, estimated_ns(needed.experiments, missing)))
    commands.say_shortages(runs.shortages(missing))
    try:
        trials = list(needed.trials.values())
        interrupted = commands.execute(folder, needed.experiment, trials, budget_bytes, tuple(given))
    except runs.RunError as error:
        complain(f"inflight claims: {error}")
        return 1
    if interrupted:
        complain(f"interrupted; finished rows are kept in {folder}; the same command without --fresh uses them again")
        return 130
    return _tell(folder, needed, rows.read(folder), len(there), as_json=as_json, whole=len(chosen) == 1)


def work_out(chosen: Iterable[Claim], *, quick: bool) -> Needed:
    """Return the trials of these claims, each once. Raises ExperimentError if none of them has a quick experiment."""
    planned = [(claim, claim.quick if quick else claim.experiment) for claim in chosen]
    experiments = [(claim, experiment) for claim, experiment in planned if experiment is not None]
    left_out = tuple(claim.id for claim, experiment in planned if experiment is None)
    if not experiments:
        raise ExperimentError(f"{', '.join(left_out)}: not part of --quick; leave --quick out")
    experiment = cells.union("claims-quick" if quick else "claims", ABOUT, (one for _, one in experiments))
    return Needed(experiments, experiment, cells.trials_of(experiment), left_out)


def judge(needed: Needed, found: Sequence[Row]) -> list[tuple[Verdict, list[Row]]]:
    """Return the verdict of each chosen claim, with the rows that it is based on."""
    judged = []
    for claim, experiment in sorted(needed.experiments, key=lambda pair: pair[0].file.order):
        own = rows_of(experiment, found)
        judged.append((claim.verdict(RULES[claim.id](own)), own))
    return judged


def rows_of(experiment: Experiment, found: Iterable[Row]) -> list[Row]:
    """Return the rows of an experiment's trials."""
    wanted = cells.parts_of(runs.all_trials(experiment))
    return [row for row in found if cells.key_of_row(row) in wanted]


def _claims(chosen: Sequence[str], added: Sequence[str]) -> list[Claim]:
    """Return the chosen claims, or all; with more strategies those that take them. Raises ExperimentError."""
    names = [named(one, "--strategy") for one in added]
    known = strategies.names()
    found = [claims.load(claim, known) for claim in dict.fromkeys(chosen) or claims.ids()]
    if not added:
        return found
    return [claim.with_strategies(names) if chosen or claim.file.takes_strategies else claim for claim in found]


def _list(needed: Needed, *, as_json: bool) -> int:
    each_ns = {
        claim.id: estimated_ns([(claim, experiment)], cells.trials_of(experiment).values())
        for claim, experiment in needed.experiments
    }
    if as_json:
        told = [
            {"id": claim.id, "claim": claim.file.claim, "estimated_s": round(each_ns[claim.id] / 1e9, 1)}
            for claim, _ in needed.experiments
        ]
        print(json.dumps({"claims": told, "left_out": needed.left_out, "trials": len(needed.trials)}))
        return 0
    for claim, _ in needed.experiments:
        print(f"{claim.id:<22} about {seconds(each_ns[claim.id]):>6}  {claim.file.claim}")
    for claim_id in needed.left_out:
        print(f"{claim_id:<22} not part of --quick")
    total = seconds(estimated_ns(needed.experiments, needed.trials.values()))
    say(f"{len(needed.trials)} trials, about {total}: a trial that several claims need is run once")
    return 0


def estimated_ns(planned: Iterable[tuple[Claim, Experiment]], trials: Iterable[AnyTrial]) -> int:
    """Return the estimated time of trials; a claim with any trial among them adds the time of its slow clients."""
    asked = {cells.key_of(trial): trial for trial in trials}
    slow = (claim.file.slow_s for claim, experiment in planned if asked.keys() & cells.trials_of(experiment).keys())
    return estimate_ns(asked.values()) + sum(slow) * 1_000_000_000


def _plan_told(found: Sequence[Row], missing: Sequence[AnyTrial], time_ns: int) -> str:
    from_runs = sorted({row.run for row in found})
    told = f"{len(missing)} trials to run, about {seconds(time_ns)}"
    if not found:
        return told
    listed = textwrap.shorten(", ".join(from_runs), 300, placeholder=" ...")
    return f"{told}; {len(found)} rows are reused from {listed} (--fresh measures everything again)"


def _tell(folder: Path, needed: Needed, found: Sequence[Row], reused: int, *, as_json: bool, whole: bool) -> int:
    """Print the verdicts, write them into the folder, and return the exit code."""
    from inflight.bench.present.console import wants_colour

    judged = judge(needed, found)
    report = report_of(folder, needed, [verdict for verdict, _ in judged], found, reused)
    _write(folder, report, found)
    if as_json:
        print(json.dumps(msgspec.to_builtins(report) | {"folder": str(folder)}))
    else:
        print("\n".join([report.source, *show.lines(report, colour=wants_colour(sys.stdout))]))
        width = min(160, max(80, shutil.get_terminal_size((120, 24)).columns))
        for verdict in report.claims if whole else ():
            print(f"\n{show.whole(verdict, width)}")
    say(f"rows:  {folder / rows.ROWS_FILE}\ntable: {folder / MARKDOWN_FILE}")
    broken = [verdict.id for verdict, own in judged if could_not_run(own)]
    if broken:
        complain(f"could not be tested: {', '.join(broken)}")
    return 1 if broken else 0


def report_of(folder: Path, needed: Needed, verdicts: Sequence[Verdict], found: Sequence[Row], reused: int) -> Report:
    """Return the verdicts with the machine, the runs and the numbers of trials that they are based on."""
    from inflight.bench.report.provenance import source

    machine = rows.machine(folder)
    return Report(
        machine=machine,
        source=source([], machine) + (f" · {found[0].started_at[:10]}" if found else ""),
        runs=tuple(sorted({row.run for row in found})),
        trials=Trials(len(found) - reused, reused),
        left_out=needed.left_out,
        claims=tuple(verdicts),
    )


def _write(folder: Path, report: Report, found: Sequence[Row]) -> None:
    from inflight.bench.studies.claims.plot import save_claims

    try:
        save(report, folder)
        (folder / MARKDOWN_FILE).write_text(show.markdown(report), encoding="utf-8")
        save_claims(report, found, folder / "plots")
    except OSError as error:
        raise runs.RunError(f"cannot write to {folder}: {error.strerror}; its rows are complete") from error


def could_not_run(own: Sequence[Row]) -> bool:
    """Tell whether every trial of a claim failed for another reason than a limit, which would be an answer."""
    return bool(own) and all(row.status in {"failed", "timeout"} and row.cause is None for row in own)
