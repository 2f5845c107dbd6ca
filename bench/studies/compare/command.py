"""What ``inflight ab`` does: two sides from the command line, blocks until a verdict, and the telling of it."""

import json
import math
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.commands import run as commands
from bench.commands.output import complain, say, say_plots
from bench.core import rows, selftests, units
from bench.core.judge import ExperimentError, need
from bench.measure import host
from bench.measure import run as runs
from bench.measure.blocks.sides import Prepared
from bench.measure.places import without_places
from bench.present import progress
from bench.studies.compare import budget, loop, simulation
from bench.studies.compare.comparison import Comparison
from bench.studies.compare.decide import DESIGNED, Decision, Rule
from bench.studies.compare.loop import Verdict
from bench.studies.compare.read import Block
from bench.studies.compare.run import Calibration, Place
from bench.studies.compare.written import Written, comparison
from fake_server.delays import parse_duration_ns

REFUSALS = commands.REFUSALS
EXITS = {"pass": 0, "regression": 1, "inconclusive": 3}
JSON_FILE, MARKDOWN_FILE = "verdict.json", "verdict.md"
RESULTS = Path("results")
"""Where self-tests are kept unless another folder was asked for."""


def run(
    *,
    a: str,
    b: str,
    repositories: tuple[Path, ...],
    pythons: tuple[str, ...],
    requirements: tuple[str, ...],
    settings: tuple[str, ...],
    variables: tuple[str, ...],
    latency: str,
    links: int,
    cycles: int | None,
    metrics: str | None,
    time: str | None,
    out: Path,
    markdown: Path | None,
    as_json: bool,
) -> int:
    """Compare, tell, and return 0 for a pass, 1 for a regression, 3 for neither, 130 when interrupted."""
    written = Written(a, b, repositories, pythons, requirements, settings, variables)
    planned = comparison(written, latency=latency, links=links, metrics=metrics)
    budget_s = None if time is None else seconds(time)
    check_writable(out, markdown)
    folder, found, machine = None, 0, host.machine()
    try:
        with commands.interruptible(), tempfile.TemporaryDirectory(prefix="inflight-") as files, place() as where:
            planned, prepared = loop.ready(planned, Path(files))
            for name in ("A", "B"):
                say(f"{name}: {describe_commit(prepared[name])}")
            planned, calibration = loop.calibrated(planned, prepared, where, cycles)
            rates = selftests.latest([out, RESULTS], machine)
            rule = rule_within(budget_s, calibration, planned)
            say(plan_told(planned, calibration, rule, None if rates is None else noise_of(rates, planned)))
            folder = runs.new_folder(out, planned, machine)

            with progress.shown(_at_most(rule, calibration)) as shown:

                def report(block: Block, decision: Decision) -> None:
                    nonlocal found
                    found = block.number
                    _show(shown, block, decision, calibration)

                verdict = loop.run(folder, planned, prepared, where, rule, report, budget_s)
    except KeyboardInterrupt:
        kept = "" if folder is None else f" after {found} blocks; their rows are in {folder}"
        complain(f"interrupted{kept}")
        return 130
    return tell(folder, verdict, rates, markdown, as_json=as_json)


def _at_most(rule: Rule, calibration: Calibration) -> progress.Stand:
    """Return how far a comparison is at its beginning: all the blocks may be needed, but fewer may do."""
    return progress.Stand(rule.looks[-1], rule.looks[-1] * calibration.block_s * 1e9, guess="at most")


def _show(shown: progress.Progress, block: Block, decision: Decision, calibration: Calibration) -> None:
    """Show what one block brought; one that was left out brings the end no nearer."""
    from bench.studies.compare.show import block_line

    if block.good:
        shown.finished(block_line(block, decision), calibration.block_s * 1e9)
    else:
        shown.repeated(block_line(block, decision))


def check_writable(out: Path, markdown: Path | None) -> None:
    """Find out before anything is measured that its result could not be written. Raises RunError."""
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
    """Choose cores and keep a server, for as long as blocks are run."""
    cpus = host.choose_cpus(pin=True)
    with runs.beside_the_server(cpus), runs.ServerKeeper(cpus) as keeper:
        yield Place(keeper, cpus)


def tell(
    folder: Path, verdict: Verdict, rates: dict[str, object] | None, markdown: Path | None, *, as_json: bool
) -> int:
    """Print the verdict, write it beside its rows, and return its exit code."""
    from bench.present.console import wants_colour
    from bench.studies.compare import show as present
    from bench.studies.compare.plot import save_comparison

    shown = present.Shown(verdict.decision, verdict.blocks, verdict.rule, rates)
    told = present.to_json(shown) | {"folder": str(folder)}
    coloured = wants_colour(sys.stdout)
    print(json.dumps(told, allow_nan=False) if as_json else present.text(shown, colour=coloured))
    try:
        kept = json.dumps(without_places(told), indent=2, allow_nan=False)
        (folder / JSON_FILE).write_text(f"{kept}\n", encoding="utf-8")
        (folder / MARKDOWN_FILE).write_text(present.markdown(shown), encoding="utf-8")
        if markdown is not None:
            with markdown.open("a", encoding="utf-8") as file:
                file.write(present.markdown(shown))
        machine = json.loads((folder / rows.MACHINE_FILE).read_text(encoding="utf-8"))
        plots = save_comparison(verdict.blocks, verdict.decision, verdict.rule, machine, folder / "plots")
    except OSError as error:
        where = error.filename or folder
        raise runs.RunError(f"cannot write {where}: {error.strerror}; the rows are complete") from error
    say(f"rows:  {folder / rows.ROWS_FILE}")
    say_plots(plots)
    return EXITS[verdict.decision.verdict]


def rule_within(budget_s: float | None, calibration: Calibration, planned: Comparison) -> Rule:
    """Return the rule that a budget allows; the designed one without a budget. Raises ExperimentError."""
    if budget_s is None:
        return DESIGNED
    memory_s = calibration.memory_s if "memory" in planned.metrics else 0.0
    found = budget.rule_for(budget_s, calibration.block_s, memory_s=memory_s)
    if isinstance(found, budget.Refusal):
        least_s = math.ceil(DESIGNED.looks[0] * (calibration.block_s + memory_s))
        without = ", or leave memory out with --metrics cpu_per_page,throughput" if memory_s else ""
        raise ExperimentError(
            f"--budget {budget_s:g}s is too short: the {DESIGNED.looks[0]} blocks that a verdict needs at least take "
            f"about {least_s} s here; give that much{without}"
        )
    return found


def plan_told(planned: Comparison, calibration: Calibration, rule: Rule, noise: float | None) -> str:
    """Say before anything is measured how long it may take, and what it could find."""
    first, last = rule.looks[0], rule.looks[-1]
    memory_s = first * calibration.memory_s if "memory" in planned.metrics else 0
    times = [f"{look * calibration.block_s + memory_s:.0f} s" for look in (first, last)]
    told = f"{units.count(planned.cycles)} cycles of slices per block; {first} blocks take about {times[0]}"
    told += f", all {last} about {times[1]}" if last > first else ""
    known = [noise] if noise is not None else [0.02, 0.05]
    smallest = [simulation.smallest_found(sd, rule, max(1, len(planned.gated))).effect for sd in known]
    sizes = [f"{math.expm1(size):.1%} if blocks vary by {sd:.1%}" for size, sd in zip(smallest, known, strict=True)]
    origin = "as they did in the self-test" if noise is not None else "not known here; `inflight selftest` finds out"
    return f"{told}\nup to {last} blocks find a change of {' or '.join(sizes)} ({origin})"


def noise_of(rates: dict[str, object], planned: Comparison) -> float | None:
    """Return how much blocks of this strategy vary in CPU time, as the self-test found; None if it was not tried."""
    noise = rates["noise"]
    assert isinstance(noise, dict)
    found = [noise[arm.strategy]["cpu_per_page"] for arm in (planned.a, planned.b) if arm.strategy in noise]
    return max(found) if found else None


def describe_commit(prepared: Prepared) -> str:
    """Return which files an arm has: the commit and its repository, where it is one."""
    arm = prepared.arm
    where = f" of {arm.repository}" if arm.repository else ""
    return arm.label + (f", commit {prepared.commit[:12]}{where}" if prepared.commit else "")


def seconds(text: str) -> float:
    """Return a time such as 90s, 5m or 1h in seconds. Raises ExperimentError."""
    factors = {"m": 60, "h": 3600}
    try:
        if text[-1:] in factors and not text.endswith("ms"):
            found = float(text[:-1]) * factors[text[-1]]
        else:
            found = parse_duration_ns(f"{text}s" if text.replace(".", "", 1).isdigit() else text) / 1e9
    except ValueError as error:
        raise ExperimentError(f"--budget must be a time such as 90s, 5m or 1h, not {text!r}") from error
    need(0 < found <= 86_400, f"--budget must be longer than 0 and at most a day, not {text}")
    return found
