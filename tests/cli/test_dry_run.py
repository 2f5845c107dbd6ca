"""``run --dry-run``: what a run would do."""

import json
import re
from pathlib import Path

import pytest

from inflight import strategies
from inflight.bench.commands import planned
from inflight.bench.measure import run as runs
from inflight.bench.plan.experiment import load, preset_names
from inflight.bench.plan.trial import row_trials
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


@pytest.mark.parametrize("preset", preset_names())
def test_the_numbers_of_a_plan_are_the_rows_of_the_run(preset: str) -> None:
    experiment = load(preset, strategies.names())
    trials = runs.plan(experiment, installed=False)
    numbers = [
        int(rounds) * len(sizes.split(", ")) * len(names.split(", "))
        for table in planned.tables(experiment.strategies, trials)
        for _, rounds, sizes, names in table.cells
    ]

    assert sum(numbers) == sum(len(row_trials(trial)) for trial in trials)


def test_strategies_with_other_sizes_have_a_line_of_their_own() -> None:
    out = call("run", "race", "--dry-run", columns=120).out

    assert re.search(r" 1  +1 +sequential$", out, re.MULTILINE)
    assert re.search(r" 3  +100 +.*callbacks", out, re.MULTILINE)


def test_a_dry_run_prints_the_plan_and_runs_nothing(tiny: Path, tmp_path: Path) -> None:
    done = call("run", tiny, "--dry-run", folder=tmp_path)

    assert (done.code, done.err) == (0, "")
    first, _, study, _, _, line, legend = done.out.splitlines()
    assert re.fullmatch(r"tiny: 4 trials, about \d+ s", first)
    assert re.fullmatch(r"memory of fetches that the server holds: 4 trials, about \d+ s", study)
    assert line.split() == ["-", "1", "1,", "2", "callbacks,", "thread_pool"]
    assert legend.startswith("Sizes")
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


def test_a_client_that_is_alone_in_a_preset_has_asyncio_beside_it(tmp_path: Path) -> None:
    source = Path(strategies.__file__).with_name("callbacks.py")
    (tmp_path / "mine.py").write_bytes(source.read_bytes())
    mine = str(tmp_path / "mine.py")

    alone = call("run", "quick", "--dry-run", "--strategy", mine)
    chosen = call("run", "quick", "--dry-run", "--strategy", mine, "--strategy", "callbacks")

    assert "native_asyncio runs beside mine, so that they can be compared" in alone.err
    assert "native_asyncio, mine" in alone.out
    assert "runs beside" not in chosen.err


def test_tables_that_tls_does_not_change_and_equal_workloads_are_named_once() -> None:
    done = call("run", "quick", "--tls", "--dry-run")

    assert "--tls does not change [[limit]]\n" in done.err
    assert "two [[memory]] tables have the same workload with 500 in flight: results have the rounds" in done.err
    assert "--tls does not change" not in call("run", "tls", "--tls", "--dry-run").err
