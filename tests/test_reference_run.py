"""What is committed as reference runs."""

import json
from pathlib import Path

import pytest

from bench.core import rows
from bench.core.rows import Row

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "results" / "reference"

RUNS = sorted(path.parent for path in REFERENCE.glob(f"*/{rows.ROWS_FILE}"))


@pytest.mark.parametrize(
    "experiment", ["quick", "quick-disturbed", "selftest", "ab", "memory", "c10k", "limits", "claims"]
)
def test_there_is_a_reference_run_of(experiment: str) -> None:
    assert [run for run in RUNS if run.name.endswith(f"-{experiment}")]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_records_know_all_that_is_in_it(run: Path) -> None:
    for line in (run / rows.ROWS_FILE).read_text(encoding="utf-8").splitlines():
        assert json.loads(Row.from_json(line).to_json()) == json.loads(line)


@pytest.mark.parametrize("path", sorted(REFERENCE.rglob("*.json*")), ids=lambda path: path.name)
def test_no_path_of_the_machine_it_ran_on_is_in_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert not [word for word in ("/home/", "/root/", "/Users/", "/tmp/") if word in text]  # noqa: S108
