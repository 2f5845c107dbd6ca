"""``inflight selftest``: measure the harness itself on this machine, and keep the result.

Blocks whose two sides are the same code (A/A) show its noise and its false alarms; blocks with a planted slowdown show
what it detects. Blocks and decisions are those of ``inflight ab``. Other clients, Locust and wrk, show whether they get
the same figures from the fake server as a strategy does.

The sides may run on two interpreters. Then no side is slower by a known amount, so the mean difference of the blocks
without a planted slowdown is subtracted from all blocks: what is left has the noise of this pair, and a known truth.
"""

import json
import math
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inflight import strategies
from inflight.bench.commands import run as commands
from inflight.bench.commands.output import complain, say
from inflight.bench.core import selftests
from inflight.bench.measure import host, interpreters, neighbour, process
from inflight.bench.measure import run as runs
from inflight.bench.plan.arm import Arm
from inflight.bench.plan.experiment import Workload, named
from inflight.bench.plan.judge import ExperimentError, need
from inflight.bench.plan.trials import estimate_ns, trial_of
from inflight.bench.present import progress
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.studies.clients import read as client_rows
from inflight.bench.studies.clients import run as clients
from inflight.bench.studies.clients.show import line as client_line
from inflight.bench.studies.compare import command, loop, read, simulation
from inflight.bench.studies.compare.comparison import METRICS, Metric, comparison
from inflight.bench.studies.compare.read import Block
from inflight.bench.studies.compare.rule import DESIGNED
from inflight.bench.studies.compare.run import Place
from inflight.bench.studies.selftest import read as self_test
from inflight.bench.studies.selftest.show import line, text
from inflight.fake_server.site import SiteConfig

REFUSALS = commands.REFUSALS
SIZES = (5, 10)
"""Nominal sizes of the planted slowdowns, in percent of the CPU time per page."""
TRIED = 0.5
"""Approximate slowdown, as a share, with which the cost of a planted loop is measured; far above the noise."""
TIMED = METRICS[:2]
LATE = Workload("selftest/lateness", "crawl", SiteConfig(pages=10_000, links=0, delay="50ms"), 1000, "keep-alive")


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of good blocks of each kind."""

    same: int
    planted: int
    other: int
    planting: int
    """Blocks that measure the cost of a planted loop."""


FULL = Numbers(same=96, planted=48, other=12, planting=12)
QUICK = Numbers(same=24, planted=12, other=0, planting=6)
FULL_ROUNDS, QUICK_ROUNDS = 3, 1
"""Number of rounds of the clients."""
SEED = 1
"""Seed of the order in which clients take turns."""
MOST_TRIES = 3
"""Maximum number of blocks tried for each good one that is needed; with more, the machine is too busy."""
BLOCK_NS = 4_000_000_000
"""Expected duration of a block; used for the estimate only."""
LOOP_NS = 12.0
"""First guess of the cost of an iteration of an empty loop; the real cost is measured with it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a self-test, as kept in the folder of the run."""

    strategy: str
    numbers: Numbers
    client_rounds: int
    pythons: tuple[str, ...] = ()
    """Interpreters: none for that of the harness, one for both sides, or one for A and one for B."""
    name: str = "selftest"

    @property
    def interpreters(self) -> list[str]:
        """Labels of the interpreters of A and B; empty for that of the harness."""
        return [interpreters.ask(name).label for name in self._of_sides if name is not None]

    @property
    def differ(self) -> bool:
        """Whether the sides run on two interpreters."""
        a, b = ("" if name is None else interpreters.ask(name).executable for name in self._of_sides)
        return Path(a).resolve() != Path(b).resolve()

    @property
    def _of_sides(self) -> tuple[str | None, str | None]:
        return (self.pythons[0], self.pythons[-1]) if self.pythons else (None, None)

    def arms(self, strategy: str, **of_both: Any) -> tuple[Arm, Arm]:
        """Return both sides of a comparison of a strategy with itself."""
        a, b = self._of_sides
        return Arm("A", strategy, python=a, **of_both), Arm("B", strategy, python=b, **of_both)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as values for TOML."""
        return {
            "about": "Measure the harness itself.",
            "strategy": self.strategy,
            "blocks": asdict(self.numbers),
            "client_rounds": self.client_rounds,
            "interpreters": self.interpreters,
        }


@dataclass(frozen=True, slots=True)
class Measuring:
    """Where the blocks of a self-test are run and kept."""

    place: Place
    folder: Path
    files: Path
    """Folder of the files of the arms."""
    machine: dict[str, Any]
    shown: progress.Progress


def run(
    *, strategy: str, pythons: tuple[str, ...], quick: bool, out: Path, as_json: bool, disturbed: str | None
) -> int:
    """Measure the harness, and keep and print the result.

    Return 0; 1 if false alarms are significantly more frequent than designed; 3 if too few blocks were good; 130 if
    interrupted.
    """
    strategy = named(strategy, "--strategy")
    if lack := strategies.describe(strategy).lack:
        raise ExperimentError(f"{strategy} {lack}")
    need(
        len(pythons) <= 2,
        f"--python may be given once, for both sides, or twice, for A and for B; not {len(pythons)} times",
    )
    if pythons and (needed := strategies.describe(strategy).requires):
        raise ExperimentError(f"--python: {strategy} needs {', '.join(needed)}; choose a strategy without libraries")
    plan = Plan(strategy, *((QUICK, QUICK_ROUNDS) if quick else (FULL, FULL_ROUNDS)), pythons)
    machine = host.machine(disturbed)
    folder = runs.new_folder(out, plan, machine)
    try:
        with (
            commands.interruptible(),
            tempfile.TemporaryDirectory(prefix="inflight-") as files,
            command.place() as place,
            neighbour.beside(disturbed, place.cpus),
            progress.shown(_stand(plan)) as shown,
        ):
            found = _measure(plan, Measuring(place, folder, Path(files), machine, shown))
    except KeyboardInterrupt:
        complain(f"interrupted; the rows are in {folder}, but verdicts will not quote them")
        return 130
    _keep(folder, found)
    print(json.dumps(found | {"folder": str(folder)}, allow_nan=False) if as_json else text(found))
    say(f"kept:  {folder / rows.SELFTEST_FILE}")
    return code(found)


def code(found: dict[str, Any]) -> int:
    """Return the exit code: 3 for too few blocks, 1 for significantly more false alarms than designed, else 0."""
    real = found["false_alarms"]["real"]
    too_often = simulation.rate_bounds(real["alarms"], real["decisions"])[0] > DESIGNED.alpha
    return 3 if found["too_few"] else 1 if too_often else 0


def _measure(plan: Plan, where: Measuring) -> dict[str, Any]:
    """Run every part; return the content of ``selftest.json``."""
    same = _blocks(where, "aa", *plan.arms(plan.strategy), plan.numbers.same, METRICS)
    apart = self_test.means(same) if plan.differ else {}
    loop_share = _loop_share(where, plan, same, apart)
    planted = {size: _planted(where, plan, loop_share, size) for size in SIZES}
    by_strategy = {plan.strategy: same} | {
        name: _blocks(where, f"aa-{name}", *plan.arms(name), plan.numbers.other, TIMED) for name in _others(plan)
    }
    measured = {name: series for name, series in by_strategy.items() if len(self_test.good(series)) > 1}
    late_trial = trial_of(LATE.id, 1, LATE, strategies.describe(plan.strategy))
    (late,) = runs.measured(late_trial, where.place.keeper, where.place.setting(where.folder.name))
    loop.append(where.folder, late)
    compared = client_rows.compare(_clients(where, plan))
    return {
        "format": selftests.FORMAT,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": where.machine,
        "strategy": plan.strategy,
        "interpreters": plan.interpreters,
        "blocks": asdict(plan.numbers),
        "too_few": [name for name, series in by_strategy.items() if not _is_enough(series, name, plan)],
        "dropped": self_test.left_out([*by_strategy.values(), *planted.values()]),
        "noise": {name: self_test.noise(series) for name, series in measured.items()},
        "block_s": {name: self_test.block_seconds(series) for name, series in measured.items()},
        "controls": self_test.spreads([read.controls_of(block) for block in self_test.good(same)]),
        "false_alarms": self_test.false_alarms(same, apart),
        "detection": {str(size): self_test.detection(series, apart) for size, series in planted.items()},
        "resolves": self_test.resolves(same),
        "server_ceiling_per_s": late.server.ceiling_per_s,
        "lateness": {name: getattr(late.server, f"lateness_{name}_ns") for name in ("p50", "p99")}
        | {"valid": late.valid},
        "overhead": _overhead(where.place.cpus, same),
        "clients": None if compared is None else compared.to_dict(),
    }


def _clients(where: Measuring, plan: Plan) -> list[Row]:
    """Let Locust, wrk and a strategy load the same server in turns; each row is written at once.

    A client that is not installed makes a skipped row and takes no time.
    """
    setting = where.place.setting(where.folder.name)
    found = []
    for trial in clients.plan(plan.client_rounds, SEED):
        (row,) = runs.measured(trial, where.place.keeper, setting)
        loop.append(where.folder, row)
        found.append(row)
        show = where.shown.skipped if row.status == "skipped" else where.shown.finished
        show(client_line(row), trial.expected_ns)
    return found


def _blocks(where: Measuring, name: str, a: Arm, b: Arm, wanted: int, metrics: tuple[Metric, ...]) -> list[Block]:
    """Run blocks until ``wanted`` are good; give up if too many are not. The rows of each are written at once."""
    planned, prepared = loop.ready(comparison(a, b, SiteConfig(links=10), metrics, name), where.files / name)
    planned, _ = loop.calibrated(planned, prepared, where.place, None)
    found: list[Block] = []
    while len(self_test.good(found)) < wanted and len(found) < MOST_TRIES * wanted:
        memory = "memory" in planned.metrics
        found.append(loop.block(where.folder, planned, len(found) + 1, prepared, where.place, memory=memory))
        told = line(name, found[-1], len(self_test.good(found)), wanted)
        command.show_block(where.shown, found[-1], told, BLOCK_NS)
    return found


def _others(plan: Plan) -> list[str]:
    """Return the other strategies whose noise is measured."""
    described = [strategies.describe(name) for name in strategies.models() if name != plan.strategy]
    names = [one.name for one in described if not (one.requires if plan.pythons else one.lack)]
    return names if plan.numbers.other else []


def _stand(plan: Plan) -> progress.Stand:
    """Return the progress of a self-test at its start, in good blocks and client trials."""
    numbers = plan.numbers
    wanted = numbers.same + numbers.planting + len(SIZES) * numbers.planted + len(_others(plan)) * numbers.other
    trials = clients.plan(plan.client_rounds, SEED)
    return progress.Stand(wanted + len(trials), wanted * BLOCK_NS + estimate_ns(trials))


def _planted(where: Measuring, plan: Plan, loop_share: float | None, size: int) -> list[Block]:
    """Run blocks in which each page of B has a loop that costs about ``size`` percent of a page."""
    if loop_share is None:
        return []
    return _blocks(where, f"planted-{size}", *_with_loops(plan, size / 100 / loop_share), plan.numbers.planted, TIMED)


def _loop_share(where: Measuring, plan: Plan, same: Sequence[Block], apart: Mapping[str, float]) -> float | None:
    """Return the cost of one iteration of a planted loop, as a share of a page; None if it is unknown.

    It is measured in blocks, where the loop is planted: a loop that runs between other work costs more than the same
    loop alone.
    """
    cpu_ns = read.figure(self_test.good(same), "A", "cpu_per_page")
    if not math.isfinite(cpu_ns):
        return None
    a, b = _with_loops(plan, TRIED * cpu_ns / LOOP_NS)
    tried = self_test.good(_blocks(where, "planting", a, b, plan.numbers.planting, TIMED))
    seen = statistics.fmean(read.values(block)["cpu_per_page"] for block in tried) if tried else 0.0
    seen -= apart.get("cpu_per_page", 0.0)
    return math.expm1(seen) / (b.planted_loops or 1) if seen > 0 else None


def _with_loops(plan: Plan, loops: float) -> tuple[Arm, Arm]:
    a, b = plan.arms(plan.strategy, planted_loops=0)
    return a, replace(b, planted_loops=max(1, round(loops)))


def _overhead(cpus: host.Cpus, same: Sequence[Block]) -> dict[str, float | None]:
    """Return the cost of measuring per fetch inside the worker, in nanoseconds and as a share of the CPU time."""
    _, said = process.output(["inflight.bench.studies.selftest.overhead"], cpus.client, 60)
    found: dict[str, float | None] = json.loads(said)
    extra_ns = float(found["with_ns"] or 0) - float(found["without_ns"] or 0)
    page_ns = read.figure(self_test.good(same), "A", "cpu_per_page")
    return found | {"per_fetch_ns": extra_ns, "share": extra_ns / page_ns if math.isfinite(page_ns) else None}


def _is_enough(found: Sequence[Block], name: str, plan: Plan) -> bool:
    return len(self_test.good(found)) >= (plan.numbers.same if name == plan.strategy else plan.numbers.other)


def _keep(folder: Path, found: dict[str, Any]) -> None:
    from inflight.bench.studies.clients.plot import save_clients
    from inflight.bench.studies.selftest.plot import save_selftest

    try:
        told = json.dumps(found, indent=2, allow_nan=False) + "\n"
        (folder / rows.SELFTEST_FILE).write_text(told, encoding="utf-8")
        (folder / "selftest.txt").write_text(text(found) + "\n", encoding="utf-8")
        every = rows.read(folder)
        save_selftest(found, every, found["machine"], folder / "plots")
        save_clients(every, found["machine"], folder / "plots")
    except OSError as error:
        where = error.filename or folder
        raise runs.RunError(f"cannot write {where}: {error.strerror}; the rows are complete") from error
