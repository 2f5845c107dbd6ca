"""The sentences below the headline table: what the figures are, what is left out, which trials are red and why."""

from collections import Counter
from collections.abc import Sequence

from bench.analyse.cells import Figure
from bench.analyse.headline import Table
from bench.analyse.stats import NoSlope, Slope
from bench.core.stats import CONFIDENCE
from bench.present import units, words
from bench.rows import Row

SEEN = 0.5
"""From this sensitivity on, throughput shows at least half of a slowdown."""
MOST_RED = 12
"""So many strategies have their red trials explained; the rest are counted."""


def about_rows(rows: Sequence[Row]) -> list[str]:
    """Say how many rounds the figures rest on."""
    if not rows:
        return ["No trial has been run: there is nothing to show."]
    if not any(row.valid for row in rows):
        return [f"No valid trial among {units.count(len(rows))}: nothing here supports a conclusion."]
    rounds = len({row.round for row in rows})
    if rounds == 1:
        return ["One round: its spread is not known, so two digits are shown, and small differences mean nothing."]
    limit = f"{words.STEADY * 100:.0f} %"
    return [
        f"Medians over the valid trials of {rounds} rounds; two digits where the rounds differ by more than {limit}."
    ]


def about_table(table: Table) -> list[str]:
    """Explain the marks of a table, its memory column, and what it leaves out."""
    entries = [entry for line in table.lines for entry in line.entries]
    notes = []
    if any(isinstance(entry, Figure) and not entry.valid for entry in entries):
        notes.append("✗: from red trials only, and part of no conclusion.")
    if "" in entries or any(line.memory is None for line in table.lines if table.memory_setting):
        notes.append("-: not measured.")
    return notes + _about_sensitivity(table) + _about_memory(table) + _about_left_out(table)


def about_red(rows: Sequence[Row]) -> list[str]:
    """Say of each strategy which of its trials are red, and why."""
    by_strategy: dict[str, list[Row]] = {}
    for row in rows:
        by_strategy.setdefault(row.strategy, []).append(row)
    red = {name: [row for row in own if not row.valid] for name, own in sorted(by_strategy.items())}
    notes = [
        f"{words.plain(name, 30)}: {_of(len(bad), len(by_strategy[name]))} red: {_reasons(bad)}."
        for name, bad in red.items()
        if bad
    ]
    if len(notes) > MOST_RED:
        notes = [*notes[:MOST_RED], f"{len(notes) - MOST_RED} more strategies have red trials; the rows say why."]
    return notes


def why_red(row: Row) -> list[str]:
    """Return the reasons for which a row is red: its failed checks; or, if it did not end well, its status."""
    if row.status != "ok":
        return [f"{row.status}: {row.reason}" if row.reason else row.status]
    return [f'failed "{check.name}": {check.detail}' for check in row.failed_checks]


def _of(some: int, all_: int) -> str:
    return (
        f"{'the only trial is' if all_ == 1 else f'all {all_} trials are'}"
        if some == all_
        else f"{some} of {all_} trials"
    )


def _reasons(bad: Sequence[Row]) -> str:
    """List the kinds of reasons, the most frequent first, each with its number and one example."""
    kinds: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for row in bad:
        for reason in why_red(row):
            kind, _, detail = reason.partition(": ")
            kinds[kind] += 1
            examples.setdefault(kind, detail)
    texts = [_reason(kind, number, words.plain(examples[kind], 90)) for kind, number in kinds.most_common(3)]
    more = f"; {len(kinds) - 3} more kinds" if len(kinds) > 3 else ""
    return "; ".join(texts) + more


def _reason(kind: str, number: int, example: str) -> str:
    times = f" {number} times" if number > 1 else ""
    return f"{kind}{times}" + (f" ({'such as ' if number > 1 else ''}{example})" if example else "")


def _about_sensitivity(table: Table) -> list[str]:
    """Say beside each throughput how much of a slowdown it shows: the range over the strategies, a column each."""
    texts: dict[str, list[str]] = {}
    hidden = False
    for n, column in enumerate(table.columns):
        found = [one for line in table.lines if (one := line.sensitivities[n]) is not None]
        if found:
            low, high = min(one.low for one in found), max(one.high for one in found)
            hidden = hidden or low < SEEN
            text = f"{words.share_between(low, high)} with {units.count(column.in_flight)}"
            texts.setdefault(column.latency, []).append(text)
    if not texts:
        return []
    told = "; ".join(f"{words.at_latency(latency)}, {', '.join(parts)}" for latency, parts in texts.items())
    notes = [f"Sensitivity of pages/s to CPU time, by number in flight: {told}."]
    if hidden:
        notes.append("At a sensitivity of 0.01, 5 % more CPU per page takes 0.05 % of pages/s: compare CPU per page.")
    return notes


def _about_memory(table: Table) -> list[str]:
    slopes = [(line.strategy, line.memory) for line in table.lines if line.memory is not None]
    notes = []
    if fitted := [slope for _, slope in slopes if isinstance(slope, Slope)]:
        bent = "; a range where the line is bent" if any(not slope.straight for slope in fitted) else ""
        sizes = sorted({slope.sizes for slope in fitted})
        across = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        notes.append(
            f"Memory is USS, as a slope over {across} numbers in flight, ± its {CONFIDENCE * 100:.0f} % interval{bent}."
        )
    without: dict[str, list[str]] = {}
    for name, slope in slopes:
        if isinstance(slope, NoSlope):
            without.setdefault(slope.reason, []).append(words.plain(name, 30))
    for reason, names in without.items():
        who = words.listed(names) if len(names) <= 4 else f"{len(names)} strategies"
        notes.append(f"No memory slope for {who}: {reason}.")
    return notes


def _about_left_out(table: Table) -> list[str]:
    left = [words.at_latency(latency)[3:] for latency in table.left_out_latencies]
    left += [f"{_numbers(caps)} in flight {words.at_latency(latency)}" for latency, caps in table.left_out_caps]
    if table.left_out_memory:
        left.append("the other memory workloads")
    return [f"Measured, but not in this table: {'; '.join(left)}."] if left else []


def _numbers(caps: Sequence[int]) -> str:
    texts = [units.count(cap) for cap in caps]
    return words.listed(texts) if len(texts) <= 5 else f"{texts[0]} to {texts[-1]} ({len(texts)} numbers)"
