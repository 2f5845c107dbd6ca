"""A comparison of two stored runs as a section and as JSON. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from inflight.bench.core import units
from inflight.bench.present import section as form
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.studies.stored.read import FAMILY, PASS_BELOW, REGRESSION_ABOVE, Compared, Comparison
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
_IN_JSON = (
    *("label", "base", "head", "gated", "verdict", "why"),
    *("base_rounds", "head_rounds", "base_red", "head_red", "sensitivity"),
)
"""What a cell's object in JSON has under the names that it has here."""
_LONELY = {"BASE": "Only in BASE", "HEAD": "Only in HEAD", "different": "Not compared: one name, but two workloads"}
_SHARES = [f"{math.expm1(end) * 100:.0f} %" for end in (REGRESSION_ABOVE, PASS_BELOW)]
UNPAIRED = (
    "The runs were stored, not run in turns: whatever else changed between them is in every figure. So a regression "
    f"must be more than {_SHARES[0]} for certain, and a pass less than {_SHARES[1]}; `inflight ab` runs both sides in "
    "turns, and decides finer."
)
WORSE = (
    "+ is worse: more CPU time, memory or time, or less throughput (+100 % is half of it). Figures are geometric "
    "means over the valid rounds."
)


def title(comparison: Comparison) -> str:
    """Return the verdict, with the worst regression or the reason."""
    worse = [one for one in comparison.compared if one.verdict == "regression"]
    if not worse:
        return f"{comparison.verdict.capitalize()}: {comparison.why}"
    worst = max(worse, key=lambda one: one.bound or 0.0)
    more = f", and {len(worse) - 1} more" if len(worse) > 1 else ""
    by = f"{change_text(worst).removeprefix('+')} ({interval_text(worst)})"
    return f"Regression: {NAMES[worst.key.metric]} of {name_of(worst)} is worse by {by}{more}"


def section(comparison: Comparison, *, with_reasons: bool = False) -> Section:
    """Return the finding, a table a metric, what was compared and how to read it."""
    sides = _side_line("BASE", comparison.base), _side_line("HEAD", comparison.head)
    tables = tuple(_tables(comparison, with_reasons=with_reasons))
    return Section(title(comparison), tables, (*sides, *_notes(comparison)))


def text(comparison: Comparison, width: int = WIDTH) -> str:
    """Return the whole comparison for a terminal."""
    return form.text(section(comparison), width).plain


def markdown(comparison: Comparison) -> str:
    """Return the whole comparison as Markdown, with the reason for each verdict."""
    return f"# Comparison of stored runs\n\n{form.markdown(section(comparison, with_reasons=True))}\n"


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the whole comparison as JSON's types.

    ``ratio`` is HEAD / BASE of the figure itself; ``worse`` is the factor by which it became worse (of a throughput its
    inverse), with the ends of its 95 % interval, and ``at_least``, the end that decides on a regression.
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


def _tables(comparison: Comparison, *, with_reasons: bool) -> Iterator[Table]:
    """Yield a table for each metric, the cells that are gated first."""
    heads = (*HEADS, "reason") if with_reasons else HEADS
    for metric in METRICS:
        found = [one for one in comparison.compared if one.key.metric == metric]
        lines = ((*_line(one), one.why or "-") if with_reasons else _line(one) for one in found)
        if found:
            yield Table(_headed(metric) + (", pages/s" if metric == THROUGHPUT else ""), heads, tuple(lines))


def _line(one: Compared) -> tuple[str, ...]:
    verdict = "not gated" if not one.gated else one.verdict.upper() if one.verdict == "regression" else one.verdict
    figures = (_value_text(value, one.key.metric) for value in (one.base, one.head))
    return (name_of(one), *figures, change_text(one), interval_text(one), verdict)


def name_of(one: Compared) -> str:
    """Name a cell, harmlessly: strategy and workload, or benchmark."""
    subject = words.plain(one.key.subject, MOST_LETTERS)
    return f"{subject}, {words.plain(one.label, MOST_LETTERS)}" if one.label else subject


def change_text(one: Compared) -> str:
    """Write by how much a figure is worse; a dash where that is not known."""
    return "-" if one.change is None else units.change(one.change)


def interval_text(one: Compared) -> str:
    """Write the interval of 95 %; a dash where there is none."""
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
    """Yield how to read the tables, what they cannot show, and what is not in them."""
    yield WORSE
    yield UNPAIRED
    if comparison.unlike:
        yield (
            f"The machines differ ({_differing(comparison.unlike)}): no verdict on times; memory is judged only where "
            "system, libc and Python are the same."
        )
    if comparison.software:
        yield f"Also different, and perhaps what is compared: {_differing(comparison.software)}."
    yield control_told(comparison)
    for metric in METRICS:
        noise = [f"{one.of} {math.sqrt(one.variance) * 100:.2g} %" for one in comparison.noise if one.metric == metric]
        if noise:
            yield f"{_headed(metric)}: SD between the rounds of a cell {', '.join(noise)}."
    gated = [one for one in comparison.compared if one.gated and one.bound is not None]
    if gated:
        yield (
            f"{units.count(round(FAMILY / comparison.level))} figures are gated; each regression must be certain at "
            f"{comparison.level * 100:.2g} % (together {FAMILY * 100:g} %, one-sided). Intervals are of 95 %."
        )
    hidden = [one.sensitivity for one in comparison.compared if not one.gated and one.sensitivity is not None]
    if hidden:
        yield (
            f"{units.count(len(hidden))} throughputs are not gated: waiting hides slowdowns, of which they show less "
            f"than half (the least {min(hidden):.1g}). CPU per page does not hide them."
        )
    yield from _missing(comparison)
    if comparison.shared_trials:
        yield f"{units.count(comparison.shared_trials)} trials are in both runs: such cells cannot pass."


def control_told(comparison: Comparison) -> str:
    """Say what the null client, which is part of no strategy, shows of the machine."""
    control = comparison.control
    if control is None:
        return (
            "There is no negative control (a null client's throughput on both sides): a machine that became slower "
            "would look like a regression."
        )
    rates = f"{units.number(control.base_per_s)} and {units.number(control.head_per_s)} responses/s"
    found = "moved: no verdict on times" if control.moved else "quiet"
    return f"Negative control {found}. The null client was {control.told} in HEAD: {rates}."


def _missing(comparison: Comparison) -> Iterator[str]:
    """Yield which cells have no interval, by reason, and which one side has alone."""
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
            yield f"Not compared in {name}: {_trials(run.left_out)} of building blocks, probes or limits."


def _side_line(name: str, side: Side) -> str:
    parts = [_trials(side.trials)]
    parts += [f"{side.red} red, part of no figure"] if side.red else []
    parts += [f"{side.skipped} skipped"] if side.skipped else []
    return f"{name}: {words.plain(side.name, 120)} ({', '.join(parts)})"


def _trials(number: int) -> str:
    return f"{units.count(number)} {'trial' if number == 1 else 'trials'}"


def _differing(found: Sequence[Any]) -> str:
    return _some([f"{one.name} {words.plain(one.base, 60)} / {words.plain(one.head, 60)}" for one in found])


def _some(names: Sequence[str]) -> str:
    """List names; those beyond the most are counted."""
    different = list(dict.fromkeys(names))
    rest = len(different) - MOST_LISTED
    shown = [words.plain(name, 130) for name in different[:MOST_LISTED]]
    return "; ".join([*shown, *([f"{units.count(rest)} more"] if rest > 0 else [])])


def _side_json(side: Side) -> dict[str, Any]:
    names = ("name", "trials", "red", "skipped", "left_out", "ceiling_per_s")
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
    """Return the factor that a logarithm stands for; None where it is beyond all numbers."""
    return None if change is None or not -700 < change < 700 else math.exp(change)
