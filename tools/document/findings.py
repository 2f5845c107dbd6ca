"""The findings of README.md: a sentence in bold for what the newest reference runs show, then its figures.

Each finding has a rule. Its bold sentence follows from the rule, so a run that no longer shows it changes the sentence.
"""

from collections.abc import Sequence
from pathlib import Path

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell, Figure
from inflight.bench.core.figures import Slope
from inflight.bench.frame.statistics import MARGIN, Interval, differs
from inflight.bench.present.markdown import code, row
from inflight.bench.rows.files import Row
from inflight.bench.studies.decision_map.read import Ranked, Tile, of_rows
from inflight.bench.studies.decision_map.show import latency
from inflight.bench.studies.memory.read import IDLE, IN_FLIGHT
from inflight.bench.studies.memory.show import size
from inflight.bench.studies.scaling.read import scalings
from tools.document import series
from tools.document.memory import slope
from tools.document.stored import DocumentError, newest

MANY = 100
"""How many fetches are in flight at least where the models are said to tie."""
THREADS, ASYNCIO, CALLBACKS = "thread_pool", "native_asyncio", "callbacks"


def part(runs: Path, _beside: Path) -> str:
    """Return the findings as a list, each with the experiment that shows it. Raises DocumentError."""
    quick = newest(runs, "quick")
    found = {
        "quick": at_no_latency(quick.rows, series.told(quick, threads_over_asyncio)),
        "map": at_latency(newest(runs, "map").rows),
        "memory": one_more(newest(runs, "memory").rows),
    }
    return "\n".join(
        f"{number}. {told} ({code(f'inflight run {name}')})"
        for number, (name, told) in enumerate(found.items(), start=1)
    )


# Threads and asyncio where nothing waits


def at_no_latency(rows: Sequence[Row], spread: str = "") -> str:
    """Say whether threads or asyncio fetch more pages per second without latency, with the most in flight.

    The rule of all comparisons: they differ by at least 2 %, and significantly (``stats.differs``). ``spread`` is the
    range of other runs.
    """
    threads, asyncio = (_busiest(rows, name) for name in (THREADS, ASYNCIO))
    rates = [_figure(cell, c.pages_per_s) for cell in (threads, asyncio)]
    costs = [_figure(cell, c.cpu_per_page_ns) for cell in (threads, asyncio)]
    ratio = threads_over_asyncio(rows)
    others = f"; {spread}" if spread else ""
    pages, cpu = (
        [write(one.estimate, one.digits) for one in both]
        for write, both in ((units.number, rates), (units.duration, costs))
    )
    return (
        f"**{_fastest(rates, ratio)}** Without added latency, and with {units.count(threads.in_flight)} fetches in "
        f"flight, {code(THREADS)} fetches {pages[0]} pages per second and {code(ASYNCIO)} {pages[1]}: "
        f"{_between(ratio)} in this run{others}. A page needs {cpu[0]} of CPU time with threads and {cpu[1]} with "
        "asyncio."
    )


def threads_over_asyncio(rows: Sequence[Row]) -> Interval:
    """Return the throughput of threads over that of asyncio without latency, with the most in flight."""
    return _without_latency(rows, THREADS, ASYNCIO, c.pages_per_s)


def asyncio_over_callbacks(rows: Sequence[Row]) -> Interval:
    """Return the CPU time per page of asyncio over that of callbacks, there too."""
    return _without_latency(rows, ASYNCIO, CALLBACKS, c.cpu_per_page_ns)


def _without_latency(rows: Sequence[Row], one: str, other: str, figure: c.Read) -> Interval:
    ratio = c.ratio(_busiest(rows, one), _busiest(rows, other), figure)
    assert ratio is not None
    return ratio


def _fastest(rates: Sequence[Figure], ratio: Interval) -> str:
    if differs(rates[0].logs, rates[1].logs) != "differs":
        return "Threads and asyncio are equally fast when there is nothing to wait for."
    first, second = ("Threads", "asyncio") if ratio.estimate > 1 else ("Asyncio", "threads")
    return f"{first} beat{'s' if first == 'Asyncio' else ''} {second} when there is nothing to wait for."


def _between(ratio: Interval) -> str:
    ends = " to ".join(units.number(one, 3) for one in (ratio.low, ratio.high))
    return f"{units.times(ratio.estimate, 3)} (95 %: {ends})"


def _busiest(rows: Sequence[Row], name: str) -> Cell:
    own = [one for one in c.cells(rows) if one.strategy == name and not one.mean_latency_ns and not one.cpu_ns]
    if not own:
        raise DocumentError(f"no figure of {name} without added latency")
    return max(own, key=lambda one: one.in_flight)


def _figure(cell: Cell, read: c.Read) -> Figure:
    found = cell.valid_figure(read)
    if found is None or found.rounds < 2:
        raise DocumentError(f"{cell.strategy} has no two valid rounds without added latency")
    return found


# All models where pages wait


def at_latency(rows: Sequence[Row]) -> str:
    """Say at which added latency all models tie: the shortest one where they do with MANY in flight or more.

    They tie with a number in flight if the 95 % intervals of all are within 2 % of the fastest, with that number and
    with each smaller one that was measured.
    """
    tile, is_tied = where_models_tie(rows)
    return _tie(tile) if is_tied else _differ(tile)


def where_models_tie(rows: Sequence[Row]) -> tuple[Tile, bool]:
    """Return the workload with the shortest latency at which all models tie, and whether there is one."""
    tiles = _without_work(rows)
    if not (many := [tile for tile in tiles if tile.point.in_flight >= MANY]):
        raise DocumentError(f"the map has no workload with latency and {MANY} or more fetches in flight")
    tied = [tile for tile in many if all(_is_tie(one) for one in _up_to(tiles, tile))]
    if not tied:
        return max(many, key=lambda tile: (tile.point.latency_ns, -tile.point.in_flight)), False
    shortest = min(tile.point.latency_ns for tile in tied)
    return max((one for one in tied if one.point.latency_ns == shortest), key=lambda one: one.point.in_flight), True


def _tie(tile: Tile) -> str:
    number, point = len(tile.ranking), tile.point
    many = units.count(point.in_flight)
    most = max(one.high or 0 for one in tile.ranking[1:])
    return (
        f"**When pages are slow, the model makes no difference up to {many} fetches in flight.** "
        f"With {latency(point)} of added latency, no other work per page and {many} in flight, each of the {number} "
        f"concurrent models fetches {units.number(tile.ranking[0].per_s, 2)} pages per second. None is more than "
        f"{units.change_size(most)} behind the fastest (95 %)."
    )


def _differ(tile: Tile) -> str:
    """Say what the models differ by; nowhere do they all tie."""
    first, last = tile.ranking[0], tile.ranking[-1]
    return (
        f"**The model makes a difference even when pages are slow.** With {latency(tile.point)} of added latency and "
        f"{units.count(tile.point.in_flight)} fetches in flight, {_rate(first)}, and {_rate(last)}."
    )


def _rate(one: Ranked) -> str:
    return f"{code(one.strategy)} fetches {units.number(one.per_s, 2)} pages per second"


def _without_work(rows: Sequence[Row]) -> list[Tile]:
    found = of_rows(rows)
    tiles = found.tiles if found else ()
    return [one for one in tiles if one.point.latency_ns and not one.point.cpu_ns and len(one.ranking) > 1]


def _up_to(tiles: Sequence[Tile], tile: Tile) -> list[Tile]:
    """Return the workloads of the same latency with at most as many in flight."""
    alike = [one for one in tiles if one.point.latency_ns == tile.point.latency_ns]
    return [one for one in alike if one.point.in_flight <= tile.point.in_flight]


def _is_tie(tile: Tile) -> bool:
    return not tile.without and all(one.high is not None and one.high < MARGIN for one in tile.ranking[1:])


# Which model suits which crawl


def which(runs: Path, _beside: Path) -> str:
    """Return a table of four kinds of crawls, each with the models to use and a figure of a stored run."""
    tile, _ = where_models_tie(newest(runs, "map").rows)
    quick, memory = newest(runs, "quick"), newest(runs, "memory").rows
    cpu = asyncio_over_callbacks(quick.rows)
    spread = series.told(quick, asyncio_over_callbacks)
    thread, task = (slope(memory, name, IN_FLIGHT) for name in (THREADS, ASYNCIO))
    cores = max(one.best(line) or 0.0 for one in scalings(newest(runs, "scaling").rows) for line in one.series)
    rates = sorted({units.number(one.per_s, 2) for one in tile.ranking}, key=len)
    each = (
        f"{' to '.join(rates[:: max(1, len(rates) - 1)])} pages/s with each of {len(tile.ranking)} models "
        f"({latency(tile.point)}, {tile.point.in_flight} in flight)"
    )
    lines = (
        (
            "waits for slow servers, with up to a hundred requests at a time",
            "whatever reads best",
            each,
        ),
        (
            "asks fast servers, so the CPU is the limit",
            "callbacks; threads rather than asyncio",
            f"a page with asyncio needs {units.times(cpu.estimate, 3)} the CPU time of one with callbacks"
            + (f" ({spread})" if spread else ""),
        ),
        (
            "keeps thousands of connections open",
            "an event loop: callbacks, generators or asyncio",
            f"a thread with a fetch needs {units.times(_ratio(thread, task).estimate)} the memory of a task",
        ),
        (
            "computes much per page",
            "processes",
            f"{units.times(cores, 2)} the pages/s on a second core",
        ),
    )
    heads = ("your crawl", "use", "in this run")
    return "\n".join([row(heads), "|---|---|---|", *map(row, lines)])


# What one more takes


def one_more(rows: Sequence[Row]) -> str:
    """Compare the memory of one more thread and one more asyncio task: parked, and with a fetch in flight.

    The ratio shrinks in flight if all that the intervals allow of the first is above all that they allow of the second.
    """
    thread, task = (slope(rows, name, IDLE) for name in ("thread", "asyncio_task"))
    with_fetch = tuple(slope(rows, name, IN_FLIGHT) for name in (THREADS, ASYNCIO))
    pairs = [_ratio(thread, task), _ratio(*with_fetch)]
    parked, flying = (units.times(one.estimate) for one in pairs)
    shrinks = pairs[0].low > pairs[1].high
    more = f"only {flying}" if shrinks else flying
    costs = " and ".join(units.size(one.per_fetch) for one in with_fetch)
    head = f"A waiting thread needs {parked} the memory of a waiting asyncio task; with a fetch in flight, {more}."
    return (
        f"**{head}** Each additional waiting thread needs {size(thread)} with the kernel's part, and each waiting task "
        f"{size(task)}. With a fetch in flight they need {costs}{_connection(with_fetch[1], task)}. "
        "[docs/memory.md](docs/memory.md) shows what is counted."
    )


def _connection(with_fetch: Slope, task: Slope) -> str:
    """Say that the connection takes more than the task, if all that the intervals allow says so."""
    return ", because the connection needs more than the task" if with_fetch.low - task.high > task.high else ""


def _ratio(one: Slope, other: Slope) -> Interval:
    """Return the ratio of two slopes, with the widest interval that both intervals allow."""
    return Interval(one.per_fetch / other.per_fetch, one.low / other.high, one.high / other.low, one.sizes, 0.95)
