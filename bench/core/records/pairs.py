"""Pairs: two sides, a fresh process each, that take turns at the same work."""

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta

from bench.core.records.parts import Knobs, Needed, Server, Site, Trial
from bench.core.records.values import (
    Bytes,
    Closed,
    Connection,
    Count,
    Maybe,
    Name,
    Ns,
    Open,
    PositiveCount,
    PositiveNs,
    Share,
    Text,
)

SideName = Literal["A", "B"]


class Side(Closed):
    """One side of a comparison: a strategy, where its code comes from, what it runs on, and its settings."""

    strategy: Name
    """The strategy's id."""
    label: Name
    """Names the side by all that is not as usual."""
    revision: Maybe[Name] = UNSET
    """The git revision that its strategies are from; left out where the files were taken as they lay."""
    repository: Maybe[Name] = UNSET
    """The repository that they are from; left out where they are those of the harness."""
    python: Maybe[Name] = UNSET
    """The interpreter of its workers; left out where it is that of the harness."""
    requirements: Maybe[list[Text]] = UNSET
    """What was installed into an environment of its own; left out where there is none."""
    in_flight: Maybe[PositiveCount] = UNSET
    """The in-flight cap; left out where it is 100."""
    connection: Maybe[Connection] = UNSET
    """The use of connections; left out where it is keep-alive."""
    variables: Maybe[dict[Name, Text]] = UNSET
    """Environment variables of its workers; left out where there are none."""
    planted_loops: Maybe[Count] = UNSET
    """A known slowdown: rounds of an empty loop that are added to each page; left out where there is none."""


class PairWorkload(Closed):
    """What was asked for, of a row of kind pair."""

    id: Name
    """Names the comparison; it is the same in all of its pairs."""
    a: Side
    b: Side
    latency: Name
    """The added latency, in the words of the command line: 0, 50ms, lognormal 50ms 400ms."""
    mean_latency_ns: Ns
    """Its mean."""
    site: Site
    metrics: list[Literal["cpu_per_page", "throughput", "memory"]]
    """What was asked for. Nothing is left where memory alone was, of a model that can keep only one in flight."""


class Turn(Open):
    """One crawl of the fixed work by one side."""

    side: SideName
    """Whose turn it was."""
    warm_up: bool
    """Whether it was the first of its process, which is part of no figure."""
    cpu_ns: PositiveNs
    """CPU time of the worker, user and system."""
    makespan_ns: PositiveNs
    """From calling crawl to its return."""
    pages: Count
    """Pages in the answer, failed ones included."""
    failed_pages: Count
    """Pages that failed after all their tries."""
    tries: Count
    """Requests sent, repeated ones included."""
    peak_in_flight: Count
    """The most fetches open at a time."""
    run_delay_ns: Maybe[Ns | None] = UNSET
    """How long the worker's main thread could run and had to wait for a core; null where unknown. Left out of the
    warm-up.
    """

    def __post_init__(self) -> None:
        """Refuse a turn that counts and lacks a figure. Raises ValueError."""
        if not self.warm_up and self.run_delay_ns is UNSET:
            raise ValueError("a turn without run_delay_ns that is no warm-up")


class Control(Open):
    """The negative controls after a turn: work that no side can change."""

    side: SideName
    """Whose turn came before it."""
    spin_ns: PositiveNs
    """CPU time of a loop of fixed length."""
    null_ns: PositiveNs
    """CPU time of asking for a page so many times without looking at it."""


class PairMemory(Closed):
    """Memory at two numbers of fetches in flight, of which the pair's slope is taken."""

    sizes: tuple[PositiveCount, PositiveCount]
    """How many were in flight when memory was read, in two processes of each side."""
    A: Annotated[list[Bytes], Meta(max_length=2)]
    """USS of A with so many in flight, in bytes; fewer than two where the reading broke off."""
    B: Annotated[list[Bytes], Meta(max_length=2)]
    """USS of B with so many in flight, in bytes; fewer than two where the reading broke off."""
    reason: Text | None
    """Why there is no figure; null where there is one."""

    def __post_init__(self) -> None:
        """Refuse a figure without its readings. Raises ValueError."""
        if self.reason is None and (len(self.A) < 2 or len(self.B) < 2):
            raise ValueError("memory without a reason for its gaps")
        if self.sizes[0] >= self.sizes[1]:
            raise ValueError("sizes that do not rise")


class PairMeasured(Open):
    """What was measured, of a row of kind pair; of one that broke off, what there was until then."""

    turns: Maybe[list[Turn]] = UNSET
    """Every turn in its order: one of each side to warm up, then as many of A as of B."""
    controls: Maybe[list[Control]] = UNSET
    """The controls after each turn that counts."""
    turns_ns: Maybe[Ns] = UNSET
    """How long the turns took, with starting and stopping the workers."""
    failed_side: Maybe[SideName] = UNSET
    """Which side failed, of a pair that broke off or had a wrong answer; A where both did. Left out where neither
    is to blame.
    """
    steal_share: Maybe[Share | None] = UNSET
    """Share of CPU time that the hypervisor took; null where the system does not say."""
    listen_drops: Maybe[Count | None] = UNSET
    """Connections lost in full listen queues; null where the kernel does not count them."""
    memory: Maybe[PairMemory] = UNSET


class PairKnobs(Closed):
    """What the workers of each side ran with; empty where they did not get that far."""

    A: Maybe[Knobs] = UNSET
    """Of the first side."""
    B: Maybe[Knobs] = UNSET
    """Of the second side."""


class Pair(Trial):
    """Two sides that take turns at the same work."""

    SINCE = 3
    NEEDED: ClassVar[Needed] = {
        "measured": ("turns", "controls", "turns_ns", "steal_share", "listen_drops"),
        "server": ("ceiling_per_s", "cpu_share"),
        "knobs": ("A", "B"),
    }
    ABOVE_0 = ("turns_ns",)

    stack: Literal["none"]
    workload: PairWorkload
    measured: PairMeasured
    server: Server
    knobs: PairKnobs

    def __post_init__(self) -> None:
        """Refuse a pair that ended well without turns of each side. Raises ValueError."""
        super().__post_init__()
        if self.status != "ok":
            return
        turns = self.measured.turns or []
        counted = [turn.side for turn in turns if not turn.warm_up]
        if counted.count("A") != counted.count("B") or not counted:
            raise ValueError("the status is ok, but not as many turns of A as of B")
        controls = [control.side for control in self.measured.controls or []]
        if not controls.count("A") == controls.count("B") == counted.count("A"):
            raise ValueError("the status is ok, but not one control for each turn")
        if any(turn.pages <= turn.failed_pages or not turn.peak_in_flight for turn in turns if not turn.warm_up):
            raise ValueError("the status is ok, but a turn fetched no page")
        if self.measured.failed_side is not UNSET:
            raise ValueError("the status is ok, but measured.failed_side names a side")
