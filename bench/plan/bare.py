"""Tables of trials without a crawl: idle threads and tasks, probes and limits, as ``experiment`` reads them from TOML.

- **Idle** is a thread or a task that only waits, held N times while memory is read.
- A **probe** is a run of a small program, most of which test a claim: ``inflight.bench.claims.programs``.
- A **limit** is the amount of a resource that this machine allows a process: ``inflight.bench.measure.limits``.

``trials.expand`` asks each table for its trials. ``scale`` has the tables with several processes, and open loops.
"""

import importlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from msgspec import Meta, field

from inflight.bench.plan.judge import ExperimentTable, check_known, need
from inflight.bench.plan.trial import Trial
from inflight.bench.rows.files import without_places
from inflight.bench.rows.kinds import IdleWorkload, LimitWorkload, ProbeWorkload, Resource
from inflight.bench.rows.parts import Kind, Workload

IdleName = Literal[
    "thread", "generator", "generator_task", "asyncio_task", "asyncio_task_socket", "asyncio_task_stream"
]
"""What may be idle; ``bench/measure/idle/worker.py`` has the program of each."""
WITH_SOCKET = frozenset({"asyncio_task_socket", "asyncio_task_stream"})
"""The idle tasks that each hold a connection to the server."""
PROGRAMS = Path(__file__).parents[1] / "claims" / "programs"
"""Folder of the programs of claims."""
PROBES = {"attribution": "inflight.bench.measure.idle.attribution"} | {
    path.stem: f"inflight.bench.claims.programs.{path.stem}" for path in sorted(PROGRAMS.glob("[!_]*.py"))
}
"""The modules of the programs, by the names of their probes."""
MAX_N = 2_000_000
"""Maximum number of idle threads or tasks."""

_LIMIT_NS = 10_000_000_000
"""Estimated time to find a limit, in nanoseconds. All of these are for the estimate of a plan only."""
_PREDICTION_NS = 150_000_000
"""Estimated time to predict a limit, the mean over the resources: about 550 ms for threads, which are calibrated, and
20 ms for each of the others."""
_PROBE_NS = 1_500_000_000
"""Estimated time of a probe."""
_IDLE_NS = 600_000_000
"""Estimated time of a trial of idle threads or tasks, without starting them."""
_EACH_NS = {"thread": 60_000, "asyncio_task_socket": 150_000, "asyncio_task_stream": 250_000}
"""Estimated time to start one idle thread or task that is no mere coroutine, by its name."""
_COROUTINE_NS = 6_000
"""Estimated time to start one of any other kind."""


class BareTable(ExperimentTable, frozen=True, kw_only=True):
    """A table without a crawl."""

    kind: ClassVar[Kind]

    def trials(self, strategies: Sequence[str] = (), number: int = 1) -> list[Trial]:
        """Return the trials of a round; only a swarm needs the strategies of the experiment."""
        raise NotImplementedError


class IdleTable(BareTable, frozen=True, kw_only=True):
    """Idle threads or tasks, each kind at each of the numbers."""

    kind = "idle"
    what: tuple[IdleName, ...] = get_args(IdleName)
    n: tuple[Annotated[int, Meta(ge=1, le=MAX_N)], ...]
    variables: dict[str, str] = field(default_factory=dict)  #: Environment variables of the process.

    def trials(self, _strategies: Sequence[str] = (), number: int = 1) -> list[Trial]:
        """Return a trial of each kind at each number."""
        return [idle(name, n, self.variables, number) for name in self.what for n in self.n]


class ProbeTable(BareTable, frozen=True, kw_only=True):
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

    def trials(self, _strategies: Sequence[str] = (), number: int = 1) -> list[Trial]:
        """Return a trial of each combination."""
        combined = itertools.product(*self.each.values())
        return [self._trial(dict(zip(self.each, values, strict=True)), number) for values in combined]

    def _trial(self, arguments: dict[str, Any], number: int) -> Trial:
        """Return the trial of one combination of arguments."""
        suffix = "".join(f"/{key}={value}" for key, value in sorted(arguments.items()))
        workload = ProbeWorkload(id=f"probe/{self.probe}{suffix}", probe=self.probe, arguments=arguments)
        return bare_trial("probe", self.probe, workload, _PROBE_NS, number)


class LimitTable(BareTable, frozen=True, kw_only=True):
    """Resources of this machine, each with the number that it allows."""

    kind = "limit"
    resources: tuple[Resource, ...] = get_args(Resource)
    through_shared: bool = False  #: Whether to reach limits that other processes share.
    predict: bool = False  #: Whether to predict only: threads are calibrated, and no ramp is started.

    def trials(self, _strategies: Sequence[str] = (), number: int = 1) -> list[Trial]:
        """Return a trial of each resource."""
        suffix = "/through-shared" if self.through_shared else ""
        suffix += "/predict" if self.predict else ""
        expected_ns = _PREDICTION_NS if self.predict else _LIMIT_NS
        workloads = [
            LimitWorkload(
                id=f"limit/{name}{suffix}",
                resource=name,
                through_shared=self.through_shared,
                predict=self.predict or None,
            )
            for name in self.resources
        ]
        return [bare_trial("limit", each.resource, each, expected_ns, number) for each in workloads]


def bare_trial(kind: Kind, subject: str, workload: Workload, expected_ns: int, number: int) -> Trial:
    """Return a trial without a strategy; ``subject`` stands in its rows where others name a strategy."""
    return Trial(f"{workload.id}/round={number}", number, kind, workload, expected_ns, subject=subject)


def idle(name: str, n: int, variables: Mapping[str, str] | None = None, number: int = 1) -> Trial:
    """Return the trial of N idle threads or tasks of one kind, in a process with these environment variables."""
    expected_ns = _IDLE_NS + n * _EACH_NS.get(name, _COROUTINE_NS)
    variables = dict(variables or {})
    suffix = "".join(f"/{key}={value}" for key, value in sorted(without_places(variables).items()))
    workload = IdleWorkload(id=f"idle/{name}/n={n}{suffix}", what=name, n=n, variables=variables)
    return bare_trial("idle", name, workload, expected_ns, number)
