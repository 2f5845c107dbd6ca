"""Cells without a crawl: the tables of idle threads and tasks, probes and limits.

- **Idle** is a thread or a task that only waits, held N times.
- A **probe** is a run of a small program, most of which test a claim: ``inflight.bench.claims.programs``.
- A **limit** is the amount of a resource that this machine allows a process: ``inflight.bench.measure.limits``.

``scale`` has the cells with several processes, and open loops.
"""

import importlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from msgspec import Meta, field

from inflight.bench.plan.judge import Table, check_known, need

BareKind = Literal["idle", "probe", "limit", "swarm", "open"]
IdleName = Literal[
    "thread", "generator", "generator_task", "asyncio_task", "asyncio_task_socket", "asyncio_task_stream"
]
"""What may be idle; ``bench/measure/idle/worker.py`` has the program of each."""
Resource = Literal["threads", "descriptors", "ports", "backlog", "memory"]
RESOURCES: tuple[str, ...] = get_args(Resource)
WITH_SOCKET = frozenset({"asyncio_task_socket", "asyncio_task_stream"})
PROGRAMS = Path(__file__).parents[1] / "claims" / "programs"
PROBES = {"attribution": "inflight.bench.measure.idle.attribution"} | {
    path.stem: f"inflight.bench.claims.programs.{path.stem}" for path in sorted(PROGRAMS.glob("[!_]*.py"))
}
"""The modules of the programs, by the names of their probes."""
COMPARED = frozenset({"swarm"})
"""Kinds with several subjects per workload."""
MAX_N = 2_000_000

_LIMIT_NS = 10_000_000_000
_PREDICTION_NS = 150_000_000
"""Mean over the resources: about 550 ms for threads, which are calibrated, and 20 ms for each of the others."""
_PROBE_NS = 1_500_000_000
_IDLE_NS = 600_000_000
_EACH_NS = {"thread": 60_000, "asyncio_task_socket": 150_000, "asyncio_task_stream": 250_000}
_COROUTINE_NS = 6_000


@dataclass(frozen=True, slots=True)
class BareTrial:
    """One cell of a table without crawls, or of a table of ``scale``, once."""

    kind: BareKind
    strategy: str  #: The subject: what is idle, the probe, the resource, or for ``scale`` the strategy, or locust.
    values: dict[str, Any]  #: What the row says of the workload, with the id of the workload.
    expected_ns: int  #: About how long it takes; it never changes a plan.
    stack: str = "none"  #: Whose HTTP stack is used: ``shared``, ``own`` or ``none``.
    round: int = 1

    @property
    def id(self) -> str:
        """Id of the trial: its workload, its subject if the kind has several per workload, and its round."""
        subject = f"/{self.strategy}" if self.kind in COMPARED else ""
        return f"{self.values['id']}{subject}/round={self.round}"


class BareTable(Table, frozen=True, kw_only=True):
    """A table without a crawl."""

    kind: ClassVar[BareKind]

    def trials(self, strategies: Sequence[str] = ()) -> list[BareTrial]:
        """Return the trials of a round; only a swarm needs the strategies of the experiment."""
        raise NotImplementedError


class Idle(BareTable, frozen=True, kw_only=True):
    """Idle threads or tasks, each kind at each of the numbers."""

    kind = "idle"
    what: tuple[IdleName, ...] = get_args(IdleName)
    n: tuple[Annotated[int, Meta(ge=1, le=MAX_N)], ...]
    variables: dict[str, str] = field(default_factory=dict)  #: Environment variables of the process.

    def trials(self, _strategies: Sequence[str] = ()) -> list[BareTrial]:
        """Return a trial of each kind at each number."""
        return [idle(name, n, self.variables) for name in self.what for n in self.n]


class Probe(BareTable, frozen=True, kw_only=True):
    """One probe, with each combination of its arguments."""

    kind = "probe"
    probe: str
    each: dict[str, tuple[str | int | bool, ...]] = field(default_factory=dict)  #: A list of values for each argument.

    def __post_init__(self) -> None:
        """Raise ExperimentError for an unknown probe or argument, and for a list that is empty or not distinct."""
        super().__post_init__()
        check_known(self.probe, PROBES, "probe", "probe")
        known = importlib.import_module(PROBES[self.probe]).ARGUMENTS
        for argument, values in self.each.items():
            check_known(argument, known, f"argument of {self.probe}", "each")
            for value in values:
                if isinstance(known[argument][0], str):
                    check_known(str(value), known[argument], argument, "each")
            distinct = bool(values) and len(set(values)) == len(values)
            need(distinct, f"each: {argument} must be a list of distinct values")

    def trials(self, _strategies: Sequence[str] = ()) -> list[BareTrial]:
        """Return a trial of each combination."""
        combined = itertools.product(*self.each.values())
        return [self._trial(dict(zip(self.each, values, strict=True))) for values in combined]

    def _trial(self, arguments: dict[str, Any]) -> BareTrial:
        suffix = "".join(f"/{key}={value}" for key, value in sorted(arguments.items()))
        values = {"id": f"probe/{self.probe}{suffix}", "probe": self.probe, "arguments": arguments}
        return BareTrial("probe", self.probe, values, _PROBE_NS)


class Limit(BareTable, frozen=True, kw_only=True):
    """Resources of this machine, each with the number that it allows."""

    kind = "limit"
    resources: tuple[Resource, ...] = get_args(Resource)
    through_shared: bool = False  #: Whether to reach limits that other processes share.
    predict: bool = False  #: Whether to predict only: threads are calibrated, and no ramp is started.

    def trials(self, _strategies: Sequence[str] = ()) -> list[BareTrial]:
        """Return a trial of each resource."""
        suffix = "/through-shared" if self.through_shared else ""
        values: dict[str, Any] = {"through_shared": self.through_shared}
        expected_ns = _LIMIT_NS
        if self.predict:
            suffix += "/predict"
            values["predict"] = True
            expected_ns = _PREDICTION_NS
        return [
            BareTrial("limit", name, {"id": f"limit/{name}{suffix}", "resource": name} | values, expected_ns)
            for name in self.resources
        ]


def idle(name: str, n: int, variables: Mapping[str, str] | None = None) -> BareTrial:
    """Return the trial of N idle threads or tasks of one kind, in a process with these environment variables."""
    expected_ns = _IDLE_NS + n * _EACH_NS.get(name, _COROUTINE_NS)
    suffix = "".join(f"/{key}={value}" for key, value in sorted((variables or {}).items()))
    values = {"id": f"idle/{name}/n={n}{suffix}", "what": name, "n": n}
    return BareTrial("idle", name, values | ({"variables": dict(variables)} if variables else {}), expected_ns)
