"""What outputs say of recorded runs, and of rows that differ from theirs in a few values, is what is stored."""

import pytest

from inflight.bench.show import sections
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import summary_table
from tests.outputs import FORMS, RECORDED, RUNS, compare, details, recorded
from tests.show.cases import CASES


@pytest.fixture(autouse=True)
def _without_stored_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the figures of results/reference, where runs are replaced."""
    monkeypatch.setattr(sections, "reference_memory", dict)


@pytest.mark.parametrize("run", RUNS)
def test_a_recorded_run_is_shown_as_stored(run: str, request: pytest.FixtureRequest) -> None:
    studies = Studies(recorded(run), RECORDED / run)

    compare({RECORDED / run / f"output.{form}": shown(studies) for form, shown in FORMS.items()}, request.config)


@pytest.mark.parametrize("case", CASES)
def test_a_case_is_shown_as_stored(case: str, request: pytest.FixtureRequest) -> None:
    studies = Studies(CASES[case]())
    shown = "\n".join([summary_table(studies, 80).plain, details(studies)])

    compare({RECORDED / "cases" / f"{case}.txt".replace(" ", "-"): shown}, request.config)
