"""Advice as text, for ``inflight advise``. Pure."""

import math
from datetime import datetime
from typing import Any

from msgspec import Struct

from inflight.bench import units
from inflight.bench.predict.advice import MIN_TURN_NS, Advice, Forecast, Wanted
from inflight.bench.show import terminal, words
from inflight.bench.show.table import Section, Table

HEADS = ("model", "cores", "pages/s", "range", "a fetch takes", "CPU per page", "knee", "memory", "verdict")
"""Heads of the table of models."""
VERDICTS = {"unknown": "can't tell"}
"""What is written for a verdict, if it is not the verdict."""
WIDTH = 100
"""Width of the text."""
MAX_OFF = 0.25
"""How far off an expected figure may be, as a share of it; on a quiet machine it is less."""
MUCH_LESS = 2
"""A model whose fetches take less memory than others by more than this factor is named."""
EXPECTED = (
    "Expected, with N in flight, latency L, work w and c the rest of the CPU time per page: "
    "X(N) = min(N / (L + c + w), 1 / (c + w)); of P processes min(N / (L + c + w), P / (c + w), 1 / c). "
    "Memory is of the fetches alone; ≥: without the kernel's part. "
    "--verify measures it."
)
"""How the figures were predicted."""


class Source(Struct, frozen=True, kw_only=True):
    """Where the costs are from, and who was left out."""

    run: str
    """The path of the run."""
    measured_at: str
    machine_differs: list[str]
    """What differs between its machine and this one."""
    is_noisy: bool
    """Whether other programs took much of the core in it."""
    left_out: dict[str, str]
    """Strategies that cannot have this many in flight, each with the reason."""


def text(advice: Advice, wanted: Wanted, source: Source, now: datetime) -> str:
    """Return the advice, with the path of its run, which is not wrapped, and the age of that run."""
    latency, work = (units.duration_tick(value) if value else "no" for value in wanted.load)
    asked = f"For {latency} latency, {work} CPU work per page, {words.in_flight(wanted.in_flight)}"
    if wanted.tls:
        asked += ", https"
    if advice.advised is None:
        title = f"{asked}: no recommendation."
        why = [f"{advice.why_not[0].upper()}{advice.why_not[1:]}."]
    else:
        title = f"{asked}: use {advice.advised.strategy}, {_numbers(advice.advised)}."
        why = _why(advice, advice.advised, wanted)
    notes = [EXPECTED]
    if source.is_noisy:
        notes.append("That run is noisy, because other programs took much of the core: repeat it on a quiet machine")
    notes += [f"{name}: left out, {why}." for name, why in source.left_out.items()]
    notes += [f"Measured on another machine: {difference}." for difference in source.machine_differs]
    measured_at = datetime.fromisoformat(source.measured_at)
    days = (now - measured_at).days
    age = f"{words.counted(days, 'day')} ago" if days else "less than a day ago"
    place = f"From:   {source.run}, measured on {measured_at:%d %b %Y} ({age})"
    table = Table("", HEADS, tuple(_line(forecast, wanted) for forecast in advice.models))
    return _text(Section("", (table,), tuple(words.plain(note, 400) for note in notes), (title, "", *why)), place)


def _numbers(advised: Forecast) -> str:
    """Return how many processes and fetches in flight are advised."""
    in_flight = words.in_flight(advised.in_flight)
    if advised.processes == 0:
        return f"a process for each core, with {in_flight} in each"
    if advised.processes > 1:
        return f"{advised.processes} processes with {in_flight} each"
    return f"one process with {in_flight}"


def _why(advice: Advice, advised: Forecast, wanted: Wanted) -> list[str]:
    """Return why this is advised, in sentences."""
    fastest = advice.models[0]
    page_ns = advised.cpu_per_page_ns
    turn_ns = wanted.load.latency_ns + page_ns
    gives = units.number(advised.pages_per_s[0])
    sentences = []
    if fastest.is_full:
        of = f" of {units.number(wanted.in_flight / turn_ns * 1e9)}" if wanted.load.latency_ns else ""
        sentences.append(f"CPU-bound: one core gives {units.number(fastest.pages_per_s[0])}{of} pages/s.")
    else:
        share = units.percent(advised.pages_per_s[0] * page_ns / 1e9)
        sentences.append(f"Latency-bound: N / (L + c + w) gives {gives} pages/s, and a core is {share} busy.")
    if advised.processes != 1:
        each = words.in_flight(math.ceil(wanted.in_flight / advised.cores))
        sentences.append(
            f"This machine has {words.counted(advised.cores, 'core')}: as many processes with {each} each give {gives}."
        )
    if advised.is_full and wanted.load.latency_ns:
        waits, usual = units.duration(advised.fetch_ns, 2), units.duration(turn_ns, 2)
        if waits != usual:
            sentences.append(f"With all {units.count(wanted.in_flight)} a fetch takes {waits} instead of {usual}.")
    if advised.processes == 1 and len(advice.alike) > 1:
        sentences.append(_why_of_those_alike(advice, advised))
    return sentences


def _why_of_those_alike(advice: Advice, advised: Forecast) -> str:
    """Return why one of the models that are alike is advised: its program is the shortest, or its memory the least."""
    alike = [each for each in advice.models if each.strategy in advice.alike]
    shortest = min(alike, key=lambda each: each.program_lines)
    leanest = min(alike, key=lambda each: each.memory_bytes or math.inf)
    most, least = (units.size(each.memory_bytes or 0) for each in (shortest, leanest))
    sentence = f"{', '.join(advice.alike)} are within 5 %; {advised.strategy}"
    if advised is not shortest:
        free = units.size(advice.available_bytes)
        return (
            f"{sentence} takes the least memory of them, {least}; {shortest.strategy} has a shorter program, but would "
            f"take {most}, more than a quarter of the {free} that are free here."
        )
    sentence += f" has the shortest program of them ({advised.program_lines} lines)"
    if (shortest.memory_bytes or 0) > MUCH_LESS * (leanest.memory_bytes or math.inf):
        sentence += f"; {leanest.strategy} would take {least} of memory instead of {most}"
    return f"{sentence}."


def _line(forecast: Forecast, wanted: Wanted) -> tuple[str, ...]:
    """Return the line of a model."""
    _, low, high = map(units.number, forecast.pages_per_s)
    knee = units.number_tick(float(f"{forecast.knee:.2g}")) if wanted.load.latency_ns >= MIN_TURN_NS else "-"
    memory = "-" if forecast.memory_bytes is None else units.size(forecast.memory_bytes)
    if not forecast.memory_is_whole:
        memory = f"≥{memory}"
    return (
        forecast.strategy,
        str(forecast.cores),
        units.number(forecast.pages_per_s[0]),
        f"{low} to {high}",
        units.duration(forecast.fetch_ns, 2),
        units.duration(forecast.cpu_per_page_ns, 2),
        knee,
        memory,
        VERDICTS.get(forecast.verdict, forecast.verdict),
    )


def verified_text(verified: dict[str, Any]) -> str:
    """Return the result of --verify, with the path of its run."""
    offs = [model["off"] for model in verified["models"]]
    title = "The choice holds" if verified["holds"] else "The measurement does not confirm the choice"
    if None in offs:
        title = "The choice could not be measured"
    elif verified["holds"] and max(map(abs, offs)) > MAX_OFF:
        title += ", but the figures are off: something else took part of the cores, or the prediction is wrong"
    heads = ("model", "expected /s", "measured /s", "95 % interval", "off")
    lines = []
    for name, expected, measured, off in map(dict.values, verified["models"]):
        value, low, high = ("?" if end is None else units.number(end) for end in measured or [None] * 3)
        change = "-" if off is None else f"{100 * off:+.1f} %"
        lines.append((name, units.number(expected), value, f"{low} to {high}", change))
    return _text(Section(title, (Table("", heads, tuple(lines)),)), f"Rows:   {verified['folder']}")


def _text(section: Section, place: str) -> str:
    """Return a section for a terminal, with the path of a run below it."""
    return f"{terminal.text(section, WIDTH).plain}\n{words.plain(place, 400)}"
