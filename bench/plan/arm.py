"""Arms and blocks: strategies that are compared at the same time, in turns, on one workload.

An arm is one strategy with its settings, alive in a worker of its own. A block is one workload with all its arms alive
at once, in fresh processes. A slice is the time for which one arm's gate is open.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from msgspec import to_builtins

from inflight.bench.plan.grid import Connection, Workload

Role = Literal["reference", "placebo", "compared"]
FREE_THREADED, WITH_THE_LOCK = "free-threaded", "with-the-lock"
"""Names of interpreters in a table: a build without a global lock, and the build of the same source with it."""
OLDEST, NEWEST = "oldest", "newest"
"""The oldest and the newest release of one origin, such as pyenv."""
INCREMENTAL, GENERATIONAL = "incremental-gc", "generational-gc"
"""A version with the incremental garbage collector, and the nearest version without it."""
PAIRS = ((FREE_THREADED, WITH_THE_LOCK), (OLDEST, NEWEST), (INCREMENTAL, GENERATIONAL))
"""``bench.measure.interpreters`` finds the two of a pair together."""
REFERENCE = "callbacks"
"""The reference strategy, if it takes part."""
IN_FLIGHT = 100
"""Default number in flight."""
MAX_WAIT_S = 600
"""Maximum time of a fetch in a block: it waits behind its gate during the slices of all other arms."""
START_NS = 350_000_000
"""Estimated time of an arm to start, warm up and end."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One strategy with its settings: origin of its code, interpreter, and kind of crawl."""

    name: str  #: Name of the arm within its block.
    strategy: str
    role: Role = "compared"  #: Reference arm, placebo (a copy of it), or any other arm.
    stack: str = "shared"  #: Whose HTTP stack the strategy has: ``shared``, ``own`` or ``none``.
    in_flight: int = IN_FLIGHT
    connection: Connection = "keep-alive"
    revision: str | None = None  #: A commit, tag or branch of the repository; None: its working tree.
    repository: Path | None = None  #: A git repository with a folder ``strategies``; None: those of this harness.
    #: Interpreter of the worker: a path, a name, ``>=3.12`` or a name of PAIRS; None: that of the harness.
    python: str | None = None
    interpreter: str = ""  #: Label of the interpreter in a run that compares several, such as 3.13.0.
    requirements: tuple[str, ...] = ()  #: Requirements of an environment for this arm alone.
    variables: Mapping[str, str] = field(default_factory=dict)  #: Environment variables of the worker.
    cores: int = 1  #: Number of cores for the worker; if more than one, the last may be the server's.
    busy_threads: int = 0  #: Number of threads of the worker that compute while it crawls, without ever waiting.
    lag: bool = False  #: Whether to measure how late a timer fires in the loop of the worker while it crawls.
    planted_loops: int | None = None  #: Iterations of an empty loop per page, to plant a slowdown.

    @property
    def label(self) -> str:
        """The strategy with all settings that are not the default: ``callbacks@v1.2 (python3.12, in_flight=10)``."""
        name = self.strategy + (f"@{self.revision}" if self.revision else "")
        settings = [
            *([str(self.repository)] if self.repository and not self.revision else []),
            *([self.python] if self.python else []),
            *self.requirements,
            *([f"in_flight={self.in_flight}"] if self.in_flight != IN_FLIGHT else []),
            *([self.connection] if self.connection != "keep-alive" else []),
            *(f"{key}={value}" for key, value in self.variables.items()),
            *([f"cores={self.cores}"] if self.cores != 1 else []),
            *([f"busy_threads={self.busy_threads}"] if self.busy_threads else []),
            *(["lag"] if self.lag else []),
            *([f"{self.planted_loops} loops planted"] if self.planted_loops else []),
        ]
        return f"{name} ({', '.join(settings)})" if settings else name

    def to_dict(self) -> dict[str, Any]:
        """Return the arm as it is stored in a row, without settings with their default value."""
        usual = Arm(self.name, self.strategy, stack=self.stack)
        values, default = (to_builtins(arm, enc_hook=str) for arm in (self, usual))
        needed = {"name", "strategy", "role"}
        stored = {key: value for key, value in values.items() if key in needed or value != default[key]}
        stored |= {"requirements": list(self.requirements)} if self.requirements else {}
        return stored | {"label": self.label}


def placebo(reference: Arm) -> Arm:
    """Return a copy of the reference arm under another name."""
    return replace(reference, name=f"{reference.name} again", role="placebo")


@dataclass(frozen=True, slots=True)
class BlockTrial:
    """One workload with all its arms, once. Each arm becomes a row."""

    id: str
    round: int  #: Number of the block of this workload, from 1.
    workload: Workload  #: Site and CPU work of all arms; each arm has its own number in flight and use of connections.
    arms: tuple[Arm, ...]
    cycles: int  #: Number of slices per arm.
    expected_ns: int  #: Estimated time of the block.
    more: Mapping[str, Any] = field(default_factory=dict)  #: Further values of the workload in its rows.
    #: Maximum CPU time that an arm may use until its cap is in flight; another is left out of the rest of the block.
    #: None: only a client that hangs is left out.
    patience_s: float | None = None
    kind: ClassVar[Literal["arm"]] = "arm"  #: Kind of its rows.

    @property
    def strategy(self) -> str:
        """Names of all arms."""
        return ", ".join(arm.name for arm in self.arms)

    @property
    def values(self) -> dict[str, Any]:
        """Values of the workload that the rows of all arms share."""
        return self.workload.to_dict() | dict(self.more)

    @property
    def trials(self) -> list["ArmTrial"]:
        """The subjects of the block's rows, one per arm."""
        return [self.trial_of(arm) for arm in self.arms]

    def trial_of(self, arm: Arm) -> "ArmTrial":
        """Return the subject of the row of an arm, which has its own number in flight and use of connections."""
        values = {"in_flight": arm.in_flight, "connection": arm.connection, "arm": arm.to_dict()}
        row_id = f"{self.workload.id}/{arm.name}/round={self.round}"
        return ArmTrial(row_id, self.round, arm.name, arm.stack, self.values | values, arm, self)

    def without(self, names: Collection[str]) -> "BlockTrial":
        """Return the block without some arms; if the reference is removed, the first arm left becomes the reference."""
        left = [arm for arm in self.arms if arm.name not in names]
        if not any(arm.role == "reference" for arm in left):
            left = [arm for arm in left if arm.role != "placebo"]
            left[:1] = [replace(arm, role="reference") for arm in left[:1]]
        return replace(self, arms=tuple(left))


@dataclass(frozen=True, slots=True)
class ArmTrial:
    """One arm of a block: the subject of one row."""

    id: str
    round: int  #: Number of the block.
    strategy: str  #: Name of the arm, by default that of its strategy.
    stack: str  #: Whose HTTP stack the arm has.
    values: dict[str, Any]  #: Values of the workload in the row.
    arm: Arm
    block: BlockTrial
    kind: ClassVar[Literal["arm"]] = "arm"  #: Kind of the row.
