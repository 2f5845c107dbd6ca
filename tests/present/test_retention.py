"""Retention: pages/s with the most in flight over pages/s at the best number in flight."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inflight.bench.core import cells as c
from inflight.bench.core import retention
from inflight.bench.present import page
from inflight.bench.report.plots import save_all
from inflight.bench.report.summary import summary_json
from inflight.bench.report.terminal import summary_table
from inflight.bench.rows.files import Row
from inflight.bench.studies.throughput import plot_caps
from tests.made_rows import MACHINE, arm_row, edited
from tests.present.test_plots import words

STEADY, FADING = {1: 4000, 16: 9000, 256: 10_000, 4096: 9000}, {1: 800, 16: 1000, 256: 100}


def swept(rates: Mapping[str, Mapping[int, float]], rounds: int = 3, **same: Any) -> list[Row]:
    """Make blocks over the number in flight: pages/s of each strategy, the reference first. Rounds differ threefold."""
    reference = next(iter(rates))
    return [
        arm_row(
            name,
            role="reference" if name == reference else "compared",
            in_flight=cap,
            number=number,
            pages_per_s=rate * 3**number,
            cpu_per_page_ns=round(1e9 / rate),
            times_ns=range(1, 40),
            **{"stack": "own"} | same,
        )
        for name, own in rates.items()
        for cap, rate in own.items()
        for number in range(1, rounds + 1)
    ]


def failed(name: str, cap: int, status: Any = "failed") -> list[Row]:
    return [arm_row(name, in_flight=cap, number=number, status=status, stack="own") for number in (1, 2, 3)]


def kept(rows: list[Row]) -> dict[str, retention.Retention]:
    return {one.strategy: one for one in retention.of_rows(rows)}


def test_retention_is_a_ratio_within_rounds_so_rounds_may_differ_as_wholes() -> None:
    found = kept(swept({"steady": STEADY}))["steady"]

    assert (found.best.in_flight, found.most.in_flight, found.failed, found.rounds) == (256, 4096, (), 3)
    assert found.share == pytest.approx(0.9)
    assert found.ends == pytest.approx((0.9, 0.9), rel=0.01)


def test_the_largest_cap_may_be_the_best() -> None:
    found = kept(swept({"rising": {1: 10, 16: 20, 256: 30}}))["rising"]

    assert (found.share, found.ends, found.rounds) == (1.0, None, 3)


def test_a_strategy_that_fails_with_more_in_flight_keeps_what_it_has_at_its_last_cap_and_is_last() -> None:
    found = kept([*swept({"steady": STEADY, "fading": FADING}), *failed("fading", 4096)])

    assert list(found) == ["steady", "fading"]
    assert (found["fading"].most.in_flight, found["fading"].failed) == (256, (4096,))
    assert found["fading"].share == pytest.approx(0.1)


def test_a_skipped_trial_is_no_failure() -> None:
    rows = [*swept({"steady": STEADY, "fading": FADING}), *failed("fading", 4096, "skipped")]

    assert kept(rows)["fading"].failed == ()


def test_invalid_trials_do_not_count() -> None:
    rows = [*swept({"steady": STEADY}), *swept({"fading": FADING}), *swept({"fading": {4096: 5000}}, invalid=True)]

    assert (kept(rows)["fading"].most.in_flight, kept(rows)["fading"].failed) == (256, (4096,))


def test_an_interval_of_more_than_twice_the_estimate_is_not_written() -> None:
    rows = swept({"noisy": {1: 10, 16: 20}}) + [
        arm_row("noisy", in_flight=256, number=number, pages_per_s=rate)
        for number, rate in ((1, 1.0), (2, 100.0), (3, 10.0))
    ]

    text = str(summary_table([edited(row, stack="own") for row in rows]))
    assert "(±>100 %) of its best throughput" in " ".join(text.split())


def test_one_round_has_no_interval() -> None:
    found = kept(swept({"steady": STEADY}, rounds=1))["steady"]

    assert (found.ends, found.rounds) == (None, 1)
    assert "steady keeps 90 % (one round) of its best throughput" in str(summary_table(swept({"steady": STEADY}, 1)))


@pytest.mark.parametrize(
    "rows",
    [
        [],
        swept({"steady": {1: 10, 16: 20}}),
        swept({"steady": STEADY}, latency="50ms"),
        swept({"steady": STEADY}, work="1ms"),
        swept({"one": {1: 5}, "two": {16: 6}, "three": {256: 7}}),
    ],
    ids=["no rows", "two caps", "an added latency", "CPU work", "a cap for each"],
)
def test_without_three_caps_that_cost_cpu_time_alone_there_is_none(rows: list[Row]) -> None:
    assert kept(rows) == {}
    assert "keeps" not in str(summary_table(rows))


@pytest.mark.ci
def test_with_other_latencies_too_only_the_json_has_it(tmp_path: Path) -> None:
    rows = [*swept({"steady": STEADY}), *swept({"steady": {1: 10, 16: 100, 256: 1000}}, latency="50ms")]

    assert [one["strategy"] for one in summary_json(rows)["retention"]] == ["steady"]
    assert "keeps" not in str(summary_table(rows))
    assert "cpu_in_flight.svg" not in {path.name for path in save_all(rows, MACHINE, tmp_path)}


def test_the_first_section_says_who_fails_and_who_keeps_least_and_most() -> None:
    middle = {cap: rate / (2 if cap == 4096 else 1) for cap, rate in STEADY.items()}
    text = str(summary_table([*swept({"steady": STEADY, "middle": middle, "fading": FADING}), *failed("fading", 4096)]))

    first = " ".join(text.partition("Retention:")[0].split())
    assert first.startswith(
        "• fading has no valid trial with 4,096 in flight; middle keeps 45 % (95 %: 45 to 45 %) of its best throughput "
        "with 4,096 in flight, steady 90 % (95 %: 90 to 90 %)."
    )
    lines = [line.split() for line in text.splitlines()]
    assert ["fading", "16"] in [line[:2] for line in lines], "with 16 in flight it is fastest"
    assert [line[0] for line in lines if line[-1:] == ["failed"]] == ["fading"] * 2, "CPU per page, pages per second"
    assert "*: no valid figure with more in flight: fading (4,096)." in text
    assert "with an HTTP stack of their own" not in text, "all have one"


def test_the_json_has_every_retention() -> None:
    rows = [*swept({"steady": STEADY, "fading": FADING}), *failed("fading", 4096)]
    steady, fading = summary_json(rows)["retention"]

    assert (steady["strategy"], steady["best_in_flight"], steady["in_flight"], steady["failed"]) == (
        "steady",
        256,
        4096,
        [],
    )
    assert steady["estimate"] == pytest.approx(0.9)
    assert (len(steady["interval"]), steady["rounds"], steady["connection"]) == (2, 3, "keep-alive")
    assert (fading["in_flight"], fading["failed"]) == (256, [4096])


def test_plots_have_a_panel_for_each_strategy_with_the_reference_in_each_other_one() -> None:
    rows = [*swept({"steady": STEADY, "fading": FADING, "other": STEADY}), *failed("fading", 4096)]
    with page.settings():
        sheet = plot_caps.draw_cpu(c.cells(rows), "", "")

    assert sheet is not None
    costs = [1e9 / rate for rate in STEADY.values()]
    dashed = [[line for line in axes.lines if line.is_dashed()] for axes in sheet.axes]
    assert [len(lines) for lines in dashed] == [0, 1, 1]
    crosses = [np.asarray(line.get_xdata()).tolist() for line in sheet.axes[2].lines if line.get_marker() == "x"]
    assert crosses == [[4096]]
    for lines in dashed[1:]:
        assert np.asarray(lines[0].get_ydata()).tolist() == pytest.approx(costs, rel=0.01)


@pytest.mark.ci
def test_plots_say_what_each_keeps_and_where_it_fails(tmp_path: Path) -> None:
    rows = [*swept({"steady": STEADY, "fading": FADING}), *failed("fading", 4096)]
    names = {path.stem for path in save_all(rows, MACHINE, tmp_path)}

    assert names == {"throughput", "times", "cpu", "cpu_in_flight"}
    rates, costs = (words(tmp_path / f"{name}.svg") for name in ("throughput", "cpu_in_flight"))
    assert "keeps 90 % (90 to 90 %)" in rates
    assert "keeps 10 % (10 to 10 %)" in rates
    assert "Cross: failed." in rates
    assert "Cross: failed." in costs
    assert "Dashes in each panel: steady, the reference." in rates
    assert "the CPU time per page of fading grows 10x" in costs.replace("\xa0", " ")


@pytest.mark.ci
def test_more_strategies_than_lines_can_be_told_apart_have_a_panel_each(tmp_path: Path) -> None:
    many = {f"strategy{n}": {100: 1000 + n} for n in range(20)}
    save_all(swept(many), MACHINE, tmp_path)

    for name in ("throughput", "times", "cpu"):
        text = words(tmp_path / f"{name}.svg")
        assert all(f"strategy{n}" in text.split() or f"strategy{n} *" in text for n in range(20)), name
        assert "grey" not in text


def test_strategies_with_the_most_in_flight_come_first_where_there_is_no_room_for_all() -> None:
    many = {f"s{n}": {10: 1000 + n, 100: 1000 + n} for n in range(30)}
    busiest = {"s29": {3000: 500}, "s28": {3000: 400}}
    found = c.cells(swept(many | busiest))

    with page.settings():
        sheet = plot_caps.draw(found, plot_caps.RATE, "title", "", "footer", {})

    shown = " ".join(text.get_text() for axes in sheet.axes for text in axes.texts).split()
    assert {"s28", "s29"} <= set(shown)
    assert any("No room for: " in text.get_text() for text in sheet.texts)


def test_a_reference_with_one_point_has_no_line_in_other_panels() -> None:
    found = c.cells(swept({"alone": {100: 1000}, "other": {10: 500, 100: 600}}))

    with page.settings():
        sheet = plot_caps.draw(found, plot_caps.RATE, "title", "", "footer", {})

    assert not any(line.is_dashed() for axes in sheet.axes for line in axes.lines)
    assert not any("reference" in text.get_text() for text in sheet.texts)
