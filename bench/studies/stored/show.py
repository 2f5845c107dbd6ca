"""The comparison of two stored runs as text, Markdown and JSON. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from inflight.bench.core import units
from inflight.bench.present import section as form
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.studies.stored.read import FAMILY, PASS_BELOW, REGRESSION_ABOVE, Compared, Comparison, State, share
from inflight.bench.studies.stored.side import CPU, MEMORY, METRICS, THROUGHPUT, WALL, Side

WIDTH = 100
FORMAT = 1
MOST_LISTED = 8
"""Maximum number of cells or differences named in a sentence; the rest are counted."""
MOST_LETTERS = 60
NAMES = {
    CPU: "CPU per page",
    THROUGHPUT: "throughput",
    MEMORY: "user memory per fetch in flight",
    WALL: "time of an iteration",
}
HEADS = ("", "BASE", "HEAD", "worse by", "95 % interval", "verdict")
COUNTED: tuple[State, ...] = ("tied", "undecided", "not gated")
"""The states that a terminal counts instead of listing their figures."""
_IN_JSON = (
    *("label", "base", "head", "gated", "verdict", "why"),
    *("base_rounds", "head_rounds", "base_invalid", "head_invalid", "sensitivity"),
)
"""Attributes that have the same name in JSON."""
_LONELY = {
    "BASE": "Only in BASE",
    "HEAD": "Only in HEAD",
    "different": "Not compared, because the name stands for different workloads",
}
UNPAIRED = (
    "The runs are not paired: every figure includes whatever else changed between them. To allow for that, a "
    f"regression is certainly more than {share(REGRESSION_ABOVE)} worse, and a pass certainly less than "
    f"{share(PASS_BELOW)}. `inflight ab` runs both sides in turns and detects smaller changes."
)
WORSE = (
    "+ is worse: more CPU time, memory or time, or less throughput (+100 %: half of it). Figures are geometric means "
    "over the valid rounds."
)


def title(comparison: Comparison) -> str:
    """Return the verdict with its reason, or with the worst regression."""
    worse = [one for one in comparison.compared if one.verdict == "regression"]
    if not worse:
        return f"{comparison.verdict.capitalize()}: {comparison.why}"
    worst = max(worse, key=lambda one: one.bound or 0.0)
    more = f", and {len(worse) - 1} more" if len(worse) > 1 else ""
    by = f"{change_text(worst).removeprefix('+')} ({interval_text(worst)})"
    return f"Regression: {NAMES[worst.key.metric]} of {name_of(worst)} is worse by {by}{more}"


def text(comparison: Comparison, width: int = WIDTH, *, every: bool = False) -> str:
    """Return the comparison for a terminal: what got worse or better, and counts of the rest; or every figure."""
    tables = _tables(comparison.compared) if every else _changes(comparison)
    return form.text(_section(comparison, tables), width).plain


def markdown(comparison: Comparison) -> str:
    """Return the whole comparison as Markdown, with the reason for each verdict."""
    told = form.markdown(_section(comparison, _tables(comparison.compared, with_reasons=True)))
    return f"# Comparison of stored runs\n\n{told}\n"


def _section(comparison: Comparison, tables: Iterable[Table]) -> Section:
    sides = _side_line("BASE", comparison.base), _side_line("HEAD", comparison.head)
    return Section(title(comparison), tuple(tables), (*sides, *_notes(comparison)))


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the whole comparison as values for JSON.

    ``ratio`` is HEAD / BASE of the figure itself. ``worse`` is the factor by which it became worse (the inverse of the
    ratio for a throughput), ``low`` and ``high`` are the ends of its 95 % interval, and ``at_least`` is the bound that
    decides on a regression.
    """
    control = comparison.control
    return {
        "format": FORMAT,
        "verdict": comparison.verdict,
        "why": comparison.why,
        "headline": title(comparison),
        "paired": False,
        "base": _side_json(comparison.base),
        "head": _side_json(comparison.head),
        "unlike": [asdict(one) for one in comparison.unlike],
        "software": [asdict(one) for one in comparison.software],
        "control": None if control is None else asdict(control) | {"moved": control.moved},
        "rule": {
            "regression_above": math.exp(REGRESSION_ABOVE),
            "pass_below": math.exp(PASS_BELOW),
            "family_level": FAMILY,
            "level_each": comparison.level,
        },
        "noise": [asdict(one) | {"relative_sd": math.sqrt(one.variance)} for one in comparison.noise],
        "shared_trials": comparison.shared_trials,
        "cells": [_cell_json(one) for one in comparison.compared],
        "one_sided": [asdict(one.key) | {"label": one.label, "side": one.side} for one in comparison.one_sided],
        "notes": list(_notes(comparison)),
    }


def _tables(found: Sequence[Compared], *, with_reasons: bool = False) -> Iterator[Table]:
    """Yield a table for each metric."""
    heads = (*HEADS, "reason") if with_reasons else HEADS
    for metric in METRICS:
        own = [one for one in found if one.key.metric == metric]
        lines = ((*_line(one), one.why or "-") if with_reasons else _line(one) for one in own)
        if own:
            yield Table(_headed(metric) + (", pages/s" if metric == THROUGHPUT else ""), heads, tuple(lines))


def _changes(comparison: Comparison) -> Iterator[Table]:
    """Yield what got worse, what got better, and a line for each metric that counts the other figures."""
    rest = comparison.compared
    for state, heading in (("worse", "Worse"), ("better", "Better")):
        for table in _tables([one for one in rest if one.state == state]):
            yield replace(table, title=f"{heading}: {table.title}")
    others = [one for one in rest if one.state in COUNTED]
    heads = "", *COUNTED
    if others:
        yield Table("Other figures (--all lists them)", heads, tuple(_counts(others)), _reasons(others), heads)


def _counts(found: Sequence[Compared]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each metric: how many of its figures are tied, undecided and not gated."""
    for metric in METRICS:
        states = Counter(one.state for one in found if one.key.metric == metric)
        if states:
            yield (_headed(metric), *(units.count(states[state]) for state in COUNTED))


def _reasons(found: Sequence[Compared]) -> tuple[str, ...]:
    """Return why figures are undecided, the most frequent reason first; nothing if none is."""
    reasons = Counter(one.why for one in found if one.state == "undecided")
    told = [f"{words.plain(why, 80)} ({units.count(number)})" for why, number in reasons.most_common()]
    return (f"Undecided: {_some(told)}.",) if told else ()


def _line(one: Compared) -> tuple[str, ...]:
    verdict = "not gated" if not one.gated else one.verdict.upper() if one.verdict == "regression" else one.verdict
    figures = (_value_text(value, one.key.metric) for value in (one.base, one.head))
    return (name_of(one), *figures, change_text(one), interval_text(one), verdict)


def name_of(one: Compared) -> str:
    """Return the printable name of a cell: strategy and workload, or benchmark."""
    subject = words.plain(one.key.subject, MOST_LETTERS)
    return f"{subject}, {words.plain(one.label, MOST_LETTERS)}" if one.label else subject


def change_text(one: Compared) -> str:
    """Write by how much a figure is worse; a dash if that is unknown."""
    return "-" if one.change is None else units.change(one.change)


def interval_text(one: Compared) -> str:
    """Write the 95 % interval; a dash if there is none."""
    return "-" if one.low is None or one.high is None else units.change_between(one.low, one.high)


def _value_text(value: float | None, metric: str) -> str:
    """Write a figure in its unit; a dash for none."""
    if value is None:
        return "-"
    if metric == CPU:
        return units.duration(value)
    if metric == WALL:
        return units.duration(value * 1e9)
    return units.size(value) if metric == MEMORY else units.number(value)


def _headed(metric: str) -> str:
    return NAMES[metric][0].upper() + NAMES[metric][1:]


def _notes(comparison: Comparison) -> Iterator[str]:
    """Yield sentences on how to read the tables, what they cannot show, and what is missing from them."""
    yield WORSE
    yield UNPAIRED
    if comparison.unlike:
        yield (
            f"The machines differ ({_differing(comparison.unlike)}): no verdict on times; memory is judged only where "
            "system, libc and Python are the same."
        )
    if comparison.software:
        yield f"Also different, and perhaps the change under test: {_differing(comparison.software)}."
    yield control_told(comparison)
    for metric in METRICS:
        noise = [f"{one.of} {math.sqrt(one.variance) * 100:.2g} %" for one in comparison.noise if one.metric == metric]
        if noise:
            yield f"{_headed(metric)}: standard deviation between the rounds of a cell: {', '.join(noise)}."
    gated = [one for one in comparison.compared if one.gated and one.bound is not None]
    if gated:
        yield (
            f"Number of gated figures: {units.count(round(FAMILY / comparison.level))}. Each is tested for a "
            f"regression at {comparison.level * 100:.2g} % (one-sided; {FAMILY * 100:g} % in total)."
        )
    hidden = [one.sensitivity for one in comparison.compared if not one.gated and one.sensitivity is not None]
    if hidden:
        yield (
            f"Throughputs that are not gated: {units.count(len(hidden))}. They are bound by waiting, and show less "
            f"than half of a slowdown (at least {min(hidden):.1g} of it); CPU per page shows all of it."
        )
    yield from _missing(comparison)
    if comparison.shared_trials:
        number = units.count(comparison.shared_trials)
        yield f"Trials that are in both runs: {number}. Cells with such trials cannot pass."


def control_told(comparison: Comparison) -> str:
    """Say whether the machine changed, by the null client, which is not part of any strategy."""
    control = comparison.control
    if control is None:
        return (
            "There is no negative control (throughput of a null client on both sides), so a slower machine would look "
            "like a regression."
        )
    rates = f"{units.number(control.base_per_s)} and {units.number(control.head_per_s)} responses/s"
    found = "moved, so there is no verdict on times" if control.moved else "did not move"
    return f"The negative control {found}. The null client was {control.told} in HEAD: {rates}."


def _missing(comparison: Comparison) -> Iterator[str]:
    """Yield the cells without an interval, by reason, and those that only one side has."""
    reasons: dict[str, list[str]] = {}
    for one in comparison.compared:
        if one.low is None:
            why = one.why if one.gated else f"{one.why} (not gated)"
            reasons.setdefault(why, []).append(f"{NAMES[one.key.metric]} of {name_of(one)}")
    for why, names in reasons.items():
        yield f"Undecided, {why}: {_some(names)}."
    for side, told in _LONELY.items():
        own = [one for one in comparison.one_sided if one.side == side]
        if own:
            yield f"{told}: {_some([f'{one.key.subject}, {one.label}'.removesuffix(', ') for one in own])}."
    for name, run in (("BASE", comparison.base), ("HEAD", comparison.head)):
        if run.left_out:
            trials = words.counted(run.left_out, "trial")
            yield f"Not compared in {name}: {trials} of idle threads and tasks, probes or limits."


def _side_line(name: str, side: Side) -> str:
    parts = [words.counted(side.trials, "trial")]
    parts += [f"{side.invalid} invalid and excluded"] if side.invalid else []
    parts += [f"{side.skipped} skipped"] if side.skipped else []
    return f"{name}: {words.plain(side.name, 120)} ({', '.join(parts)})"


def _differing(found: Sequence[Any]) -> str:
    return _some([f"{one.name} {words.plain(one.base, 60)} / {words.plain(one.head, 60)}" for one in found])


def _some(names: Sequence[str]) -> str:
    """List names; count those beyond ``MOST_LISTED``."""
    return "; ".join(words.first([words.plain(name, 130) for name in dict.fromkeys(names)], MOST_LISTED))


def _side_json(side: Side) -> dict[str, Any]:
    names = ("name", "trials", "invalid", "skipped", "left_out", "ceiling_per_s")
    return {name: getattr(side, name) for name in names} | {"hardware": dict(side.hardware)}


def _cell_json(one: Compared) -> dict[str, Any]:
    factors = {"worse": one.change, "low": one.low, "high": one.high, "at_least": one.bound}
    return {
        "strategy": one.key.subject,
        "workload": one.key.workload,
        "metric": one.key.metric,
        "mean_of_cells": one.is_mean,
        "ratio": None if one.base is None or one.head is None else one.head / one.base,
        "shared_trials": one.shared,
        **{name: _factor(change) for name, change in factors.items()},
        **{name: getattr(one, name) for name in _IN_JSON},
    }


def _factor(change: float | None) -> float | None:
    """Return the factor that a logarithm stands for; None if it is too large for a float."""
    return None if change is None or not -700 < change < 700 else math.exp(change)
