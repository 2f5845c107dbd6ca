"""``inflight run`` with building blocks, layered memory, probes: through the command line, to rows, table and plots."""

import csv
import json
from pathlib import Path

import pytest

from inflight.bench.core import rows
from tests.cli.command import Done, inflight

SMALL = """
strategies = ["callbacks"]

[[memory]]
in_flight = [10, 20, 30, 40, 50]
connection = ["per-fetch"]
parked = true
site = { links = 0 }

[[block]]
blocks = ["thread"]
n = [40, 80, 120, 160, 200]
"""
ATTRIBUTION = """
[[probe]]
probe = "attribution"
each = { block = ["generator_task"], look = ["python", "outside"] }
"""


def folder_of(parent: Path) -> Path:
    (folder,) = (parent / "results").iterdir()
    return folder


def write(folder: Path, text: str) -> Path:
    path = folder / "my.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("small")


@pytest.fixture(scope="module")
def small(folder: Path) -> Done:
    return inflight("run", write(folder, SMALL), folder=folder, calm=True)


def test_layers_of_strategies_and_blocks_become_rows_and_a_table(small: Done, folder: Path) -> None:
    assert small.code == 0, small.err
    found = rows.read(folder_of(folder))
    assert len(found) == 5 + 5
    assert {row.status for row in found} == {"ok"}
    for word in (
        "building blocks",
        "thread",
        "fetches in flight",
        "callbacks",
        "tables",
        "stacks",
    ):
        assert word in small.out
    assert "As often measured" in small.out


def test_layers_become_plots_and_csv(small: Done, folder: Path) -> None:
    assert small.code == 0, small.err
    plots = {path.name for path in (folder_of(folder) / "plots").iterdir()}
    assert {"layers.png", "layers.svg", "ladder.png", "ladder.svg", "in_flight.png", "in_flight.svg"} <= plots
    with (folder_of(folder) / "rows.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["n"] for line in lines if line["strategy"] == "thread"} == {"40", "80", "120", "160", "200"}
    assert all(int(line["held_page_tables_bytes"]) > 0 for line in lines)


def test_the_json_summary_has_the_layers(tmp_path: Path) -> None:
    experiment = write(tmp_path, "[[block]]\nblocks = ['generator']\nn = [10]\n")

    done = inflight("run", experiment, "--json", folder=tmp_path)

    assert done.code == 0, done.err
    (found,) = json.loads(done.out)["layers"]
    assert (found["subject"], found["largest_n"]) == ("generator", 10)


def test_a_trial_beyond_a_limit_is_announced_and_becomes_a_skipped_row(tmp_path: Path) -> None:
    experiment = write(tmp_path, "[[memory]]\nin_flight = [10, 5000]\n")

    done = inflight(
        "run", experiment, "--strategy", "callbacks", folder=tmp_path, limit=("RLIMIT_NOFILE", 300), calm=True
    )

    assert done.code == 0, done.err
    first, *_ = done.err.splitlines()
    assert all(part in first for part in ("1 trial", "5,064 descriptors", "RLIMIT_NOFILE", "at most 236"))
    skipped = [row for row in rows.read(folder_of(tmp_path)) if row.status == "skipped"]
    assert [(row.workload.in_flight, row.reason) for row in skipped] == [(5000, first.partition(": ")[2])]


def test_the_memory_budget_stops_a_trial_and_the_others_continue(tmp_path: Path) -> None:
    experiment = write(tmp_path, "[[block]]\nblocks = ['generator']\nn = [100, 500000]\n")

    done = inflight("run", experiment, "--memory-budget", "50MB", folder=tmp_path)

    assert done.code == 0, done.err
    by_n = {row.workload.n: row for row in rows.read(folder_of(tmp_path))}
    assert by_n[100].status == "ok"
    assert by_n[500_000].status == "failed"
    assert str(by_n[500_000].reason).endswith("MB were used, 50 MB allowed")
    assert "stopped by the memory budget" in done.err


def test_attribution_is_printed_by_line_and_by_kind(tmp_path: Path) -> None:
    done = inflight("run", write(tmp_path, ATTRIBUTION), folder=tmp_path)

    assert done.code == 0, done.err
    assert "Where the bytes of one generator_task go" in done.out
    assert "allocated by Python, by line" in done.out
    assert "strategies/generators.py" in done.out
    assert "in memory, by kind of mapping" in done.out
