"""One verdict, number by number: each number is what it says it is."""

import math
from pathlib import Path

import pytest
from scipy.stats import ttest_1samp

from inflight.bench.core import units
from inflight.bench.rows import files as stored
from inflight.bench.studies.compare import read
from inflight.bench.studies.compare.rule import DESIGNED
from tests.made_blocks import blocks, series
from tools.document import verdict
from tools.document.stored import DocumentError

pytestmark = pytest.mark.night


def numbers(change: float) -> dict[str, str]:
    found = blocks(series(12, change))
    (grid,) = verdict.explained(found, read.decided(found, DESIGNED)).tables
    return {name: here for name, here, _ in grid.cells}


def test_each_number_matches_its_description() -> None:
    told = numbers(0.08)
    values = [read.values(one)["cpu_per_page"] for one in blocks(series(12, 0.08))]
    tested = ttest_1samp(values, 0, alternative="greater")
    ends = ttest_1samp(values, 0).confidence_interval(0.95)

    assert told["value of the block"] == units.change(values[0])
    assert told["change"] == units.change(math.fsum(values) / 12)
    assert told["t"] == units.number(float(tested.statistic), 3)
    assert told["p"] == "below 0.00001"
    assert told["95 % interval"] == units.change_between(ends.low, ends.high)
    assert told["standard error"] == units.change_size((ends.high - ends.low) / 2 / 2.20098516)
    assert told["verdict"] == "REGRESSION"


def test_a_p_value_is_written_if_it_can_be() -> None:
    values = [read.values(one)["cpu_per_page"] for one in blocks(series(12, 0.003))]

    assert numbers(0.003)["p"] == units.number(float(ttest_1samp(values, 0, alternative="greater").pvalue), 2)


def folder(runs: Path, name: str, change: float) -> Path:
    made = runs / f"{name}-vm-ab"
    made.mkdir(parents=True)
    for rows in series(12, change):
        for row in rows:
            stored.append(made, row)
    return made


def test_the_newest_comparison_that_ended_as_a_regression_is_shown(tmp_path: Path) -> None:
    shown = folder(tmp_path, "2", 0.08)
    folder(tmp_path, "1", 0.09)
    folder(tmp_path, "3", 0.0)

    assert verdict.regression(tmp_path).folder == shown
    assert f"| change | {numbers(0.08)['change']} |" in verdict.part(tmp_path, tmp_path)


def test_without_such_a_comparison_one_sentence_says_so(tmp_path: Path) -> None:
    folder(tmp_path, "1", 0.0)

    with pytest.raises(DocumentError, match=r"^no comparison in "):
        verdict.part(tmp_path, tmp_path)
