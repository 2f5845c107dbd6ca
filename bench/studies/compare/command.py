"""``inflight ab``: run blocks of two sides until there is a verdict, print it and keep it."""

import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from inflight.bench.commands import run as commands
from inflight.bench.commands.output import complain, say, say_plots
from inflight.bench.core import selftests, units
from inflight.bench.measure import host, interpreters
from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks.sides import Prepared
from inflight.bench.measure.places import without_places
from inflight.bench.plan.judge import ExperimentError, judged, need
from inflight.bench.present import progress, words
from inflight.bench.rows import files as rows
from inflight.bench.studies.compare import loop, rule, show, simulation
from inflight.bench.studies.compare.comparison import Comparison, from_words
from inflight.bench.studies.compare.decide import Decision
from inflight.bench.studies.compare.read import Block, Result
from inflight.bench.studies.compare.rule import DESIGNED, Rule
from inflight.bench.studies.compare.run import Calibration, Place
from inflight.fake_server.delays import parse_duration_ns

REFUSALS = commands.REFUSALS
EXITS = {"pass": 0, "regression": 1, "inconclusive": 3}
JSON_FILE, MARKDOWN_FILE = "verdict.json", "verdict.md"
RESULTS = Path("results")
"""Default folder of results, where self-tests are looked for besides ``--out``."""


def run(
    *,
    a: str,
    b: str | None,
    repositories: tuple[Path, ...],
    pythons: tuple[str, ...],
    requirements: tuple[str, ...],
    settings: tuple[str, ...],
    variables: tuple[str, ...],
    latency: str,
    links: int,
    cycles: int | None,
    metrics: Sequence[str],
    time: str | None,
    out: Path,
    markdown: Path | None,
    as_json: bool,
) -> int:
    """Compare, print the verdict, and return 0 (pass), 1 (regression), 3 (inconclusive) or 130 (interrupted)."""
    planned = from_words(
        a, b, latency=latency, links=links, metrics=metrics, repositories=repositories, pythons=pythons,
        requirements=requirements, settings=settings, variables=variables,
    )  # fmt: skip
    budget_s = None if time is None else seconds(time)
    check_writable(out, markdown)
    folder, found, machine = None, 0, host.machine()
    try:
        with commands.interruptible(), tempfile.TemporaryDirectory(prefix="inflight-") as files, place() as where:
            planned, prepared = loop.ready(planned, Path(files))
            for name in ("A", "B"):
                say(f"{name}: {describe_commit(prepared[name])}")
            planned, calibration = loop.calibrated(planned, prepared, where, cycles)
            rates = selftests.latest([out, RESULTS], machine, labels(planned))
            judged_by = rule_within(budget_s, calibration, planned)
            say(plan_text(planned, calibration, judged_by, rates))
            folder = runs.new_folder(out, planned, machine)
            blocks = judged_by.looks[-1]
            stand = progress.Stand(blocks, blocks * calibration.block_s * 1e9, guess="at most")
            with progress.shown(stand) as shown:

                def report(block: Block, decision: Decision) -> None:
                    nonlocal found
                    found = block.number
                    show_block(shown, block, show.block_line(block, decision), calibration.block_s * 1e9)

                result = loop.run(folder, planned, prepared, where, judged_by, report, budget_s)
    except KeyboardInterrupt:
        kept = f"after {words.counted(found, 'block')}; their rows are in {folder}"
        complain(f"interrupted {kept if found else 'before the first block ended'}")
        return 130
    return conclude(folder, result, rates, markdown, as_json=as_json)


def labels(planned: Comparison) -> list[str]:
    """Return the labels of the interpreters of both sides; empty if both run on that of the harness."""
    names = [arm.python for arm in (planned.a, planned.b)]
    return [interpreters.ask(name or sys.executable).label for name in names] if any(names) else []


def show_block(shown: progress.Progress, block: Block, line: str, block_ns: float) -> None:
    """Show the result of a block; an excluded block does not count as progress."""
    if block.good:
        shown.finished(line, block_ns)
    else:
        shown.repeated(line)


def check_writable(out: Path, markdown: Path | None) -> None:
    """Raise RunError if the results could not be written, before anything is measured."""
    where = out
    try:
        there = next(place for place in (where.resolve(), *where.resolve().parents) if place.exists())
        with tempfile.TemporaryFile(dir=there):
            pass
        if markdown is not None:
            where = markdown
            with where.open("a", encoding="utf-8"):
                pass
    except OSError as error:
        raise runs.RunError(f"cannot write results to {where}: {error.strerror}; choose another place") from error


@contextmanager
def place() -> Iterator[Place]:
    """Choose cores, and keep a server running while blocks are run."""
    cpus = host.choose_cpus(pin=True)
    with runs.beside_the_server(cpus), runs.ServerKeeper(cpus) as keeper:
        yield Place(keeper, cpus)


def conclude(
    folder: Path, result: Result, rates: Mapping[str, Any] | None, markdown: Path | None, *, as_json: bool
) -> int:
    """Print the verdict, write it into the folder of its rows, and return its exit code."""
    from rich.console import Console

    from inflight.bench.studies.compare.plot import save_comparison

    told = show.to_json(result, rates) | {"folder": str(folder)}
    if as_json:
        print(json.dumps(told, allow_nan=False))
    else:
        Console(file=sys.stdout, highlight=False, soft_wrap=True).print(show.text(result, rates))
    try:
        summary = keep(folder, result, rates)
        if markdown is not None:
            with markdown.open("a", encoding="utf-8") as file:
                file.write(summary)
        machine = json.loads((folder / rows.MACHINE_FILE).read_text(encoding="utf-8"))
        plots = save_comparison(result, machine, folder / "plots")
    except OSError as error:
        where = error.filename or folder
        raise runs.RunError(f"cannot write {where}: {error.strerror}; the rows are complete") from error
    say(f"rows:  {folder / rows.ROWS_FILE}")
    say_plots(plots)
    return EXITS[result.decision.verdict]


def keep(folder: Path, result: Result, rates: Mapping[str, Any] | None) -> str:
    """Write the verdict into the folder of its rows; return it as Markdown. Raises OSError."""
    told = show.to_json(result, rates) | {"folder": str(folder)}
    kept, summary = json.dumps(without_places(told), indent=2, allow_nan=False), show.markdown(result, rates)
    (folder / JSON_FILE).write_text(f"{kept}\n", encoding="utf-8")
    (folder / MARKDOWN_FILE).write_text(summary, encoding="utf-8")
    return summary


def rule_within(budget_s: float | None, calibration: Calibration, planned: Comparison) -> Rule:
    """Return the rule for a budget; the designed rule without a budget. Raises ExperimentError."""
    if budget_s is None:
        return DESIGNED
    memory_s = calibration.memory_s if "memory" in planned.metrics else 0.0
    found = rule.rule_for(budget_s, calibration.block_s, memory_s=memory_s)
    if found is None:
        least_s = math.ceil(DESIGNED.looks[0] * (calibration.block_s + memory_s))
        without = ", or exclude memory with --metric cpu_per_page --metric throughput" if memory_s else ""
        raise ExperimentError(
            f"--budget {budget_s:g}s is too short: a verdict needs at least {DESIGNED.looks[0]} blocks, which take "
            f"about {least_s} s here; try --budget {rule.budget_for(least_s)}s{without}"
        )
    return found


def plan_text(planned: Comparison, calibration: Calibration, judged_by: Rule, rates: Mapping[str, Any] | None) -> str:
    """Return how long the comparison may take and what changes it can detect."""
    first, last = judged_by.looks[0], judged_by.looks[-1]
    memory_s = first * calibration.memory_s if "memory" in planned.metrics else 0
    times = [f"{look * calibration.block_s + memory_s:.0f} s" for look in (first, last)]
    told = f"{units.count(planned.cycles)} cycles of slices per block; {first} blocks take about {times[0]}"
    told += f", all {last} about {times[1]}" if last > first else ""
    noise = {} if rates is None else rates["noise"]
    known = [noise[arm.strategy]["cpu_per_page"] for arm in (planned.a, planned.b) if arm.strategy in noise]
    sizes = [
        f"{units.percent(math.expm1(simulation.smallest_found(sd, judged_by, max(1, len(planned.gated))).effect), 1)} "
        f"if blocks vary by {units.percent(sd, 1)}"
        for sd in ([max(known)] if known else [0.02, 0.05])
    ]
    origin = "as in the self-test" if known else "unknown on this machine; `inflight selftest` measures it"
    return f"{told}\nup to {last} blocks detect a change of {' or '.join(sizes)} ({origin})"


def describe_commit(prepared: Prepared) -> str:
    """Return the label of an arm, with its commit and repository if it has them."""
    arm = prepared.arm
    where = f" of {arm.repository}" if arm.repository else ""
    return arm.label + (f", commit {prepared.commit[:12]}{where}" if prepared.commit else "")


def seconds(text: str) -> float:
    """Parse a time such as 90s, 5m or 1h; return seconds. Raises ExperimentError."""
    found = judged(partial(parse_duration_ns, text), "--budget") / 1e9
    need(0 < found <= 86_400, f"--budget must be longer than 0 and at most a day, not {text}")
    return found
