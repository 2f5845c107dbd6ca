"""``run --list``: what a run would do, as grids."""

import json
import re

import pytest

from inflight.bench.core.experiment import preset_names
from tests.cli.command import inflight


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("preset", preset_names())
def test_the_plan_of_every_preset_fits_the_terminal(preset: str, columns: int) -> None:
    done = inflight("run", preset, "--list", COLUMNS=str(columns))

    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= columns
    assert len(done.out.splitlines()) < 100


@pytest.mark.parametrize("preset", ["quick", "clients", "c100k"])
def test_the_numbers_of_a_plan_are_the_rows_of_the_run(preset: str) -> None:
    rows = json.loads(inflight("run", preset, "--list", "--json").out)["rows"]
    lines = [line for line in inflight("run", preset, "--list").out.splitlines() if re.search(r"  (\d+|-)$", line)]
    strategies = [line for line in lines if not re.match(" *in flight ", line)]

    assert sum(int(number) for line in strategies for number in re.findall(r" (\d+)(?= |$)", line)) == len(rows)


def test_settings_with_equal_grids_share_one() -> None:
    done = inflight("run", "sweep", "--list")

    assert done.out.count("  in flight  ") == 2
    latencies = ["1 ms", "5 ms", "20 ms", "50 ms", "200 ms"]
    assert "\n".join(f"  added latency {one}" for one in latencies) in done.out


def test_a_strategy_that_takes_no_part_has_a_dash() -> None:
    lines = [line.split() for line in inflight("run", "race", "--list").out.splitlines()]

    assert ["sequential", "1", "-"] in lines
    assert ["callbacks", "-", "3"] in lines
