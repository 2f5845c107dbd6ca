"""Whatever is measured is in a table, in each output, and what differs is not merged: over all kinds of rows.

Each trial of a case has a figure of its own. If it is left out, or if a mean with another trial takes its place, the
figure is missing.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows.files import Row
from inflight.bench.show import html
from inflight.bench.show.results import Results
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import as_markdown, sections_of, summary_table
from tests.made_rows import (
    arm_row,
    crawl_row,
)

pytestmark = pytest.mark.ci

M = 1_000_000
SHARED = 90 * M
"""The rate of trials whose table has another figure of them."""
LONG = "MALLOC_ARENA_MAX=2 PYTHONMALLOC=malloc PYTHONHASHSEED="

RATES: dict[str, list[Row]] = {
    "crawls that are shorter than their number in flight": [
        crawl_row(in_flight=1000, pages=100, pages_per_s=11 * M),
        crawl_row(in_flight=10, pages=100, pages_per_s=12 * M),
    ],
    "more columns than fit": [arm_row(in_flight=n, pages_per_s=(10 + n) * M) for n in range(1, 10)],
    "more columns than fit, of two strategies": [
        arm_row(name, in_flight=n, pages_per_s=(10 + n + 10 * (name == "generators")) * M)
        for name in ("callbacks", "generators")
        for n in range(1, 10)
    ],
    "more sites than fit": [arm_row(site={"links": n}, pages_per_s=(10 + n) * M) for n in range(1, 10)],
    "a stack of its own beside a map": [
        *(arm_row(name, latency=latency, work=work, pages_per_s=SHARED)
          for name in ("callbacks", "generators") for latency in ("0", "10ms") for work in ("0", "1ms")),
        arm_row("aiohttp_client", stack="own", pages_per_s=11 * M),
    ],
    "an interpreter beside none": [
        *(arm_row(f"callbacks {label}", asked={"interpreter": label, "strategy": "callbacks"}, pages_per_s=SHARED)
          for label in ("3.13", "3.14")),
        arm_row("callbacks", pages_per_s=13 * M),
    ],
    "cores": [
        *(arm_row("callbacks", asked={"cores": n}, pages_per_s=(10 + n) * M) for n in (1, 2)),
        arm_row("callbacks", connection="per-fetch", pages_per_s=13 * M),
    ],
    "settings": [
        arm_row(pages_per_s=11 * M),
        arm_row(asked={"lag": True}, pages_per_s=12 * M),
        arm_row(asked={"busy_threads": 1}, pages_per_s=13 * M),
        arm_row(asked={"variables": {"A": "1"}}, pages_per_s=14 * M),
    ],
    "names that differ at their end": [
        arm_row(f"callbacks ({LONG}{n})", asked={"strategy": "callbacks"}, pages_per_s=(11 + n) * M) for n in range(3)
    ],
    "sites that differ at the end of their names": [
        arm_row(
            site={"links": 3, "body_bytes": 5000, "redirect_targets": 1234567, "seed": 10**9 + n},
            pages_per_s=(11 + n) * M,
        )
        for n in range(3)
    ] + [arm_row(pages_per_s=20 * M)],
    "whole crawls and blocks": [crawl_row(pages_per_s=11 * M), arm_row(pages_per_s=12 * M)],
    "works, latencies and connections": [
        arm_row(work="1ms", pages_per_s=11 * M),
        arm_row(latency="10ms", pages_per_s=12 * M),
        arm_row(connection="per-fetch", pages_per_s=13 * M),
    ],
    "lengths": [crawl_row(pages=n, pages_per_s=(10 + n / 1000) * M) for n in (1000, 2000)],
}  # fmt: skip
"""Rows of which each has a rate of its own in millions, by what is special about them."""


def outputs(rows: list[Row]) -> dict[str, str]:
    return {
        "terminal": summary_table(Studies(rows)).plain,
        "markdown": as_markdown(Studies(rows)),
        "page": unescape(re.sub(r"<[^>]*>", " ", "".join(map(html.section, sections_of(Studies(rows)))))),
    }


def numbers(value: Any) -> Iterator[float]:
    match value:
        case dict():
            for each in value.values():
                yield from numbers(each)
        case list():
            for each in value:
                yield from numbers(each)
        case int() | float():
            yield value


def missing(rows: list[Row], values: Sequence[float]) -> dict[str, list[float]]:
    """Return, of each output, the figures that none of its tables has."""
    lost = {
        name: [value for value in values if not re.search(rf"(?<![\d,.]){value:,.0f}(?![\d,])", text)]
        for name, text in outputs(rows).items()
    }
    summary = Results(Path("made"), rows, {}).summary()
    known = list(numbers(json.loads(json.dumps(summary, default=float))))
    lost["json"] = [value for value in values if not any(math.isclose(value, each, rel_tol=1e-6) for each in known)]
    return {name: some for name, some in lost.items() if some}


@pytest.mark.parametrize("case", RATES)
def test_each_valid_timed_trial_is_in_a_table_of_each_output(case: str) -> None:
    rows = RATES[case]
    assert all(row.valid for row in rows)

    assert missing(rows, sorted({row.measured.pages_per_s for row in rows} - {SHARED})) == {}
