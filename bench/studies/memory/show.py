"""The sections of memory: memory per thread, task or fetch, layer by layer, and what was held at once. Pure."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from inflight.bench.core import cells as c
from inflight.bench.core import units
from inflight.bench.core.cells import Cell
from inflight.bench.core.figures import STEADY, Spread, spread
from inflight.bench.core.layers import FULL
from inflight.bench.frame.slopes import NoSlope, Slope
from inflight.bench.present import labels, words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Group, Line, Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.memory import read
from inflight.bench.studies.memory.read import GROUPS, IDLE, IN_FLIGHT, PARKED, Subject, by_setting, held, reach, tops

Value = TypeVar("Value")

MOST_UNKNOWN = 3
"""Maximum number of strategies that are named because their slope is unknown."""
MOST_NAMES = 4
"""Maximum number of names with the same reason."""
NARROW = 0.4
"""Slopes whose interval is wider than this share of them are not compared as a ratio."""
_UNITS = {
    IDLE: ("waiting thread or task", "waiting threads or tasks"),
    IN_FLIGHT: ("fetch in flight", "fetches in flight"),
    PARKED: ("parked worker", "parked workers"),
}
"""Singular and plural of the members of each group."""
_PAIR = {"thread", "asyncio_task"}
"""The idle thread and the idle task that are usually compared."""
TICK_NS = 10_000_000
"""Resolution of the client's CPU time until all were held: a clock tick."""


def sections(rows: Sequence[Row]) -> list[Section]:
    """Return a section on layers for each setting of the memory trials, and one on what was held at once."""
    every = by_setting(rows)
    names = c.setting_names([setting for setting, _ in every if setting is not None])
    found = []
    for setting, own in every:
        name = words.plain(names[setting], 80) if setting is not None and len(names) > 1 else ""
        layers = _layers_table(own, f", {name}" if name else "")
        tables = [table for table in (layers, _protocol_table(own)) if table.lines]
        if tables:
            told = None if name else costs(own)
            found.append(Section(of_layers(own) + (f" ({name})" if name else ""), tuple(tables), findings=told))
    if highest := tops(c.cells(rows, "memory")):
        found.append(Section(of_held(highest), (_held_table(highest),)))
    return found


def grids(rows: Sequence[Row]) -> list[Table]:
    """Return the tables of the sections."""
    return [table for section in sections(rows) for table in section.tables]


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of these tables as JSON values; sizes in bytes, durations in nanoseconds."""
    found = c.cells(rows, "memory")
    return {
        "memory": [_user_json(found, setting, name) for setting, name in _strategies(found)],
        "layers": [_subject_json(one, setting) for setting, own in by_setting(rows) for one in own],
        "held": [held(cell) for cell in tops(found)],
    }


def _strategies(found: Sequence[Cell]) -> list[tuple[c.Setting, str]]:
    settings = c.settings(found)
    return [(s, name) for s in settings for name in c.strategies_of(cell for cell in found if cell.setting == s)]


def _user_json(found: Sequence[Cell], setting: c.Setting, strategy: str) -> dict[str, Any]:
    slope = c.memory_of([cell for cell in found if cell.setting == setting], strategy)
    return {
        "strategy": strategy,
        "connection": setting.connection,
        "site": setting.site_values(),
        "slope": asdict(slope) if isinstance(slope, Slope) else None,
        "reason": None if isinstance(slope, Slope) else slope.reason,
    }


def _subject_json(subject: Subject, setting: c.Setting | None) -> dict[str, Any]:
    slopes = {**subject.cost.layers, FULL: subject.cost.full, "resident": subject.cost.resident}
    return {
        "subject": subject.strategy,
        "group": subject.group,
        "connection": None if setting is None or subject.group == IDLE else setting.connection,
        "largest_n": subject.cost.largest_n,
        "slopes": {name: asdict(slope) if isinstance(slope, Slope) else None for name, slope in slopes.items()},
        "reasons": {name: slope.reason for name, slope in slopes.items() if isinstance(slope, NoSlope)},
    }


# Titles


def of_layers(found: Sequence[Subject]) -> str:
    """Compare the most expensive and the cheapest: what is idle, and the strategies in flight, or else parked."""
    idle, in_flight, parked = (_of_group(found, group) for group in (IDLE, IN_FLIGHT, PARKED))
    texts = [text for text in (idle, in_flight or parked) if text]
    return f"Each additional {'; each additional '.join(texts)}" if texts else "No slope of memory: nothing to conclude"


def _of_group(found: Sequence[Subject], group: str) -> str | None:
    """Compare in all layers, or in user memory if only that is known of two; say how many are unknown.

    A slope is known if it is constant and its interval excludes 0.
    """
    own = [subject for subject in found if subject.group == group]
    full, user = ([(s, slope) for s in own if (slope := s.straight(layer))] for layer in (FULL, "user"))
    known, what = (full, "") if len(full) >= min(2, len(user)) else (user, " of user memory")
    if not known:
        return None
    (cheap, least), (dear, most) = _ends(sorted(known, key=lambda one: one[1].per_fetch))
    text = f"{_UNITS[group][0]} takes {size(most)}{what} with {dear.name}"
    text += "" if cheap is dear else f", {size(least)} with {cheap.name}{_ratio(least, most)}"
    unknown = len(own) - len(known)
    return f"{text} ({unknown} of {len(own)} not known well enough)" if unknown else text


def costs(found: Sequence[Subject]) -> tuple[str, ...] | None:
    """Say what each additional one costs and for which strategies it is unknown; None if the title says all of it."""
    own = [subject for subject in found if subject.group == IN_FLIGHT]
    unknown = [subject for subject in own if subject.why_unknown]
    if len(own) - len(unknown) < 2 or not unknown or len(unknown) > MOST_UNKNOWN:
        return None
    counted = f" ({len(unknown)} of {len(own)} not known well enough)"
    return (f"{of_layers(found).replace(counted, '')}; not known well enough: {why_unknown(unknown)}.",)


def why_unknown(found: Sequence[Subject]) -> str:
    """Name the subjects without a known slope of all layers, each with its reason: ``a and b (disturbed), c (...)``."""
    reasons = dict.fromkeys(filter(None, (subject.why_unknown for subject in found)))
    names = {why: list(dict.fromkeys(one.name for one in found if one.why_unknown == why)) for why in reasons}
    return ", ".join(f"{words.listed(words.first(some, MOST_NAMES))} ({why})" for why, some in names.items())


def one_more(found: Sequence[Subject]) -> str:
    """Return what N counts: a fetch in flight if nothing else was measured, or else any of the three."""
    return "fetch in flight" if {subject.group for subject in found} == {IN_FLIGHT} else "thread, task or fetch"


def of_ladder(found: Sequence[Subject]) -> str:
    """State the memory of the blocks that are usually compared, else of both ends, at the largest N that both have.

    Without a common N, state that of the larger N alone.
    """
    for group in (IDLE, IN_FLIGHT):
        own = [subject for subject in found if subject.group == group and subject.numbers]
        if own:
            pair, number = ends_of_ladder(own)
            sizes = sorted(((one.added_at(number), one.name) for one in pair), reverse=True)
            told = ", ".join(f"{units.size(taken)} with {name}" for taken, name in sizes)
            return f"{units.count(number)} {_UNITS[group][1]} take {told}"
    return "No valid trial of all layers: nothing to conclude"


def ends_of_ladder(found: Sequence[Subject]) -> tuple[list[Subject], int]:
    """Return the subjects of one group that the title compares, and their N; each has a size of all layers."""
    (low, _), (high, _) = _ends(sorted(((one, _at_most(one)) for one in found), key=lambda one: one[1]))
    pair = [high] if low is high else [high, low]
    common = set.intersection(*(subject.numbers for subject in pair))
    if not common:
        pair = [max(pair, key=lambda subject: max(subject.numbers))]
    return pair, max(common or pair[0].numbers)


def _at_most(subject: Subject) -> float:
    """Return the bytes per task at the largest N of a subject."""
    number = max(subject.numbers)
    return subject.added_at(number) / number


def of_held(found: Sequence[Cell]) -> str:
    """Say how many strategies held the highest number in flight, with the times of the first and last in each setting.

    Only strategies that were tried in all settings count, and held it in all of them; times of different settings are
    not compared.
    """
    number = max(cell.in_flight for cell in found)
    here = [cell for cell in found if cell.in_flight == number]
    names = c.setting_names(c.settings(here))
    reached = {
        words.plain(name, 80): {
            cell.strategy: time for cell in here if cell.setting == setting and (time := reach(cell))
        }
        for setting, name in names.items()
    }
    everywhere = set.intersection(*map(set, reached.values()))
    tried = [{cell.strategy for cell in here if cell.setting == setting} for setting in names]
    anywhere = set.union(*tried)
    planned = len(set.intersection(*tried) or anywhere)
    one, several = _kinds(here)
    who = f"{len(everywhere)} of {planned} {one if planned == 1 else several}"
    who = f"{planned} {several}" if len(everywhere) == planned > 1 else who
    who += " that were tried in every setting" if planned < len(anywhere) else ""
    if not everywhere:
        return f"{who} held {units.count(number)} fetches in flight at once: nothing to conclude"
    times = [
        f"{f'{name}: ' if len(names) > 1 else ''}{_first_and_last_told({one: own[one] for one in everywhere})}"
        for name, own in reached.items()
    ]
    return f"{who} held {units.count(number)} fetches in flight at once; {'; '.join(times)}"


def _kinds(found: Sequence[Cell]) -> tuple[str, str]:
    """Say what the cells are of, singular and plural."""
    if any(arm.interpreter for cell in found if (arm := c.arm_of(cell.rows[0]))):
        return "pair of strategy and interpreter", "pairs of strategy and interpreter"
    return "strategy", "strategies"


def first_and_last(times: dict[str, Spread]) -> dict[str, Spread]:
    """Return the strategies with the least and the greatest time."""
    ordered = sorted(times.items(), key=lambda one: (one[1].median, one[0]))
    return dict(ordered[:1] + ordered[-1:])


def _first_and_last_told(times: dict[str, Spread]) -> str:
    ends = first_and_last(times)
    told = [
        f"{words.name(name)} after {units.duration(time.median, words.digits(time))}" for name, time in ends.items()
    ]
    once = " (one round)" if min(time.rounds for time in times.values()) == 1 else ""
    return f"{', '.join(told)}{once}"


def _ends(ordered: Sequence[tuple[Subject, Value]]) -> tuple[tuple[Subject, Value], tuple[Subject, Value]]:
    """Return the two to compare: the usual blocks, else the ends; of the shared stack, if possible."""
    pair = [one for one in ordered if one[0].group == IDLE and one[0].strategy in _PAIR]
    shared = [one for one in ordered if one[0].stack == "shared"]
    chosen = pair if len(pair) == 2 else shared if len(shared) > 1 else ordered
    return chosen[0], chosen[-1]


def _ratio(least: Slope, most: Slope) -> str:
    """Write the ratio of two slopes; empty if an interval is too wide."""
    if least.high >= most.low:
        return ": the intervals overlap"
    is_narrow = all(one.high - one.low <= NARROW * one.per_fetch for one in (least, most))
    return f": {units.times(most.per_fetch / least.per_fetch)}" if is_narrow else ""


def size(slope: Slope) -> str:
    """Write a slope without its error, with the digits that the error allows."""
    return units.size(slope.per_fetch, 3 if slope.error <= STEADY * abs(slope.per_fetch) else 2)


# The tables


def _layers_table(found: Sequence[Subject], where: str) -> Table:
    lines: list[Line] = []
    shown = [subject for subject in found if subject.fitted]
    for group in GROUPS:
        own = [subject for subject in shown if subject.group == group]
        lines += [Group(group), *map(_layers_line, own)] if own else []
    slopes = [slope for subject in shown for slope in subject.cost.slopes.values()]
    dashed = [one for one in shown if any(isinstance(slope, NoSlope) for slope in one.cost.slopes.values())]
    whose = f" for {why}" if (why := why_unknown(dashed)) else ""
    is_bent = any(isinstance(slope, Slope) and not slope.straight for slope in slopes)
    missing = sorted({subject.name for subject in found if not subject.fitted})
    notes = (
        "Slopes over N, ± half of their 95 % interval"
        + ("; a range if the slope is not constant." if is_bent else "."),
        "Slab and sockets hold both ends of each loopback connection.",
        "Resident is what ps shows; it is not part of the sum.",
        "Empty process: its own memory with nothing held (the intercept).",
        f"-: unknown{whose}." if dashed else "",
        labels.ABOUT_STAR if any(subject.stack == "own" for subject in shown) else "",
        f"No slope for {words.listed(missing)}: valid trials at too few numbers." if missing else "",
    )
    heads = ("user", "page tables", "kernel stacks", "slab, sockets", "all layers", "resident", "empty process")
    title = f"Memory per additional {one_more(shown)} (bytes){where}"
    return Table(title, ("", *heads), tuple(lines), tuple(filter(None, notes)))


def _layers_line(subject: Subject) -> tuple[str, ...]:
    user = subject.cost.user
    start = units.size(max(0.0, user.intercept)) if isinstance(user, Slope) else "-"
    return (labels.starred(subject.name, subject.stack), *map(slope_text, subject.cost.slopes.values()), start)


def slope_text(slope: Slope | NoSlope) -> str:
    """Write a slope in bytes with its error, or as a range if it is not constant; a dash if there is none."""
    if not isinstance(slope, Slope):
        return "-"
    if not slope.straight:
        return f"{slope.low:,.0f}..{slope.high:,.0f}"
    return f"{round(slope.per_fetch):,} ±{round(slope.error):,}"


def _protocol_table(found: Sequence[Subject]) -> Table:
    """Return the resident size by ps at the largest number, as the authors of the claim read it."""
    lines = []
    for subject in found:
        sizes: dict[int, list[int]] = {}
        for row in subject.valid_rows if subject.group == IDLE else ():
            if (read := row.measured.ps_rss_bytes) is not None:
                sizes.setdefault(row.workload.n, []).append(read)
        if sizes:
            most = max(sizes)
            shown = spread(sizes[most]).median
            full, resident = subject.cost.full, subject.cost.resident
            slopes = (
                units.size(resident.per_fetch) if isinstance(resident, Slope) else "-",
                size(full) if isinstance(full, Slope) else "-",
            )
            lines.append((subject.name, units.count(most), units.size(shown), units.size(shown / most), *slopes))
    heads = ("", "largest N", "ps -o rss", "rss / N", "slope of rss", "all layers")
    note = "The size (ps -o rss) includes the empty process and excludes memory of the kernel."
    return Table("As often measured: the size of the process, divided by N", heads, tuple(lines), (note,))


def _held_table(found: Sequence[Cell]) -> Table:
    """Return times, added memory and errors at the highest number in flight of each setting."""
    lines = tuple(map(_held_line, found))
    heads = ("", "connection", "in flight", "reached in", "CPU", "server CPU", "drained", "memory added",
             "server's memory", "drops, failed")  # fmt: skip
    rounds = "; medians over the rounds" if any(len(cell.rows) > 1 for cell in found) else ""
    notes = (
        f"Held at once, as the server's gate confirmed{rounds}. CPU: until all were held.",
        "Drained: from the opening of the gate to the end of the crawl"
        + ("; -: the workers were parked before the end." if any(map(_is_parked, found)) else "."),
        "Memory added: all layers of the client, including both ends of the connections.",
        "Server's memory: user memory of its whole process.",
        "Drops: connections that the kernel lost in a full queue. Failed: fetches.",
        "✗: invalid trials only." if any(line[0].endswith("✗") for line in lines) else "",
    )
    return Table("Held in flight at once", heads, lines, tuple(filter(None, notes)))


def _is_parked(cell: Cell) -> bool:
    return any(map(read.is_parked, cell.rows))


def _held_line(cell: Cell) -> tuple[str, ...]:
    found = held(cell)
    times = [
        _time(found["reach_ns"]),
        _time(found["reach_cpu_ns"], TICK_NS),
        _time(found["reach_server_cpu_ns"]),
        _time(None if _is_parked(cell) else found["drain_ns"]),
    ]
    if found["reach_ns"] is None:
        times[0] = next((row.status for row in cell.rows if row.status != "ok"), "-")
    return (
        words.name(cell.strategy) + (" ✗" if cell.invalid_rows and not found["valid"] else ""),
        cell.setting.connection,
        units.count(cell.in_flight),
        *times,
        *("-" if found[key] is None else units.size(found[key]) for key in ("added_bytes", "server_bytes")),
        ", ".join("-" if found[key] is None else str(found[key]) for key in ("listen_drops", "failed_pages")),
    )


def _time(ns: float | None, resolution_ns: int = 0) -> str:
    """Write a duration; one below the resolution of its clock is written as less than that."""
    if ns is None:
        return "-"
    return f"< {units.duration(resolution_ns, 2)}" if ns < resolution_ns else units.duration(ns, 2)
