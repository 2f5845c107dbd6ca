"""The tables of building blocks and of memory, in layers and held in flight. Pure."""

from collections.abc import Sequence

from bench.core import cells as c
from bench.core import units
from bench.core.cells import Cell
from bench.core.figures import NoSlope, Slope, spread
from bench.core.layers import LAYERS
from bench.core.rows import Row
from bench.core.stats import CONFIDENCE
from bench.present import words
from bench.present.table import Group, Line, Table
from bench.studies.memory import findings
from bench.studies.memory.subjects import BLOCKS, GROUPS, Subject, is_layered, subjects
from bench.studies.memory.summary import held_json, tops

_HEADS = ("user", "page tables", "kernel stacks", "slab, sockets", "all layers", "resident", "with none")


def grids(rows: Sequence[Row]) -> list[Table]:
    """Return the tables: a table of layers for each setting of the memory trials, the rest once."""
    found = c.cells(rows, "memory")
    read = {cell.setting for cell in found if any(map(is_layered, cell.rows))}
    layered = [cell for cell in found if cell.setting in read]  # a strategy that never got there is part of the answer
    settings: list[c.Setting | None] = [*c.settings(layered)] or [None]
    names = words.settings(c.settings(layered))
    blocks = [row for row in rows if row.kind == "block"]
    many = []
    for number, setting in enumerate(settings):
        own = [row for cell in layered if cell.setting == setting for row in cell.rows]
        some = subjects([*(blocks if number == 0 else []), *own])
        use = f", {names[setting]}" if setting is not None and len(settings) > 1 else ""
        many += [_layers_grid(some, use), _protocol_grid(some)]
    many += [
        *user_grids([cell for cell in found if cell.setting not in read]),
        _held_grid(layered),
    ]
    return [grid for grid in many if grid and grid.lines]


def user_grids(found: Sequence[Cell]) -> list[Table]:
    """Return what one more fetch in flight costs in user memory: a table for each setting of these memory cells."""
    names = words.settings(c.settings(found))
    return [
        _user_grid([cell for cell in found if cell.setting == s], names[s] if len(names) > 1 else "") for s in names
    ]


def _user_grid(own: Sequence[Cell], use: str) -> Table:
    stacks = c.strategies(row for cell in own for row in cell.rows)
    slopes = [(name, c.memory_of(own, name)) for name in stacks]
    lines = tuple((words.plain(name, 60), words.memory(slope)) for name, slope in slopes)
    title = f"User memory per fetch in flight{f', {use}' if use else ''}"
    return Table(title, ("strategy", "bytes"), lines, tuple(_about_slopes(slopes)))


def _about_slopes(slopes: Sequence[tuple[str, Slope | NoSlope]]) -> list[str]:
    told = []
    if fitted := [slope for _, slope in slopes if isinstance(slope, Slope)]:
        bent = "; a range where the line is bent" if any(not slope.straight for slope in fitted) else ""
        sizes = sorted({slope.sizes for slope in fitted})
        across = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        sure = f"{CONFIDENCE * 100:.0f} %"
        told.append(f"Memory is USS, as a slope over {across} numbers in flight, ± its {sure} interval{bent}.")
    without: dict[str, list[str]] = {}
    for name, slope in slopes:
        if isinstance(slope, NoSlope):
            without.setdefault(slope.reason, []).append(words.plain(name, 30))
    for reason, names in without.items():
        who = words.listed(names) if len(names) <= 4 else f"{len(names)} strategies"
        told.append(f"No memory slope for {who}: {reason}.")
    return told


def slope_text(slope: Slope | NoSlope) -> str:
    """Write a slope in bytes with its error; a range where the line is bent; a dash where there is none."""
    if not isinstance(slope, Slope):
        return "-"
    if not slope.straight:
        return f"{slope.low:,.0f}..{slope.high:,.0f}"
    error = max(slope.high - slope.per_fetch, slope.per_fetch - slope.low)
    return f"{round(slope.per_fetch):,} ±{round(error):,}"


def _layers_grid(found: Sequence[Subject], use: str) -> Table | None:
    fitted = [subject for subject in found if subject.is_fitted]
    lines: list[Line] = []
    for group in GROUPS:
        own = [subject for subject in fitted if subject.group == group]
        lines += [Group(group)] if own else []
        lines += [_layers_line(subject) for subject in own]
    slopes = [slope for s in fitted for slope in (*s.cost.layers.values(), s.cost.full)]
    bent = any(isinstance(slope, Slope) and not slope.straight for slope in slopes)
    missing = sorted({subject.name for subject in found if not subject.is_fitted})
    notes = (
        "Slopes over N, ± their 95 % interval" + ("; a range where the line is bent." if bent else "."),
        "Slab and sockets hold both ends of each loopback connection.",
        "Resident is what ps shows, and no part of the sum.",
        "With none: the process before anything is held (the intercept of its own memory).",
        "-: unknown here, or no slope, or others disturbed too many readings of the system's layers."
        if any(isinstance(slope, NoSlope) for slope in slopes)
        else "",
        f"No slope for {words.listed(missing)}: too few numbers with valid trials." if missing else "",
    )
    return Table(f"Bytes that one more takes{use}", ("", *_HEADS), tuple(lines), tuple(filter(None, notes)))


def _layers_line(subject: Subject) -> tuple[str, ...]:
    cost = subject.cost
    star = " *" if subject.stack == "own" else ""
    start = units.size(max(0.0, cost.user.intercept), 3) if isinstance(cost.user, Slope) else "-"
    slopes = [*(cost.layers[name] for name in LAYERS), cost.full, cost.resident]
    return (subject.name + star, *map(slope_text, slopes), start)


def _protocol_grid(found: Sequence[Subject]) -> Table | None:
    """Return what the claim's authors would have read: the resident size by ps, of the largest number."""
    lines = []
    for subject in found:
        read = [row for row in subject.valid_rows if row.measured.get("ps_rss_bytes") is not None]
        if subject.group != BLOCKS or not read:
            continue
        most = max(row.workload["n"] for row in read)
        sizes = [row.measured["ps_rss_bytes"] for row in read if row.workload["n"] == most]
        shown = spread(sizes).median
        full = subject.cost.full
        lines.append(
            (
                subject.name,
                units.count(most),
                units.size(shown),
                units.size(shown / most),
                units.size(subject.cost.resident.per_fetch) if isinstance(subject.cost.resident, Slope) else "-",
                findings.size(full) if isinstance(full, Slope) else "-",
            )
        )
    heads = ("", "largest N", "ps -o rss", "rss / N", "slope of rss", "all layers")
    note = "What ps shows, divided by N, has the empty process in it, and nothing of what the kernel keeps."
    return Table("The protocol of the claim's authors, beside the full cost", heads, tuple(lines), (note,))


def _held_grid(found: Sequence[Cell]) -> Table | None:
    """Return what the highest number in flight of each setting took: times, memory added, and what went wrong."""
    lines = []
    for cell in tops(found):
        values = held_json(cell)
        mark = " ✗" if cell.red_rows and not values["valid"] else ""
        status = next((row.status for row in cell.rows if row.status != "ok"), "-")
        reach, cpu, server_cpu, drain = (
            status if n == 0 and values[key] is None else _duration(values[key])
            for n, key in enumerate(("reach_ns", "reach_cpu_ns", "reach_server_cpu_ns", "drain_ns"))
        )
        memory, server_memory = (
            "-" if values[key] is None else units.size(values[key]) for key in ("added_bytes", "server_bytes")
        )
        drops, failed = (
            str(values[key]) if values[key] is not None else "-" for key in ("listen_drops", "failed_pages")
        )
        lines.append(
            (
                words.plain(cell.strategy, 18) + mark,
                cell.setting.connection,
                units.count(cell.in_flight),
                reach,
                cpu,
                server_cpu,
                drain,
                memory,
                server_memory,
                f"{drops}, {failed}",
            )
        )
    heads = (
        "",
        "connections",
        "in flight",
        "reached in",
        "CPU",
        "server CPU",
        "drained",
        "memory added",
        "server's memory",
        "drops, failed",
    )
    notes = (
        "Held at once, as the server's gate confirmed; medians over the rounds. CPU: until all were there.",
        "Memory added: all layers of the client, with both ends of the connections.",
        "Server's memory: user memory of its whole process.",
        "✗: red trials only." if any(line[0].endswith("✗") for line in lines) else "",
    )
    return Table("Held in flight at once", heads, tuple(lines), tuple(filter(None, notes)))


def _duration(value_ns: float | None) -> str:
    return "-" if value_ns is None else units.duration(value_ns, 2)
