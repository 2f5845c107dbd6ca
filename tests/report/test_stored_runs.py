"""Every stored run: its rows are read as they stand, and every format without pictures shows them."""

import csv
import io
import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows import records
from inflight.bench.show.answer import MAX_COLUMNS
from inflight.bench.show.summary import MAX_MARKDOWN
from inflight.bench.show.words import MEANINGS
from tests.cli.command import call

pytestmark = pytest.mark.ci
RESULTS = Path(__file__).parents[2] / "results"
RUNS = rows.folders_in(RESULTS / "reference")
VALIDATOR = jsonschema.Draft202012Validator(json.loads(rows.SCHEMA_FILE.read_text(encoding="utf-8")))
RETIRED = {
    "windows": {
        *("kept", "replaced", "cpu_per_page_all_ns", "missing_share", "disturbed", "unit_ns", "settle_ns"),
        *("faults_per_page", "switches_per_page"),
    },
    "cycle": {"kept", "replaced", "disturbed", "unit_ns", "server_cpu_ns", "faults", "switches"},
    "start_ns": {"cpu_ns", "held_server_uss_bytes"},
    "response": {
        *("gc_collections", "gc_total_ns", "gc_max_ns", "switches_per_page"),
        *("steady", "queueing", "steady_response", "warm_up_ns", "voluntary_switches", "involuntary_switches"),
    },
    "base_uss_bytes": {
        *("base_server_uss_bytes", "parked_server_uss_bytes"),
        *("pages_per_s", "cpu_per_page_ns", "cpu_user_ns", "cpu_system_ns", "service", "response", "steady_service"),
        *("samples", "hole_ns", "peak_threads", "uss_bytes", "rss_bytes", "pss_bytes", "run_delay_ns", "others_ns"),
    }
    | {
        f"{moment}_{layer}"
        for moment in ("base", "held", "parked")
        for layer in (
            *("all_page_tables_bytes", "available_bytes", "unused_bytes", "time_waits"),
            *("pss_bytes", "server_rss_bytes", "server_pss_bytes"),
            *("tcp_sockets", "tasks", "threads", "connections", "server_page_tables_bytes"),
        )
    },
    "ceilings": {
        *("start_ns", "maps_per_thread", "parent_could_fork", "processes", "small_stack_bytes", "small_stack_found"),
    },
    "client_processes": {"hosts", "late", "server_cpu_ns", "locust_cpu_ns"},
    "failures": {"version"},
    "python": {
        *("build", "gil_asked", "allocator", "eager_tasks", "selector", "stack_bytes", "locust"),
    },
    "requests": {
        *("peak_connections", "responses_by_status", "faults", "cpu_ns"),
        *("first_lateness_p99_ns", "first_lateness_count", "lateness_count", "lateness_p90_ns"),
        *("in_flight", "connections"),
        *("bytes_sent", "cpu_user_ns", "cpu_system_ns", "clock_ns", "held", "cached_pages", "cached_bytes"),
    },
}
"""Figures that rows no longer have, by a key of their part of the row.

They were of former checks, of cycles that were called disturbed and of a loop of pure Python, or nothing read them.
"""
MAY_BE_NULL = {"reason", "ramp_per_s", "processes", "latency", "mean_latency_ns", "site", "target", "share", "pid"}


def known(value: Any) -> Any:
    """Return a value of a row without what is null in it or retired."""
    if isinstance(value, dict):
        retired = set().union(*(names for key, names in RETIRED.items() if key in value))
        own = {name: one for name, one in value.items() if name not in retired}
        return {name: known(one) for name, one in own.items() if one is not None or name in MAY_BE_NULL}
    return [known(own) if isinstance(own, dict) else own for own in value] if isinstance(value, list) else value


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_stored_run_is_read_as_it_stands_and_reported(run: Path, tmp_path: Path) -> None:
    found = rows.read(run)
    lines = [json.loads(line) for line in rows.text(run).splitlines()]
    # One by one: if all rows of a file differ, pytest's explanation of the difference takes minutes.
    for row, values in zip(found, lines, strict=True):
        assert known(json.loads(row.to_json())) == known(values)
    for values in {(values["kind"], values["status"]): values for values in lines}.values():
        VALIDATOR.validate(values)
    assert {check.name for row in found for check in row.checks} <= set(MEANINGS)

    told = {form: call("report", run, "--format", form) for form in ("terminal", "md", "csv", "json")}
    table = call("report", run, "--format", "parquet", "--output", tmp_path / "rows.parquet")

    assert {(done.code, done.err) for done in told.values()} == {(0, "")}
    assert table.code == 0, table.err
    assert told["terminal"].out
    assert told["md"].out.startswith(f"## inflight: {run.name.split('-', 2)[2]}\n")  # utc-host-name
    assert len(told["md"].out) < MAX_MARKDOWN
    assert told["md"].out.count("<details>") == told["md"].out.count("</details>")
    assert [line["trial"] for line in csv.DictReader(io.StringIO(told["csv"].out))] == [row.trial for row in found]
    answer = json.loads(told["json"].out)["answer"]
    assert "CPython" in answer["title"]
    columns = {column["name"] for column in answer["columns"]}
    assert len(columns) <= MAX_COLUMNS or columns <= {row.strategy for row in found}  # of a scan: its models


def test_every_stored_row_is_read_and_written_again_with_the_same_values() -> None:
    folders = [folder for place in sorted(RESULTS.iterdir()) for folder in rows.folders_in(place)]
    found = [row for folder in folders for row in rows.read(folder)]

    assert len({folder.parent for folder in folders}) == 3
    assert {row.kind for row in found} == set(get_args(rows.Kind))
    assert all(records.read(row.to_json()) == row for row in found)
