"""``inflight open-loop`` as a command, from its start to its end."""

from pathlib import Path

import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.cli.command import Done, call

SHORT = ("--rate", "20", "--rate", "40", "--duration", "500ms", "--in-flight", "10")
"""20 and 40 requests per second for half a second."""
ARRIVALS = {20: 10, 40: 20}


def run_of(folder: Path) -> Path:
    (run,) = folder.iterdir()
    return run


def code_of(found: list[Row]) -> int:
    """Return the exit code that --help promises for these rows; which of them are invalid depends on the machine."""
    return 0 if any(row.valid for row in found) else 1


def assert_answered(found: list[Row], done: Done) -> None:
    assert done.code == code_of(found), done.err
    assert {row.workload.rate_per_s: row.measured.arrivals for row in found} == ARRIVALS
    for row in found:
        assert row.status == "ok", row.reason
        assert 0 < row.measured.completed <= row.measured.arrivals
        assert row.measured.failed == 0


@pytest.mark.ci
def test_rates_are_sent_one_after_the_other_and_shown_in_a_table_and_a_page(tmp_path: Path) -> None:
    done = call("open-loop", *SHORT, "--latency", "5ms", "--out", tmp_path)

    run = run_of(tmp_path)
    found = rows.read(run)
    assert_answered(found, done)
    assert ("Open loop, 5 ms: the highest rate kept is " in done.out) == any(row.valid for row in found)
    lines = [line.replace("✗", " ").split() for line in done.out.splitlines() if line.startswith("locust")]
    assert [line[1] for line in lines] == ["20", "40"]
    assert {"experiment.toml", "machine.json", "rows.jsonl", "rows.csv", "plots"} <= {
        path.name for path in run.iterdir()
    }
