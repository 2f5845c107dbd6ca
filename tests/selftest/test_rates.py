"""The figures of a self-test from its blocks, and how they are shown."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from inflight.bench import units
from inflight.bench.ab import plot, rates
from inflight.bench.ab.rule import smallest_found
from inflight.bench.frame import blocks as read
from inflight.bench.rows import files as rows
from inflight.bench.show import pictures
from tests.ab.test_verdict_shown import marks, words
from tests.made_blocks import block, blocks, flat, series
from tests.selftest.made_selftest import SAME, SLOWER, made_selftest

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def test_blocks_without_a_change_give_no_alarm_and_decisions_share_no_block() -> None:
    found = rates.counts(SAME, {})

    assert found["alarms"] == 0
    assert 5 <= found["decisions"] <= 96 // 12
    assert rates.counts(blocks(series(12 * 5 + 11, sd=0.005)), {}) == found | {
        "passes": 5, "decisions": 5, "mean_blocks": 12.0, "blocks": 71, "upper": rates.rate_bounds(0, 5)[1]
    }  # fmt: skip


@pytest.mark.parametrize("size", [5, 10])
def test_a_planted_slowdown_is_found_with_its_true_size(size: int) -> None:
    found = rates.planted(SLOWER[size], {})

    assert math.expm1(found["seen"]) == pytest.approx(size / 100, abs=0.01)
    assert found["real"]["alarms"] == found["real"]["decisions"] >= 2


def test_the_difference_of_two_interpreters_is_no_alarm_and_no_part_of_a_planted_slowdown() -> None:
    same, slower = blocks(series(96, 0.3, memory_blocks=96)), blocks(series(48, 0.3 + 0.0488, 0.02, seed=2))
    apart = rates.means(same)

    assert apart["cpu_per_page"] == pytest.approx(0.3, abs=0.01)
    assert rates.counts(same, {})["alarms"] == 8
    assert rates.counts(same, apart)["alarms"] == 0
    assert math.expm1(rates.planted(slower, apart)["seen"]) == pytest.approx(0.05, abs=0.01)


def test_blocks_that_are_left_out_are_counted_and_excluded_from_all_figures() -> None:
    broken = blocks([block(n, 5.0, failed="B") for n in range(1, 4)])
    invalid = blocks([block(n, 5.0, invalid=True) for n in range(4, 6)])
    lost = rates.left_out([[*SAME, *broken, *invalid]])

    assert rates.counts([*SAME, *broken, *invalid], {}) == rates.counts(SAME, {})
    assert (lost["tried"], lost["left_out"]) == (101, 5)
    assert lost["reasons"] == {"no hole": 2, "B: it broke": 3}


def test_with_too_few_blocks_nothing_is_decided_and_no_bound_is_claimed() -> None:
    found = rates.counts(blocks(series(11)), {})

    assert (found["decisions"], found["upper"]) == (0, 1.0)
    assert rates.planted([], {}) | {"real": None} == dict.fromkeys(("loops", "seen", "low", "high", "real"))


def test_bounds_are_those_of_the_rule_of_three_and_of_clopper_and_pearson() -> None:
    low, high = rates.rate_bounds(3, 200)

    assert rates.rate_bounds(0, 300) == pytest.approx((0, 1 - 0.05 ** (1 / 300)))
    assert rates.rate_bounds(300, 300) == pytest.approx((0.05 ** (1 / 300), 1))
    assert (binom.cdf(3, 200, high), binom.sf(2, 200, low)) == pytest.approx((0.05, 0.05))
    assert rates.rate_bounds(0, 0) == (0, 1)


def tables(found: dict[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """Return the lines of each table, by its title."""
    (section,) = rates.sections(found)
    return {table.title: table.cells for table in section.tables}


def test_the_tables_have_the_counts_with_their_bounds_and_the_noise() -> None:
    made = made_selftest()
    found = tables(made)

    same, five, ten = found["Decisions"]
    alarms = made["false_alarms"]["real"]
    assert same[:4] == ("no change", "", str(alarms["decisions"]), "0")
    assert same[-1] == f"0.0 to {100 * alarms['upper']:.1f} %"
    for line, one in zip((five, ten), made["detection"].values(), strict=True):
        assert line[0] == units.change(one["seen"])
        assert one["low"] < one["seen"] < one["high"]
        assert line[2] == line[3] == str(one["real"]["decisions"])
    ((name, cpu, *_, detected),) = found["Noise: SD of a block"]
    sd = made["noise"]["callbacks"]["cpu_per_page"]
    assert (name, cpu) == ("callbacks", f"{100 * sd:.1f} %")
    assert detected == units.change_size(smallest_found(sd, metrics=3))
    assert found["The harness"][2:] == [
        ("overhead of the harness per fetch (at most 1 µs)", "200 ns"),
        ("overhead of the harness, share of CPU time (at most 1 %)", "0.8 %"),
        ("counts of the same code", "does the same"),
        ("counts with a call planted in each page", "does more"),
    ]


def test_what_is_unknown_is_a_dash() -> None:
    unknown = {
        "calls": {"same": "-", "planted": "-"},
        "server_ceiling_per_s": None,
        "lateness": {"p50": None, "p99": None, "valid": False},
    }
    found = tables(made_selftest(share=None) | unknown | {"noise": {"callbacks": {}}})

    assert [value for _, value in found["The harness"]] == ["-", "- and - ✗", "200 ns", "-", "-", "-"]
    assert found["Noise: SD of a block"][0][1:4] == ("-", "-", "-")


@pytest.mark.parametrize("folder", sorted(REFERENCE.glob("*-selftest*")), ids=lambda path: path.name)
def test_stored_self_tests_have_the_same_decisions_and_are_still_shown(folder: Path) -> None:
    was = json.loads((folder / "selftest.json").read_text(encoding="utf-8"))
    found = read.comparisons(rows.read(folder))

    now = rates.counts(found["aa"], {})
    assert now == {key: was["false_alarms"]["real"][key] for key in now if key != "upper"} | {
        "upper": pytest.approx(was["false_alarms"]["real"]["upper"])
    }
    for size, one in was["detection"].items():
        again = rates.planted(found[f"planted-{size}"], {})
        assert again["seen"] == pytest.approx(one["seen"])
        assert again["real"]["alarms"] == one["real"]["alarms"]
    assert rates.title(was) in rates.text(was).replace("\n  ", " ")


@pytest.mark.ci
def test_the_plot_has_every_block_of_each_group(tmp_path: Path) -> None:
    made = {
        "aa": [*series(30, name="aa"), block(31, 2.0, name="aa")],
        "planted-5": [
            *series(12, math.log(1.048), 0.0001, name="planted-5"),
            block(13, invalid=True, name="planted-5"),
        ],
    }
    every = flat([rows for some in made.values() for rows in some])
    found = made_selftest(blocks(made["aa"])) | {"detection": {"5": rates.planted(blocks(made["planted-5"]), {})}}
    picture = plot.picture_of_selftest(found, every)

    assert picture is not None
    with pictures.settings():
        same, five = pictures.draw_sheet(picture).axes
    assert marks(same, "o", "^") == list(range(1, 32))
    assert marks(five, "s", "x") == list(range(1, 14))
    assert pictures.save([picture], tmp_path)[0].name == "selftest.png"
    assert "regressions in 0 of 2 with no change" in words(tmp_path / "selftest.svg")
    assert plot.picture_of_selftest(found, []) is None
