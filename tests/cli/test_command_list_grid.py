"""``run --dry-run``: what a run would do, as grids."""

import json
import re
from pathlib import Path

import pytest

from inflight.bench.plan.experiment import preset_names
from tests.cli.command import call

TINY = """
strategies = ["callbacks", "thread_pool"]
[[memory]]
in_flight = [1, 2]
site = { links = 0 }
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


@pytest.mark.parametrize("preset", preset_names())
def test_the_plan_of_a_preset_fits_the_terminal(preset: str) -> None:
    for columns in (80, 120):
        done = call("run", preset, "--dry-run", columns=columns)

        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= columns
        assert len(done.out.splitlines()) < 110


@pytest.mark.parametrize("preset", ["quick", "clients", "c100k"])
def test_the_numbers_of_a_plan_are_the_rows_of_the_run(preset: str) -> None:
    rows = json.loads(call("run", preset, "--dry-run", "--json").out)["rows"]
    lines = [line for line in call("run", preset, "--dry-run").out.splitlines() if re.search(r"  (\d+|-)$", line)]
    strategies = [line for line in lines if not re.match(" *in flight ", line)]

    assert sum(int(number) for line in strategies for number in re.findall(r" (\d+)(?= |$)", line)) == len(rows)


def test_settings_with_equal_grids_share_one() -> None:
    done = call("run", "sweep", "--dry-run")

    assert done.out.count("  in flight  ") == 2
    latencies = ["1 ms", "5 ms", "20 ms", "50 ms", "200 ms"]
    assert "\n".join(f"  added latency {one}" for one in latencies) in done.out


def test_a_strategy_that_takes_no_part_has_a_dash() -> None:
    lines = [line.split() for line in call("run", "race", "--dry-run").out.splitlines()]

    assert ["sequential", "1", "-"] in lines
    assert ["callbacks", "-", "3"] in lines


def test_quiet_prints_the_same_plan_and_drops_what_is_left_out() -> None:
    loud, quiet = (call("run", "memory", "--dry-run", *options) for options in ([], ["-q"]))

    assert quiet.out == loud.out != ""
    assert (quiet.code, quiet.err) == (0, "")
    assert "sequential" in loud.err


def test_list_prints_a_grid_and_runs_nothing(tiny: Path, tmp_path: Path) -> None:
    done = call("run", tiny, "--dry-run", folder=tmp_path)

    assert (done.code, done.err) == (0, "")
    first, _, study, *grid, _, legend = done.out.splitlines()
    assert re.fullmatch(r"tiny: 4 trials, about \d+ s", first)
    assert re.fullmatch(r"memory of fetches that the server holds: 4 trials, about \d+ s", study)
    assert [line.split() for line in grid] == [
        ["in", "flight", "1", "2"], [17 * "─"], ["callbacks", "1", "1"], ["thread_pool", "1", "1"],
    ]  # fmt: skip
    assert "rounds" in legend
    assert list(tmp_path.iterdir()) == [tiny]


def test_list_as_json_has_the_rows_in_the_order_of_the_run(tiny: Path) -> None:
    told = json.loads(call("run", tiny, "--dry-run", "--json").out)

    assert (told["experiment"], told["trials"]) == ("tiny", 4)
    assert told["estimated_s"] > 0
    assert sorted(told["rows"]) == [
        f"memory/latency=0/in_flight={number}/keep-alive/{name}/round=1"
        for number in (1, 2)
        for name in ("callbacks", "thread_pool")
    ]


def test_rounds_seed_and_strategies_replace_those_of_the_experiment(tiny: Path) -> None:
    def listed(*options: str) -> list[str]:
        return list(json.loads(call("run", tiny, "--dry-run", "--json", *options).out)["rows"])

    assert len(listed("--rounds", "3")) == 12
    assert {line.split("/")[-2] for line in listed("--strategy", "sequential", "--strategy", "generators")} == {
        "sequential",
        "generators",
    }
    orders = {tuple(listed("--seed", str(seed))) for seed in range(5)}
    assert len(orders) > 1
    assert listed("--seed", "5") == listed("--seed", "5")
