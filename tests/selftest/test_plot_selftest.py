"""The plot of a self-test: its rates are the title, and no block is lost."""

import math
from pathlib import Path
from typing import Any

from inflight.bench.rows.files import Row
from inflight.bench.studies.selftest import plot as plot_selftest
from inflight.bench.studies.selftest import read as self_test
from inflight.bench.studies.selftest.plot import save_selftest
from tests.ab.test_plots_comparison import marks, words
from tests.made_blocks import Rows, block, blocks, flat, series
from tests.made_rows import MACHINE


def selftest(made: dict[str, list[Rows]]) -> dict[str, Any]:
    """Return what a self-test on these comparisons keeps, as far as its plot reads it."""
    found = {name: blocks(own) for name, own in made.items()}
    counted = {"blocks": len(made["aa"])}
    sizes = {name.removeprefix("planted-"): own for name, own in found.items() if name.startswith("planted-")}
    return {
        "strategy": "callbacks",
        "noise": {"callbacks": self_test.noise(found["aa"])},
        "false_alarms": {"real": {"alarms": 1, "decisions": 8} | counted},
        "detection": {
            size: self_test.detection(own, {}) | {"share": 0.98, "decisions": 300} for size, own in sizes.items()
        },
    }


def rows_of(made: dict[str, list[Rows]]) -> list[Row]:
    return [row for own in made.values() for row in flat(own)]


MADE = {
    "aa": series(30, name="aa"),
    "aa-thread_pool": series(12, sd=0.03, labels=("thread_pool",) * 2, name="aa-thread_pool"),
    "planted-10": series(12, math.log(1.081), 0.0001, name="planted-10"),
    "planted-5": [*series(12, math.log(1.048), 0.0001, name="planted-5"), block(13, invalid=True, name="planted-5")],
}


def test_a_self_test_shows_its_rates_and_its_blocks(tmp_path: Path) -> None:
    paths = save_selftest(selftest(MADE), rows_of(MADE), MACHINE, tmp_path)
    text = words(tmp_path / "selftest.svg")

    assert [path.name for path in paths] == ["selftest.png", "selftest.svg"]
    assert "1 false alarm in 8 decisions without a change; 98 % of 4.8 % slowdowns found; 98 % of 8.1 %" in text
    assert text.index("+4.8 % CPU planted 12 blocks") < text.index("+8.1 % CPU planted 12 blocks")
    assert "A/A no change 42 blocks SD" in text
    assert "1 of 67 blocks failed or were dropped." in text


def test_a_self_test_draws_every_good_block_of_each_group() -> None:
    made = {name: list(own) for name, own in MADE.items()}
    made["aa"][2] = block(3, 2.0, name="aa")
    figure = plot_selftest.draw(selftest(made), rows_of(made), MACHINE)

    assert figure is not None
    for axes in figure.axes[:2]:
        for place, number in enumerate((42, 12, 12)):
            there = [x for x in marks(axes, "o", "s", "^", "v", "D", "P", "X") if place - 0.45 < x < place + 0.29]
            assert len(there) == number
    assert "no change" in figure.axes[0].get_xticklabels()[0].get_text()


def test_a_self_test_of_few_blocks_claims_no_rate(tmp_path: Path) -> None:
    made: dict[str, list[Rows]] = {"aa": series(2, name="aa"), "planted-5": []}
    found = selftest(made)
    none = {"alarms": 0, "decisions": 0, "blocks": 2}
    found |= {"false_alarms": {"real": none}}
    found["detection"]["5"] |= {"share": 0.0, "decisions": 0}
    save_selftest(found, rows_of(made), MACHINE, tmp_path)

    text = words(tmp_path / "selftest.svg")

    assert "Self-test: no decision without a change; no decision on about 5 % slowdowns" in text


def test_a_self_test_without_a_good_block_is_not_drawn(tmp_path: Path) -> None:
    invalid = [block(1, invalid=True, name="aa")]

    assert save_selftest(selftest({"aa": []}), flat(invalid), MACHINE, tmp_path / "plots") == []
    assert not (tmp_path / "plots").exists()


def test_more_strategies_than_fit_are_counted(tmp_path: Path) -> None:
    made = {"aa": series(12, name="aa")}
    found = selftest(made)
    found["noise"] |= {f"own{n}": {"cpu_per_page": 0.01 * n} for n in range(20)}
    save_selftest(found, rows_of(made), MACHINE, tmp_path)

    assert "5 more are not shown." in words(tmp_path / "selftest.svg")
