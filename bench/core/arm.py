"""Arms and blocks: what is compared at the same time, in turns, on one workload.

An arm is one strategy with its settings, alive in a worker of its own. A block is one workload with all its arms alive
at once, in fresh processes. A slice is the time for which one arm's gate is open.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from inflight.bench.core.grid import Workload

Role = Literal["reference", "placebo", "compared"]
FREE_THREADED = "free-threaded"
"""The name of an interpreter that a run is given, or finds: one that was built without a global lock."""
REFERENCE = "callbacks"
"""The strategy that others are held against, where it takes part."""
IN_FLIGHT = 100
"""How many are in flight unless something else is asked for."""
START_NS = 350_000_000
"""About how long an arm takes to start, to warm up and to end; estimates go by it."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One strategy with its settings: where its code comes from, what it runs on, and how it crawls."""

    name: str
    """Names the arm within its block."""
    strategy: str
    role: Role = "compared"
    """The arm that others are held against, the same arm once more, or another one."""
    stack: str = "shared"
    """Whose HTTP stack the strategy has: ``shared`` or ``own``."""
    in_flight: int = IN_FLIGHT
    connection: Literal["keep-alive", "per-fetch"] = "keep-alive"
    revision: str | None = None
    """A commit, tag or branch of the repository; None: its files as they are there."""
    repository: Path | None = None
    """The folder of a git repository with a folder ``strategies``; None: the strategies of this harness."""
    python: str | None = None
    """The interpreter of the worker, perhaps FREE_THREADED; None: that of the harness."""
    requirements: tuple[str, ...] = ()
    """What is installed into an environment made for this arm alone; none: no environment is made."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the worker."""
    cores: int = 1
    """How many cores the worker may use; where it is more than one, the last of them may be the server's."""
    planted_loops: int | None = None
    """A known slowdown, in iterations of an empty loop per page: only ``inflight selftest`` plants one."""

    @property
    def label(self) -> str:
        """Name the arm by all that is not the default: ``callbacks@v1.2 (python3.12, in_flight=10)``."""
        name = self.strategy + (f"@{self.revision}" if self.revision else "")
        told = [
            *([str(self.repository)] if self.repository and not self.revision else []),
            *([self.python] if self.python else []),
            *self.requirements,
            *([f"in_flight={self.in_flight}"] if self.in_flight != IN_FLIGHT else []),
            *([self.connection] if self.connection != "keep-alive" else []),
            *(f"{key}={value}" for key, value in self.variables.items()),
            *([f"cores={self.cores}"] if self.cores != 1 else []),
            *([f"{self.planted_loops} loops planted"] if self.planted_loops else []),
        ]
        return f"{name} ({', '.join(told)})" if told else name

    def to_dict(self) -> dict[str, Any]:
        """Return what a row says of the arm; what has its default value is left out."""
        default = asdict(Arm(self.name, self.strategy, stack=self.stack))
        needed = {"name", "strategy", "role"}
        values = {key: value for key, value in asdict(self).items() if key in needed or value != default[key]}
        values |= {"requirements": list(self.requirements)} if self.requirements else {}
        return values | ({"repository": str(self.repository)} if self.repository else {}) | {"label": self.label}


def placebo(reference: Arm) -> Arm:
    """Return the reference arm once more, under another name."""
    return replace(reference, name=f"{reference.name} again", role="placebo")


@dataclass(frozen=True, slots=True)
class BlockTrial:
    """One workload with all its arms, once. Each of them becomes a row."""

    id: str
    round: int
    """Which block of this workload it is, from 1."""
    workload: Workload
    """The site and the CPU work that all arms share; number in flight and use of connections are the arms' own."""
    arms: tuple[Arm, ...]
    cycles: int
    """How many slices each arm has."""
    expected_ns: int
    """About how long the block takes."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """What else its rows say of what was asked for, such as the comparison that the block belongs to."""

    @property
    def kind(self) -> Literal["arm"]:
        """What its rows are."""
        return "arm"

    @property
    def strategy(self) -> str:
        """All arms."""
        return ", ".join(arm.name for arm in self.arms)

    @property
    def values(self) -> dict[str, Any]:
        """What the rows of all its arms say of the workload."""
        return self.workload.to_dict() | dict(self.said)

    @property
    def trials(self) -> list["ArmTrial"]:
        """What the block's rows are about, one for each arm."""
        return [ArmTrial(self, arm) for arm in self.arms]

    def without(self, names: Collection[str]) -> "BlockTrial":
        """Return the block without some arms; without its reference, the first that is left becomes the reference."""
        left = [arm for arm in self.arms if arm.name not in names]
        if not any(arm.role == "reference" for arm in left):
            left = [arm for arm in left if arm.role != "placebo"]
            left[:1] = [replace(arm, role="reference") for arm in left[:1]]
        return replace(self, arms=tuple(left))


@dataclass(frozen=True, slots=True)
class ArmTrial:
    """One arm of a block: what a row is about."""

    block: BlockTrial
    arm: Arm

    @property
    def stack(self) -> str:
        """Whose HTTP stack is compared."""
        return self.arm.stack

    @property
    def id(self) -> str:
        """Name the row."""
        return f"{self.block.workload.id}/{self.arm.name}/round={self.round}"

    @property
    def round(self) -> int:
        """Which block it is."""
        return self.block.round

    @property
    def kind(self) -> Literal["arm"]:
        """What it is."""
        return "arm"

    @property
    def strategy(self) -> str:
        """The arm's name: that of its strategy, if nothing else is said."""
        return self.arm.name

    @property
    def values(self) -> dict[str, Any]:
        """What the row says of the workload: in flight and use of connections are the arm's own."""
        own = {"in_flight": self.arm.in_flight, "connection": self.arm.connection, "arm": self.arm.to_dict()}
        return self.block.values | own
