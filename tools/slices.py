"""Compare slices with long turns: whether the ratios between models depend on the length of a slice.

    python -m tools.slices --blocks 8 --in-flight 100

Blocks with the slices of ``blocks.block.lengths`` alternate with blocks with turns of one second. For each model it
prints the ratio of its CPU time per page to that of callbacks in both, and the quotient of the ratios with its 95 %
interval. docs/method.md quotes the output.
"""

import argparse
import math
import os
from collections.abc import Sequence
from random import Random

from inflight import strategies
from inflight.bench.frame.statistics import mean, welch
from inflight.bench.measure import host, process, server
from inflight.bench.measure.blocks import block as blocks
from inflight.bench.measure.blocks.block import Lengths, Running
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.grid import served
from inflight.bench.plan.trials import block_of
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.fake_server.site import SiteConfig

ISOLATED = Lengths(300_000_000, 1_000_000_000)
LIFETIME_S = 300.0


def main() -> None:
    """Measure, and print one line per model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=8, help="blocks of each kind")
    parser.add_argument("--cycles", type=int, default=12, help="slices of each arm in a block")
    parser.add_argument("--in-flight", type=int, default=100)
    asked = parser.parse_args()
    cpus = host.choose_cpus(pin=True)
    if cpus.server is not None:
        os.sched_setaffinity(0, cpus.server)
    workload = CrawlWorkload(id="slices", in_flight=asked.in_flight, connection="keep-alive", **served(SiteConfig()))
    chosen = [strategies.describe(name) for name in strategies.crawlers()]
    chosen = [described for described in chosen if not described.lack and described.most_in_flight is None]
    ratios: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    setting = Setting("slices", cpus, lambda _: LIFETIME_S)
    with server.running(cpus.server) as running:
        for number in range(1, 2 * asked.blocks + 1):
            isolated = number % 4 in {2, 3}
            block = block_of(workload, chosen, 1 if isolated else asked.cycles, number)
            runtimes = {arm.name: process.DEFAULT for arm in block.arms}
            fixed = ISOLATED if isolated else None
            seen = blocks.observe(block, runtimes, running, setting, Random(number), fixed=fixed)
            ratios[isolated].append(_ratios(seen.arms))
            print(f"block {number} of {2 * asked.blocks}", flush=True)
    for name in ratios[False][0]:
        print(_line(name, [each[name] for each in ratios[False]], [each[name] for each in ratios[True]]))


def _ratios(arms: Sequence[Running]) -> dict[str, float]:
    """Return the logarithm of each arm's CPU time per page over that of the reference. Raises the failure of an arm."""
    for arm in arms:
        if arm.failure is not None:
            raise arm.failure
    costs = {}
    for arm in arms:
        used_ns = sum(each.end.cpu_ns - each.begin.cpu_ns for each in arm.slices)
        costs[arm.arm.name] = math.log(used_ns / sum(window["pages"] for window in arm.outcome["windows"]))
    (reference,) = (arm.arm.name for arm in arms if arm.arm.role == "reference")
    base = costs.pop(reference)
    return {name: cost - base for name, cost in costs.items()}


def _line(name: str, sliced: Sequence[float], isolated: Sequence[float]) -> str:
    estimates = {"slices": mean(sliced), "turns of 1 s": mean(isolated), "slices / turns": welch(sliced, isolated)}
    texts = [f"{name:18}"]
    for what, estimate in estimates.items():
        ratio = estimate.interval().ratio()
        texts.append(f"{what} {ratio.estimate:.3f} ({ratio.low:.3f} to {ratio.high:.3f})")
    return "  ".join(texts)


if __name__ == "__main__":
    main()
