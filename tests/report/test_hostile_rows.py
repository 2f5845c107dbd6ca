"""Rows of strangers: each is refused with one sentence, or every output shows it; ``tests/fuzz/rows.py`` looks on."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.frame.frame import frame, trials
from inflight.bench.rows import files as rows
from inflight.bench.rows import records
from inflight.bench.show.studies import Studies

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


@cache
def stored_lines() -> tuple[str, ...]:
    """Return the rows of all stored runs, as they are written."""
    return tuple(line for run in rows.folders_in(REFERENCE) for line in rows.text(run).splitlines())


def stored(kind: str, *parts: str) -> dict[str, Any]:
    """Return the first stored row of a kind whose line has these parts."""
    wanted = (f'"kind":"{kind}"', *parts)
    found: dict[str, Any] = json.loads(next(line for line in stored_lines() if all(part in line for part in wanted)))
    assert found["kind"] == kind
    return found


def probed(probe: str) -> dict[str, Any]:
    """Return a stored row of a probe."""
    return stored("probe", f'"probe":"{probe}"')


def written(row: dict[str, Any], path: str, value: str) -> str:
    """Return a row as a line, with the value at this path replaced by this JSON."""
    *steps, last = path.split(".")
    holder: Any = row
    for step in steps:
        holder = holder[int(step)] if isinstance(holder, list) else holder[step]
    holder[last] = "HOSTILE"
    return json.dumps(row).replace('"HOSTILE"', value)


HUGE = "1" + 399 * "0"
HUGER = "1" + 3999 * "0"
BEYOND = "1" + 4999 * "0"
HOSTILE = [
    *(
        ("crawl", path, value)
        for path in ("measured.pages_per_s", "measured.makespan_ns", "measured.cpu_user_ns", "workload.in_flight")
        for value in (HUGE, HUGER, BEYOND, "1e308", "5e-324", "-1", '"1"', "null", "[]", "{}", "true")
    ),
    *(
        ("crawl", f"workload.{name}", value)
        for name in ("latency", "connection", "site")
        for value in ("3", '""', "[]")
    ),
    *(
        ("crawl", "measured.service.histogram.counts", value)
        for value in ("[]", "[[1000, 1]]", "[[2000, 1], [1000, 1]]")
    ),
    *(("crawl", "measured.timeline.bin_ns", value) for value in (str(10**17), "999")),
    ("crawl", "measured.response", '{"count": 0}'),
    ("arm", "measured.windows.0.wall_ns", "0"),
    *(("crawl", "workload.cpu", value) for value in ("3", "{}")),
    *(("crawl", f"workload.site.{name}", "null") for name in ("pages", "links", "faults")),
    *(("crawl", "reason", value) for value in ("3", "[]", '""', '"though it is ok"')),
    *(("crawl", f"measured.{name}", "{}") for name in ("service", "timeline", "samples")),
    ("crawl", "measured.timeline.completions", "[1]"),
    ("crawl", "measured.service.p50_ns", "0"),
    ("crawl", "measured.service.histogram.counts", "[[1]]"),
    ("crawl", "server.cpu_share", '"much"'),
    ("crawl", "format", HUGER),
    ("crawl", "stack", f'"{HUGER}"'),
    ("crawl", "stack", '"two\\nlines"'),
    ("memory", "measured.held_slab_bytes", HUGE),
    ("limit", "measured.found", "-1"),
    ("limit", "measured.ceilings", '["threads-max"]'),
    ("limit", "measured.timeline", "[[1]]"),
    ("limit", "measured.bound_by", "3"),
    ("arm", "measured.windows", "{}"),
    ("arm", "workload.comparison", "{}"),
    ("swarm", "measured.timeline.held", "[1]"),
    *(("swarm", "knobs.selector", value) for value in (HUGE, "[[1e308]]")),
    ("open", "measured.backlog.waiting", "[1]"),
    ("open", "workload.rate_per_s", "5e-324"),
    ("arm", "measured.service.p99_ns", '"slow"'),
]


@pytest.mark.parametrize(("kind", "path", "value"), HOSTILE, ids=lambda text: text[:12])
def test_a_hostile_row_is_refused_with_one_sentence(kind: str, path: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]{1,210}$"):
        records.read(written(stored(kind, *(['"comparison":'] if "comparison" in path else [])), path, value))


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ({}, "measured has no figure"),
        ({"how": "spin", "waits_for": None}, "measured has no figure"),
        ({"$x^2$": 1}, "measured"),
        ({f"f{n}": n for n in range(101)}, "measured"),
        *(({"wall_ns": value}, "measured") for value in (10**18, -(10**18), 1e16, -0.5, [[[1]]], {"a": [1]}, {"$": 1})),
    ],
)
def test_a_probe_has_figures_few_of_them_and_with_plain_names(measured: dict[str, Any], words: str) -> None:
    row = probed("spin") | {"measured": measured}
    row["workload"]["arguments"]["waits_for"] = "answer"

    with pytest.raises(ValueError, match=words):
        records.read(json.dumps(row))


TAKEN = ("label", "line", "part", "row", "kind", "valid", "pages_per_s", "cpu_per_page_ns", "ps_rss_bytes", "idle")


@pytest.mark.parametrize("value", ["made up", -1, [1, "a"], [["a", 1], [2], "b"], ["a", 1], {"a": 1, "b": "c"}])
def test_a_probe_whose_figures_have_the_names_of_others_breaks_no_frame(value: Any) -> None:
    hostile = records.read(json.dumps(probed("spin") | {"measured": dict.fromkeys(TAKEN, value)}))
    crawl = records.read(json.dumps(stored("crawl")))

    wide = trials([crawl, hostile])

    assert len(frame([crawl, hostile])) > 10
    assert wide["pages_per_s"].iloc[0] == crawl.measured.pages_per_s
    assert list(wide["kind"]) == ["crawl", "probe"]
    assert Studies([crawl, hostile]).sections


def test_samples_are_in_the_order_in_which_they_were_taken() -> None:
    row = stored("crawl", '"samples":{')
    row["measured"]["samples"]["at_ns"].reverse()

    with pytest.raises(ValueError, match=r"measured\.samples: times that do not rise"):
        records.read(json.dumps(row))


@pytest.mark.parametrize("name", ["cpu", "cpu_ns"])
def test_the_cpu_work_of_a_page_is_in_words_and_in_nanoseconds(name: str) -> None:
    row = stored("crawl")
    row["workload"] |= {"cpu": "2ms", "cpu_ns": 2_000_000}
    assert records.read(json.dumps(row))
    del row["workload"][name]

    with pytest.raises(ValueError, match="workload: of cpu and cpu_ns one alone"):
        records.read(json.dumps(row))
