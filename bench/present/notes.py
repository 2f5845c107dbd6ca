"""The sentences below the headline table: what the figures are, what is left out, which trials are red and why."""

from collections import Counter
from collections.abc import Sequence

from inflight.bench.core import units
from inflight.bench.core.rows import Row
from inflight.bench.present import words

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
