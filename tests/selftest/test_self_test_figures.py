"""The figures of a self-test from its blocks, and how they are shown."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows import files as rows
from inflight.bench.studies.compare import show
from inflight.bench.studies.compare.rule import DESIGNED
from inflight.bench.studies.selftest import read as self_test
from inflight.bench.studies.selftest import show as selftest
from tests.made_blocks import block, blocks, series
from tests.made_rows import MACHINE
from tests.selftest.made_selftest import SAME, SAME_ROWS, SLOWER, made_selftest
from tools.document.__main__ import part
from tools.document.stored import DocumentError, Runs


def test_blocks_without_a_change_give_no_alarm() -> None:
    found = self_test.false_alarms(SAME, {})

    assert found["real"]["alarms"] == 0
    assert 5 <= found["real"]["decisions"] <= 96 // 12


@pytest.mark.parametrize("size", [5, 10])
def test_a_planted_slowdown_is_found_with_its_true_size(size: int) -> None:
    found = self_test.detection(SLOWER[size], {})

    assert found["share"] > 0.95
    assert math.expm1(found["seen"]) == pytest.approx(size / 100, abs=0.01)


def test_the_difference_of_two_interpreters_is_no_alarm_and_no_part_of_a_planted_slowdown() -> None:
    apart = self_test.means(blocks(series(96, 0.3, memory_blocks=96)))

    same, slower = blocks(series(96, 0.3, memory_blocks=96)), blocks(series(48, 0.3 + 0.0488, 0.02, seed=2))

    assert apart["cpu_per_page"] == pytest.approx(0.3, abs=0.01)
    assert self_test.false_alarms(same, {})["real"]["alarms"] == 8
    assert self_test.false_alarms(same, apart)["real"]["alarms"] == 0
    assert math.expm1(self_test.detection(slower, apart)["seen"]) == pytest.approx(0.05, abs=0.01)
    assert self_test.detection(slower, apart)["share"] > 0.95


def test_blocks_that_are_left_out_are_counted_and_excluded_from_all_figures() -> None:
    broken = blocks([block(n, 5.0, failed="B") for n in range(1, 4)])
    invalid = blocks([block(n, 5.0, invalid=True) for n in range(4, 6)])

    assert self_test.noise([*SAME, *broken, *invalid]) == self_test.noise(SAME)
    lost = self_test.left_out([[*SAME, *broken, *invalid]])
    assert (lost["tried"], lost["left_out"]) == (101, 5)
    assert lost["reasons"] == {"server had room": 2, "B: it broke": 3}


def test_with_too_few_blocks_nothing_is_decided_and_no_bound_is_claimed() -> None:
    found = self_test.false_alarms(blocks(series(5)), {})

    assert found["real"]["decisions"] == 0
    assert found["real"]["upper"] == 1.0
    assert self_test.resolves(SAME[:1]) == []
    assert self_test.detection([], {}) | {"real": None} == {
        **dict.fromkeys(("blocks", "share", "decisions", "mean_blocks"), 0),
        **dict.fromkeys(("loops", "seen", "low", "high", "real")),
    }  # fmt: skip


def test_more_time_resolves_a_smaller_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "BUDGETS_S", (30, 60, 180))

    none, few, more = self_test.resolves(blocks(series(24, sd=0.05, memory_blocks=0)))

    assert none == {"minutes": 0, "blocks": 0, "metrics": [], "smallest": None, "limited_by": None}
    assert (few["minutes"], few["blocks"], few["metrics"]) == (1, 12, ["cpu_per_page", "throughput"])
    assert (more["minutes"], more["blocks"]) == (3, 48)
    assert few["smallest"] > more["smallest"] > 1.02
    assert (few["limited_by"], more["limited_by"]) == ("noise", "pass")


def tables(found: dict[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """Return the lines of each table, by the beginning of its title."""
    (section,) = selftest.sections(found)
    return {table.title.partition(",")[0].partition(":")[0]: table.cells for table in section.tables}


def test_the_tables_have_all_rates_and_the_bounds_of_real_decisions() -> None:
    found = tables(made_selftest())

    ((_, alarms, *_, measured, bound),) = found["False alarms"]
    assert (alarms, measured) == ("0", "96")
    assert float(bound.removesuffix(" %")) > 1
    for (size, one), line in zip(made_selftest()["detection"].items(), found["Planted slowdowns"], strict=True):
        assert one["low"] < one["seen"] < one["high"]
        assert line[:3] == (f"about {size} %", show.planted_told(one), "48")
    assert found["Noise"][0][0] == "callbacks"
    assert [line[0] for line in found["Smallest slowdown of callbacks that is found 90 % of the time"]] == [
        "1 min", "5 min", "15 min"
    ]  # fmt: skip
    assert found["The harness"][2:] == [
        ("overhead of the harness per fetch (at most 1 µs)", "200 ns"),
        ("overhead of the harness, share of CPU time (at most 1 %)", "0.8 %"),
    ]


def test_what_is_unknown_is_a_dash() -> None:
    unknown = {"server_ceiling_per_s": None, "lateness": {"p50": None, "p99": None, "valid": False}}

    found = tables(made_selftest(share=None) | unknown)["The harness"]

    assert [value for _, value in found] == ["-", "- and - ✗", "200 ns", "-"]


def test_a_later_verdict_quotes_it_as_measured() -> None:
    told = show.rates_told(made_selftest(), DESIGNED)

    assert "measured on this machine (callbacks, CPython 3.11.7, 2026-01-02)" in told
    assert re.search(r"0 alarms in \d decisions on 96 blocks", told)


def test_the_documents_quote_the_self_test_as_it_was_printed(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "x-selftest"
    folder.mkdir(parents=True)
    for row in SAME_ROWS[:2]:
        rows.append(folder, row)
    (folder / "machine.json").write_text(json.dumps(MACHINE), encoding="utf-8")

    with pytest.raises(DocumentError, match="no longer shows"):
        part("compare_selftest", Runs(folder.parent), tmp_path)
    (folder / "selftest.json").write_text(json.dumps(made_selftest()), encoding="utf-8")

    told = part("compare_selftest", Runs(folder.parent), tmp_path)
    assert f"```text\n{selftest.text(made_selftest())}\n```" in told
