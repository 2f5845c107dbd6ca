"""A comparison of ``inflight ab``: two arms, the work of both, and its blocks and memory trials."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from inflight.bench.plan.arm import Arm, BlockTrial, placebo
from inflight.bench.plan.grid import Workload
from inflight.bench.plan.trials import Trial, trial_of
from inflight.fake_server.site import SiteConfig
from inflight.strategies import Description

ArmName = Literal["A", "B"]
Metric = Literal["cpu_per_page", "throughput", "memory"]
METRICS: tuple[Metric, ...] = ("cpu_per_page", "throughput", "memory")
FIRST_CYCLES, FIRST_WAITING = 12, 2
"""Numbers of cycles of the block that calibrates a comparison, without and with added latency: slices then last for
twenty latencies."""
MEMORY_SIZES = tuple((200 + 20 * k, 2000 + 100 * k) for k in range(5))
"""Pairs of numbers in flight between which a memory slope is measured; blocks use them in turn."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms, A (the reference) and B, and the site that both crawl."""

    a: Arm
    b: Arm
    site: SiteConfig
    metrics: tuple[Metric, ...] = METRICS
    name: str = "ab"
    gated: tuple[Metric, ...] = METRICS
    """Metrics that decide the verdict: those of ``metrics`` that a slowdown changes. Set by calibration."""
    cycles: int | None = None
    """Number of slices of each arm in a block; None: set by calibration."""

    @property
    def arms(self) -> tuple[Arm, Arm, Arm]:
        """The arms of a block: A, B, and A again as the placebo."""
        return self.a, self.b, placebo(self.a)

    def block(self, number: int, expected_ns: int = 5_000_000_000) -> BlockTrial:
        """Return a block of the comparison; numbers begin at 1."""
        workload = Workload(f"compare/{self.name}", "crawl", self.site, self.a.in_flight, self.a.connection)
        cycles = self.cycles or (FIRST_WAITING if self.site.delay != "0" else FIRST_CYCLES)
        block_id = f"{workload.id}/round={number}"
        return BlockTrial(block_id, number, workload, self.arms, cycles, expected_ns, self._values())

    def memory(self, number: int, described: Mapping[str, Description]) -> list[tuple[ArmName, Trial]]:
        """Return the memory trials of A and B, each at two numbers in flight; B is first in every second block."""
        order: tuple[ArmName, ...] = ("A", "B") if number % 2 else ("B", "A")
        sizes = MEMORY_SIZES[number % len(MEMORY_SIZES)]
        return [(name, self._held(number, name, size, described[name])) for name in order for size in sizes]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as values for the folder of the run."""
        values = {"a": self.a.to_dict(), "b": self.b.to_dict(), "latency": self.site.delay, "site": self.site.to_dict()}
        return values | {"metrics": list(self.metrics)} | ({"cycles": self.cycles} if self.cycles else {})

    def _values(self) -> dict[str, Any]:
        gated = [metric for metric in self.metrics if metric in self.gated]
        return {"comparison": {"name": self.name, "metrics": list(self.metrics), "gated": gated}}

    def _held(self, number: int, name: ArmName, size: int, described: Description) -> Trial:
        arm = self.a if name == "A" else self.b
        site = SiteConfig(pages=size, links=0)
        workload = Workload(f"compare/{self.name}/memory/{size}", "memory", site, size, arm.connection)
        trial = trial_of(f"{workload.id}/{name}/round={number}", number, workload, described)
        return replace(trial, said={"arm": arm.to_dict()} | self._values())


def comparison(a: Arm, b: Arm, site: SiteConfig, metrics: tuple[Metric, ...] = METRICS, name: str = "ab") -> Comparison:
    """Return the comparison of two arms; their names and roles are replaced."""
    return Comparison(
        replace(a, name="A", role="reference"), replace(b, name="B", role="compared"), site, metrics, name
    )
