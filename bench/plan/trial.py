"""A trial: one workload, once, with the arms that crawl it. ``trials`` makes trials, ``measure`` runs them.

An arm is one strategy with its settings (``rows.kinds.Arm``), alive in a worker process of its own. A block is one
workload with all its arms alive at once, in fresh processes, which take turns. A slice is one turn: the time for which
the server answers one arm alone (its gate is open, ``fake_server``). A trial becomes one row; a block becomes a row for
each arm.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from inflight.bench.plan.grid import counted_site, endless
from inflight.bench.rows.kinds import Arm, CrawlWorkload
from inflight.bench.rows.parts import AGAIN, Kind, Row
from inflight.bench.rows.records import RECORDS
from inflight.fake_server.site import SiteConfig
from inflight.strategies import Description

FREE_THREADED, WITH_THE_LOCK = "free-threaded", "with-the-lock"
"""Names of interpreters in a table: a build without a global lock, and the build of the same source with it."""
OLDEST, NEWEST = "oldest", "newest"
"""The oldest and the newest release of one origin, such as pyenv."""
INCREMENTAL, GENERATIONAL = "incremental-gc", "generational-gc"
"""A version with the incremental garbage collector, and the nearest version without it."""
PAIRS = ((FREE_THREADED, WITH_THE_LOCK), (OLDEST, NEWEST), (INCREMENTAL, GENERATIONAL))
"""``bench.measure.interpreters.choice`` finds the two of a pair together."""
REFERENCE = "callbacks"
"""The reference strategy, if it takes part."""
MAX_WAIT_S = 600
"""Maximum time of a fetch in a block: it waits behind its gate during the slices of all other arms."""

LATENCIES, PAGES_LATENCIES = 20, 24
"""Minimum length of a window, in added latencies: in all, and over the number in flight.

With 1 in flight, 20 latencies have 18 or 19 pages: one that the begin cuts, and each takes a little longer than its
latency.
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One workload, once: of one strategy, of all arms of a block, or of no strategy."""

    id: str
    """Workload, arm and round as text: the same in every run of an experiment."""
    round: int  #: Number of the round, from 1; of a block the number of the block of this workload.
    kind: Kind
    """The kind of its rows; ``arm`` is also that of a block."""
    workload: Any  #: As its row has it; the arms of a block have their own in it.
    expected_ns: int  #: About how long it takes; it never changes a plan.
    arms: tuple[Arm, ...] = ()
    """The strategies that take part: one, those of a block, or none."""
    models: Mapping[str, Description] = field(default_factory=dict)  #: What the strategies are, by the names of arms.
    subject: str = ""  #: Without a strategy: what is idle, the probe, the resource, or locust.
    cycles: int = 0  #: Number of slices per arm of a block, at most (``blocks.block.cycles_within_budget``).
    block: "Trial | None" = None  #: The block that it is an arm of.
    #: Maximum CPU time that an arm may use until its cap is in flight; another is left out of the rest of the block.
    #: None: only a client that hangs is left out.
    patience_s: float | None = None
    short: Mapping[str, str] = field(default_factory=dict)
    """The limits of this machine that forbid it, by the id of each row; empty until ``measure.run`` has judged it."""

    @property
    def name(self) -> str:
        """The name of its arm, those of all its arms, or its subject."""
        return ", ".join(arm.name for arm in self.arms) or self.subject

    @property
    def stack(self) -> str:
        """Whose HTTP stack it has: ``shared``, ``own`` or ``none``."""
        if self.arms:
            return self.models[self.arms[0].name].stack
        return "own" if self.kind == "open" else "none"

    @property
    def record(self) -> type[Row]:
        """The record of its rows in ``rows.kinds``, which says what differs by kind."""
        return RECORDS[self.kind]

    @property
    def site(self) -> SiteConfig:
        """The site that the server has for it: that of its workload, which is endless in blocks and counts."""
        site = SiteConfig.from_dict(structs.asdict(self.workload.site))
        if self.kind == "counts":
            return counted_site(site)
        if self.kind == "arm":
            arms = (self.block or self).arms
            return endless(site, max(arm.in_flight for arm in arms), self.workload.cpu_ns)
        return site

    @property
    def reachable(self) -> int:
        """Maximum number of fetches in flight of a crawl: the least of cap, site and limit of the model."""
        in_flight: int = self.workload.in_flight
        return min(in_flight, self.site.pages, self.models[self.name].most_in_flight or in_flight)

    @property
    def of_all_sizes(self) -> str:
        """What a memory trial has in common with those of the same arm and workload that hold another number."""
        site = structs.replace(self.workload.site, pages=1)
        arm = structs.replace(self.arms[0], in_flight=1)
        alike = structs.replace(
            self.workload,
            id="",
            in_flight=1,
            site=site,
            arm=arm,
        )
        return repr(alike)

    @property
    def is_block(self) -> bool:
        """Whether it is a block, of which each arm becomes a row."""
        return self.kind == "arm" and self.block is None

    def part_of(self, arm: Arm) -> "Trial":
        """Return the subject of the row of an arm of a block."""
        workload = structs.replace(self.workload, arm=arm, **common_settings(arm))
        row_id = f"{workload.id}/{arm.name}/round={self.round}"
        return replace(self, id=row_id, workload=workload, arms=(arm,), block=self)

    def without(self, names: Collection[str]) -> "Trial":
        """Return a block without some arms, which cannot run here.

        If the reference is removed, the first arm left becomes the reference, and no placebo is left.
        """
        left = [arm for arm in self.arms if arm.name not in names]
        if not any(arm.role == "reference" for arm in left):
            left = [arm for arm in left if arm.role != "placebo"]
            left[:1] = [structs.replace(arm, role="reference") for arm in left[:1]]
        return replace(self, arms=tuple(left))


def common_settings(of: Arm | CrawlWorkload) -> dict[str, Any]:
    """Return the settings that an arm and its workload have in common, from either of them."""
    return {name: getattr(of, name) for name in ("in_flight", "connection", "tls")}


def row_trials(trial: Trial) -> list[Trial]:
    """Return the trials of the rows that a trial becomes: itself, or for a block one for each arm."""
    return [trial.part_of(arm) for arm in trial.arms] if trial.is_block else [trial]


def placebo(reference: Arm) -> Arm:
    """Return a copy of the reference arm under another name."""
    return structs.replace(reference, name=reference.name + AGAIN, role="placebo")
