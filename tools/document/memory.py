"""What a thread costs, bar by bar, for docs/memory.md: each figure that is said of it, and what it counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inflight.bench.core import units
from inflight.bench.core.figures import NoSlope, Slope
from inflight.bench.core.layers import FULL, LAYERS, Cost
from inflight.bench.present import section, words
from inflight.bench.present.markdown import escaped, row
from inflight.bench.present.table import Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.memory.read import IDLE, IN_FLIGHT, PARKED, by_setting
from inflight.bench.studies.memory.show import grids
from inflight.bench.studies.swarm import read as swarms
from tools.document.stored import DocumentError, Run, joined, newest

PICTURE = Path("docs/pictures/thread.svg")
SERVER = "server"
USER = LAYERS[0]


@dataclass(frozen=True, slots=True)
class Step:
    """One figure that is said of a thread: where it is stored, and what it counts."""

    name: str
    strategy: str
    group: str
    layers: tuple[str, ...]
    base: int
    """The number of the step that it adds something to; 0 for none."""
    adds: str


STEPS = (
    Step("waits for a lock,\nthe process alone", "thread", IDLE, (USER,), 0, "its stack, and Python's records of it"),
    Step(
        "has a fetch in flight,\nthe process alone", "thread_pool", IN_FLIGHT, (USER,),
        1, "stack and heap that the code of a fetch uses, and the objects of the connection",
    ),
    Step(
        "waits for a lock,\nwith the kernel", "thread", IDLE, LAYERS,
        1, "page tables, a second stack in the kernel, and the kernel's records of the thread",
    ),
    Step(
        "has fetched and waits again,\nwith the kernel", "thread_pool", PARKED, LAYERS,
        3, "stack and heap that the earlier fetches used; the process keeps them",
    ),
    Step(
        "has a fetch in flight,\nwith the kernel", "thread_pool", IN_FLIGHT, LAYERS,
        4, "the kernel's records of the connection, for both of its ends",
    ),
)  # fmt: skip
"""The steps that one run of ``memory`` has; they are numbered from 1 on."""
LAST = Step(
    "has a fetch in flight,\nwith kernel and server", "thread_pool", IN_FLIGHT, (),
    5, "the server's process for its end of the connection, and the difference between the two runs",
)  # fmt: skip
"""The step that a run of ``c100k`` has."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One figure with its layers."""

    step: Step
    parts: Mapping[str, float]
    """Bytes by layer."""
    total: Slope | float
    """The slope with its interval, or the bytes where there is only one size."""

    @property
    def size(self) -> float:
        """The figure in bytes."""
        return self.total.per_fetch if isinstance(self.total, Slope) else self.total

    @property
    def text(self) -> str:
        """The figure as it is shown, with its interval."""
        return words.memory(self.total) if isinstance(self.total, Slope) else units.size(self.total)


def bars(runs: Path) -> list[Bar]:
    """Return the figures of a thread, from the newest runs of ``memory`` and ``c100k``. Raises DocumentError."""
    rows = newest(runs, "memory").rows
    return [*(_bar(step, rows) for step in STEPS), _with_server(newest(runs, "c100k").rows)]


def cost(rows: Sequence[Row], strategy: str, group: str) -> Cost:
    """Return the memory of one more of a strategy or idle thread or task. Raises DocumentError where there is none."""
    for _, subjects in by_setting(rows):
        for one in subjects:
            if (one.strategy, one.group) == (strategy, group) and isinstance(one.cost.user, Slope):
                return one.cost
    raise DocumentError(f"no slope of memory of {strategy}, {group}")


def slope(rows: Sequence[Row], strategy: str, group: str, layer: str = FULL) -> Slope:
    """Return the slope of a layer, or of all. Raises DocumentError where there is none."""
    found = cost(rows, strategy, group).slopes[layer]
    if isinstance(found, NoSlope):
        raise DocumentError(f"no slope of {layer} of {strategy}, {group}: {found.reason}")
    return found


def title(found: Sequence[Bar]) -> str:
    """State the least and the greatest figure."""
    least, most = (units.size(one.size) for one in (found[0], found[-1]))
    return f"Each additional thread needs {least} to {most}, depending on what is counted"


def ladder(runs: Path, _beside: Path) -> str:
    """Return the picture, a table of its bars, and the same figures of other runs."""
    found = bars(runs)
    head = title(found)
    lines = [
        (str(number), one.step.name, one.text, _added(one, found), one.step.adds) for number, one in enumerate(found, 1)
    ]
    heads = ("row", "a thread that ...", "memory", "increase", "what is added")
    table = "\n".join([row(heads), "|---:|---|---:|---:|---|", *(row(map(escaped, line)) for line in lines)])
    of = {
        "memory": f"Rows 1 to {len(STEPS)}, slopes",
        "c100k": f"Row {len(STEPS) + 1}, another run, the increase divided by the number held",
    }
    made = "\n".join(f"- {what}: {newest(runs, name).provenance}" for name, what in of.items())
    return joined(f"**{head}.**", f"![{head}](pictures/{PICTURE.name})", table, _elsewhere(runs), made)


def in_short(runs: Path) -> str:
    """State the least and the greatest figure, for README.md."""
    return title(bars(runs))


def layers(runs: Path, beside: Path) -> str:
    """Return the plot of all subjects, how it was made, and its table."""
    run = newest(runs, "memory")
    picture = run.picture("layers", "Memory per task, in layers", beside)
    return joined(run.provenance, picture, *map(section.table_markdown, grids(run.rows)[:1]))


def _bar(step: Step, rows: Sequence[Row]) -> Bar:
    own = {layer: slope(rows, step.strategy, step.group, layer) for layer in step.layers}
    total = own[USER] if step.layers == (USER,) else slope(rows, step.strategy, step.group)
    return Bar(step, {layer: one.per_fetch for layer, one in own.items()}, total)


def _with_server(rows: Sequence[Row]) -> Bar:
    """Return the memory per thread in flight of the largest swarm of threads, its server included."""
    found = swarms.cost([one for one in swarms.swarms(rows) if one.strategy == "thread_pool"])
    if found is None or found.full is None:
        raise DocumentError("no swarm of thread_pool with all layers of memory")
    parts = {name.removeprefix("client "): size or 0.0 for name, size in found.layers.items()}
    return Bar(LAST, parts, found.slope or found.full)


def _added(bar: Bar, found: Sequence[Bar]) -> str:
    """Write by how much a bar is longer than the one that it adds something to."""
    base = bar.step.base
    return f"+{units.size(bar.size - found[base - 1].size, 2)} to row {base}" if base else ""


def _elsewhere(runs: Path) -> str:
    """Return what other reference runs have for the same steps; a dash where a run has no figure."""
    others = {name: newest(runs, name) for name in ("memory", "claims", "quick")}
    lines = [(str(number), *(_figure(step, run) for run in others.values())) for number, step in enumerate(STEPS, 1)]
    kept = [line for line in lines if any(cell != "-" for cell in line[2:])]
    table = Table("The same figures in several runs", ("row", *(f"run {name}" for name in others)), tuple(kept))
    return section.table_markdown(table)


def _figure(step: Step, run: Run) -> str:
    try:
        return words.memory(slope(run.rows, step.strategy, step.group, USER if len(step.layers) == 1 else FULL))
    except DocumentError:
        return "-"
