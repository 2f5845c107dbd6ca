"""A table [[throughput]] from ``inflight run`` to the report: the same code measured twice, then each strategy."""

import json
from pathlib import Path

import pytest

from inflight import strategies
from inflight.bench.core import rows
from inflight.bench.core.arm import REFERENCE
from tests.cli.command import Done, inflight
from tests.cli.test_command_run import only_run

BLOCKS = """
rounds = 2
[site]
links = 5
[[throughput]]
in_flight = [5]
cycles = 1
"""
SAME = "The same code, measured twice, differs in CPU time per page by "
COSTS = "**CPU per page at no added latency, 5 in flight**"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blocks")


@pytest.fixture(scope="module")
def done(place: Path) -> Done:
    (place / "blocks.toml").write_text(BLOCKS, encoding="utf-8")
    return inflight("run", "blocks.toml", folder=place, calm=True)


@pytest.fixture(scope="module")
def others() -> set[str]:
    """Return the strategies that can have five in flight, except the reference."""
    most = {name: strategies.describe(name).most_in_flight for name in strategies.models()}
    return {name for name, number in most.items() if number is None or number >= 5} - {REFERENCE}


def test_a_run_of_blocks_prints_the_placebo_before_the_tables(done: Done, others: set[str]) -> None:
    assert done.code == 0
    lines = done.out.splitlines()
    (placebo,) = (number for number, line in enumerate(lines) if line.startswith(SAME))
    assert not any("±" in line for line in lines[:placebo])
    assert all(name in done.out for name in others)


def test_the_report_as_markdown_has_the_placebo_before_a_ratio_of_each_strategy(
    done: Done, place: Path, others: set[str]
) -> None:
    text = inflight("report", only_run(place), "--format", "md").out

    before, _, below = text.partition(COSTS)
    assert before.count(SAME) == 1
    lines = [line.strip("| ").split(" | ") for line in below.partition("\n**")[0].splitlines() if line.count("|") == 4]
    ratios = {line[0].replace("\\", ""): line[2] for line in lines if len(line) == 3}
    assert ratios[REFERENCE] == "reference"
    assert {name for name, ratio in ratios.items() if "x (" in ratio} == others


def test_the_report_as_json_has_the_placebo_and_a_ratio_of_each_strategy(
    done: Done, place: Path, others: set[str]
) -> None:
    found = json.loads(inflight("report", only_run(place), "--format", "json").out)

    assert found["placebo"]["blocks"] == 2
    assert {one["strategy"] for one in found["ratios"]} == others
    for one in (found["placebo"], *found["ratios"]):
        assert 0 < one["low"] <= one["estimate"] <= one["high"]
    assert list(found).index("placebo") < list(found).index("ratios")


@pytest.mark.slow
def test_a_strategy_is_compared_with_itself_beside_a_thread_that_computes(tmp_path: Path) -> None:
    text = 'strategies = ["callbacks"]\nrounds = 1\n[[throughput]]\nin_flight = [1]\ncycles = 2\n'
    text += "busy_threads = 1\nagainst = { busy_threads = 0 }\n"
    (tmp_path / "convoy.toml").write_text(text, encoding="utf-8")

    done = inflight("run", "convoy.toml", folder=tmp_path, calm=True)

    assert done.code == 0, done.err
    found = {row.workload.arm.name: row for row in rows.read(only_run(tmp_path))}
    quiet, busy = found["callbacks (busy_threads=0)"], found["callbacks (busy_threads=1)"]
    assert busy.workload.arm.busy_threads == 1
    assert busy.measured.peak_threads == quiet.measured.peak_threads + 1
    assert [row.status for row in (quiet, busy)] == ["ok", "ok"]
