"""Advice as text and as JSON. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.core import units
from bench.core.stats import Interval
from bench.present import text_grid, words
from bench.present.table import Table
from bench.studies.advice.read import MOST_OFF, Advice, Expected, Verified, holds, worst_off

FORMAT = 2
WIDTH = 100
MOST_NAMED = 8
BEYOND_KNEE = 1.5
"""More in flight than so many times the knee do not help."""
_HEADS = ("strategy", "pages/s", "95 % interval", "limited by", "knee", "CPU per page", "core", "memory")
EXPECTED = (
    "Expected of a long crawl with a core to itself: min(N / (L + c + w), 1 / (c + w)), with N in flight, added "
    "latency L, CPU work w, and CPU time c per page. Near the knee real figures are lower. --verify measures this."
)


@dataclass(frozen=True, slots=True)
class Basis:
    """What the advice goes by."""

    run: str
    in_flight: int
    """How many were in flight when the CPU time per page was measured."""
    differs: tuple[str, ...] = ()
    """What of the run's machine is not as it is here, in words; the machine is another one then."""
    memory_run: str | None = None
    placebo: str | None = None
    """By how much the run's reference differs from itself, as a sentence."""


def text(advice: Advice, basis: Basis, width: int = WIDTH) -> str:
    """Return the advice for a terminal: what to choose and why, the table, what it rests on; ends with a line end."""
    lines = [text_grid.wrapped(line, width) for line in (headline(advice), *_reasons(advice))]
    if advice.expected:
        cells = tuple(_cells(one) for one in advice.expected)
        lines += ["", *text_grid.lines_of(Table("", _HEADS, cells), width)]
    lines += ["", *(text_grid.wrapped(note, width) for note in notes(advice, basis))]
    lines += sources(basis)  # paths are for copying: not broken into lines
    return "\n".join(line.rstrip() for line in lines) + "\n"


def headline(advice: Advice) -> str:
    """Return the advice in one sentence."""
    if advice.advised is None:
        return f"No confident recommendation for {_wanted(advice)}"
    return f"Take {words.plain(advice.advised, 30)} for {_wanted(advice)}"


def notes(advice: Advice, basis: Basis) -> list[str]:
    """Return what the figures are, and what they rest on."""
    told = [EXPECTED]
    if basis.in_flight != advice.wanted.in_flight:
        told.append(f"The CPU time per page is that with {units.count(basis.in_flight)} in flight.")
    left_out = list(advice.left_out.items())[:MOST_NAMED]
    told += [f"{words.plain(name, 30)}: left out, {words.plain(why)}." for name, why in left_out]
    if basis.differs:
        told.append(f"The figures are of another machine: {words.plain('; '.join(basis.differs), 400)}.")
    return [*told, basis.placebo] if basis.placebo else told


def sources(basis: Basis) -> list[str]:
    """Return which runs the figures are from, one per line."""
    memory = basis.memory_run or "not measured on this machine; `inflight run memory` measures it"
    return [f"From:   {words.plain(basis.run, 400)}", f"Memory: {words.plain(memory, 400)}"]


def verified_text(found: Sequence[Verified], folder: str, width: int = WIDTH) -> str:
    """Say how far off the advice was; ends with a line end."""
    lines = [*map(_compared, found), _verdict(found)]
    return "\n".join([*(text_grid.wrapped(line, width) for line in lines), f"Rows:   {words.plain(folder, 400)}\n"])


def _compared(one: Verified) -> str:
    name = words.plain(one.strategy, 30)
    if one.measured is None or one.off is None:
        return f"{name}: no valid block"
    measured = f"measured {units.number(one.measured.estimate)} ({_ends(one.measured)})"
    direction = "more" if one.off > 0 else "less"
    return f"{name}: expected {units.number(one.expected_per_s)} pages/s, {measured}, {_percent(one.off)} {direction}"


def _verdict(found: Sequence[Verified]) -> str:
    off = worst_off(found)
    if off is None:
        return "The advice could not be verified."
    if faster := [one.strategy for one in found[1:] if one.beats == "differs"]:
        return f"The choice was wrong: {_named(faster)} is faster."
    if not holds(found):
        return f"The advice was wrong by {_percent(off)}: more than {MOST_OFF * 100:.0f} %."
    return f"The advice holds: at most {_percent(off)} off."


def to_json(
    advice: Advice, basis: Basis, verified: Sequence[Verified] | None = None, folder: str | None = None
) -> dict[str, Any]:
    """Return all of it as JSON's types; docs/decisions.md says what the keys mean."""
    return {
        "format": FORMAT,
        "latency_ns": round(advice.wanted.latency_ns),
        "cpu_ns": round(advice.wanted.work_ns),
        "in_flight": advice.wanted.in_flight,
        "advised": advice.advised,
        "why": advice.why,
        "alike": list(advice.alike),
        "models": [_model(one, advice) for one in advice.expected],
        "left_out": dict(advice.left_out),
        "run": basis.run,
        "run_in_flight": basis.in_flight,
        "machine_differs": list(basis.differs),
        "memory_run": basis.memory_run,
        "verified": None
        if verified is None
        else {
            "folder": folder,
            "off": worst_off(verified),
            "holds": holds(verified),
            "models": [
                {
                    "strategy": one.strategy,
                    "expected_pages_per_s": one.expected_per_s,
                    "measured_pages_per_s": None if one.measured is None else _interval(one.measured),
                    "off": one.off,
                }
                for one in verified
            ],
        },
    }


def _model(one: Expected, advice: Advice) -> dict[str, Any]:
    slope = one.memory
    return {
        "strategy": one.strategy,
        "against_fastest": advice.answers.get(one.strategy),
        "pages_per_s": _interval(one.per_s),
        "limit": one.limit,
        "knee": one.knee,
        "cpu_per_page_ns": _interval(one.cpu),
        "core_share": one.core_share,
        "memory_bytes": one.memory_bytes,
        "memory_bytes_per_fetch": None if slope is None else [slope.per_fetch, slope.low, slope.high],
    }


def _interval(found: Interval) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in (found.estimate, found.low, found.high)]


def _reasons(advice: Advice) -> list[str]:
    told = [f"{words.plain(advice.why[0].upper() + advice.why[1:], 300)}."]
    chosen = next((one for one in advice.expected if one.strategy == advice.advised), None)
    if chosen is not None and len(advice.alike) > 1:
        told.append(f"Equally fast: {_named(advice.alike)}.")
    if chosen is not None and advice.wanted.in_flight > BEYOND_KNEE * chosen.knee:
        told.append(f"Its core is full from about {units.number(chosen.knee, 2)} in flight on: more do not help.")
    return told


def _named(names: Sequence[str]) -> str:
    """Return a list of names, the last of many counted."""
    shown = [words.plain(name, 30) for name in names]
    if len(shown) > MOST_NAMED:
        shown = [*shown[: MOST_NAMED - 1], f"{len(shown) - MOST_NAMED + 1} more"]
    return words.listed(shown)


def _cells(one: Expected) -> tuple[str, ...]:
    size = one.memory_bytes
    return (
        words.plain(one.strategy, 24),
        units.number(one.per_s.estimate),
        _ends(one.per_s),
        one.limit,
        units.number_tick(float(f"{one.knee:.2g}")),
        units.duration(one.cpu.estimate, 2),
        f"{one.core_share * 100:.0f} %",
        "not measured" if size is None else units.size(size, 2),
    )


def _ends(found: Interval) -> str:
    if not math.isfinite(found.high):
        return "not known"
    return f"{units.number(found.low)} to {units.number(found.high)}"


def _wanted(advice: Advice) -> str:
    wanted = advice.wanted
    latency = f"{units.duration_tick(wanted.latency_ns)} latency" if wanted.latency_ns else "no latency"
    work = f"{units.duration_tick(wanted.work_ns)} CPU work per page" if wanted.work_ns else "no CPU work"
    return f"{latency}, {work}, {words.in_flight(wanted.in_flight)}"


def _percent(share: float) -> str:
    return f"{units.number_tick(float(f'{abs(share) * 100:.1f}' if abs(share) < 0.1 else f'{abs(share) * 100:.0f}'))} %"
