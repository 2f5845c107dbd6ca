"""Advice as text, from its JSON values (``advice``), for ``inflight advise``. Pure."""

from datetime import datetime
from typing import Any

from inflight.bench import units
from inflight.bench.show import terminal, words
from inflight.bench.show.table import Section, Table

HEADS = ("strategy", "pages/s", "95 % interval", "verdict", "limited by", "knee", "CPU per page", "core")
"""Heads of the table of models."""
VERDICTS = {None: "fastest", "differs": "slower", "same": "equal", "unknown": "can't tell"}
"""What is written for the answer of each model beside the fastest."""
EXPECTED = "Expected: min(N / (L + c + w), 1 / (c + w)) (docs/decisions.md); --verify measures this."
"""How the figures were predicted, or"""
MEASURED = "The run measured this workload; the pages/s are these measurements."
"""that they were measured."""


def text(advice: dict[str, Any], now: datetime) -> str:
    """Return the advice, with the path of its run, which is not wrapped, and the age of that run."""
    latency, work = (units.duration_tick(advice[key]) if advice[key] else "no" for key in ("latency_ns", "cpu_ns"))
    asked = f"{latency} latency, {work} CPU work per page, {words.in_flight(advice['in_flight'])}"
    title = f"Use {advice['advised']}" if advice["advised"] else "No confident recommendation"
    notes = [
        f"{advice['why'][0].upper()}{advice['why'][1:]}.",
        MEASURED if advice["measured"] else EXPECTED,
        f"The CPU time per page was measured with {words.in_flight(advice['run_in_flight'])}.",
        *(f"{name}: left out, {why}." for name, why in advice["left_out"].items()),
        *(f"Measured on another machine: {difference}." for difference in advice["machine_differs"]),
    ]
    table = Table("", HEADS, tuple(map(_line, advice["models"])))
    notes = [words.plain(note, 400) for note in notes]
    measured_at = datetime.fromisoformat(advice["measured_at"])
    age = words.counted((now - measured_at).days, "day")
    place = f"From:   {advice['run']}, measured on {measured_at:%d %b %Y} ({age} ago)"
    return _text(Section(f"{title} for {asked}", (table,), tuple(notes)), place)


def _line(model: dict[str, Any]) -> tuple[str, ...]:
    """Return the line of a model."""
    return (
        model["strategy"],
        *_rate(model["pages_per_s"]),
        VERDICTS[model["against_fastest"]],
        model["limit"],
        units.number_tick(float(f"{model['knee']:.2g}")),
        units.duration(model["cpu_per_page_ns"][0], 2),
        units.percent(model["core_share"]),
    )


def verified_text(advice: dict[str, Any]) -> str:
    """Return the result of --verify, with the path of its run."""
    title = "The choice holds" if advice["holds"] else "The measurement does not confirm the choice"
    heads = ("strategy", "expected /s", "measured /s", "95 % interval", "off")
    lines = [
        (name, units.number(expected), *_rate(rate or [None] * 3), "-" if off is None else f"{100 * off:+.1f} %")
        for name, expected, rate, off in map(dict.values, advice["models"])
    ]
    return _text(Section(title, (Table("", heads, tuple(lines)),)), f"Rows:   {advice['folder']}")


def _rate(ends: list[float | None]) -> tuple[str, str]:
    """Return a rate and its interval as text."""
    value, low, high = ("?" if end is None else units.number(end) for end in ends)
    return value, f"{low} to {high}"


def _text(section: Section, place: str) -> str:
    """Return a section for a terminal, with the path of a run below it."""
    return f"{terminal.text(section, 100).plain}\n{words.plain(place, 400)}"
