"""Rows of strangers: each is refused with one sentence, or every output shows it; ``tests/fuzz/rows.py`` looks on."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows import records

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


def test_what_a_probe_leaves_behind_is_counted_under_known_names() -> None:
    with pytest.raises(ValueError, match=r"measured\.left: object contains unknown field `extra`"):
        records.read(written(probed("cancel_workers"), "measured.left.extra", '"$x^2$"'))


FIGURES = {
    "races": ("duplicates", "lost_updates", "links_seen"),
    "spin": ("attempts", "cpu_share"),
    "stack_ripping": ("text", "traceback"),
    "cancel_workers": ("left", "complaint"),
}


@pytest.mark.parametrize("excuse", ["stopped_by", "not_applicable"])
@pytest.mark.parametrize(("probe", "names"), FIGURES.items(), ids=FIGURES)
def test_a_probe_is_excused_from_its_figures_only_by_what_it_can_say(
    probe: str, names: tuple[str, ...], excuse: str
) -> None:
    row = probed(probe)
    for name in names:
        del row["measured"][name]
    row["measured"][excuse] = "made up"

    if (probe, excuse) in {("spin", "stopped_by"), ("cancel_workers", "not_applicable")}:
        assert records.read(json.dumps(row)).valid
    else:
        with pytest.raises(ValueError, match=r"the status is ok, but measured has no "):
            records.read(json.dumps(row))


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
