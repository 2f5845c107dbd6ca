"""``inflight selftest``: measure the harness itself on this machine, and keep the result in ``selftest.json``.

Blocks whose two sides are the same code (A/A) show its noise and its false alarms; blocks with a planted slowdown (a
loop in each page of B) show what it detects. Blocks and decisions are those of ``inflight ab`` (``command``,
``decide``). ``Laboratory`` runs the blocks, ``rates`` computes and shows the figures. A block is *good* if it has
values (``frame.blocks``).

The sides may run on two interpreters. Then no side is slower by a known amount, so the mean difference of the blocks
without a planted slowdown is subtracted from all blocks: what is left has the noise of this pair, and a known truth.
"""

import json
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import structs

from inflight import strategies
from inflight.bench.ab import counts, plot, rates, show
from inflight.bench.ab import decide as deciding
from inflight.bench.ab.command import Measuring, calibrated, measure_counts
from inflight.bench.ab.rule import DESIGNED
from inflight.bench.commands import run as commands
from inflight.bench.commands.options import JSON, OUT, QUIET, one_strategy, option
from inflight.bench.commands.output import complain, put, say
from inflight.bench.frame import blocks as read
from inflight.bench.frame.blocks import Block
from inflight.bench.measure import host, interpreters, neighbour, process
from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks import comparing
from inflight.bench.plan.comparison import METRICS, comparison, of_calls
from inflight.bench.plan.experiment import named
from inflight.bench.plan.grid import served
from inflight.bench.plan.judge import need
from inflight.bench.plan.trials import trial_of
from inflight.bench.rows import files as rows
from inflight.bench.rows.kinds import Arm, CrawlWorkload
from inflight.bench.show import progress
from inflight.fake_server.site import SiteConfig

SIZES = (5, 10)
"""Nominal sizes of the planted slowdowns, in percent of the CPU time per page."""
FULL, QUICK = (96, 48), (24, 12)
"""Numbers of good blocks without a change, and of those with each planted slowdown."""
MAX_TRIES = 3
"""Maximum number of blocks tried for each good one that is needed; with more, the machine is too busy."""
BLOCK_NS = 4_000_000_000
"""Expected duration of a block; used for the estimate only."""
LATE = CrawlWorkload(
    id="selftest/lateness",
    in_flight=1000,
    connection="keep-alive",
    **served(SiteConfig(pages=10_000, links=0, delay="50ms")),
)
"""A crawl of 1,000 waiting fetches: how late the server answers them shows how exact its timers are."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a self-test, as kept in the folder of the run."""

    strategy: str
    same: int
    """Number of good blocks without a change."""
    planted: int
    """Number of good blocks with each planted slowdown."""
    pythons: tuple[str, ...] = ()
    """Interpreters: none for that of the harness, one for both sides, or one for A and one for B."""
    name: str = "selftest"

    @property
    def differ(self) -> bool:
        """Whether the sides run on two interpreters; two names of one are no difference."""
        return len({Path(interpreters.ask(name).executable).resolve() for name in self.pythons}) > 1

    def arms(self, loops: int | None = None) -> tuple[Arm, Arm]:
        """Return both sides of a comparison of the strategy with itself, B with planted loops in each page.

        With loops, A has none but the same call (0 loops), so that the sides differ in the loop alone. None: no call at
        all.
        """
        pythons = self.pythons or (None,)
        a = Arm("A", self.strategy, "reference", python=pythons[0], planted_loops=None if loops is None else 0)
        return a, structs.replace(a, name="B", python=pythons[-1], planted_loops=loops)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as values for TOML."""
        return {
            "strategy": self.strategy,
            "blocks": {"same": self.same, "planted": self.planted},
            "interpreters": [interpreters.ask(arm.python).label for arm in self.arms() if arm.python is not None],
        }


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Where the trials of a self-test are run and kept."""

    place: comparing.Place
    """The server and the cores."""
    folder: Path
    files: Path
    """Folder of the files of the arms."""
    bar: progress.Progress
    """Shows the blocks that have ended."""

    def blocks(self, name: str, arms: tuple[Arm, Arm], wanted: int, *, memory: bool = False) -> list[Block]:
        """Run blocks until ``wanted`` are good; give up if too many are not."""
        planned = comparison(*arms, SiteConfig(links=10), METRICS if memory else METRICS[:2], name)
        planned, prepared = comparing.ready(planned, self.files / name)
        planned, _ = calibrated(planned, prepared, self.place)
        where = Measuring(self.folder, planned, prepared, self.place)
        blocks: list[Block] = []
        good = 0
        while good < wanted and len(blocks) < MAX_TRIES * wanted:
            blocks.append(block := where.block(len(blocks) + 1, memory=memory))
            good += block.good
            line = f"{name:<12} {good:>3}/{wanted}  {show.changes(block)}"
            self.bar.finished(line, BLOCK_NS) if block.good else self.bar.repeated(line)
        return blocks

    def count(self, name: str, a: Arm, b: Arm) -> str:
        """Return the verdict on the calls of both arms."""
        planned, prepared = comparing.ready(of_calls(a, b, name=name), self.files / name)
        return counts.judge(measure_counts(Measuring(self.folder, planned, prepared, self.place))).answer


@one_strategy("Its blocks give the error rates.")
@option(
    "--python",
    "pythons",
    multiple=True,
    note="Given twice: first for A, then for B; their mean difference is subtracted.",
)
@option("--quick", note="Fewer blocks of one strategy; the bounds are wider.")
@option("--disturbed")
@OUT
@JSON
@QUIET
def run(
    *, strategy: str, pythons: tuple[str, ...], quick: bool, out: Path, as_json: bool, disturbed: str | None
) -> int:
    """Measure the noise and the error rates of this harness.

    It measures the noise on this machine, how often `inflight ab` gives a false alarm, and which changes it detects.

    \b
    inflight selftest                      takes about a quarter of an hour
    inflight selftest --quick
    inflight selftest --python python3.13 --python python3.14t

    The results are stored with their rows.
    """
    described = strategies.describe(named(strategy, "--strategy"))
    need(not described.lack, f"{strategy} {described.lack}")
    times = len(pythons)
    needed = ", ".join(described.requires if pythons else ())
    need(times <= 2, f"--python may be given once, for both sides, or twice, for A and for B; not {times} times")
    need(not needed, f"--python: {strategy} needs {needed}; choose a strategy without libraries")
    plan = Plan(strategy, *(QUICK if quick else FULL), pythons)
    machine = host.machine(disturbed)
    folder = runs.new_folder(out, plan, machine)
    wanted = plan.same + len(SIZES) * plan.planted
    try:
        with (
            commands.interruptible(),
            tempfile.TemporaryDirectory(prefix="inflight-") as files,
            comparing.chosen_place() as place,
            neighbour.beside(disturbed, place.cpus),
            progress.displayed(progress.Progress(wanted, wanted * BLOCK_NS)) as bar,
        ):
            result = _measure(plan, Laboratory(place, folder, Path(files), bar)) | {"machine": machine}
    except KeyboardInterrupt:
        complain(f"interrupted; rows kept in {folder}")
        return 130
    text = json.dumps(result, indent=2, allow_nan=False) + "\n"
    picture = plot.picture_of_selftest(result, rows.read(folder))
    commands.keep(folder, {rows.SELFTEST_FILE: text}, [picture])
    put(json.dumps(result | {"folder": str(folder)}, allow_nan=False) if as_json else rates.text(result))
    say(f"kept:  {folder / rows.SELFTEST_FILE}")
    return code(result)


def code(result: rates.SelfTest) -> int:
    """Return the exit code: 3 for too few blocks, 1 for significantly more false alarms than designed, else 0.

    Also 1 if counts of one interpreter miss the planted call, or tell equal code apart.
    """
    alarms = result["false_alarms"]["real"]
    if result["too_few"]:
        return 3
    is_blind = result["calls"] not in rates.FINE
    return int(is_blind or rates.rate_bounds(alarms["alarms"], alarms["decisions"])[0] > DESIGNED.alpha)


def _measure(plan: Plan, where: Laboratory) -> dict[str, Any]:
    """Run every part; return the content of ``selftest.json``."""
    same = where.blocks("aa", plan.arms(), plan.same, memory=True)
    good = deciding.tally(same).good
    apart = rates.means(same) if plan.differ else {}
    _, printed = process.output(["inflight.bench.measure.costs", "fetch"], where.place.cpus.client, 60)
    cost = json.loads(printed)
    page_ns = read.figure(good, "A", "cpu_per_page")
    extra_ns = cost["with_ns"] - cost["without_ns"]
    loops = {size: max(1, round(size / 100 * page_ns / cost["loop_ns"])) for size in SIZES if good}
    slow = {size: where.blocks(f"planted-{size}", plan.arms(loops[size]), plan.planted) for size in loops}
    a, b = plan.arms()
    calls = {
        "same": where.count("calls", a, b),
        "planted": where.count("planted-call", a, structs.replace(b, planted_loops=0)),
    }
    timers = replace(trial_of("crawl", 1, LATE, strategies.describe(plan.strategy)), id=LATE.id)
    (late,) = runs.measured(timers, where.place.keeper, where.place.setting(where.folder.name))
    runs.append(where.folder, late)
    return plan.to_dict() | {
        "format": rates.FORMAT,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "too_few": [plan.strategy] if len(good) < plan.same else [],
        "dropped": rates.left_out([same, *slow.values()]),
        "noise": {plan.strategy: rates.spreads([read.values(block) for block in good])},
        "block_s": {plan.strategy: rates.block_seconds(good)},
        "controls": rates.spreads([read.controls_of(block) for block in good]),
        "false_alarms": {"real": rates.counts(same, apart)},
        "detection": {str(size): rates.planted(slow.get(size, []), apart) for size in SIZES},
        "calls": calls,
        "server_ceiling_per_s": late.server.ceiling_per_s,
        "lateness": {
            "p50": late.server.lateness_p50_ns, "p99": late.server.lateness_p99_ns, "valid": late.valid
        },
        "overhead": cost | {"per_fetch_ns": extra_ns, "share": extra_ns / page_ns if good else None},
    }  # fmt: skip
