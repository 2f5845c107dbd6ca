"""``inflight run``: plan an experiment, run its trials, print the summary and save the plots.

Other commands and the API import this module as ``commands``, for what they share: ``experiment_of`` (from options to
an experiment), ``execute`` (measure with progress, interruptible), ``present``, ``save``, ``keep`` and ``append_text``
(print and write), ``budget_bytes`` and ``time_s`` (read options). What measures is ``measure.run``, imported as
``runs``; it also writes the rows (``runs.append``).
"""

import json
import shlex
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from inflight import strategies
from inflight.bench.commands.options import JSON, MEMORY_BUDGET, OUT, PLACE, QUIET, listed, many_strategies, option
from inflight.bench.commands.output import complain, printing, put, say, seconds
from inflight.bench.commands.so_far import FIRST_NS, write_now_and_then
from inflight.bench.measure import host, interpreters, neighbour
from inflight.bench.measure import run as runs
from inflight.bench.measure.server import ServerError
from inflight.bench.measure.swarm.layout import LayoutError
from inflight.bench.measure.trial import Hosting
from inflight.bench.plan.experiment import MAX_SEED, Experiment, ExperimentError, load, named, preset_names
from inflight.bench.plan.judge import MAX_ROUNDS, check_distinct, judged, need, whole
from inflight.bench.plan.lists import cross
from inflight.bench.plan.trial import Trial, row_trials
from inflight.bench.plan.trials import estimate_ns, remarks
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, RowsError
from inflight.bench.show.words import SENTENCES, counted
from inflight.bench.units import parse_size_bytes
from inflight.fake_server.delays import parse_duration_ns

if TYPE_CHECKING:
    from inflight.bench.show.pictures import Picture
    from inflight.bench.show.studies import Studies

REFUSALS = (ExperimentError, LayoutError, RowsError, ServerError, runs.RunError, strategies.StrategyError)
"""The errors of any command that are one sentence and exit code 2."""
WIDEST = 120
"""Maximum width of what --dry-run prints."""
RESUME = "continue: inflight run --resume {}"
"""How to go on after an interruption."""
BESIDE = "native_asyncio"
"""The strategy beside a client that runs alone in a preset."""
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command as Ctrl-C does."""


@click.argument("name", required=False, metavar="[EXPERIMENT]")
@listed("--in-flight")
@listed("--latency")
@listed("--cpu")
@listed("--body")
@many_strategies("Without it, the strategies of the experiment.")
@option("--python", "pythons", multiple=True, note="Repeatable: each strategy then runs on each, in the same blocks.")
@option("--rounds")
@option("--tls")
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, MAX_SEED),
    help="Seed of the random numbers. They decide the order of the trials.",
)
@OUT
@click.option("--resume", metavar="RUN", type=PLACE, help="Continue an interrupted run.")
@MEMORY_BUDGET
@JSON
@option("--dry-run", note="With the estimated time.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any row is invalid; skipped rows do not count.")
@option("--disturbed")
@QUIET
def run(
    *,
    name: str | None,
    chosen: Sequence[str],
    rounds: int | None,
    seed: int | None,
    out: Path,
    resume: Path | None,
    as_json: bool,
    dry_run: bool,
    memory_budget: str | None,
    strict: bool,
    disturbed: str | None,
    tls: bool = False,
    pythons: Sequence[str] = (),
    in_flight: Sequence[str] = (),
    latency: Sequence[str] = (),
    cpu: Sequence[str] = (),
    body: Sequence[str] = (),
) -> int:
    """Run an experiment: a preset, a TOML file or a grid.

    `inflight list` shows the presets. A grid combines all values of --in-flight, --latency, --cpu and --body.

    \b
    inflight run                           the preset quick
    inflight run sweep --strategy callbacks --strategy thread_pool --rounds 1
    inflight run --python python3.11 --python python3.13
    inflight run my-experiment.toml --dry-run
    inflight run --in-flight 10,100 --latency 0,50ms --body 1kB,100kB
    inflight run --resume results/20261120T101500000Z-laptop-quick
    """
    lists = {"--in-flight": in_flight, "--latency": latency, "--cpu": cpu, "--body": body}
    given = {flag: texts for flag, texts in lists.items() if texts}
    changes = (name, chosen, rounds, seed, disturbed, pythons, tls, given)
    if resume is not None and changes != (None, (), None, None, None, (), False, {}):
        raise ExperimentError("--resume continues a run as it is; leave out EXPERIMENT and the options that change it")
    source = cross(given, strategies.names()) if given else name or "quick"
    is_clear = not (name and given)
    need(is_clear, f"{name} has values of its own; leave it out for a grid, otherwise leave out {', '.join(given)}")
    experiment = (
        experiment_of(source, chosen or None, rounds, seed, pythons, tls=tls)
        if resume is None
        else _interrupted(resume)
    )
    if resume is None and (name is None or name in preset_names()):
        experiment = _beside_asyncio(experiment)
    most_bytes = budget_bytes(memory_budget)
    if tls and experiment.bare:
        names = dict.fromkeys(f"[[{table.kind}]]" for table in experiment.bare)
        say(f"--tls does not change {', '.join(names)}")
    trials = runs.plan(experiment, installed=not dry_run)
    if dry_run:
        say_left_out(experiment, trials)
        return _list(experiment, trials, as_json=as_json)
    folder = resume.resolve() if resume else runs.new_folder(out, experiment, host.machine(disturbed))
    say_left_out(experiment, trials)
    if resume is None:
        say_beginning(folder, trials)
    # With --disturbed, another program (the neighbour) uses the same cores while the trials run.
    with neighbour.beside(rows.machine(folder).get("neighbour"), host.choose_cpus(pin=experiment.pin)):
        interrupted = execute(folder, experiment, trials, most_bytes, after=write_now_and_then(folder, len(trials)))
    stored = rows.read(folder)
    present(folder, stored, as_json=as_json)
    if given:
        say(f"again: {shlex.join(['inflight', *sys.argv[1:]])}")
    if interrupted:
        return 130
    if strict:
        for sentence in strictly(stored):
            complain(sentence)
        if bad_rows(stored):
            return 1
    # Rows of limits are predictions that nearly always succeed: they do not make a run of failed crawls a success.
    asked = [row for row in stored if row.kind != "limit"] or stored
    if any(row.valid for row in asked):
        return 0
    from inflight.bench.show.summary import first_reason

    complain(f"no valid trial; {first_reason(stored)}")
    return 1


def _list(experiment: Experiment, trials: list[Trial], *, as_json: bool) -> int:
    """Print what would be run, a line for each setting; as JSON with the id of each row in the order of the run."""
    if as_json:
        parts = [part.id for trial in trials for part in row_trials(trial)]
        summary = {"trials": len(trials), "estimated_s": round(estimate_ns(trials) / 1e9, 1), "rows": parts}
        put(json.dumps({"experiment": experiment.name} | summary))
        return 0
    from inflight.bench.commands.planned import lines

    width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)
    put("\n".join(lines(experiment.name, experiment.strategies, trials, width)))
    return 0


def bad_rows(stored: Sequence[Row]) -> list[Row]:
    """Return the rows that are neither valid nor skipped."""
    return [row for row in stored if not row.valid and row.status != "skipped"]


def strictly(stored: Sequence[Row]) -> list[str]:
    """Return sentences: how many rows are bad, which checks failed, how the other bad ones ended, what was skipped."""
    bad, skipped = bad_rows(stored), [row for row in stored if row.status == "skipped"]
    checks = Counter(check.name for row in bad for check in row.failed_checks)
    endings = Counter(row.status for row in bad if row.status != "ok")
    sentences = [f"strict: {len(bad)} of {len(stored)} trials are not valid"] if bad else []
    sentences += [f'strict: "{name}" failed {_often(number)}' for name, number in checks.most_common()]
    sentences += [f"strict: {counted(number, 'trial')} ended as {status}" for status, number in endings.most_common()]
    reasons = Counter(row.reason or "no reason given" for row in skipped)
    sentences += [f"strict: {counted(number, 'trial')} skipped: {reason}" for reason, number in reasons.most_common()]
    return sentences


def _often(number: int) -> str:
    """Return how often, in words."""
    return "once" if number == 1 else f"{number} times"


def as_option(name: str) -> str:
    """Return the option for a value of ``experiment_of``."""
    return "--strategy" if name == "strategies" else f"--{name}"


def experiment_of(
    source: str | Experiment,
    chosen: str | Iterable[str] | None = None,
    rounds: int | None = None,
    seed: int | None = None,
    pythons: Sequence[str] = (),
    *,
    tls: bool = False,
    where: Callable[[str], str] = as_option,
) -> Experiment:
    """Return an experiment with other strategies, rounds, seed or interpreters, or over TLS. Raises ExperimentError.

    ``source`` is a preset, a file or an experiment; ``where`` turns the name of one of the values into the name used in
    messages.
    """
    changes: dict[str, Any] = {}
    if chosen is not None:
        wanted = [chosen] if isinstance(chosen, str) else list(chosen)
        need(bool(wanted), f"{where('strategies')}: name at least one, such as callbacks")
        names = [named(strategy, where("strategies")) for strategy in wanted]
        check_distinct(names, where("strategies"))
        changes["strategies"] = tuple(names)
    if seed is not None:
        changes["seed"] = whole(seed, 0, MAX_SEED, where("seed"))
    if pythons:
        changes["pythons"] = interpreters.labelled(pythons)
    loaded = load(source, strategies.names()) if isinstance(source, str) else source
    experiment = replace(loaded, **changes)
    if tls:
        experiment = experiment.over_tls()
    return experiment if rounds is None else experiment.cut_to(whole(rounds, 1, MAX_ROUNDS, where("rounds")))


def _beside_asyncio(experiment: Experiment) -> Experiment:
    """Return the experiment with native_asyncio before a client from elsewhere that is alone: figures need another."""
    groups = [strategies.describe(name).group for name in experiment.strategies]
    if groups != [strategies.ELSEWHERE]:
        return experiment
    say(f"{BESIDE} runs beside {experiment.strategies[0]}, so that they can be compared")
    return replace(experiment, strategies=(BESIDE, *experiment.strategies))


def _interrupted(folder: Path) -> Experiment:
    """Return the experiment of a run. Raises RowsError unless its files can be read, which does not follow links."""
    runs.need_address_space()
    try:
        for file in (rows.EXPERIMENT_FILE, rows.MACHINE_FILE):
            rows.content(folder / file)
        rows.opened(folder / rows.ROWS_FILE).close()
    except OSError as error:
        raise RowsError(f"{folder} is not a run: cannot read {error.filename} ({error.strerror})") from error
    # Rows and experiment are stored without the folders of this machine (``without_places``). A variable of an arm
    # that had one was cut: what is stored is another experiment than the one that was run.
    if rows.machine(folder).get(runs.IS_CUT):
        raise RowsError(f"{folder / rows.EXPERIMENT_FILE} has variables without the folders in them; start a new run")
    return load(str(folder / rows.EXPERIMENT_FILE), strategies.names())


def say_beginning(folder: Path, trials: Sequence[Trial]) -> None:
    """Say how long the run takes, and where and when its page appears."""
    time = seconds(estimate_ns(trials))
    length = f"{counted(len(trials), 'trial')}, about {time} if the machine is fast and quiet"
    say(f"{length}. Ctrl-C ends the run and keeps what is measured.")
    if estimate_ns(trials) > FIRST_NS:
        say(f"A page with plots appears after about {seconds(FIRST_NS)} in {folder}")


def say_left_out(experiment: Experiment, trials: Iterable[Trial]) -> None:
    """Print the CPU quota, what a plan leaves out or changes, and how many trials each limit excludes.

    A quota is always said here, because nobody knows yet whether it will throttle.
    """
    if of_cpu := host.read_quota():
        say(SENTENCES["quota_first"].format(counted(of_cpu.cores, "core")))
    for name, limit in runs.above_limits(experiment).items():
        say(f"left out above {limit} in flight: {name}")
    for name, reason in runs.without_tls(experiment).items():
        say(f"left out over TLS: {name}: {reason}")
    for sentence in remarks(experiment):
        say(sentence)
    say_shortages(trials)


def say_shortages(trials: Iterable[Trial]) -> None:
    """Print how many trials and arms each limit excludes."""
    for reason, number in Counter(reason for trial in trials for reason in trial.short.values()).items():
        say(f"left out, {counted(number, 'trial')}: {reason}")


def budget_bytes(text: str | None, where: str = "--memory-budget") -> int | None:
    """Return the bytes of a memory budget; None without one. Raises ExperimentError."""
    return None if text is None else judged(partial(parse_size_bytes, text), where)


def time_s(text: str, where: str) -> float:
    """Return the seconds in a time such as 90s, 5m or 1h, at most a day. Raises ExperimentError."""
    value_s: float = judged(partial(parse_duration_ns, text), where) / 1e9
    need(0 < value_s <= 86_400, f"{where} must be longer than 0 and at most a day, not {text}")
    return value_s


def execute(
    folder: Path,
    experiment: Experiment,
    trials: list[Trial],
    most_bytes: int | None = None,
    given: tuple[str, ...] = (),
    *,
    hosting: Hosting | None = None,
    after: runs.Report | None = None,
    again: str = RESUME,
) -> bool:
    """Run the trials that have no row yet, and return whether that was interrupted. Finished rows are on disk.

    A trial that takes more memory than ``most_bytes`` is ended; None: see ``measure.run.execute``. ``given`` are paths
    of interpreters, which only ``inflight claims`` takes from the user: ``measure.run`` looks among them first.
    ``after`` is called after each trial, when its lines have been printed. An interruption is printed at once, with
    what is kept where: drawing takes a while, and may be interrupted, too. ``again`` says how to go on, with ``{}`` for
    the folder.
    """
    from inflight.bench.show.progress import reporting

    measured = rows.read(folder)
    waiting = runs.without_rows(trials, {row.trial for row in measured})
    # How many rows each strategy will have in the table that the progress shows. Zeros first, so that strategies are
    # in the order of the experiment; ``+planned`` drops those that stay zero.
    planned = Counter(dict.fromkeys(experiment.strategies, 0))
    planned.update(part.name for trial in trials if trial.record.IS_CRAWL for part in row_trials(trial))
    interrupted = False
    try:
        with interruptible(), reporting(waiting, +planned, measured) as report:

            def ended(number: int, total: int, many: Sequence[Row]) -> None:
                """Note and report the rows of a trial that has ended; called by ``measure.run.execute``."""
                measured.extend(many)
                report(number, total, many)
                if after:
                    after(number, total, many)

            runs.execute(folder, experiment, trials, ended, most_bytes, given, hosting)
    except KeyboardInterrupt:
        interrupted = True
    _restore(folder, measured)
    if interrupted:
        complain(f"interrupted; rows kept in {folder}: {len(rows.read(folder))}; {again.format(folder)}")
    return interrupted


def _restore(folder: Path, measured: Sequence[Row]) -> None:
    """Append the rows that another program has removed from the file during the run, and say how many.

    Raises RowsError if the file has other lines than rows, RunError if it cannot be written.
    """
    there = {row.trial for row in rows.read(folder)} if rows.is_run(folder) else set()
    lost = [row for row in measured if row.trial not in there]
    for row in lost:
        runs.append(folder, row)
    if lost:
        file = folder / rows.ROWS_FILE
        complain(f"{file} was changed during the run by another program: {counted(len(lost), 'row')} written again")


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise one KeyboardInterrupt in the block for SIGINT (Ctrl-C), SIGTERM (``timeout``) or SIGHUP."""
    heard = [number for number in INTERRUPTS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup ignores SIGHUP
    previous = {number: signal.signal(number, _interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: object) -> None:
    """Raise KeyboardInterrupt, and ignore further signals so that they do not disturb the clean-up."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def present(folder: Path, stored: list[Row], *, as_json: bool) -> None:
    """Print the answer of a run, or all if it has no table; save its table, plots and page. Raises RunError.

    Of an experiment that names ``tables``, these are printed.
    """
    from inflight.bench.show import results, summary
    from inflight.bench.show.answer import answer_of
    from inflight.bench.show.folder import experiment_value
    from inflight.bench.show.studies import Studies

    studies = Studies(stored, folder)
    answer = answer_of(studies)
    tables = experiment_value(studies.about[1], "tables") or ()
    if not as_json and answer.columns and not tables:
        put("\n".join(answer.lines()))
    elif not as_json:
        with printing(sys.stdout):
            summary.print_summary(studies, sys.stdout, tables)
    files = save(folder, studies)
    say(f"all figures: inflight report {folder} --format terminal")
    if as_json:
        put(json.dumps(results.as_json(studies) | files | {"neighbour": studies.about[0].get("neighbour")}))


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn an OSError into a RunError that names the place; for all files that a command writes beside rows."""
    try:
        yield
    except OSError as error:
        raise runs.RunError(f"cannot write {place}: {error.strerror or error}; the rows are complete") from error


def append_text(path: Path, text: str) -> None:
    """Append a text to a file that the user names, such as the summary of a CI job. Raises RunError."""
    with writing(path), path.open("a", encoding="utf-8") as file:
        file.write(text)


def keep(folder: Path, texts: Mapping[str, str], plots: Iterable["Picture | None"]) -> list[Path]:
    """Write texts as files into a folder, and plots into its folder of plots; return the plots. Raises RunError."""
    from inflight.bench.show import pictures

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            rows.write(folder / name, text)
        return pictures.save(plots, folder / "plots")


def save(folder: Path, studies: "Studies") -> dict[str, Any]:
    """Save table, plots and page in the folder of a run, print where the page is, return all. Raises RunError."""
    from inflight.bench.show import page as report_page
    from inflight.bench.show.results import csv

    with writing(folder):
        rows.write(folder / "rows.csv", csv(studies.trials))
        saved = studies.save_plots(rows.machine(folder), folder / "plots")
        page = report_page.write(folder, studies=studies)
    say(f"page:  {page}")
    return {"folder": str(folder), "report": str(page), "plots": [str(path) for path in saved]}
