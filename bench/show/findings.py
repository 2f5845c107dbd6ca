"""The findings of a part of a study: one template of ``texts.toml`` for each thing that can be said.

``sections`` (for the first part of each study), ``draw`` (the first sentence stands below the first plot of each part)
and ``answer`` (of a run without a pair of models) call ``findings``. They call it for parts that have something to
show, so a part of means has at least one column. A study names the kind of its sentences (``study.Study.finding``);
FINDINGS has the function of each kind. ``studies`` drops those of timed studies from the sections of a noisy run. A
difference is said only if ``contrast`` is certain of it. With one block the ratio is said, and that nobody knows its
certainty. A *part* is one table of a study, a *column* one workload of it, *ranked* means are those that can be
compared, the best first.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from inflight.bench import units
from inflight.bench.frame.contrast import records
from inflight.bench.frame.slopes import FULL, GROUPS
from inflight.bench.show import words
from inflight.bench.show.study import Column, Part, rank
from inflight.bench.show.words import TEXTS, join, value_name

TEMPLATES = TEXTS["findings"]
"""Templates of the sentences."""
MAX_FINDINGS = 3
"""Maximum number of columns of which a finding of an axis is said."""
OWN = "own HTTP stack"
"""What is said of models with an HTTP stack of their own."""
PAIR = ["thread", "asyncio_task"]
"""The idle thread and the idle task that are compared if both are there."""
UNITS = {
    "idle": "waiting thread or task",
    "parked": "parked worker",
    "held": "fetch in flight",
    "swarm": "fetch",
}
"""What one more of each group of memory is called."""


def findings(part: Part) -> tuple[str, ...]:
    """Return the findings of a part, in the way of its study; none if the study has no kind of sentences."""
    find = FINDINGS.get(part.study.finding)
    return tuple(find(part)) if find else ()


def evenly(values: Sequence[Any], most: int) -> list[Any]:
    """Return at most so many of the values: the first, the last, and evenly from between."""
    if len(values) <= most:
        return list(values)
    return [values[round(step * (len(values) - 1) / (most - 1))] for step in range(most)]


def _compared(part: Part, where: str, means: Sequence[Any]) -> str:
    """Say how the best and the worst of some ranked means differ (``study.rank``: at least two, the best first).

    ``where`` is the workload. The answer of the worst is that of its ratio to the best.
    """
    figure = part.study.figure
    best = means[0]
    worst = means[-1]
    best_value, worst_value = (figure.write(mean.estimate, figure.digits) for mean in (best, worst))
    if worst.answer == "differs":
        kind = "differs"
    elif all(mean.answer == "same" for mean in means[1:]):
        kind = "same"
    elif math.isinf(worst.next_high):
        kind = "one_block"
    else:
        kind = "unknown"
    ratio = "unknown"  # of figures that are 0
    if worst.ratio > 0:
        ratio = units.times(max(worst.ratio, 1 / worst.ratio))
    if best_value == worst_value and kind != "differs":
        kind += "_alike"
    return TEMPLATES[kind].format(
        where=where,
        number=len(means),
        best=best.line,
        worst=worst.line,
        best_word=figure.best or f"lowest in {figure.words}",
        worst_word=figure.worst or "highest",
        best_value=best_value,
        worst_value=worst_value,
        ratio=ratio,
    )


# Of means


def _ends(part: Part) -> Iterator[str]:
    """Compare the lines of one or two columns, then say what identical code gave.

    ``part.study.usual`` says which columns, and ``part.usual`` is a column. With "first", the default, they are the
    first and the last column in which two lines can be compared (``part.ranked``): the shortest and the longest
    latency, as a rule. With "last" it is only the column that stands for all (``part.usual``), which then has the
    longest latency; if nothing can be compared there, it is the last column in which something can. ``ranked`` has
    lines of the shared stack alone where two of them can be compared.

    Only a study with ratios (``over``) has more sentences. Of this kind only CPU time has, and its ratios are those to
    the reference arm of the same block. Lines with a stack of their own are then compared with the best of the shared
    one (``ranked_of_own``), in the usual column or else in the first where that is possible. The control, which is the
    reference over itself in the same block, has a sentence for each column in which it was measured.
    """
    ranked = part.ranked
    clients = part.ranked_of_own
    ends = dict.fromkeys([*ranked][:1] + [*ranked][-1:])
    if part.study.usual == "last":
        ends = dict.fromkeys([part.usual] if part.usual in ranked else [*ranked][-1:])
    for column in ends:
        is_of_several = column in clients or part.at(part.means, [column])["stack"].ne("shared").any()
        is_of_shared = all(mean.stack == "shared" for mean in ranked[column]) and is_of_several
        where = _where(part, column, "shared stack" if is_of_shared else "")
        yield _compared(part, where, ranked[column])
    if part.study.over is not None:
        for column in [part.usual] if part.usual in clients else [*clients][:1]:
            yield _compared(part, _where(part, column, OWN), clients[column])
        for column in part.columns:  # what identical code gave, and which differences cannot be told
            for control in records(part.at(part.controls, [column])):
                ratio = units.times(control.estimate)
                share = units.percent(control.resolution - 1)
                yield TEMPLATES["control"].format(where=_where(part, column), ratio=ratio, share=share)


def _where(part: Part, column: Column, stack: str = "") -> str:
    """Return what a sentence is of: the workload, the part, and the stack."""
    return join(", ", part.head(column), part.name, stack)


def _axis(part: Part) -> Iterator[str]:
    """Say between which ratios the lines of some columns lie along the axis of the study.

    ``study.over`` is the axis and its baseline: each ratio is that of a line to the same line at the baseline. A column
    without ratios, such as that of the baseline, is left out.
    """
    assert part.study.over is not None
    table = part.ratios.sort_values("estimate")
    able = [column for column in part.columns if len(part.at(table, [column]))]
    for column in evenly(able, MAX_FINDINGS):
        lines = records(part.at(table, [column]))
        yield TEMPLATES["axis"].format(
            where=_where(part, column),
            baseline=value_name(part.study.over[0], lines[0].baseline),
            words=part.study.figure.words,
            low=units.times(lines[0].estimate, 3),
            first=lines[0].line,
            high=units.times(lines[-1].estimate, 3),
            last=lines[-1].line,
            certain=sum(line.answer == "differs" for line in lines),
            number=len(lines),
        )


def _tiles(part: Part) -> Iterator[str]:
    """Count the columns in which lines tie, and say where the lead is the largest."""
    tiles = {column: tile for column, tile in part.tiles.items() if tile.best}
    decided = [column for column, tile in tiles.items() if tile.is_decided]
    if tiles:
        yield TEMPLATES["tie"].format(tied=len(tiles) - len(decided), number=len(tiles))
    if decided:
        column = max(decided, key=lambda column: tiles[column].ratio)
        lead = tiles[column]
        yield TEMPLATES["lead"].format(
            best=lead.best[0],
            ratio=units.times(lead.ratio),
            where=part.head(column),
        )


# Of medians


def _order(part: Part) -> Iterator[str]:
    """Compare the lines that held the most, in the figure that orders them; nothing if no trial has that figure."""
    order = part.study.order
    figure = part.study.figure
    lines = part.valid
    if order not in lines:
        return
    lines = lines[lines[order].notna()]
    lines = lines[lines["held_in_flight"] == lines["held_in_flight"].max()].drop_duplicates("line")
    shared = lines[lines["stack"] == "shared"]
    lines = (shared if len(shared) > 1 else lines).assign(estimate=lines[order])
    if lines.empty:
        return
    first = lines.iloc[0]
    where = join(", ", part.study.title, words.in_flight(int(first["held_in_flight"])), part.name, figure.words)
    if len(lines) == 1:
        yield TEMPLATES["alone"].format(
            where=where,
            best_value=figure.write(first[order], 2),
            best=first["line"],
        )
        return
    trials = part.lines[part.lines["valid"]].merge(lines[["line", *part.study.columns]])
    ranked = rank(part.study, trials.assign(value=trials[order], figure=order), lines)
    yield _compared(part, where, records(ranked))


def _rate_kept(part: Part) -> Iterator[str]:
    """Say which is the highest rate that was kept in every round, below the lowest one that was not."""
    known = part.valid.reindex(columns=["rate_per_s", "kept"]).dropna(subset="kept")
    lost = known[known["kept"] < 1]["rate_per_s"].min()
    rates = known[(known["kept"] == 1) & ~(known["rate_per_s"] >= lost)]["rate_per_s"]
    if len(known):
        highest = f"{rates.max():,.10g} requests/s" if len(rates) else "none of those offered"
        yield TEMPLATES["rate_kept"].format(where=join(", ", part.study.title, part.name), highest=highest)


def _reached(part: Part) -> Iterator[str]:
    """Say how much of each resource a process reached, and which limit binds."""
    for line in part.valid.reindex(columns=["line", "found", "bound_by", "stopped_by"]).to_dict("records"):
        if not pd.isna(line["found"]):
            kind = "bound_by" if isinstance(line["bound_by"], str) else "stopped_by"
            limit = words.plain(str(line[kind]), 70)
            yield TEMPLATES[kind].format(
                what=line["line"],
                found=units.count(round(line["found"])),
                limit=limit,
            )


# Of slopes


def _memory(part: Part) -> Iterator[str]:
    """Compare the dearest and the cheapest of what is idle, and of fetches in flight or else of parked workers."""
    slopes = part.figures
    able = slopes[(slopes["layer"] == FULL) & slopes["is_straight"] & (slopes["low"] > 0)]
    idle, parked, held, swarm = (able[able["group"] == group] for group in GROUPS)
    for subjects in (idle, held if len(held) else parked, swarm):
        pair = subjects[subjects["arm"].isin(PAIR)]
        shared = subjects[subjects["stack"] == "shared"]
        compared = shared if len(shared) > 1 else subjects
        compared = pair if len(pair) == len(PAIR) else compared
        if compared.empty:
            continue
        ordered = records(compared.sort_values("estimate"))
        cheap = ordered[0]
        dear = ordered[-1]
        kind = "memory_overlap"
        if cheap is dear:
            kind = "memory_alone"
        elif cheap.high < dear.low:
            kind = "memory"
        yield TEMPLATES[kind].format(
            what=UNITS[dear.group],
            most=units.size(dear.estimate, 2),
            dear=dear.line,
            least=units.size(cheap.estimate, 2),
            cheap=cheap.line,
            ratio=units.times(dear.estimate / cheap.estimate),
        )


FINDINGS = {
    "ends": _ends,
    "axis": _axis,
    "tiles": _tiles,
    "order": _order,
    "rate_kept": _rate_kept,
    "reached": _reached,
    "memory": _memory,
}
"""What yields the sentences of each kind."""
