"""What ``inflight selftest`` does: the harness measures itself on this machine, and keeps what it found.

Pairs whose two sides are the same (A/A) tell its noise and its false alarms; pairs with a planted slowdown tell what it
detects. The decisions are those of ``inflight ab``, on pairs that are measured just as there. And other clients, Locust
and wrk, say whether they see of the fake server what a strategy sees.
"""

import json
import math
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import strategies
from bench import ab, ab_command, commands, rows, runs, selftests
from bench.ab import Bench
from bench.analyse import clients as client_rows
from bench.analyse import error_rates, pairs, self_test
from bench.analyse.decide import DESIGNED
from bench.comparison import METRICS, Comparison, Metric, PairTrial, Side
from bench.experiment import Workload
from bench.judge import ExperimentError, check_known
from bench.measure import clients, host, neighbour, process
from bench.measure.controller import run_trial
from bench.measure.pair import run_pair, spin_ns_per_loop
from bench.plan import BareTrial, Trial, estimate_ns, trial_of
from bench.present import progress
from bench.present.clients import line as client_line
from bench.present.console import complain
from bench.present.selftest import line, text
from bench.rows import Row
from fake_server.site import SiteConfig

REFUSALS = commands.REFUSALS
SIZES = (5, 10)
"""The planted slowdowns, in percent of the CPU time a page."""
TIMED: tuple[Metric, ...] = ("cpu_per_page", "throughput")
LATE = Workload("selftest/lateness", "crawl", SiteConfig(pages=10_000, links=0, delay="50ms"), 1000, "keep-alive")


@dataclass(frozen=True, slots=True)
class Numbers:
    """How many good pairs of each kind are measured."""

    same: int
    planted: int
    other: int
    planting: int
    """To find out what a planted loop costs."""


FULL = Numbers(same=104, planted=48, other=12, planting=12)
QUICK = Numbers(same=24, planted=12, other=0, planting=6)
FULL_ROUNDS, QUICK_ROUNDS = 3, 1
"""How often each client is asked."""
SEED = 1
"""Of the order in which clients take turns."""
MOST_TRIES = 3
"""So many times the good pairs that are wanted are tried; then the machine is too busy."""
PAIR_NS = 3_300_000_000
"""About how long a pair takes: the quarter of an hour that a full self-test takes, divided by its pairs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the run's folder says it is about."""

    strategy: str
    numbers: Numbers
    client_rounds: int
    name: str = "selftest"

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as values for TOML."""
        return {
            "about": "The harness measures itself.",
            "strategy": self.strategy,
            "pairs": asdict(self.numbers),
            "client_rounds": self.client_rounds,
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for."""

    strategy: str
    quick: bool
    out: Path
    as_json: bool
    disturbed: str | None = None


@dataclass(frozen=True, slots=True)
class Measuring:
    """Where a self-test's pairs are run and kept."""

    bench: Bench
    folder: Path
    place: Path
    machine: dict[str, Any]
    shown: progress.Progress


def run(asked: Asked) -> int:
    """Measure the harness, keep and tell what was found.

    Returns 0; 1 when false alarms are surely more frequent than designed; 3 when too few pairs were good; 130 when
    interrupted.
    """
    check_known(asked.strategy, strategies.names(), "strategy", "--strategy")
    if missing := strategies.describe(asked.strategy).missing:
        raise ExperimentError(f"{asked.strategy} needs {', '.join(missing)}, which is not installed here")
    plan = Plan(asked.strategy, *((QUICK, QUICK_ROUNDS) if asked.quick else (FULL, FULL_ROUNDS)))
    machine = host.machine(asked.disturbed)
    folder = runs.new_folder(asked.out, plan, machine)
    try:
        with (
            commands.interruptible(),
            tempfile.TemporaryDirectory(prefix="inflight-") as place,
            ab_command.bench() as b,
            neighbour.beside(asked.disturbed, b.cpus),
            progress.shown(_stand(plan)) as shown,
        ):
            found = _measure(plan, Measuring(b, folder, Path(place), machine, shown))
    except KeyboardInterrupt:
        complain(f"interrupted; the rows are in {folder}, and no verdict will quote them")
        return 130
    _keep(folder, found)
    print(json.dumps(found | {"folder": str(folder)}, allow_nan=False) if asked.as_json else text(found))
    _say(f"kept:  {folder / selftests.SELFTEST_FILE}")
    return code(found)


def code(found: dict[str, Any]) -> int:
    """Return the exit code of what was found."""
    return 3 if found["too_few"] else 1 if _alarms_too_often(found["false_alarms"]) else 0


def _alarms_too_often(found: dict[str, Any]) -> bool:
    """Tell whether false alarms of real decisions are surely more frequent than designed."""
    return error_rates.lower_bound(found["real"]["alarms"], found["real"]["decisions"]) > DESIGNED.alpha


def _measure(plan: Plan, where: Measuring) -> dict[str, Any]:
    """Run every part, and return what ``selftest.json`` has."""
    same = _pairs(where, "aa", Side(plan.strategy), Side(plan.strategy), plan.numbers.same, METRICS)
    loop_share = _loop_share(where, plan, same)
    planted = {size: _planted(where, plan, loop_share, size) for size in SIZES}
    by_strategy = {plan.strategy: same} | {
        name: _pairs(where, f"aa-{name}", Side(name), Side(name), plan.numbers.other, TIMED) for name in _others(plan)
    }
    measured = {name: series for name, series in by_strategy.items() if len(self_test.good(series)) > 1}
    server = where.bench.keeper.server()
    late = run_trial(_late_trial(plan.strategy), server, ab.setting(where.folder.name, where.bench))
    ab.append(where.folder, late)
    compared = client_rows.compare(_clients(where, plan))
    return {
        "format": selftests.FORMAT,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": where.machine,
        "strategy": plan.strategy,
        "pairs": asdict(plan.numbers),
        "too_few": [name for name, series in by_strategy.items() if not _is_enough(series, name, plan)],
        "dropped": self_test.left_out([*by_strategy.values(), *planted.values()]),
        "noise": {name: self_test.noise(series) for name, series in measured.items()},
        "pair_s": {name: self_test.pair_seconds(series) for name, series in measured.items()},
        "controls": self_test.spreads([pairs.controls(row) for row in self_test.good(same)]),
        "false_alarms": self_test.false_alarms(same),
        "detection": {str(size): self_test.detection(series) for size, series in planted.items()},
        "resolves": self_test.resolves(same),
        "server_ceiling_per_s": server.ceiling_per_s,
        "lateness": {name: late.server.get(f"lateness_{name}_ns") for name in ("p50", "p99")} | {"valid": late.valid},
        "overhead": _overhead(where.bench.cpus, same),
        "clients": None if compared is None else compared.to_dict(),
    }


def _clients(where: Measuring, plan: Plan) -> list[Row]:
    """Let Locust, wrk and a strategy load the same server in turns; each row is kept as soon as it is there.

    What is not installed is a skipped row, and costs no time.
    """
    setting = ab.setting(where.folder.name, where.bench)
    found = []
    for trial in _client_trials(plan):
        row = clients.run_client(trial, where.bench.keeper.server(), setting)
        ab.append(where.folder, row)
        found.append(row)
        show = where.shown.skipped if row.status == "skipped" else where.shown.finished
        show(client_line(row), trial.expected_ns)
    return found


def _client_trials(plan: Plan) -> list[BareTrial]:
    return clients.plan(plan.client_rounds, SEED)


def _pairs(where: Measuring, name: str, a: Side, b: Side, wanted: int, metrics: tuple[Metric, ...]) -> list[Row]:
    """Run pairs until so many are good; give up when too many are not. Each row is kept as soon as it is there."""
    comparison = Comparison(a, b, SiteConfig(links=10), metrics, name)
    sides = ab.prepare_both(comparison, where.place / name)
    comparison, _ = ab.calibrated(comparison, sides, where.bench, None)
    setting = ab.setting(where.folder.name, where.bench)
    found: list[Row] = []
    while len(self_test.good(found)) < wanted and len(found) < MOST_TRIES * wanted:
        trial = PairTrial(comparison, len(found) + 1, memory="memory" in comparison.metrics)
        row = run_pair(trial, sides, where.bench.keeper.server(), setting)
        ab.append(where.folder, row)
        found.append(row)
        _show(where.shown, row, line(name, row, len(self_test.good(found)), wanted))
    return found


def _show(shown: progress.Progress, row: Row, told: str) -> None:
    """Show what one pair brought; one that was left out brings the end no nearer."""
    if self_test.good([row]):
        shown.finished(told, PAIR_NS)
    else:
        shown.repeated(told)


def _others(plan: Plan) -> list[str]:
    """Return the other strategies whose noise is measured."""
    names = [name for name in strategies.names() if name != plan.strategy and not strategies.describe(name).missing]
    return names if plan.numbers.other else []


def _stand(plan: Plan) -> progress.Stand:
    """Return how far a self-test is at its beginning: counted are the good pairs that are wanted, and client trials."""
    numbers = plan.numbers
    wanted = numbers.same + numbers.planting + len(SIZES) * numbers.planted + len(_others(plan)) * numbers.other
    trials = _client_trials(plan)
    return progress.Stand(wanted + len(trials), wanted * PAIR_NS + estimate_ns(trials))


def _planted(where: Measuring, plan: Plan, loop_share: float | None, size: int) -> list[Row]:
    """Run pairs whose side B has a loop a page that costs so many percent of what a page takes without it."""
    if loop_share is None:
        return []
    a, b = _with_loops(plan, round(size / 100 / loop_share))
    return _pairs(where, f"planted-{size}", a, b, plan.numbers.planted, TIMED)


def _loop_share(where: Measuring, plan: Plan, same: Sequence[Row]) -> float | None:
    """Return what one round of a planted loop costs, as a share of what a page takes; None where that is not known.

    Measured where the loop is planted: a loop that runs seldom, among other work, is dearer than the same one alone.
    """
    if not self_test.good(same):
        return None
    cpu_ns = pairs.figure(self_test.good(same), "A", "cpu_per_page")
    comparison = Comparison(Side(plan.strategy), Side(plan.strategy), SiteConfig(links=10, pages=200))
    loop_ns = spin_ns_per_loop(comparison, where.bench.keeper.server(), ab.setting(where.folder.name, where.bench))
    loops = round(cpu_ns * max(SIZES) / 100 / loop_ns)
    tried = self_test.good(_pairs(where, "planting", *_with_loops(plan, loops), plan.numbers.planting, TIMED))
    seen = statistics.median(pairs.values(row)["cpu_per_page"] for row in tried) if tried else 0.0
    return math.expm1(seen) / loops if seen > 0 else None


def _with_loops(plan: Plan, loops: int) -> tuple[Side, Side]:
    side = Side(plan.strategy)
    return replace(side, planted_loops=0), replace(side, planted_loops=loops)


def _late_trial(strategy: str) -> Trial:
    return trial_of(LATE.id, 1, LATE, strategies.describe(strategy))


def _overhead(cpus: host.Cpus, same: Sequence[Row]) -> dict[str, float | None]:
    """Return what measuring costs a fetch inside the worker, in nanoseconds and as a share of its CPU time."""
    _, said = process.output(["bench.measure.overhead_worker"], cpus.client, 60)
    found: dict[str, float | None] = json.loads(said)
    extra_ns = float(found["with_ns"] or 0) - float(found["without_ns"] or 0)
    page_ns = pairs.figure(self_test.good(same), "A", "cpu_per_page")
    return found | {"per_fetch_ns": extra_ns, "share": extra_ns / page_ns if math.isfinite(page_ns) else None}


def _is_enough(found: Sequence[Row], name: str, plan: Plan) -> bool:
    return len(self_test.good(found)) >= (plan.numbers.same if name == plan.strategy else plan.numbers.other)


def _keep(folder: Path, found: dict[str, Any]) -> None:
    from bench.present.plot_clients import save_clients
    from bench.present.plot_pairs import save_selftest

    try:
        told = json.dumps(found, indent=2, allow_nan=False) + "\n"
        (folder / selftests.SELFTEST_FILE).write_text(told, encoding="utf-8")
        (folder / "selftest.txt").write_text(text(found) + "\n", encoding="utf-8")
        by_name: dict[str, list[Row]] = {}
        every = rows.read(folder)
        for row in every:
            if row.kind == "pair":
                by_name.setdefault(row.workload["id"].partition("/")[2], []).append(row)
        planted = {name: own for name, own in by_name.items() if name.startswith("planted-")}
        save_selftest(found, by_name.get("aa", []), planted, found["machine"], folder / "plots")
        save_clients(every, found["machine"], folder / "plots")
    except OSError as error:
        where = error.filename or folder
        raise runs.RunError(f"cannot write {where}: {error.strerror}; the rows are complete") from error


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
