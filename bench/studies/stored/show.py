"""A comparison of two stored runs as text, as Markdown and as JSON. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from bench.core import units
from bench.present import text_grid, words
from bench.present.markdown import escaped
from bench.present.section import table_markdown
from bench.present.table import Table
from bench.studies.stored.read import ALL, FAMILY, PASS_BELOW, REGRESSION_ABOVE, Change, Compared, Comparison, Noise
from bench.studies.stored.side import CPU, MEMORY, METRICS, THROUGHPUT, WALL, Side

WIDTH = 100
FORMAT = 1
MOST_LISTED = 8
"""So many strategies, differences or lonely cells are named in a sentence; the rest are counted."""
MOST_LETTERS = 110
NAMES = {
    CPU: "CPU per page",
    THROUGHPUT: "throughput",
    MEMORY: "user memory per fetch in flight",
    WALL: "time of an iteration",
}
_HEADS = ("BASE", "HEAD", "worse by", "95 % interval", "verdict")
_VERDICTS = {"regression": "REGRESSION", "pass": "pass", "inconclusive": "inconclusive"}
UNPAIRED = (
    "The runs were stored, not run in turns: whatever else changed between them is in every figure. So a regression "
    f"must be more than {math.expm1(REGRESSION_ABOVE) * 100:.0f} % for certain, and a pass less than "
    f"{math.expm1(PASS_BELOW) * 100:.0f} %; `inflight ab` runs both sides in turns, and decides finer."
)
WORSE = (
    "+ is worse: more CPU time, memory or time, or less throughput (+100 % is half of it). Figures are geometric "
    "means over the valid rounds."
)


def headline(comparison: Comparison) -> str:
    """Return the finding in one sentence."""
    found = [one for one in comparison.compared if one.verdict == "regression"]
    if comparison.verdict == "regression":
        worst = max(found, key=lambda one: one.change.bound if one.change and one.change.bound is not None else 0.0)
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        return f"Regression: {_what(worst)} of {name_of(worst)} is worse by {change_text(worst.change)}{more}"
    return f"{comparison.verdict.capitalize()}: {comparison.why}"


def text(comparison: Comparison, width: int = WIDTH) -> str:
    """Return the whole comparison for a terminal: the finding, a table a metric, sentences; ends with a line end."""
    lines = [text_grid.wrapped(headline(comparison), width)]
    lines += [text_grid.wrapped(line, width) for line in _sides(comparison)]
    for title, found in by_metric(comparison):
        names = [words.plain(name_of(one), 60) for one in found]
        cells = tuple((name, *figures(one)) for name, one in zip(names, found, strict=True))
        lines += ["", title, *text_grid.lines_of(Table(title, ("", *_HEADS), cells), width)]
    lines += ["", *(text_grid.wrapped(note, width) for note in notes(comparison))]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def markdown(comparison: Comparison) -> str:
    """Return the whole comparison as Markdown, as for the summary of a continuous-integration job."""
    lines = ["# Comparison of stored runs", "", f"**{escaped(headline(comparison))}**", ""]
    lines += [f"- {escaped(line)}" for line in _sides(comparison)]
    for title, found in by_metric(comparison):
        cells = tuple((name_of(one), *figures(one), one.why or "-") for one in found)
        lines += ["", f"## {title}", "", table_markdown(Table("", ("cell", *_HEADS, "reason"), cells))]
    lines += ["", *(f"- {escaped(note)}" for note in notes(comparison))]
    return "\n".join(lines) + "\n"


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the whole comparison as JSON's types.

    ``ratio`` is HEAD / BASE of the figure itself; ``worse`` is the factor by which it became worse (of a throughput its
    inverse), with the ends of its 95 % interval, and ``at_least``, the end that decides on a regression.
    """
    return {
        "format": FORMAT,
        "verdict": comparison.verdict,
        "why": comparison.why,
        "headline": headline(comparison),
        "paired": False,
        "base": _side_json(comparison.base),
        "head": _side_json(comparison.head),
        "unlike": [asdict(one) for one in comparison.unlike],
        "software": [asdict(one) for one in comparison.software],
        "control": None
        if comparison.control is None
        else asdict(comparison.control) | {"moved": comparison.control.moved},
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
        "notes": notes(comparison),
    }


def by_metric(comparison: Comparison) -> Iterator[tuple[str, list[Compared]]]:
    """Return what was compared, in tables: a title and its lines, those that are gated first."""
    for metric in METRICS:
        found = [one for one in comparison.compared if one.key.metric == metric]
        if found:
            unit = ", pages/s" if metric == THROUGHPUT else ""
            yield NAMES[metric].capitalize().replace("Cpu", "CPU") + unit, found


def name_of(one: Compared) -> str:
    """Name a cell, harmlessly: strategy and workload, or benchmark."""
    subject = words.plain(one.key.subject, MOST_LETTERS)
    return f"{subject}, {words.plain(one.label, MOST_LETTERS)}" if one.label else subject


def figures(one: Compared) -> tuple[str, str, str, str, str]:
    """Return the entries of a line: both figures, the change, its interval, and the verdict."""
    change = one.change
    verdict = _VERDICTS[one.verdict] if one.gated else "not gated"
    return (
        value_text(one.base, one.key.metric),
        value_text(one.head, one.key.metric),
        percent(change.estimate) if change else "-",
        interval_text(change) if change else "-",
        verdict,
    )


def value_text(value: float | None, metric: str) -> str:
    """Write a figure in its unit; a dash for none."""
    if value is None:
        return "-"
    if metric == CPU:
        return units.duration(value)
    if metric == WALL:
        return units.duration(value * 1e9)
    return units.size(value) if metric == MEMORY else units.number(value)


def percent(change: float) -> str:
    """Write a logarithm of a ratio as a percentage with its sign; as a factor where it is more than tenfold."""
    if change > math.log(10):
        return units.times(math.exp(min(change, 700.0)))
    share = math.expm1(change) * 100
    told = f"{share:+.1f}" if abs(share) < 9.95 else f"{share:+.0f}"
    return f"{'0' if float(told) == 0 else told} %"


def interval_text(change: Change) -> str:
    """Write the interval of 95 %; a dash where there is none."""
    if change.low is None or change.high is None:
        return "-"
    return f"{percent(change.low).removesuffix(' %')} to {percent(change.high)}"


def change_text(change: Change | None) -> str:
    """Write a change with its interval, as in a sentence."""
    if change is None:
        return "-"
    return f"{percent(change.estimate).removeprefix('+')} ({interval_text(change)})"


def notes(comparison: Comparison) -> list[str]:
    """Return the sentences below the tables: how to read them, what they cannot tell, what is not in them."""
    return [note for note in _notes(comparison) if note]


def _notes(comparison: Comparison) -> Iterator[str]:
    yield WORSE
    yield UNPAIRED
    yield from _about_machines(comparison)
    yield _about_control(comparison)
    yield from _about_noise(comparison.noise)
    yield _about_level(comparison)
    yield _about_gates(comparison.compared)
    yield from _about_broken(comparison)
    yield from _about_lonely(comparison)
    if comparison.shared_trials:
        yield (
            f"{_trials(comparison.shared_trials)} in both runs, and so compared with "
            f"{'itself' if comparison.shared_trials == 1 else 'themselves'}: such cells cannot pass."
        )


def _about_machines(comparison: Comparison) -> Iterator[str]:
    if comparison.unlike:
        yield (
            f"The machines differ ({_differing(comparison.unlike)}): what that does is in every ratio of times, so no "
            "verdict is given on times; memory is judged only where system, libc and Python are the same."
        )
    if comparison.software:
        yield f"Also different, and perhaps what is compared: {_differing(comparison.software)}."


def _about_control(comparison: Comparison) -> str:
    control = comparison.control
    if control is None:
        return (
            "There is no negative control (a null client's throughput on both sides): a machine that became slower "
            "would look like a regression."
        )
    rates = f"{units.number(control.base_per_s)} and {units.number(control.head_per_s)} responses/s"
    if not control.moved:
        return f"Negative control quiet: a null client got {rates}."
    word = "slower" if control.slower > 0 else "faster"
    by = abs(math.expm1(-control.slower)) * 100
    return (
        f"The machine itself was {by:.0f} % {word} in HEAD: a null client, which no strategy is part of, got {rates}. "
        "No verdict is given on times."
    )


def _about_noise(noise: Sequence[Noise]) -> Iterator[str]:
    for metric in METRICS:
        own = [f"{one.of} {math.sqrt(one.variance) * 100:.2g} %" for one in noise if one.metric == metric]
        if own:
            yield (
                f"{NAMES[metric].capitalize().replace('Cpu', 'CPU')}: rounds of a cell differ by (SD) "
                f"{' and '.join(own)}, estimated from all cells of a run together; a cell that varies more has its own "
                "estimate, and a wide interval."
            )


def _about_level(comparison: Comparison) -> str:
    tests = round(FAMILY / comparison.level)
    if not any(one.change and one.change.bound is not None and one.gated for one in comparison.compared):
        return ""
    return (
        f"{units.count(tests)} {'figure is' if tests == 1 else 'figures are'} gated, so each regression must be "
        f"certain at {comparison.level * 100:.2g} % (together {FAMILY * 100:g} %, one-sided); the intervals shown "
        "are of 95 %."
    )


def _about_gates(compared: Sequence[Compared]) -> str:
    hidden = [one for one in compared if one.key.metric == THROUGHPUT and not one.gated and one.sensitivity is not None]
    if not hidden:
        return ""
    least = min(one.sensitivity for one in hidden if one.sensitivity is not None)
    return (
        f"{units.count(len(hidden))} throughputs are not gated, because waiting hides slowdowns: of one they show "
        f"less than half (the least {least:.1g} of it). CPU per page does not hide it."
    )


def _about_broken(comparison: Comparison) -> Iterator[str]:
    """Say which cells have no figure, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in comparison.compared:
        if one.change is None or one.change.low is None:
            kind = "" if one.gated else " (on no side, so not gated)" if one.change is None else " (not gated)"
            name = f"{NAMES[one.key.metric]} of {name_of(one)}"
            reasons.setdefault(f"{one.why}{kind}", []).append(name)
    for why, names in reasons.items():
        yield f"Undecided, {why}: {_some(names)}."


def _about_lonely(comparison: Comparison) -> Iterator[str]:
    told = {
        "BASE": "Only in BASE",
        "HEAD": "Only in HEAD",
        "different": "Not compared, because their workloads differ although they have one name",
    }
    for side, sentence in told.items():
        own = [one for one in comparison.one_sided if one.side == side]
        names = list(dict.fromkeys(f"{one.key.subject}, {one.label}".removesuffix(", ") for one in own))
        if names:
            yield f"{sentence}: {_some(names)}."
    for name, side_ in (("BASE", comparison.base), ("HEAD", comparison.head)):
        if side_.left_out:
            yield (
                f"{name} has {_trials(side_.left_out, verb=False)} of building blocks, probes or limits, "
                "which are not compared."
            )


def _sides(comparison: Comparison) -> list[str]:
    return [_side_line("BASE", comparison.base), _side_line("HEAD", comparison.head)]


def _side_line(name: str, side: Side) -> str:
    parts = [_trials(side.trials, verb=False)]
    if side.red:
        parts.append(f"{side.red} red, part of no figure")
    if side.skipped:
        parts.append(f"{side.skipped} skipped")
    return f"{name}: {words.plain(side.name, 120)} ({', '.join(parts)})"


def _trials(number: int, *, verb: bool = True) -> str:
    be = (" is" if number == 1 else " are") if verb else ""
    return f"{units.count(number)} {'trial' if number == 1 else 'trials'}{be}"


def _what(one: Compared) -> str:
    return NAMES[one.key.metric]


def _differing(found: Sequence[Any]) -> str:
    return _some([f"{one.name} {words.plain(one.base, 60)} / {words.plain(one.head, 60)}" for one in found])


def _some(names: Sequence[str]) -> str:
    """List names; those beyond the most are counted."""
    shown = [words.plain(name, 130) for name in names[:MOST_LISTED]]
    rest = len(names) - len(shown)
    return "; ".join([*shown, *([f"{units.count(rest)} more"] if rest else [])])


def _side_json(side: Side) -> dict[str, Any]:
    return {
        "name": side.name,
        "trials": side.trials,
        "red": side.red,
        "skipped": side.skipped,
        "left_out": side.left_out,
        "ceiling_per_s": side.ceiling_per_s,
        "hardware": dict(side.facts.hardware),
    }


def _cell_json(one: Compared) -> dict[str, Any]:
    change = one.change
    ratio = None if one.base is None or one.head is None else one.head / one.base
    return {
        "strategy": one.key.subject,
        "workload": one.key.workload,
        "metric": one.key.metric,
        "label": one.label,
        "mean_of_cells": one.key.workload == ALL,
        "base": one.base,
        "head": one.head,
        "ratio": ratio,
        "worse": None if change is None else math.exp(change.estimate),
        "low": _factor(change.low if change else None),
        "high": _factor(change.high if change else None),
        "at_least": _factor(change.bound if change else None),
        "gated": one.gated,
        "verdict": one.verdict,
        "why": one.why,
        "base_rounds": one.base_rounds,
        "head_rounds": one.head_rounds,
        "base_red": one.base_red,
        "head_red": one.head_red,
        "sensitivity": one.sensitivity,
        "shared_trials": one.shared,
    }


def _factor(change: float | None) -> float | None:
    """Return the factor that a logarithm stands for; None where it is beyond all numbers."""
    return None if change is None or not -700 < change < 700 else math.exp(change)
