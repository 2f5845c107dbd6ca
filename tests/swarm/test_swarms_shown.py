"""Rows of swarms to figures, tables, plots, the page, Markdown, JSON and CSV; hostile rows break none of them."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from inflight.bench.present import page
from inflight.bench.report import markdown as report_markdown
from inflight.bench.report import page as report_page
from inflight.bench.report import plots
from inflight.bench.report.answer import answer
from inflight.bench.report.files import Extras
from inflight.bench.report.results import Results
from inflight.bench.report.terminal import WIDTH, summary_json, summary_table
from inflight.bench.report.tidy import csv, trials
from inflight.bench.report.trial_lines import trial_line
from inflight.bench.rows.files import SCHEMA_FILE, Row
from inflight.bench.studies.swarm import plot
from inflight.bench.studies.swarm.show import figures, sections
from tests.made_rows import MACHINE, crawl_row, edited
from tests.present.test_plots_memory import beyond, overlapping, text_of
from tests.swarm.made_swarm_rows import (
    KILLED,
    LATE,
    PID_MAX,
    SIZES,
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
STOPPED = swarm_row("thread_pool", planned=29_000, bound_by=PID_MAX)


def hostile_rows() -> list[Row]:
    bound = {"name": HOSTILE, "allows": 5, "sentence": HOSTILE}
    lost = [KILLED | {"how": HOSTILE}]
    row = swarm_row(HOSTILE, planned=29_000, bound_by=bound, lost=lost, late=[LATE | {"name": HOSTILE}])
    return [row, swarm_row(planned=29_000, bound_by=bound, late=[LATE | {"name": HOSTILE}]), swarm_row("generators")]


def drawn(rows: Sequence[Row]) -> dict[str, "Figure"]:
    with page.settings():
        return {name: figure for name, figure in plots.figures(rows, MACHINE) if name.startswith("swarm")}


def cells(rows: list[Row], *, of_bytes: bool = False) -> list[tuple[str, ...]]:
    """Return the cells of the first table of what was held, or of bytes."""
    return sections(rows)[int(of_bytes)].tables[0].cells


def each(row: Row) -> dict[str, Any]:
    (found,) = figures([row])
    return found


@pytest.mark.parametrize("row", every_kind(), ids=lambda row: row.trial)
def test_the_made_rows_are_rows_as_the_schema_has_them(row: Row) -> None:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))

    jsonschema.Draft202012Validator(schema).validate(json.loads(row.to_json()))
    assert Row.from_json(row.to_json()) == row


# Figures


def test_a_swarm_is_all_rounds_of_one_strategy_at_one_size_and_ramp() -> None:
    found = figures([*c100k_run(2), swarm_row(ramp_per_s=5_000), crawl_row()])

    assert len(found) == len(c100k_run()) + 1
    assert [one["in_flight"] for one in found if one["strategy"] == "generators"] == list(SIZES)
    keys = [
        [(one["strategy"], one["in_flight"]) for one in figures(rows)] for rows in (every_kind(), every_kind()[::-1])
    ]
    assert keys[0] == keys[1]


def test_bytes_of_a_layer_are_its_increase_divided_by_the_number_held() -> None:
    found = each(swarm_row("thread_pool", 10_000, noise=0))["bytes_per_fetch"]

    assert found["kernel stacks"] == 16_384
    assert found["slab and sockets"] == 8_700
    assert found["server"] == pytest.approx(4_200 + 9 - 0.9)
    layers = sum(size for layer, size in found.items() if layer not in {"all layers", "system"})
    assert found["all layers"] == pytest.approx(layers)
    assert found["system"] == pytest.approx(1.04 * found["all layers"], rel=1e-3)


def test_five_sizes_are_a_slope_and_one_is_not() -> None:
    one, *_, five = figures([swarm_row("generators"), *(swarm_row(asked=n) for n in SIZES)])[::-1]

    assert one["slope_bytes"] is None
    assert five["slope_bytes"]["per_fetch"] == pytest.approx(14_212, abs=1)
    assert five["slope_bytes"]["low"] < 14_212 < five["slope_bytes"]["high"]
    assert [(line[0], line[-1]) for line in cells(c100k_run(), of_bytes=True)] == [
        ("callbacks", "5 sizes"),
        ("generators", "5 sizes"),
        ("native_asyncio", "5 sizes"),
        ("thread_pool", "most held"),
    ]


def test_disturbed_layers_of_the_system_are_unknown_and_those_of_processes_are_known() -> None:
    found = each(swarm_row(disturbed="another program started 40 processes"))["bytes_per_fetch"]

    assert (found["all layers"], found["system"], found["slab and sockets"]) == (None, None, None)
    assert found["client user"] == pytest.approx(1_300, abs=1)


def test_invalid_trials_and_those_that_held_none_cost_nothing() -> None:
    row = swarm_row()

    assert each(swarm_row(invalid="no listen drops"))["bytes_per_fetch"] is None
    assert each(edited(row, measured={"held_in_flight": 0}))["bytes_per_fetch"] is None


def test_the_json_has_the_number_held_the_time_and_the_limit() -> None:
    found = each(swarm_row(noise=0))
    stopped, gone = each(STOPPED), each(lossy_row())

    assert (found["held_in_flight"], found["reach_ns"], found["bound_by"]) == (100_000, 6_200_000_000, None)
    assert found["reach_per_s"] == pytest.approx(100_000 / 6.2)
    assert (stopped["in_flight"], stopped["held_in_flight"], stopped["planned_in_flight"]) == (100_000, 29_000, 29_000)
    assert stopped["bound_by"] == "kernel.pid_max"
    assert (gone["valid"], gone["reach_per_s"], len(gone["lost"]), len(gone["late"])) == (False, None, 1, 1)
    assert (each(skipped_row())["status"], each(skipped_row())["held_in_flight"]) == ("skipped", None)
    assert json.loads(json.dumps(summary_json(every_kind()), allow_nan=False))["swarms"] == figures(every_kind())


def test_swarms_of_different_sites_are_in_tables_of_their_own() -> None:
    held = [section.tables[0] for section in sections([*c100k_run(), swarm_row(body_bytes=1200)])][::2]

    assert [len(table.lines) for table in held] == [len(c100k_run()), 1]
    assert held[0].title != held[1].title


def test_the_csv_has_a_line_per_swarm() -> None:
    rows = every_kind()
    table = trials(rows)

    assert len(csv(rows).splitlines()) == len(rows) + 1
    assert table["server_cpu_ns"].notna().any()
    assert str(table["held_tcp_sockets"].dtype) == "Int64"
    assert [json.loads(site).get("ramp_per_s") for site in table["site"]].count(5_000) == 1


# Tables and titles


def test_the_table_has_the_number_held_the_times_and_the_limit() -> None:
    assert cells(c1m_run()) == [("callbacks", "1,000,000", "1,000,000", "53+53", "63 s", "55 s", "0", "0", "all held")]
    assert cells([STOPPED])[0][2] == "29,000"
    assert cells([STOPPED])[0][-1] == "kernel.pid_max"
    assert any("sysctl kernel.pid_max=131072" in note for note in sections([STOPPED])[0].tables[0].notes)


def test_lost_invalid_and_skipped_trials_are_in_the_table_or_its_notes() -> None:
    rows = [*c100k_run(), lossy_row(), skipped_row()]
    lines = {line[:2]: line for line in cells(rows)}
    notes = " ".join(sections(rows)[0].tables[0].notes)

    assert lines["generators", "100,000"][-2:] == ("1", "1/2 invalid")
    assert lines["aiohttp_client", "100,000"][2:] == (*"------", "skipped")
    for told in ("(pid 4321)", "SIGKILL", "4.0 s after the start", "16,666 in flight", "node-2"):
        assert told in notes


@pytest.mark.parametrize("rows", [every_kind(), hostile_rows()], ids=["every kind", "hostile"])
def test_no_line_of_the_tables_is_too_wide(rows: list[Row]) -> None:
    assert max(map(len, summary_table(rows).plain.splitlines())) <= WIDTH


def test_the_title_has_each_strategys_time_or_its_limit_and_is_part_of_the_answer() -> None:
    reach, takes = [section.title for section in sections(c100k_run())]

    for figure in ("callbacks in 6.3 s", "native_asyncio in 17 s", "thread_pool stopped at 29,000 by kernel.pid_max"):
        assert figure in reach
    for figure in ("14.2 ±0.0 kB with callbacks", "50 kB with thread_pool"):
        assert figure in takes
    assert answer(c100k_run())[:2] == [f"{reach}.", f"{takes}."]
    assert sections([swarm_row(f"model_{n}") for n in range(9)])[0].title.endswith("4 more")
    assert "no valid trial" in sections([lossy_row()])[0].title


# Plots


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (c100k_run(), ["swarm", "swarm_memory"]),
        (c1m_run(), ["swarm", "swarm_memory"]),
        (every_kind(), ["swarm", "swarm-2", "swarm_memory"]),
        ([lossy_row()], ["swarm"]),
        ([lossy_row(), swarm_row()], ["swarm", "swarm_memory"]),
        (hostile_rows(), ["swarm", "swarm_memory"]),
        ([crawl_row(), skipped_row()], []),
        ([swarm_row(disturbed="others", more={"timeline": {"at_ns": [], "held": [], "used_bytes": []}})], []),
    ],
    ids=["c100k", "c1m", "every", "lossy", "invalid and valid", "hostile", "none", "nothing known"],
)
def test_no_text_of_a_plot_overlaps_another_or_leaves_the_page(rows: list[Row], names: list[str]) -> None:
    found = drawn(rows)

    assert list(found) == names
    with page.settings():
        for figure in found.values():
            assert overlapping(figure) == []
            assert beyond(figure) == []


def test_the_plots_name_times_limits_and_stages() -> None:
    c100k, c1m, invalid = (
        text_of(drawn(rows)["swarm"]) for rows in (c100k_run(), c1m_run(), [lossy_row(), swarm_row()])
    )

    for told in ("callbacks: 6.3 s", "29,000: kernel.pid_max"):
        assert told in c100k
    for told in ("all in flight: 62.6 s", "gates opened: 64.6 s", "finished: 120 s", "all together 14 GB"):
        assert told in c1m
    assert "generators (invalid)" in invalid


def test_the_number_held_stays_level_across_a_gap_of_the_timeline() -> None:
    line = {"at_ns": [1 * S, 4 * S], "held": [300, 0], "used_bytes": [3 * 10**9, 10**9]}
    more = {"timeline": line, "held_in_flight": 300, "reach_ns": 1 * S, "makespan_ns": 4 * S, "drain_ns": 1 * S}
    counts, sizes = plot.lines_of(swarm_row(asked=300, more=more))

    assert counts == [(0, 0), (1, 300), (3, 300), (4, 0)]
    assert sizes == [(1, 3), (3, 3), (4, 1)]
    unknown = {"at_ns": [1, 2], "held": [4, 5], "used_bytes": [7, None]}
    assert plot.lines_of(swarm_row(more={"timeline": unknown}))[1][0] == (1e-9, 7e-9)


def test_the_plots_of_swarms_are_saved(tmp_path: Path) -> None:
    paths = plots.save_all(c1m_run(), MACHINE, tmp_path)

    assert [path.name for path in paths] == ["swarm.png", "swarm.svg", "swarm_memory.png", "swarm_memory.svg"]
    assert ET.parse(paths[1]).getroot().tag.endswith("svg")  # noqa: S314  (we wrote it)


# A whole run


def test_page_and_markdown_show_swarms_and_escape_their_texts() -> None:
    rows = [*every_kind(), *hostile_rows()]
    html = report_page.page(rows, MACHINE, Extras(name="run"))
    HTMLParser().feed(html)
    markdown = report_markdown.markdown(rows, MACHINE)

    assert 'id="plot-swarm"' in html
    for told in (html, markdown):
        assert "Fetches in flight at once" in told
        assert "\x1b" not in told
    assert "</script><b>" not in html
    assert "<b>" not in markdown


def test_tables_and_plots_of_programs_take_swarms_among_their_rows(tmp_path: Path) -> None:
    crawls = [crawl_row(number=number, times_ns=[1_000] * 20) for number in (1, 2)]
    results = Results(tmp_path, [*every_kind(), *crawls], MACHINE)

    assert len(results.table("throughput")) == 1
    assert results.timeline["kind"].unique().tolist() == ["crawl"]
    assert set(results.checks["kind"]) == {"crawl", "swarm"}
    for name in ("memory", "samples", "frame", "trials"):
        assert getattr(results, name) is not None
    assert results.plot("throughput") is not None
    assert results.plot("cpu") is not None
    assert results.only(strategies="thread_pool").answer()


@pytest.mark.parametrize("row", [*every_kind()[-4:], STOPPED])
def test_the_line_of_a_trial_is_one_line(row: Row) -> None:
    told = trial_line(1, 2, row)

    assert "\n" not in told
    assert "swarm" in told
