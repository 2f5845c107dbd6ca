"""What ``inflight ab`` compares: two arms, the work that both do, and the blocks and memory trials of it."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from bench.core.arm import Arm, BlockTrial, placebo
from bench.core.grid import Workload
from bench.core.plan import Trial, trial_of
from fake_server.site import SiteConfig
from strategies import Description

ArmName = Literal["A", "B"]
Metric = Literal["cpu_per_page", "throughput", "memory"]
METRICS: tuple[Metric, ...] = ("cpu_per_page", "throughput", "memory")
FIRST_CYCLES = 12
"""Of the block by which a comparison is calibrated."""
MEMORY_SIZES = tuple((200 + 20 * k, 2000 + 100 * k) for k in range(5))
"""Fetches in flight between which a memory slope is taken; the blocks go through these in turn."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms named A and B, and the site that both crawl. A is the reference."""

    a: Arm
    b: Arm
    site: SiteConfig
    metrics: tuple[Metric, ...] = METRICS
    name: str = "ab"
    gated: tuple[Metric, ...] = METRICS
    """What a verdict goes by: those of ``metrics`` that a slowdown moves, fixed at calibration."""
    cycles: int = FIRST_CYCLES
    """How many slices each arm has in a block, fixed at calibration."""

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms of a block: A, B, and A once more."""
        return self.a, self.b, placebo(self.a)

    def block(self, number: int, expected_ns: int = 5_000_000_000) -> BlockTrial:
        """Return a block of the comparison, from 1."""
        workload = Workload(f"compare/{self.name}", "crawl", self.site, self.a.in_flight, self.a.connection)
        block_id = f"{workload.id}/round={number}"
        return BlockTrial(block_id, number, workload, self.arms, self.cycles, 0, expected_ns, self._said())

    def memory(self, number: int, described: dict[str, Description]) -> list[tuple[ArmName, Trial]]:
        """Return the trials that hold two numbers of fetches with A and with B; B is first in every second block."""
        order: tuple[ArmName, ...] = ("A", "B") if number % 2 else ("B", "A")
        sizes = MEMORY_SIZES[number % len(MEMORY_SIZES)]
        return [(name, self._held(number, name, size, described[name])) for name in order for size in sizes]

    def arm(self, name: ArmName) -> Arm:
        """Return the arm of that name."""
        return self.a if name == "A" else self.b

    def without_memory(self) -> "Comparison":
        """Return the comparison of the other metrics."""
        return replace(self, metrics=tuple(metric for metric in self.metrics if metric != "memory"))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as the run's folder has it."""
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "latency": self.site.delay,
            "site": self.site.to_dict(),
            "metrics": list(self.metrics),
            "cycles": self.cycles,
        }

    def _said(self) -> dict[str, Any]:
        gated = [metric for metric in self.metrics if metric in self.gated]
        return {"comparison": {"name": self.name, "metrics": list(self.metrics), "gated": gated}}

    def _held(self, number: int, name: ArmName, size: int, described: Description) -> Trial:
        arm = self.arm(name)
        site = SiteConfig(pages=size, links=0)
        workload = Workload(f"compare/{self.name}/memory/{size}", "memory", site, size, arm.connection)
        trial = trial_of(f"{workload.id}/{name}/round={number}", number, workload, described)
        return replace(trial, said={"arm": arm.to_dict()} | self._said())


def comparison(a: Arm, b: Arm, site: SiteConfig, metrics: tuple[Metric, ...] = METRICS, name: str = "ab") -> Comparison:
    """Return the comparison of two arms, whatever their names and roles were."""
    return Comparison(
        replace(a, name="A", role="reference"), replace(b, name="B", role="compared"), site, metrics, name
    )
