"""One verdict, number by number: each number is what it says it is, and the page is renewed between its marks."""

import math
from pathlib import Path

import pytest
from scipy.stats import ttest_1samp

from bench import rows as stored
from bench.analyse.decide import DESIGNED
from bench.analyse.effect import amount, percent
from bench.present import units
from bench.studies.compare import read, worked
from tests.made_blocks import blocks, series


def numbers(change: float) -> dict[str, str]:
    found = blocks(series(12, change))
    (grid,) = worked.explained(found, read.decided(found, DESIGNED)).tables
    return {name: here for name, here, _ in grid.lines}


def test_each_number_is_what_it_says_it_is() -> None:
    told = numbers(0.08)
    values = [read.values(one)["cpu_per_page"] for one in blocks(series(12, 0.08))]
    tested = ttest_1samp(values, 0, alternative="greater")
    ends = ttest_1samp(values, 0).confidence_interval(0.95)

    assert told["value of the block"] == percent(values[0])
    assert told["change"] == percent(math.fsum(values) / 12)
    assert told["t"] == units.number(float(tested.statistic), 3)
    assert told["p"] == "below 0.00001"
    assert told["95 % interval"] == f"{percent(ends.low).removesuffix(' %')} to {percent(ends.high)}"
    assert told["standard error"] == amount((ends.high - ends.low) / 2 / 2.20098516)
    assert told["verdict"] == "REGRESSION"


def test_a_p_that_can_be_written_is_written() -> None:
    values = [read.values(one)["cpu_per_page"] for one in blocks(series(12, 0.003))]

    assert numbers(0.003)["p"] == units.number(float(ttest_1samp(values, 0, alternative="greater").pvalue), 2)


def folder(runs: Path, name: str, change: float) -> Path:
    made = runs / f"{name}-vm-ab"
    made.mkdir(parents=True)
    for rows in series(12, change):
        for row in rows:
            stored.append(made, row)
    return made


def test_the_newest_comparison_that_ended_as_a_regression_is_shown_between_the_marks(tmp_path: Path) -> None:
    runs, page = tmp_path / "runs", tmp_path / "method.md"
    shown = folder(runs, "2", 0.08)
    folder(runs, "1", 0.09)
    folder(runs, "3", 0.0)
    page.write_text("before\n{}\n{}\nbehind\n".format(*worked.MARKS), encoding="utf-8")
    arguments = ["--docs", str(page), "--runs", str(runs)]

    assert worked.newest(runs) == shown
    assert worked.main([*arguments, "--check"]) == 1
    assert worked.main(arguments) == 0
    assert worked.main([*arguments, "--check"]) == 0
    assert f"| change | {numbers(0.08)['change']} |" in page.read_text(encoding="utf-8")


def test_without_such_a_comparison_one_sentence_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder(tmp_path, "1", 0.0)
    (tmp_path / "page.md").write_text("", encoding="utf-8")

    assert worked.main(["--docs", str(tmp_path / "page.md"), "--runs", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("no comparison in ")
