"""Cells without a crawl: the tables of idle threads and tasks, probes and limits.

- **Idle** is a thread or a task that only waits, held N times.
- A **probe** is a small program that tests one claim: ``inflight.bench.studies.probes.programs``.
- A **limit** is the amount of a resource that this machine allows a process: ``inflight.bench.measure.limits``.

``scale`` has the cells with several processes, and those of other clients than the strategies.
"""

import importlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from inflight.bench.plan import judge

BareKind = Literal["idle", "probe", "limit", "swarm", "open", "client"]

IDLE = ("thread", "generator", "generator_task", "asyncio_task", "asyncio_task_socket", "asyncio_task_stream")
"""What may be idle; ``bench/measure/idle.py`` has the program of each."""
WITH_SOCKET = frozenset({"asyncio_task_socket", "asyncio_task_stream"})
RESOURCES = ("threads", "descriptors", "ports", "backlog", "memory")
PROGRAMS = Path(__file__).parents[1] / "studies" / "probes" / "programs"
PROBES = tuple(sorted(path.stem for path in PROGRAMS.glob("[!_]*.py")))
COMPARED = frozenset({"swarm", "client"})
"""Kinds with several subjects per workload."""
MOST_N = 2_000_000

_LIMIT_NS = 10_000_000_000
_PROBE_NS = 1_500_000_000
_IDLE_NS = 600_000_000
_EACH_NS = {"thread": 60_000, "asyncio_task_socket": 150_000, "asyncio_task_stream": 250_000}
_COROUTINE_NS = 6_000


@dataclass(frozen=True, slots=True)
class Bare:
    """One cell: its subject, and the workload of its rows."""

    kind: BareKind
    subject: str
    """The ``strategy`` of its rows: what is idle, the probe or the resource; for ``scale``, the strategy or client."""
    values: dict[str, Any]
    """The workload of its rows, including ``id``."""
    expected_ns: int
    """Estimated time; it never changes a plan."""
    stack: str = "none"
    """Whose HTTP stack is used; for a swarm, ``plan`` fills it in."""

    @property
    def id(self) -> str:
        """Id of the workload, with the subject if the kind has several per workload."""
        workload: str = self.values["id"]
        return f"{workload}/{self.subject}" if self.kind in COMPARED else workload


@dataclass(frozen=True, slots=True)
class BareGrid:
    """One table of the experiment as written, and its cells."""

    kind: BareKind
    table: dict[str, Any]
    cells: tuple[Bare, ...]
    rounds: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the table from which ``parse`` makes an equal grid."""
        return self.table


def parse(kind: BareKind, table: Any, where: str) -> BareGrid:
    """Parse a [[idle]], [[probe]] or [[limit]] table. Raises ExperimentError."""
    judge.need(isinstance(table, dict), f"{where} must be a table")
    return BareGrid(kind, dict(table), tuple(_READERS[kind](table, where)), judge.rounds(table, where))


def idle(name: str, n: int, variables: Mapping[str, str] | None = None) -> Bare:
    """Return the cell of N idle threads or tasks of one kind, in a process with these environment variables."""
    each_ns = _EACH_NS.get(name, _COROUTINE_NS)
    told = "".join(f"/{key}={value}" for key, value in sorted((variables or {}).items()))
    values = {"id": f"idle/{name}/n={n}{told}", "what": name, "n": n}
    return Bare("idle", name, values | ({"variables": dict(variables)} if variables else {}), _IDLE_NS + n * each_ns)


def probe(name: str, arguments: Mapping[str, Any]) -> Bare:
    """Return the cell of one probe with its arguments."""
    told = "".join(f"/{key}={value}" for key, value in sorted(arguments.items()))
    values = {"id": f"probe/{name}{told}", "probe": name, "arguments": dict(arguments)}
    return Bare("probe", name, values, _PROBE_NS)


def limit(resource: str, *, through_shared: bool) -> Bare:
    """Return the cell of one resource of the machine."""
    told = "/through-shared" if through_shared else ""
    values = {"id": f"limit/{resource}{told}", "resource": resource, "through_shared": through_shared}
    return Bare("limit", resource, values, _LIMIT_NS)


def _idle(table: dict[str, Any], where: str) -> Iterable[Bare]:
    judge.check_keys(table, ("what", "n", "variables", "rounds"), where)
    kinds, sizes = table.get("what", list(IDLE)), table.get("n")
    judge.check_list(kinds, str, f"{where}: what")
    judge.check_list(sizes, int, f"{where}: n")
    variables = judge.variables(table.get("variables", {}), f"{where}: variables")
    for name in judge.distinct(kinds, f"{where}: what"):
        judge.check_known(name, IDLE, "thread or task", where)
        for n in judge.distinct(sizes or (), f"{where}: n"):
            yield idle(name, judge.whole(n, 1, MOST_N, f"{where}: n"), variables)


def _probes(table: dict[str, Any], where: str) -> Iterable[Bare]:
    judge.check_keys(table, ("probe", "each", "rounds"), where)
    name, each = table.get("probe"), table.get("each", {})
    judge.need(isinstance(name, str), f"{where}: probe must be the name of one, not {name!r}")
    judge.check_known(str(name), PROBES, "probe", where)
    fine = isinstance(each, dict) and all(isinstance(values, list) and values for values in each.values())
    judge.need(fine, f"{where}: each must give a list of values for each argument, not {each!r}")
    known = importlib.import_module(f"inflight.bench.studies.probes.programs.{name}").ARGUMENTS
    for argument, values in each.items():
        judge.check_known(argument, known, f"argument of {name}", where)
        plain = all(type(value) in {str, int, bool} for value in values)
        judge.need(plain, f"{where}: {argument} must be a list of texts or whole numbers, not {values!r}")
        judge.distinct(values, f"{where}: {argument}")
    for values in itertools.product(*each.values()):
        yield probe(str(name), dict(zip(each, values, strict=True)))


def _limits(table: dict[str, Any], where: str) -> Iterable[Bare]:
    judge.check_keys(table, ("resources", "through_shared", "rounds"), where)
    resources = table.get("resources", list(RESOURCES))
    judge.check_list(resources, str, f"{where}: resources")
    through = judge.truth(table.get("through_shared", False), f"{where}: through_shared")
    for resource in judge.distinct(resources, f"{where}: resources"):
        judge.check_known(resource, RESOURCES, "resource", where)
        yield limit(resource, through_shared=through)


_READERS = {"idle": _idle, "probe": _probes, "limit": _limits}
KINDS: tuple[BareKind, ...] = ("idle", "probe", "limit")
