"""Make many real decisions of ``inflight ab``, without a change and with planted slowdowns, in one or two hours.

    python -m tools.selftest_long --out results/selftest-long
    python -m tools.selftest_long --out results/selftest-long-spin --disturbed spin --decisions 30 --sizes 5

Each decision is a comparison of its own, with its own calibration. Rows are written to ``rows.jsonl`` in the folder,
and a line for each decision to ``decisions.jsonl``: the verdict, the numbers of blocks and seconds, and the measured
change. A second run with the same folder makes the missing decisions.
"""

import argparse
import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from inflight.bench.ab import command
from inflight.bench.ab.rule import DESIGNED
from inflight.bench.frame import blocks as read
from inflight.bench.measure import host, neighbour
from inflight.bench.measure.blocks import comparing
from inflight.bench.measure.blocks.comparing import Place
from inflight.bench.plan.comparison import METRICS, comparison
from inflight.bench.rows import files as rows
from inflight.bench.rows.kinds import Arm, Metric
from inflight.fake_server.site import SiteConfig

DECISIONS_FILE, LOOP_FILE = "decisions.jsonl", "loop.json"
PLANTING_BLOCKS, TRIED_LOOPS = 12, 1000
"""Number of blocks and of planted loops (about half the CPU time of a page) that measure the cost of a loop."""


@dataclass(frozen=True, slots=True)
class Made:
    """One decision."""

    name: str
    verdict: str
    blocks: int
    seconds: float
    seen: float | None
    """The mean change in CPU time per page, as a share."""
    why: str


def main() -> None:
    """Make the missing decisions, and print a summary of all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/selftest-long"))
    parser.add_argument("--strategy", default="callbacks")
    parser.add_argument("--decisions", type=int, default=30, help="without a change")
    parser.add_argument("--planted", type=int, default=10, help="with each planted slowdown")
    parser.add_argument("--sizes", type=float, nargs="*", default=[5.0, 3.0], help="planted slowdowns, in percent")
    parser.add_argument("--disturbed", choices=neighbour.KINDS, help="start a neighbour beside the trials")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    machine = json.dumps(host.machine(asked.disturbed), indent=2)
    (asked.out / rows.MACHINE_FILE).write_text(machine + "\n", encoding="utf-8")
    rows.drop_unfinished(asked.out)
    with comparing.chosen_place() as place:
        loop_share = _loop_share(asked.out, asked.strategy, place)
        with neighbour.beside(asked.disturbed, place.cpus):
            for name, share in _plan(asked.decisions, asked.planted, asked.sizes):
                if name not in made(asked.out):
                    _decide(asked.out, asked.strategy, name, round(share / loop_share), place)
    for kind in kinds(made(asked.out).values()):
        print(
            f"{kind.name}: {kind.decisions} decisions, {kind.text}; "
            f"measured {100 * kind.seen:+.1f} % CPU time per page; "
            f"{kind.blocks:.1f} blocks, {kind.mean_s:.0f} s on average, {kind.most_s:.0f} s at most"
        )


def _plan(decisions: int, planted: int, sizes: list[float]) -> list[tuple[str, float]]:
    """Return the name of each decision and its planted slowdown as a share; kinds alternate."""
    kinds = {"aa": (decisions, 0.0)} | {f"planted-{size:g}": (planted, size / 100) for size in sizes}
    most = max(number for number, _ in kinds.values())
    return [(f"{kind}-{n}", share) for n in range(most) for kind, (number, share) in kinds.items() if n < number]


def made(out: Path) -> dict[str, Made]:
    """Return the decisions in a folder, by name."""
    path = out / DECISIONS_FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {decision.name: decision for decision in (Made(**json.loads(line)) for line in lines)}


def _decide(out: Path, strategy: str, name: str, loops: int, place: Place) -> None:
    begin_s = time.monotonic()
    with _ready(out, strategy, loops, METRICS, name, place) as where:
        decision = command.decided(where, DESIGNED, lambda _block, _decision: None).decision
    taken_s = round(time.monotonic() - begin_s, 1)
    changes = {effect.metric: math.expm1(effect.estimate) for effect in decision.effects}
    change = changes.get("cpu_per_page")
    entry = Made(name, decision.verdict, decision.blocks, taken_s, change, decision.why)
    with (out / DECISIONS_FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(entry)) + "\n")
    print(f"{name:<16} {entry.verdict:<12} {entry.blocks:>3} blocks {taken_s:>6.1f} s  {entry.why}", flush=True)


@contextmanager
def _ready(
    out: Path, strategy: str, loops: int, metrics: tuple[Metric, ...], name: str, place: Place
) -> Iterator[command.Measuring]:
    """Yield a calibrated comparison of the strategy with itself, with planted loops in B."""
    arms = Arm("A", strategy, "reference", planted_loops=0), Arm("B", strategy, "compared", planted_loops=loops)
    with tempfile.TemporaryDirectory(prefix="inflight-") as files:
        planned, prepared = comparing.ready(comparison(*arms, SiteConfig(links=10), metrics, name), Path(files))
        planned, _ = command.calibrated(planned, prepared, place)
        yield command.Measuring(out, planned, prepared, place)


def _loop_share(out: Path, strategy: str, place: Place) -> float:
    """Return the cost of a planted loop as a share of a page: the one kept in the folder, or measured now."""
    path = out / LOOP_FILE
    if not path.exists():
        with _ready(out, strategy, TRIED_LOOPS, ("cpu_per_page",), "planting", place) as where:
            blocks = [where.block(n, memory=False) for n in range(1, PLANTING_BLOCKS + 1)]
        seen = fmean(read.values(block)["cpu_per_page"] for block in blocks if block.good)
        path.write_text(json.dumps({"loop_share": math.expm1(seen) / TRIED_LOOPS}) + "\n", encoding="utf-8")
    return float(json.loads(path.read_text(encoding="utf-8"))["loop_share"])


@dataclass(frozen=True, slots=True)
class Kind:
    """The decisions with one planted slowdown, or without a change."""

    name: str
    decisions: int
    verdicts: Mapping[str, int]
    seen: float
    """The mean of the changes in CPU time per page, as a share."""
    blocks: float
    mean_s: float
    most_s: float

    @property
    def text(self) -> str:
        """The number of each verdict, as text."""
        return ", ".join(f"{number} {verdict}" for verdict, number in self.verdicts.items())


def kinds(made: Iterable[Made]) -> list[Kind]:
    """Return the decisions by kind, in the order in which the kinds first occur."""
    by_name: dict[str, list[Made]] = {}
    for decision in made:
        by_name.setdefault(decision.name.rpartition("-")[0], []).append(decision)
    many = []
    for name, group in by_name.items():
        verdicts = Counter({"regression": 0, "pass": 0, "inconclusive": 0})
        verdicts.update(decision.verdict for decision in group)
        seen = fmean([decision.seen for decision in group if decision.seen is not None] or [0.0])
        blocks = fmean(decision.blocks for decision in group)
        seconds = [decision.seconds for decision in group]
        many.append(Kind(name, len(group), verdicts, seen, blocks, fmean(seconds), max(seconds)))
    return many


if __name__ == "__main__":
    main()
