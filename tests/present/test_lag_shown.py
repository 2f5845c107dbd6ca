"""Loop lag as it is shown: from rows to figures, a table and a plot."""

import json
from typing import Any

import pytest

from inflight.bench.report import studies
from inflight.bench.rows.files import Row
from inflight.bench.rows.values import plain_values
from inflight.bench.studies.lag import plot, read, show
from inflight.strategies.core import record
from tests.made_rows import MS, arm_row, edited


def lag_row(strategy: str, late_ns: list[int], number: int = 1, in_flight: int = 100, **values: Any) -> Row:
    made = arm_row(strategy, number=number, in_flight=in_flight, asked={"lag": True}, **values)
    return edited(made, measured={"lag": record.summary(late_ns)})


def test_rows_without_a_timer_have_no_section() -> None:
    assert show.sections([arm_row("callbacks")]) == []
    assert show.figures([arm_row("callbacks")]) == []


def test_the_quantiles_are_over_the_due_times_of_all_blocks() -> None:
    rows = [lag_row("callbacks", [MS] * 595 + [80 * MS] * 5, number) for number in (1, 2)]

    (found,) = read.lags(rows)

    assert found.count == 1200
    assert found.p99_ns is not None
    assert abs(found.p99_ns - MS) < 0.02 * MS


def test_a_quantile_with_too_few_due_times_is_not_stated() -> None:
    (few,) = read.lags([lag_row("callbacks", [MS] * 19)])
    (some,) = read.lags([lag_row("callbacks", [MS] * 99)])
    (more,) = read.lags([lag_row("callbacks", [MS] * 999)])

    assert (few.p50_ns, few.p90_ns, few.p99_ns) == (None, None, None)
    assert some.p50_ns == pytest.approx(MS)
    assert (some.p90_ns, some.p99_ns) == (None, None)
    assert more.p90_ns is not None
    assert more.p99_ns is None


def test_the_median_has_an_interval_over_the_blocks() -> None:
    rows = [lag_row("callbacks", [late * MS] * 30, number) for number, late in enumerate((1, 2, 4), start=1)]

    (found,) = read.lags(rows)

    assert found.median is not None
    assert round(found.median.estimate) == 2 * MS
    assert found.median.low < MS < 4 * MS < found.median.high


def test_invalid_trials_and_placebos_do_not_count() -> None:
    invalid = lag_row("callbacks", [MS] * 30, invalid=True)
    placebo = lag_row("callbacks again", [MS] * 30, role="placebo")

    assert read.lags([invalid, placebo]) == []


def test_the_title_names_the_shortest_and_the_longest_median() -> None:
    rows = [lag_row("generators", [MS] * 30), lag_row("native_asyncio", [3 * MS] * 30)]

    (section,) = show.sections(rows)

    assert "1.0 ms late in generators" in section.title
    assert "3.0 ms late in native_asyncio" in section.title
    assert [line[0] for line in section.tables[0].cells] == ["generators", "native_asyncio"]


def test_the_figures_are_json_with_the_number_of_due_times() -> None:
    (found,) = json.loads(json.dumps(studies.figures([lag_row("callbacks", [MS] * 200)])["lag"], allow_nan=False))

    assert found["due_times"] == 200
    assert found["p50_ns"] == {"mean": pytest.approx(MS), "interval": None, "rounds": 1}
    assert found["p99_ns"] is None


def test_the_plot_has_a_panel_for_each_number_in_flight() -> None:
    rows = [lag_row("callbacks", [MS] * 200, in_flight=cap) for cap in (100, 1000)]

    ((name, figure),) = plot.plots(rows, {}, "")

    assert name == "lag"
    assert figure is not None
    assert [axes.get_title() for axes in figure.axes] == ["100 in flight", "1,000 in flight"]


def test_rows_keep_the_lag_of_an_arm() -> None:
    row = lag_row("callbacks", [MS, 2 * MS])

    assert plain_values(row.measured)["lag"]["count"] == 2
    assert row.workload.arm.lag is True
