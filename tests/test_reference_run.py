"""What is committed as reference runs."""

from pathlib import Path

import pytest

from inflight.bench.core import rows

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "results" / "reference"

RUNS = sorted(path.parent for path in REFERENCE.glob(f"*/{rows.ROWS_FILE}"))


@pytest.mark.parametrize(
    "experiment", ["quick", "quick-disturbed", "selftest", "ab", "memory", "c10k", "limits", "claims"]
)
def test_there_is_a_reference_run_of(experiment: str) -> None:
    assert [run for run in RUNS if run.name.endswith(f"-{experiment}")]


@pytest.mark.parametrize("path", sorted(REFERENCE.rglob("*.json*")), ids=lambda path: path.name)
def test_no_path_of_the_machine_it_ran_on_is_in_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert not [word for word in ("/home/", "/root/", "/Users/", "/tmp/") if word in text]  # noqa: S108
