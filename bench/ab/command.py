"""``inflight ab``: run blocks of two sides until there is a verdict, print it and keep it.

::

    Comparison --ready--> arms --calibrated--> cycles per block --measure--> [Row] --values--> decide --> again or end
                            '--measure_counts--> [Row] --judge--> verdict              with --metric calls

A block measures both sides, which take turns, in fresh processes. ``decide`` has the decision, ``rule`` its error
rates, ``show`` its words; the self-test uses ``Measuring``, ``calibrated`` and ``measure_counts``. ``commands`` is the
module of ``inflight run``, whose functions all commands share; ``runs`` is ``measure.run``.
"""

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inflight.bench import units
from inflight.bench.ab import counts, show
from inflight.bench.ab import decide as deciding
from inflight.bench.ab.decide import Decision, Result
from inflight.bench.ab.rule import DESIGNED, Rule, budget_for, rule_for, smallest_found
from inflight.bench.commands import run as commands
from inflight.bench.commands.options import FOLDER, JSON, MARKDOWN, OUT, QUIET, option
from inflight.bench.commands.output import complain, printing, put, say, say_plots
from inflight.bench.commands.run import time_s
from inflight.bench.frame import blocks as read
from inflight.bench.frame.blocks import Block
from inflight.bench.measure import host
from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks import comparing
from inflight.bench.measure.blocks.comparing import Arms, Place
from inflight.bench.plan.comparison import Comparison, from_words
from inflight.bench.plan.judge import ExperimentError, need
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import without_places
from inflight.bench.rows.kinds import ArmRow, Counts
from inflight.bench.show import markdown as form
from inflight.bench.show import progress, words

if TYPE_CHECKING:
    from rich.text import Text

    from inflight.bench.show.pictures import Picture

EXITS = deciding.EXITS
"""Exit code of each verdict."""
NOISE = (0.02, 0.05)
"""SDs of blocks (relative) for which the plan shows the detectable change."""
MAX_ROUNDS = 3
"""Number of times that calls are counted if the repeats of a side differ."""
MEMORY_S = 3.5
"""Approximate duration of the four readings of memory, for estimates only."""
OVERRUN = 1.5
"""Multiple of the budget after which a run ends."""


@click.argument("a", metavar="A")
@click.argument("b", metavar="[B]", required=False)
@click.option("--a", "of_a", metavar="KEY=VALUE", multiple=True, help="A setting of side A alone. Repeatable.")
@click.option("--b", "of_b", metavar="KEY=VALUE", multiple=True, help="A setting of side B alone. Repeatable.")
@click.option(
    "--repo", metavar="FOLDER", type=FOLDER, help="Git repository of the strategies. [default: the current one]"
)
@option("--python")
@click.option(
    "--with",
    "requirements",
    metavar="REQUIREMENT",
    multiple=True,
    help="Install this into an environment, e.g. aiohttp==3.11. Repeatable.",
)
@click.option(
    "--env", "variables", metavar="NAME=VALUE", multiple=True, help="Set an environment variable. Repeatable."
)
@option("--in-flight", note="[default: 100]")
@option("--connection", note="[default: keep-alive]")
@option("--tls")
@option("--latency", default="0")
@click.option("--links", metavar="N", type=click.IntRange(0, 100), default=10, help="Number of links on each page.")
@click.option(
    "--cycles",
    metavar="N",
    type=click.IntRange(1, 1000),
    help="Number of slices of each side in a block. [default: chosen after a first block]",
)
@click.option(
    "--metric",
    "metrics",
    metavar="NAME",
    multiple=True,
    help="Compare only this: cpu_per_page, throughput or memory. Repeatable. Or calls, alone: what a page does.",
)
@click.option("--bytecodes", is_flag=True, help="With --metric calls, count bytecodes, too.")
@click.option(
    "--budget",
    metavar="TIME",
    help="Planned time of one comparison, e.g. 5m; the limit is 1.5 times that. [default: 12 to 48 blocks]",
)
@OUT
@MARKDOWN
@JSON
@QUIET
def run(
    *,
    a: str,
    b: str | None,
    of_a: Sequence[str],
    of_b: Sequence[str],
    in_flight: int | None,
    connection: str | None,
    tls: bool,
    repo: Path | None,
    python: str | None,
    requirements: Sequence[str],
    variables: Sequence[str],
    latency: str,
    links: int,
    cycles: int | None,
    metrics: Sequence[str],
    bytecodes: bool,
    budget: str | None,
    out: Path,
    markdown: Path | None,
    as_json: bool,
) -> int:
    """Compare two sides, and decide whether B is worse than A.

    The sides take turns in blocks. A side is a strategy, or strategy@revision of a git repository; without B, both are
    A. The settings of one side are --a and --b: python, with, env, in_flight, connection, tls or repo. Others are for
    both.

    --metric calls counts instead what both do per page, in seconds and on a busy machine. It exits with 0 if B does the
    same or less, 1 if it does more, 3 if the counts do not repeat. Fewer calls are not always less time.

    \b
    inflight ab callbacks generators --in-flight 1000
    inflight ab callbacks@main callbacks                    main against the working tree
    inflight ab callbacks@HEAD~1 callbacks@HEAD --repo ~/my-fork --budget 5m
    inflight ab aiohttp_client --a with=aiohttp==3.10.11 --b with=aiohttp==3.11.18
    inflight ab native_asyncio --a python=python3.11 --b python=python3.13
    inflight ab callbacks --b env=PYTHONDEVMODE=1
    inflight ab callbacks@main callbacks --metric calls     calls and system calls per page, in seconds
    """
    single = {"in_flight": in_flight, "connection": connection, "repo": repo, "python": python}
    both = [(f"--{key.replace('_', '-')}", key, str(value)) for key, value in single.items() if value is not None]
    if tls:
        both.append(("--tls", "tls", "true"))
    both += [("--with", "with", value) for value in requirements] + [("--env", "env", value) for value in variables]
    planned = from_words(a, b, both=both, of_a=of_a, of_b=of_b, latency=latency, links=links, metrics=metrics)
    if planned.metrics == ("calls",):
        need(budget is None and cycles is None, "--metric calls counts once; leave out --budget and --cycles")
        _check_writable(out)
        return count(planned, out, markdown, bytecodes=bytecodes, as_json=as_json)
    need(not bytecodes, "--bytecodes counts with --metric calls")
    budget_s = None if budget is None else time_s(budget, "--budget")
    _check_writable(out)
    folder = None
    done = 0
    machine = host.machine()
    try:
        with (
            commands.interruptible(),
            tempfile.TemporaryDirectory(prefix="inflight-") as files,
            comparing.chosen_place() as place,
        ):
            planned, prepared = ready(replace(planned, cycles=cycles), Path(files))
            planned, block_s = calibrated(planned, prepared, place)
            rule = rule_within(budget_s, block_s, planned)
            folder = runs.new_folder(out, planned, machine)
            steps = progress.Progress(rule.looks[-1], rule.looks[-1] * block_s * 1e9, guess="at most")
            with progress.displayed(steps) as bar:

                def report(block: Block, decision: Decision) -> None:
                    """Show a block that has ended, and note its number for an interruption."""
                    nonlocal done
                    done = block.number
                    line = show.block_line(block, decision)
                    bar.finished(line, block_s * 1e9) if block.good else bar.repeated(line)

                where = Measuring(folder, planned, prepared, place)
                result = decided(where, rule, report, budget_s)
    except KeyboardInterrupt:
        rest = f"after {words.counted(done, 'block')}; rows kept in {folder}"
        complain(f"interrupted {rest if done else 'before the first block ended'}")
        return 130
    return conclude(folder, result, markdown, as_json=as_json)


def ready(planned: Comparison, files: Path) -> tuple[Comparison, Arms]:
    """Prepare both sides in a folder, and print what they are. Raises ExperimentError."""
    planned, prepared = comparing.ready(planned, files)
    for name in ("A", "B"):
        arm = prepared[name].arm
        commit = prepared[name].commit
        where = f" of {arm.repository}" if arm.repository else ""
        say(f"{name}: {words.plain(arm.label, 300)}" + (f", commit {commit[:12]}{where}" if commit else ""))
    return planned, prepared


def calibrated(comparison: Comparison, prepared: Arms, place: Place) -> tuple[Comparison, float]:
    """Run a block; return the comparison with its number of cycles and its gated metrics, and seconds per block.

    The verdict follows from the gated metrics alone; others are shown beside it.

    Throughput is gated only if more CPU time would lower it. Raises ExperimentError with the name of the arm when a
    side cannot do the work.
    """
    scale, cycles, block_s = comparing.calibrate(comparison, prepared, place)
    for row in filter(read.has_failed, scale):
        raise ExperimentError(f"nothing to compare: {row.arm}, {row.workload.arm.label}: {read.reason(row)}")
    moves = all(read.moves_throughput(row) for row in scale if isinstance(row, ArmRow))
    gated = tuple(metric for metric in comparison.metrics if metric != "throughput" or moves)
    return replace(comparison, gated=gated, cycles=cycles), block_s


@dataclass(frozen=True, slots=True)
class Measuring:
    """A comparison that is ready, and where its blocks are run and kept."""

    folder: Path
    """The folder of the run, which gets the rows."""
    comparison: Comparison
    prepared: Arms
    """Its arms, ready to run, by name."""
    place: Place
    """The server and the cores."""

    def block(self, number: int, *, memory: bool) -> Block:
        """Run a block, with memory if that is measured; its rows are written. Raises RunError if they cannot be."""
        memory = memory and "memory" in self.comparison.metrics
        made = comparing.measure(self.folder, self.comparison, number, self.prepared, self.place, memory=memory)
        return read.blocks(made)[0]


def decided(
    where: Measuring, rule: Rule, report: Callable[[Block, Decision], None], budget_s: float | None = None
) -> Result:
    """Run blocks until the decision is final; ``report`` is called after each with the decision so far.

    Memory is measured in as many blocks as the first look needs, and in more only while memory keeps the decision open.
    A run that takes longer than ``OVERRUN`` times its budget ends as inconclusive.
    """
    blocks: list[Block] = []
    memory_is_open = False
    while True:
        lacks_memory = sum("memory" in read.values(block) for block in blocks if block.good) < rule.looks[0]
        blocks.append(where.block(len(blocks) + 1, memory=memory_is_open or lacks_memory))
        decision = deciding.decided(blocks, rule)
        taken_s = sum(sum(block.durations_ns) for block in blocks) / 1e9
        if not decision.final and budget_s is not None and taken_s > OVERRUN * budget_s:
            next_look = next((look for look in rule.looks if look > decision.blocks), rule.looks[-1])
            enough_s = budget_for(next_look * taken_s / max(1, decision.blocks))
            why = f"blocks took longer than {OVERRUN:g} times the budget; try --budget {enough_s}s"
            decision = replace(decision, final=True, verdict="inconclusive", why=why)
        report(blocks[-1], decision)
        if decision.final:
            return Result(decision, tuple(blocks), rule)
        if decision.look is not None:
            memory_is_open = any(each.metric == "memory" and each.upper >= rule.acceptable for each in decision.effects)


def rule_within(budget_s: float | None, block_s: float, planned: Comparison) -> Rule:
    """Return the rule for a budget, the designed one without; print what it takes and detects.

    ``block_s`` are the seconds of a block. Raises ExperimentError for a budget that is too short for the first look.
    """
    first = DESIGNED.looks[0]
    memory_s = MEMORY_S if "memory" in planned.metrics else 0.0
    rule = DESIGNED if budget_s is None else rule_for(budget_s, block_s, memory_s=memory_s)
    if rule is None:
        needed_s = math.ceil(first * (block_s + memory_s))
        raise ExperimentError(
            f"--budget {budget_s:g}s is too short: {first} blocks take about {needed_s} s here; "
            f"try --budget {budget_for(needed_s)}s, or fewer metrics (--metric)"
        )
    times = [f"{look} blocks take about {look * block_s + first * memory_s:.0f} s" for look in rule.looks]
    sizes = [units.change_size(smallest_found(sd, rule, max(1, len(planned.gated)))) for sd in NOISE]
    say(f"{planned.cycles} cycles of slices per block; {', '.join(times)}")
    say(f"detectable: {sizes[0]} if blocks vary by {NOISE[0]:.0%}, {sizes[1]} if they vary by {NOISE[1]:.0%}")
    return rule


def conclude(folder: Path, result: Result, markdown: Path | None, *, as_json: bool) -> int:
    """Print the verdict, write it into the folder of its rows, and return its exit code."""
    from inflight.bench.ab.plot import picture

    plots = [picture(result, rows.machine(folder))]
    finish(folder, show.to_json(result), show.text(result), show.markdown(result), markdown, plots, as_json=as_json)
    return EXITS[result.decision.verdict]


def finish(
    folder: Path,
    values: dict[str, Any],
    text: "Text",
    as_markdown: str,
    markdown: Path | None,
    plots: Sequence["Picture | None"] = (),
    *,
    as_json: bool,
) -> None:
    """Print a verdict as JSON or as text, and write it into the folder of its rows."""
    from rich.console import Console

    values = values | {"folder": str(folder)}
    if as_json:
        put(json.dumps(values, allow_nan=False))
    else:
        with printing(sys.stdout):
            Console(file=sys.stdout, highlight=False, soft_wrap=True).print(text)
    stored = json.dumps(without_places(values), indent=2, allow_nan=False)
    saved = commands.keep(folder, {rows.VERDICT_FILE: f"{stored}\n", "verdict.md": as_markdown}, plots)
    if markdown is not None:
        commands.append_text(markdown, as_markdown)
    say(f"rows:  {folder / rows.ROWS_FILE}")
    say_plots(saved)


# With --metric calls


def count(planned: Comparison, out: Path, markdown: Path | None, *, bytecodes: bool, as_json: bool) -> int:
    """Count both sides, print the verdict, keep it with the rows, and return its exit code, or 130 if interrupted."""
    folder = None
    machine = host.machine()
    try:
        with (
            commands.interruptible(),
            tempfile.TemporaryDirectory(prefix="inflight-") as files,
            comparing.chosen_place(is_timed=False) as place,
        ):
            planned, prepared = ready(planned, Path(files))
            folder = runs.new_folder(out, planned, machine)
            made = measure_counts(Measuring(folder, planned, prepared, place), bytecodes=bytecodes)
    except KeyboardInterrupt:
        complain("interrupted" + (f"; rows kept in {folder}" if folder else ""))
        return 130
    result = counts.judge(made)
    verdict = counts.section(made)
    code = counts.EXITS[result.answer]
    text = show.coloured(verdict, result.answer, code)
    as_markdown = f"### inflight: {result.answer}\n\n{form.markdown(verdict)}\n"
    finish(folder, counts.to_json(result), text, as_markdown, markdown, as_json=as_json)
    return code


def measure_counts(where: Measuring, *, bytecodes: bool = False) -> list[Counts]:
    """Count A and B, and write their rows; more than once if the repeats of a side differ, so that the spread is known.

    Raises ExperimentError with the side that could not do the work.
    """
    setting = where.place.setting(where.folder.name)
    made: list[Counts] = []
    for number in range(1, MAX_ROUNDS + 1):
        for trial in where.comparison.counted(number, bytecodes=bytecodes):
            side = where.prepared[trial.name]
            (row,) = runs.measured(trial, where.place.keeper, replace(setting, runtime=side.runtime))
            runs.append(where.folder, row)
            if not row.valid:
                reasons = "; ".join(row.invalid_reasons)
                raise ExperimentError(f"nothing to compare: {trial.name}, {side.arm.label}: {reasons}")
            assert isinstance(row, Counts)
            made.append(row)
        if all(row.measured.repeats_equal for row in made):
            break
    return made


def _check_writable(out: Path) -> None:
    """Raise RunError if the results could not be written; called before anything is measured."""
    there = next(place for place in (out.resolve(), *out.resolve().parents) if place.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise runs.RunError(f"cannot write results to {out}; choose another place")
