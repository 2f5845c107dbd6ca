"""Advice as a section and as JSON. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inflight.bench.core import units
from inflight.bench.frame.statistics import Interval
from inflight.bench.present import section as form
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.studies.advice.read import MOST_OFF, Advice, Expected, Verified, holds, worst_off

FORMAT = 2
WIDTH = 100
MOST_NAMED = 8
"""Maximum number of strategies named in a sentence, or left out with a sentence; the rest are counted."""
BEYOND_KNEE = 1.5
"""Multiple of the knee beyond which a higher number in flight does not help."""
_HEADS = ("strategy", "pages/s", "95 % interval", "limited by", "knee", "CPU per page", "core", "memory")
_EXPECTED = (
    "Expected of a long crawl with a core to itself: min(N / (L + c + w), 1 / (c + w)), with N in flight, added "
    "latency L, CPU work w, and CPU time c per page. Near the knee real figures are lower. --verify measures this."
)


@dataclass(frozen=True, slots=True)
class Basis:
    """The measurements on which the advice is based."""

    run: str
    in_flight: int
    """Number in flight with which the CPU time per page was measured."""
    differs: tuple[str, ...] = ()
    """Differences between the run's machine and this one, in words; empty for the same machine."""
    memory_run: str | None = None


def text(advice: Advice, basis: Basis) -> str:
    """Return the advice for a terminal, with the paths of its runs, which are not wrapped."""
    memory = basis.memory_run or "not measured on this machine; `inflight run memory` measures it"
    sources = [f"From:   {words.plain(basis.run, 400)}", f"Memory: {words.plain(memory, 400)}"]
    return "\n".join([form.text(section(advice, basis), WIDTH).plain, *sources])


def section(advice: Advice, basis: Basis) -> Section:
    """Return the recommendation, the expected figures of each strategy, the reason and the sources."""
    table = Table("", _HEADS, tuple(map(_cells, advice.expected)))
    return Section(title(advice), (table,) if table.lines else (), tuple(_notes(advice, basis)))


def title(advice: Advice) -> str:
    """Return the advice in one sentence."""
    wanted = advice.wanted
    latency = f"{units.duration_tick(wanted.latency_ns)} latency" if wanted.latency_ns else "no latency"
    work = f"{units.duration_tick(wanted.work_ns)} CPU work per page" if wanted.work_ns else "no CPU work"
    asked = f"{latency}, {work}, {words.in_flight(wanted.in_flight)}"
    if advice.advised is None:
        return f"No confident recommendation for {asked}"
    return f"Use {words.plain(advice.advised, 30)} for {asked}"


def _notes(advice: Advice, basis: Basis) -> list[str]:
    chosen = next((one for one in advice.expected if one.strategy == advice.advised), None)
    told = [f"{words.plain(advice.why[0].upper() + advice.why[1:], 300)}."]
    if chosen is not None and len(advice.alike) > 1:
        told.append(f"Equally fast: {_named(advice.alike)}.")
    if chosen is not None and advice.wanted.in_flight > BEYOND_KNEE * chosen.knee:
        told.append(
            f"Its core is full at about {units.number(chosen.knee, 2)} in flight; a higher number does not help."
        )
    told.append(_EXPECTED)
    if basis.in_flight != advice.wanted.in_flight:
        told.append(f"The CPU time per page was measured with {units.count(basis.in_flight)} in flight.")
    left_out = list(advice.left_out.items())[:MOST_NAMED]
    told += [f"{words.plain(name, 30)}: left out, {words.plain(why)}." for name, why in left_out]
    if basis.differs:
        told.append(f"The figures were measured on another machine: {words.plain('; '.join(basis.differs), 400)}.")
    return told


def _cells(one: Expected) -> tuple[str, ...]:
    size = one.memory_bytes
    return (
        words.name(one.strategy),
        units.number(one.per_s.estimate),
        _ends(one.per_s),
        one.limit,
        units.number_tick(float(f"{one.knee:.2g}")),
        units.duration(one.cpu.estimate, 2),
        units.percent(one.core_share),
        "not measured" if size is None else units.size(size, 2),
    )


# Verified


def verified_text(found: Sequence[Verified], folder: str) -> str:
    """Return the result of --verify for a terminal, with the path of its run."""
    return f"{form.text(verified(found), WIDTH).plain}\nRows:   {words.plain(folder, 400)}"


def verified(found: Sequence[Verified]) -> Section:
    """Return the result of --verify."""
    heads = ("strategy", "expected /s", "measured /s", "95 % interval", "off")
    return Section(_verdict(found), (Table("", heads, tuple(map(_compared, found))),))


def _verdict(found: Sequence[Verified]) -> str:
    off = worst_off(found)
    if off is None:
        return "The expected figures could not be verified"
    if faster := [one.strategy for one in found[1:] if one.beats == "differs"]:
        return f"The choice was wrong: {_named(faster)} is faster"
    if not holds(found):
        return f"The expected figures are wrong by {_percent(abs(off))}: more than {_percent(MOST_OFF)}"
    return f"The expected figures hold: at most {_percent(abs(off))} off"


def _compared(one: Verified) -> tuple[str, ...]:
    name, expected = words.plain(one.strategy, 30), units.number(one.expected_per_s)
    if one.measured is None or one.off is None:
        return (name, expected, "no valid block", "-", "-")
    sign = "+" if one.off > 0 else "-"
    return (name, expected, units.number(one.measured.estimate), _ends(one.measured), sign + _percent(abs(one.off)))


def _named(names: Sequence[str]) -> str:
    """Return a list of names; if there are many, the last ones are counted."""
    shown = [words.plain(name, 30) for name in names]
    if len(shown) > MOST_NAMED:
        shown = [*shown[: MOST_NAMED - 1], f"{len(shown) - MOST_NAMED + 1} more"]
    return words.listed(shown)


def _ends(found: Interval) -> str:
    return f"{units.number(found.low)} to {units.number(found.high)}" if math.isfinite(found.high) else "not known"


def _percent(share: float) -> str:
    return f"{units.number_tick(float(f'{share * 100:.{1 if share < 0.1 else 0}f}'))} %"


# JSON


def to_json(
    advice: Advice, basis: Basis, found: Sequence[Verified] | None = None, folder: str | None = None
) -> dict[str, Any]:
    """Return the advice as JSON values; docs/decisions.md explains the keys."""
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
        "verified": None if found is None else _verified(found, folder),
    }


def _verified(found: Sequence[Verified], folder: str | None) -> dict[str, Any]:
    models = [
        {
            "strategy": one.strategy,
            "expected_pages_per_s": one.expected_per_s,
            "measured_pages_per_s": None if one.measured is None else _interval(one.measured),
            "off": one.off,
        }
        for one in found
    ]
    return {"folder": folder, "off": worst_off(found), "holds": holds(found), "models": models}


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
