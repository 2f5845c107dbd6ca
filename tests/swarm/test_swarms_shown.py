"""Swarms for people: tables, sentences, plots, the page, Markdown, JSON, CSV; hostile rows break none of them."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.core.rows import Row
from bench.present import page
from bench.present.console import trial_line
from bench.report import markdown as report_markdown
from bench.report import page as report_page
from bench.report import plots
from bench.report.answer import answer
from bench.report.files import Extras
from bench.report.frames import csv, frame
from bench.report.results import Results
from bench.report.terminal import WIDTH, summary_json, summary_table
from bench.studies.swarm import findings as findings_swarms
from bench.studies.swarm import plot_memory as plot_swarm_memory
from bench.studies.swarm import plot_one as plot_swarm_one
from bench.studies.swarm import plot_swarm
from bench.studies.swarm.show import grids
from tests.made_rows import MACHINE, crawl_row
from tests.present.test_plots_memory import beyond, overlapping, text_of
from tests.swarm.made_swarm_rows import (
    KILLED,
    LATE,
    PID_MAX,
    S,
    c1m_run,
    c100k_run,
    every_kind,
    lossy_row,
    skipped_row,
    swarm_row,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOSTILE = "</script><b>$x^{2}$&\x1b[31m|`\n" * 8


def hostile_rows() -> list[Row]:
    bound = {"name": HOSTILE, "allows": 5, "sentence": HOSTILE}
    lost = [KILLED | {"how": HOSTILE, "what": HOSTILE}]
    row = swarm_row(HOSTILE, planned=29_000, bound_by=bound, lost=lost, late=[LATE | {"name": HOSTILE}])
    return [row, swarm_row(planned=29_000, bound_by=bound, late=[LATE | {"name": HOSTILE}]), swarm_row("generators")]


def drawn(rows: Sequence[Row]) -> dict[str, "Figure"]:
    return {name: figure for name, figure in plots.figures(rows, MACHINE) if name.startswith("swarm")}


def text(rows: list[Row]) -> str:
    return summary_table(rows).plain


def line(rows: list[Row], start: str) -> str:
    return next(" ".join(line.split()) for line in text(rows).splitlines() if line.startswith(start))


def test_the_table_says_who_held_how_many_and_how_soon() -> None:
    assert line(c1m_run(), "callbacks") == "callbacks 1,000,000 1,000,000 53+53 63 s 55 s 0 0 all held"


def test_the_table_names_the_limit_that_stopped_one() -> None:
    found = text([swarm_row("thread_pool", planned=29_000, bound_by=PID_MAX)])

    assert "kernel.pid_max" in line(c100k_run()[-1:], "thread_pool")
    assert "raise it with sysctl kernel.pid_max=131072." in " ".join(found.split())


def test_the_table_of_bytes_says_whether_a_figure_is_a_slope() -> None:
    [_, sizes] = grids(c100k_run())

    assert [(cells[0], cells[-1]) for cells in sizes.cells] == [
        ("callbacks", "5 sizes"),
        ("generators", "5 sizes"),
        ("native_asyncio", "5 sizes"),
        ("thread_pool", "1 size"),
    ]


def test_lost_red_and_skipped_trials_are_told() -> None:
    found = " ".join(text([*c100k_run(), lossy_row(), skipped_row()]).split())

    assert "was killed by signal 9 (SIGKILL), 4.0 s after the order, with 16,666 in flight." in found
    assert "Locust worker node-2 came late" in found
    assert "skipped" in line([skipped_row()], "aiohttp_client")
    assert "1/2 red" in found


@pytest.mark.parametrize("rows", [every_kind(), hostile_rows()], ids=["every kind", "hostile"])
def test_no_line_of_the_tables_is_too_wide(rows: list[Row]) -> None:
    assert max(map(len, text(rows).splitlines())) <= WIDTH


def test_the_answer_says_how_many_how_soon_and_what_one_takes() -> None:
    reached, takes, *_ = answer(c100k_run())

    assert reached == (
        "100,000 fetches in flight at once: callbacks in 6.3 s, generators in 7.5 s and native_asyncio in 17 s; "
        "thread_pool stopped at 29,000 (kernel.pid_max)."
    )
    assert takes == (
        "A fetch in flight takes 14.2 kB with callbacks and 50 kB with thread_pool at both ends, "
        "of which 1.30 kB and 16 kB are the client's own."
    )


def test_the_answer_of_red_swarms_concludes_nothing() -> None:
    assert answer([lossy_row()])[0].startswith("No valid trial among 1")
    assert not any("kB" in sentence for sentence in answer([lossy_row(), crawl_row()]))


def test_many_strategies_are_not_all_named() -> None:
    some = [swarm_row(f"model_{n}") for n in range(9)]
    sentence = next(findings_swarms.answer(some))

    assert sentence.endswith("and 5 more")


def test_a_limit_that_stopped_all_is_the_whole_sentence() -> None:
    rows = [swarm_row("thread_pool", planned=29_000, bound_by=PID_MAX)]

    assert next(findings_swarms.answer(rows)) == (
        "100,000 fetches in flight at once: not held; thread_pool stopped at 29,000 (kernel.pid_max)"
    )


def test_a_run_of_every_kind_has_a_plot_for_each_largest_size_and_one_of_bytes() -> None:
    with page.settings():
        assert list(drawn(every_kind())) == ["swarm", "swarm-2", "swarm_memory"]
        assert list(drawn([crawl_row()])) == []
        assert list(drawn([skipped_row()])) == []


@pytest.mark.parametrize(
    "rows",
    [c100k_run(), c1m_run(), every_kind(), [lossy_row()], [lossy_row(), swarm_row()], hostile_rows()],
    ids=["c100k", "c1m", "every", "lossy", "red and green", "hostile"],
)
def test_no_text_of_a_plot_overlaps_another_or_leaves_the_page(rows: list[Row]) -> None:
    with page.settings():
        for figure in drawn(rows).values():
            assert overlapping(figure) == []
            assert beyond(figure) == []


def test_the_plot_of_c100k_ends_each_line_with_its_time_or_its_limit() -> None:
    with page.settings():
        told = text_of(drawn(c100k_run())["swarm"])

    assert "callbacks: 6.3 s" in told
    assert "29,000: kernel.pid_max" in told


def test_the_plot_of_a_million_marks_reach_release_and_end() -> None:
    with page.settings():
        told = text_of(drawn(c1m_run())["swarm"])

    assert "1,000,000 fetches in flight at once with callbacks, after 63 s" in told
    assert "all in flight: 62.6 s" in told
    assert "the gates opened: 64.6 s" in told
    assert "the last had finished: 120 s" in told


def test_what_the_gates_hold_stays_level_where_the_time_line_has_nothing() -> None:
    line = {"at_ns": [1 * S, 4 * S], "held": [300, 0], "used_bytes": [3 * 10**9, 10**9]}
    more = {"timeline": line, "held_in_flight": 300, "reach_ns": 1 * S, "makespan_ns": 4 * S, "drain_ns": 1 * S}
    counts, sizes = plot_swarm_one.lines_of(swarm_row(asked=300, more=more))

    assert counts == [(0, 0), (1, 300), (3, 300), (4, 0)]
    assert sizes == [(1, 3), (3, 3), (4, 1)]


def test_red_swarms_are_hollow_and_said_to_be() -> None:
    with page.settings():
        told = text_of(drawn([lossy_row(), swarm_row()])["swarm"])

    assert "generators (red)" in told
    assert "Hollow: red" in told


def test_a_swarm_without_time_line_or_system_layers_has_no_plot() -> None:
    row = swarm_row(disturbed="others", more={"timeline": {}})

    assert plot_swarm.draw([], {}, "", "") is None
    with page.settings():
        assert drawn([row]) == {}
        assert plot_swarm_memory.draw([], {}, "", "") is None


def test_the_plots_of_swarms_are_saved(tmp_path: Path) -> None:
    paths = plots.save_all(c1m_run(), MACHINE, tmp_path)

    assert [path.name for path in paths] == ["swarm.png", "swarm.svg", "swarm_memory.png", "swarm_memory.svg"]
    assert ET.parse(paths[1]).getroot().tag.endswith("svg")  # noqa: S314  (we wrote it)


def test_the_page_shows_swarms_and_escapes_what_rows_say() -> None:
    html = report_page.page([*every_kind(), *hostile_rows()], MACHINE, Extras(name="run"))
    HTMLParser().feed(html)

    assert 'id="plot-swarm"' in html
    assert "Fetches in flight at once" in html
    assert "</script><b>" not in html
    assert "\x1b" not in html


def test_markdown_escapes_what_rows_say() -> None:
    told = report_markdown.markdown([*every_kind(), *hostile_rows()], MACHINE)

    assert "Bytes that one more fetch takes" in told
    assert "<b>" not in told
    assert "\x1b" not in told


def test_the_json_has_every_figure_of_a_swarm() -> None:
    found = json.loads(json.dumps(summary_json(every_kind()), allow_nan=False))
    bound = next(one for one in found["swarms"] if one["bound_by"])

    assert "callbacks" in [one["strategy"] for one in found["strategies"]]
    assert (bound["in_flight"], bound["held_in_flight"], bound["planned_in_flight"]) == (100_000, 29_000, 29_000)
    assert bound["bytes_per_fetch"]["kernel stacks"] == pytest.approx(16_384)
    assert bound["slope_bytes"] is None
    assert any(one["lost"] and one["late"] for one in found["swarms"])


def test_the_csv_has_a_line_a_swarm() -> None:
    rows = every_kind()
    table = frame(rows)
    text = csv(rows)

    assert len(text.splitlines()) == len(rows) + 1
    assert table["bound_by"].dropna().tolist() == ["kernel.pid_max"]
    assert table["lost"].max() == 1
    assert table["server_cpu_ns"].notna().any()
    assert str(table["held_tcp_sockets"].dtype) == "Int64"
    assert table["ramp_per_s"].dropna().tolist() == [5_000]


def test_tables_and_plots_of_programs_take_swarms_among_their_rows(tmp_path: Path) -> None:
    crawls = [crawl_row(number=number, times_ns=[1_000] * 20) for number in (1, 2)]
    results = Results(tmp_path, [*every_kind(), *crawls], MACHINE)

    assert len(results.cells) == 1
    assert results.timeline["kind"].unique().tolist() == ["crawl"]
    assert set(results.checks["kind"]) == {"crawl", "swarm"}
    for name in ("memory", "samples", "times", "trials"):
        assert getattr(results, name) is not None
    assert results.plot_throughput() is not None
    assert results.plot_cpu() is not None
    assert results.only(strategies="thread_pool").answer()


@pytest.mark.parametrize("row", [*every_kind()[-4:], swarm_row(planned=29_000, bound_by=PID_MAX)])
def test_the_line_of_a_trial_is_one_line(row: Row) -> None:
    told = trial_line(1, 2, row)

    assert "\n" not in told
    assert "swarm" in told
