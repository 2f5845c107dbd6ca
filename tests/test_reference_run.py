"""What is committed as the reference run, and what README.md says of it, agree with each other."""

from pathlib import Path

import pytest

from bench import rows
from bench.present import claims, claims_pages, readme
from bench.studies.compare import worked
from tools import neighbours

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "results" / "reference"

RUNS = sorted(path.parent for path in REFERENCE.glob(f"*/{rows.ROWS_FILE}"))


def test_the_readme_quotes_the_reference_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    assert readme.main(["--check"]) == 0, "run `make readme`"


def test_the_worked_verdict_is_that_of_a_reference_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    assert worked.main(["--check"]) == 0, "run `make readme`"


def test_what_a_neighbour_changes_is_of_reference_runs() -> None:
    assert neighbours.table(REFERENCE) in (ROOT / "docs" / "method.md").read_text(encoding="utf-8"), "run `make readme`"


@pytest.mark.parametrize(
    "experiment", ["quick", "quick-disturbed", "selftest", "ab", "memory", "c10k", "limits", "claims"]
)
def test_there_is_a_reference_run_of(experiment: str) -> None:
    assert [run for run in RUNS if run.name.endswith(f"-{experiment}")]


def test_the_page_of_claims_is_that_of_the_reference_run() -> None:
    report = claims.load(readme.newest(REFERENCE, "claims"))

    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == claims_pages.docs(report), "run `make readme`"


@pytest.mark.parametrize("path", sorted(REFERENCE.rglob("*.json*")), ids=lambda path: path.name)
def test_no_path_of_the_machine_it_ran_on_is_in_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert not [word for word in ("/home/", "/root/", "/Users/", "/tmp/") if word in text]  # noqa: S108
