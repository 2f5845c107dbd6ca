"""Lists of the command line: the same experiment as a file has, and the command that repeats it."""

import json
import re
import shlex
from pathlib import Path

import pytest

from inflight.bench.plan.experiment import ExperimentError, load, parse
from inflight.bench.plan.lists import CYCLES, MAX_WORKLOADS, MIN_BODY_BYTES, NAME, ROUNDS, cross
from inflight.bench.rows import files as rows
from inflight.fake_server.site import Site, SiteConfig
from inflight.strategies import names
from tests.cli.command import call


def test_lists_are_the_tables_that_a_file_would_have() -> None:
    given = {"--in-flight": ["1,10", "100"], "--latency": ["0,0.05s"], "--cpu": ["1000us"], "--body": ["1kB,100kB"]}

    common = {"in_flight": [1, 10, 100], "cpu": ["1ms"]}
    tables = [
        common | {"latency": [latency], "cycles": cycles, "site": {"body_bytes": size_bytes}}
        for size_bytes in (1000, 100_000)
        for latency, cycles in (("0", CYCLES), ("50ms", 1))
    ]
    assert cross(given, names()) == parse({"rounds": ROUNDS, "throughput": tables}, NAME, names(), "x.toml")


def test_a_grid_has_the_strategies_and_the_site_of_quick() -> None:
    grid, quick = cross({"--cpu": ["1ms"]}, names()), load("quick", names())

    assert grid.strategies == quick.strategies
    assert [workload.site for _, workload in grid.cells()] == [quick.throughput[0].workloads("")[0].site]


def test_the_smallest_body_has_room_for_all_links() -> None:
    site = Site(SiteConfig(pages=10_000, endless=True, body_bytes=MIN_BODY_BYTES))

    assert site.page(site.first).body_bytes == MIN_BODY_BYTES


def test_too_many_combinations_are_refused() -> None:
    hundred = ",".join(map(str, range(1, 101)))
    delays = ",".join(f"{number}ms" for number in range(100))

    with pytest.raises(ExperimentError, match=f"the lists have 10,000 combinations, limit {MAX_WORKLOADS}; leave out"):
        cross({"--in-flight": [hundred], "--latency": [delays]}, names())


def test_a_grid_ends_with_the_command_that_repeats_its_plan(tmp_path: Path) -> None:
    lists = ["--in-flight", "1,2", "--latency", "uniform 1ms 2ms", "--body", "5kB", "--cpu", "0"]

    done = call("run", *lists, "--strategy", "callbacks", "--rounds", 1, folder=tmp_path)

    *_, last = done.err.splitlines()
    again = re.fullmatch(r"again: inflight (.*)", last)
    assert again, done.err
    plan = json.loads(call(*shlex.split(again[1]), "--dry-run", "--json", folder=tmp_path).out)
    (folder,) = (tmp_path / "results").iterdir()
    assert folder.name.endswith("-grid")
    assert plan["rows"] == [row.trial for row in rows.read(folder)]
    assert "body bytes 5000" in done.err
