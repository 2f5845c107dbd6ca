"""A self-test as sections: error rates, noise, detectable changes by time, other clients.

The input is the content of ``selftest.json``.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from inflight.bench.core import units
from inflight.bench.present import section as form
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.studies.clients import show as clients
from inflight.bench.studies.compare.effect import NAMES
from inflight.bench.studies.compare.read import Block
from inflight.bench.studies.compare.rule import DESIGNED
from inflight.bench.studies.compare.show import changes_told, planted_told

WIDTH = 120
LIMITS = {
    "noise": "noise",
    "least": "2 %: nothing smaller is a regression",
    "pass": "comparisons that pass before",
}
"""What limits the smallest slowdown that is found; older self-tests do not have it."""

_ABOUT_CLIENTS = (
    "Clients that share no code: medians over the rounds, and their range. Times with + are above the latency L."
)
Found = Mapping[str, Any]


def line(name: str, block: Block, good: int, wanted: int) -> str:
    """Return the line of a block for the progress of a self-test."""
    return f"{name:<20} {good:>3}/{wanted}  {changes_told(block)}"


def text(found: Found) -> str:
    """Return the result for a terminal."""
    return "\n\n".join(form.text(one, WIDTH).plain for one in sections(found))


def sections(found: Found) -> list[Section]:
    """Return a section of the self-test, and one of other clients if they were measured."""
    tables = _alarms(found), _planted(found), _noise(found), _resolves(found), _rest(found)
    own = Section(title(found), tables, first=tuple(_heading(found)), findings=tuple(findings(found)) or None)
    if found.get("clients") is None:
        return [own]
    compared = clients.tables(found["clients"], found["server_ceiling_per_s"])
    return [own, Section("", tuple(compared), (_ABOUT_CLIENTS,))] if compared else [own]


def title(found: Found) -> str:
    """Return the error rates."""
    alarms = found["false_alarms"]["real"]
    parts = [f"{alarms_told(alarms)} without a change"]
    for size, one in planted(found):
        of = f"{named(size, one).replace('+', '')} slowdowns"
        parts.append(f"{one['share'] * 100:.3g} % of {of} found" if one["decisions"] else f"no decision on {of}")
    return f"Self-test: {'; '.join(parts)}"


def findings(found: Found) -> Iterator[str]:
    """Say how often the same code raises an alarm, how often slowdowns are found, and how small ones can be."""
    counts = found["false_alarms"]["real"]
    if counts["decisions"]:
        bound = units.percent(counts["upper"], 1)
        yield f"The same code on both sides: {alarms_told(counts)} (at most {bound}; designed: at most 0.5 %)."
    told = [
        f"{100 * one['share']:.3g} % of comparisons find a slowdown of {units.change_size(one['seen'])}"
        for _, one in planted(found)
        if one["decisions"] and one["seen"] is not None
    ]
    if told:
        yield f"{'; '.join(told)}."
    reached = [one for one in found["resolves"] if one["smallest"] is not None]
    if reached:
        sizes = [f"{smallest_told(one)} within {one['minutes']} min" for one in reached]
        yield f"The smallest slowdown that is found {units.percent(DESIGNED.power)} of the time: {', '.join(sizes)}."


def planted(found: Found) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the nominal size (percent) and the results of each planted slowdown, the smallest first."""
    seen = {size: one["seen"] for size, one in found["detection"].items()}
    return sorted(found["detection"].items(), key=lambda item: -1.0 if seen[item[0]] is None else seen[item[0]])


def named(size: str, one: Mapping[str, Any]) -> str:
    """Name a planted slowdown by its measured size; by its nominal size if it was not measured."""
    return f"about +{words.plain(size, 12)} %" if one["seen"] is None else units.change(one["seen"])


def alarms_told(counts: Mapping[str, Any]) -> str:
    """Write the number of false alarms and of decisions."""
    if not counts["decisions"]:
        return "no decision"
    return f"{words.counted(counts['alarms'], 'false alarm')} in {words.counted(counts['decisions'], 'decision')}"


def smallest_told(one: Mapping[str, Any]) -> str:
    """Write the smallest slowdown that is found; at least the least regression of the rule."""
    return units.change_size(max(math.log(one["smallest"]), DESIGNED.least))


def _heading(found: Found) -> Iterator[str]:
    machine, dropped = found["machine"], found["dropped"]
    where = f"{machine['cpu']}, {machine['usable_cores']} cores, {machine['system']}, {machine['python']}"
    if on := found.get("interpreters"):
        yield f"A on {words.plain(on[0], 30)}, B on {words.plain(on[-1], 30)}"
    yield f"{where}; {found['made_at'][:16].replace('T', ' ')} UTC"
    reasons = sorted(dropped["reasons"].items(), key=lambda item: -item[1])[:3]
    told = "; ".join(f"{words.plain(reason, 60)}: {number}" for reason, number in reasons)
    yield f"{dropped['tried']} blocks tried, {dropped['left_out']} left out" + (f" ({told})" if told else "")
    if found["too_few"]:
        yield f"Too few good blocks: {', '.join(found['too_few'])}"
    if machine.get("neighbour"):
        yield words.neighbour(machine["neighbour"])


def _alarms(found: Found) -> Table:
    heads = ("decisions", "alarms", "passed", "inconclusive", "mean blocks", "measured", "rate at most")
    one = found["false_alarms"]["real"]
    line = (
        *(units.count(one[key]) for key in ("decisions", "alarms", "passes", "inconclusive")),
        f"{one['mean_blocks']:.1f}" if one["decisions"] else "-",
        units.count(one["blocks"]),
        units.percent(one["upper"], 1) if one["decisions"] else "-",
    )
    notes = (
        "Decisions on consecutive blocks; no two share one. Mean blocks: until the decision; measured: blocks.",
        "Rate at most: upper bound with 95 % confidence. The design allows 0.5 %.",
    )
    return Table(f"False alarms, both sides {words.name(found['strategy'])}", heads, (line,), notes)


def _planted(found: Found) -> Table:
    heads = ("nominal", "measured", "blocks", "found", "decisions", "mean blocks", "real found")
    lines = tuple(
        (
            f"about {words.plain(size, 12)} %",
            "not measured" if one["seen"] is None else planted_told(one),
            units.count(one["blocks"]),
            units.percent(one["share"], 1),
            units.count(one["decisions"]),
            f"{one['mean_blocks']:.1f}",
            f"{one['real']['alarms']} of {one['real']['decisions']}",
        )
        for size, one in found["detection"].items()
    )
    note = (
        "A loop is added to each page of B. Found: share of decisions on blocks drawn from these, with repetition; "
        "real: on the blocks in their order."
    )
    return Table("Planted slowdowns, CPU time per page", heads, lines, (note,))


def _noise(found: Found) -> Table:
    heads = ("strategy", *NAMES.values(), "per block", "memory adds")
    lines = [
        (
            words.name(name),
            *(units.percent(noise[metric], 1) if metric in noise else "-" for metric in NAMES),
            f"{found['block_s'][name]['slices']:.1f} s",
            f"{found['block_s'][name]['memory']:.1f} s" if found["block_s"][name]["memory"] else "-",
        )
        for name, noise in found["noise"].items()
    ]
    controls = ", ".join(f"{name} {units.percent(sd, 1)}" for name, sd in found["controls"].items())
    first = f"Memory is measured in the first {DESIGNED.looks[0]} blocks of a comparison, and in more if it keeps the "
    notes = (f"Controls: {controls}.", f"{first}verdict open.")
    return Table("Noise: SD of a block, and its duration", heads, tuple(lines), notes)


def _resolves(found: Found) -> Table:
    heads = ("within", "slowdown", "blocks at most", "memory", "limited by")
    lines = tuple(
        (f"{one['minutes']} min", "-", "-", "-", "fewer than the 12 blocks of a verdict")
        if one["smallest"] is None
        else (
            f"{one['minutes']} min",
            smallest_told(one),
            units.count(one["blocks"]),
            "measured" if "memory" in one["metrics"] else "excluded",
            LIMITS.get(one.get("limited_by"), "-"),
        )
        for one in found["resolves"]
    )
    whose, often = words.name(found["strategy"]), units.percent(DESIGNED.power)
    return Table(f"Smallest slowdown of {whose} that is found {often} of the time", heads, lines)


def _rest(found: Found) -> Table:
    late, extra, ceiling = found["lateness"], found["overhead"], found["server_ceiling_per_s"]
    times = " and ".join("-" if late[key] is None else units.duration(late[key]) for key in ("p50", "p99"))
    times += "" if late["valid"] else " ✗"
    answers = "-" if ceiling is None else f"{units.number(ceiling)} responses/s"
    share = "-" if extra["share"] is None else units.percent(extra["share"], 1)
    lines = (
        ("server's ceiling, with a client that parses nothing", answers),
        ("lateness of the server's timers (p50 and p99, at most 2 ms), 1,000 in flight at 50 ms", times),
        ("overhead of the harness per fetch (at most 1 µs)", units.duration(extra["per_fetch_ns"])),
        ("overhead of the harness, share of CPU time (at most 1 %)", share),
    )
    return Table("The harness", ("what", "value"), lines)
