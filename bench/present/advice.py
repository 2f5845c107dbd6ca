"""Advice as text and as JSON. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.analyse.advice import MOST_OFF, Advice, Expected, most_per_s
from bench.analyse.observed import Observed
from bench.analyse.verified import Verified, lost_by, worst_off
from bench.present import text_grid, units, words
from bench.present.text_grid import Grid

FORMAT = 1
WIDTH = 100
MOST_NAMED = 8
STEADY = 0.05
"""Up to such an interval three digits are shown, beyond it two."""
SLOW_START_NS = 100_000_000
BEYOND_KNEE = 1.5
"""So many times the knee in flight are clearly more than help."""
_HEADS = (
    "strategy",
    "pages/s expected",
    "95 % interval",
    "limited by",
    "knee N*",
    "CPU per page",
    "of a core",
    "memory",
)
EXPECTED = (
    "Expected of a long crawl with a core to itself. Below the knee latency limits, above it the core. The interval "
    "comes from measured workloads nearby, each predicted by all the others."
)
HOW_MEASURED = "--verify measures that very workload in under a minute"


@dataclass(frozen=True, slots=True)
class Basis:
    """What the advice goes by."""

    run: str
    differs: tuple[str, ...] = ()
    """What of the run's machine is not as it is here, in words; the machine is another one then."""
    memory_run: str | None = None


def text(advice: Advice, basis: Basis, width: int = WIDTH) -> str:
    """Return the advice for a terminal: what to take and why, the table, how sure it is; ends with a line end."""
    lines = [text_grid.wrapped(headline(advice), width)]
    lines += [text_grid.wrapped(line, width) for line in _reasons(advice)]
    if advice.expected:
        cells = tuple(_cells(one) for one in advice.expected)
        lines += ["", *text_grid.lines_of(Grid("", _HEADS, cells), width)]
    lines += ["", *(text_grid.wrapped(note, width) for note in notes(advice, basis))]
    lines += sources(basis)  # paths are for copying: not broken into lines
    return "\n".join(line.rstrip() for line in lines) + "\n"


def headline(advice: Advice) -> str:
    """Return the advice in one sentence."""
    if advice.advised is None:
        return f"I do not know what to take for {_wanted(advice)}"
    return f"Take {words.plain(advice.advised, 30)} for {_wanted(advice)}"


def notes(advice: Advice, basis: Basis) -> list[str]:
    """Return what the figures are, how sure they are, and what they rest on."""
    told = [EXPECTED, *_about_start(advice), *_about_bound(advice)]
    shown = next((one for one in advice.expected if one.strategy == advice.advised), None) or next(
        iter(advice.expected), None
    )
    if shown is not None:
        near = "; ".join(_near(point, error) for point, error in shown.nearest)
        told.append(f"Measured nearest, {words.plain(shown.strategy, 30)}: {near}.")
    less = [one for one in advice.expected if one.in_flight != advice.wanted.in_flight]
    told += [
        f"{words.plain(one.strategy, 30)} never has more than {units.count(one.in_flight)} in flight." for one in less
    ]
    reasons = dict.fromkeys(one.unknown for one in advice.expected if one.unknown)
    for reason in list(reasons)[:MOST_NAMED]:
        own = [one.strategy for one in advice.expected if one.unknown == reason]
        told.append(f"?: {_named(own)}: {reason}.")
    told += [
        f"{words.plain(name, 30)}: not measured, {words.plain(why)}."
        for name, why in list(advice.left_out.items())[:MOST_NAMED]
    ]
    if basis.differs:
        told.append(f"That run is of another machine: {words.plain('; '.join(basis.differs), 400)}.")
    return told


def _about_start(advice: Advice) -> list[str]:
    """Say where starting as many workers takes a while, which no figure of a long crawl shows."""
    times = {one.strategy: one.surface.start_ns * one.in_flight for one in advice.expected}
    slow = [
        f"{words.plain(name, 30)} about {units.duration(ns, 1)}" for name, ns in times.items() if ns >= SLOW_START_NS
    ]
    return [f"Before that, starting as many workers takes {words.listed(slow)}."] if slow else []


def _about_bound(advice: Advice) -> list[str]:
    """Say where intervals are cut by what no client can exceed."""
    most = most_per_s(advice.wanted)
    cut = any(one.in_flight == advice.wanted.in_flight and one.high >= most for one in advice.expected)
    return [f"No client brings more than {units.rate(most)} there, and no interval goes beyond."] if cut else []


def sources(basis: Basis) -> list[str]:
    """Return which runs the figures are from, one a line."""
    memory = basis.memory_run or "not measured on this machine; `inflight run memory` does"
    return [f"From:   {words.plain(basis.run, 400)}", f"Memory: {words.plain(memory, 400)}"]


def verified_text(found: Sequence[Verified], folder: str, width: int = WIDTH) -> str:
    """Say how far off the advice was; ends with a line end."""
    lines = []
    for one in found:
        name = words.plain(one.strategy, 30)
        if one.measured_per_s is None or one.off is None:
            lines.append(f"{name}: not verified, {one.why}")
            continue
        lines.append(
            f"{name}: expected {units.number(one.expected_per_s)} pages/s, measured {units.number(one.measured_per_s)} "
            f"({one.rounds} {'round' if one.rounds == 1 else 'rounds'}): {_percent(one.off)} off"
        )
    lines += _compared(found)
    off = worst_off(found)
    if off is None:
        lines.append("The advice could not be verified.")
    elif lost_by(found) > MOST_OFF:
        lines.append(f"The choice was wrong: another one fetched {_percent(lost_by(found))} more.")
    elif off > MOST_OFF:
        lines.append(f"The advice was wrong by {_percent(off)}: it does not know this region.")
    else:
        lines.append(f"The advice holds: at most {_percent(off)} off.")
    lines = [*(text_grid.wrapped(line, width) for line in lines), f"Rows:   {words.plain(folder, 400)}"]
    return "\n".join(lines) + "\n"


def _compared(found: Sequence[Verified]) -> list[str]:
    """Say by how much the next strategy fetched more than the advised one, if it did."""
    first, *others = found
    faster = [one for one in others if (one.measured_per_s or 0) > (first.measured_per_s or float("inf"))]
    return [
        f"In that crawl {words.plain(one.strategy, 30)} fetched "
        f"{_percent((one.measured_per_s or 0) / (first.measured_per_s or 1) - 1)} more than "
        f"{words.plain(first.strategy, 30)}."
        for one in faster
    ]


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
        "models": [_model(one) for one in advice.expected],
        "left_out": dict(advice.left_out),
        "run": basis.run,
        "machine_differs": list(basis.differs),
        "memory_run": basis.memory_run,
        "verified": None
        if verified is None
        else {
            "folder": folder,
            "off": worst_off(verified),
            "models": [
                {
                    "strategy": one.strategy,
                    "expected_pages_per_s": one.expected_per_s,
                    "measured_pages_per_s": one.measured_per_s,
                    "rounds": one.rounds,
                    "off": one.off,
                    "why": one.why,
                }
                for one in verified
            ],
        },
    }


def _model(one: Expected) -> dict[str, Any]:
    slope = one.memory
    return {
        "strategy": one.strategy,
        "known": not one.unknown,
        "why_unknown": one.unknown,
        "in_flight": one.in_flight,
        "pages_per_s": one.per_s,
        "low": one.low,
        "high": one.high,
        "error": one.error,
        "limit": one.limit,
        "knee": one.knee,
        "cpu_per_page_ns": one.cpu_per_page_ns,
        "core_share": one.core_share,
        "memory_bytes": one.memory_bytes,
        "memory_bytes_per_fetch": None if slope is None else [slope.per_fetch, slope.low, slope.high],
        "formula": {
            "cpu_ns": one.surface.cpu_ns,
            "besides_ns": one.surface.besides_ns,
            "start_ns": one.surface.start_ns,
            "growth": one.surface.growth,
            "corrected": one.surface.bent,
            "error": one.surface.error,
        },
        "nearest": [
            {
                "latency_ns": round(point.at.latency_ns),
                "cpu_ns": round(point.at.work_ns),
                "in_flight": point.at.in_flight,
                "pages": point.at.pages,
                "pages_per_s": point.per_s,
                "rounds": point.rounds,
                "error": math.expm1(error),
            }
            for point, error in one.nearest
        ],
    }


def _reasons(advice: Advice) -> list[str]:
    if advice.advised is None:
        return [
            f"{words.plain(advice.why, 300)}. {HOW_MEASURED}; a map that reaches there needs these values in its TOML."
        ]
    told = [words.plain(advice.why[0].upper() + advice.why[1:], 300) + "."]
    if len(advice.alike) > 1:
        told.append(f"Alike: {_named(advice.alike)}.")
    chosen = advice.of(advice.advised)
    if chosen is not None and chosen.in_flight > BEYOND_KNEE * chosen.knee:
        told.append(f"Its core is full from about {units.number(chosen.knee, 2)} in flight on: more bring nothing.")
    return told


def _named(names: Sequence[str]) -> str:
    """Return a list of names, the last of many counted."""
    shown = [words.plain(name, 30) for name in names]
    if len(shown) > MOST_NAMED:
        shown = [*shown[: MOST_NAMED - 1], f"{len(shown) - MOST_NAMED + 1} more"]
    return words.listed(shown)


def _cells(one: Expected) -> tuple[str, ...]:
    mark = " ?" if one.unknown else ""
    size, digits = one.memory_bytes, 3 if one.off <= STEADY else 2
    return (
        words.plain(one.strategy, 24) + mark,
        units.number(one.per_s, digits),
        f"{units.number(one.low, digits)} to {units.number(one.high, digits)}",
        one.limit,
        units.number_tick(float(f"{one.knee:.2g}")),
        units.duration(one.cpu_per_page_ns, 2),
        f"{one.core_share * 100:.0f} %",
        "not measured" if size is None else units.size(size, 2),
    )


def _wanted(advice: Advice) -> str:
    wanted = advice.wanted
    latency = f"{units.duration_tick(wanted.latency_ns)} latency" if wanted.latency_ns else "no latency"
    work = f"{units.duration_tick(wanted.work_ns)} CPU work of a page" if wanted.work_ns else "no CPU work"
    return f"{latency}, {work}, {words.in_flight(wanted.in_flight)}"


def _near(point: Observed, error: float) -> str:
    latency = units.latency(point.latency) if point.at.latency_ns else "0 ms"
    work = f"{units.latency(point.cpu)} CPU work" if point.at.work_ns else "no CPU work"
    low = "less" if error < 0 else "more"
    return (
        f"{latency}, {work}, {words.in_flight(point.at.in_flight)}: {units.rate(point.per_s)}, "
        f"{_percent(math.expm1(error))} {low} than the others predict"
    )


def _percent(share: float) -> str:
    return f"{units.number_tick(float(f'{abs(share) * 100:.1f}' if abs(share) < 0.1 else f'{abs(share) * 100:.0f}'))} %"
