"""The map as a plot and as text."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from inflight.bench.core import cells as c
from inflight.bench.present import page
from inflight.bench.rows.files import Row
from inflight.bench.studies.decision_map import plot as plot_map
from inflight.bench.studies.decision_map import show as map_table
from inflight.bench.studies.decision_map.read import decide, of_rows
from tests.made_rows import crawl_row, edited
from tests.map.made_maps import MODELS, map_rows

HOSTILE = "a|b\x1b[31m<b>$x$\n" + "n" * 300


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return map_rows(noise=0.01)


@pytest.fixture(scope="module")
def drawn(rows: list[Row]) -> Figure:
    with page.settings():
        figure = plot_map.draw(c.cells(rows), page.looks(MODELS), "where it comes from")
        assert figure is not None
        figure.canvas.draw()
    return figure


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_two_latencies_with_the_same_mean_are_two_columns_without_a_boundary(rows: list[Row]) -> None:
    twins = [
        edited(row, workload={"latency": "exponential 50ms", "id": f"{row.workload.id}/twin"})
        for row in rows
        if row.workload.latency == "50ms"
    ]
    with page.settings():
        figure = plot_map.draw(c.cells([*rows, *twins]), page.looks(MODELS), "where it comes from")

    assert figure is not None
    for axes in figure.axes:
        assert len(axes.patches) == 5 * 3
        assert not axes.lines


def test_each_number_in_flight_is_a_panel_with_a_tile_for_each_workload(drawn: Figure) -> None:
    assert [axes.get_title(loc="left") for axes in drawn.axes] == [
        f"{number} in flight" for number in ("1", "10", "100", "1,000")
    ]
    for axes in drawn.axes:
        assert len(axes.patches) == 4 * 3
        assert axes.get_xlabel() == "added latency"
        assert [label.get_text() for label in axes.get_xticklabels()] == ["0 ms", "10 ms", "50 ms", "200 ms"]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["none", "1 ms", "10 ms"]


def test_the_title_is_the_finding_and_nothing_is_smaller_than_eleven_points(drawn: Figure) -> None:
    title = drawn.texts[0].get_text().replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")

    assert re.match(
        r"In \d+ of 48 workloads the models tie; in the other \d+, .* the fastest or not significantly slower",
        title,
    )
    assert ", callbacks (" in title
    sizes = [float(text.get_fontsize()) for axes in drawn.axes for text in axes.texts]
    assert min(sizes) >= page.SMALL


def test_tiles_have_ratios_and_ties(drawn: Figure) -> None:
    found = texts(drawn)

    assert "callbacks" in found
    assert any(re.fullmatch(r"\+\d tied, \d\.\d+x", text) for text in found)
    assert "tie" in found
    (legend,) = drawn.legends
    assert "tie: no significant difference" in [text.get_text() for text in legend.get_texts()]


def test_the_models_boundary_runs_where_the_core_becomes_full(rows: list[Row], drawn: Figure) -> None:
    found = c.cells(rows)
    costs = plot_map.costs_of(found, decide(found), 100)

    line = drawn.axes[2].lines[0]

    assert costs == pytest.approx(sorted(MODELS.values()), rel=0.05)
    points: list[list[float]] = np.asarray(line.get_xydata()).tolist()
    at_1ms = [x for x, y in points if y == pytest.approx(1.0)]
    assert at_1ms == [pytest.approx(1 + 1 + math.log(99 * 1.02 / 50) / math.log(4), abs=0.1)]
    assert not drawn.axes[0].lines  # with one in flight the core is never full


def test_one_value_of_cpu_work_makes_no_map_by_default() -> None:
    found = c.cells(map_rows(works=("0",), caps=(1, 10)))

    with page.settings():
        assert plot_map.draw(found, page.looks(MODELS), "") is None
        assert plot_map.draw(found, page.looks(MODELS), "", least_values=1) is not None
        assert plot_map.draw([], {}, "") is None


def test_what_is_not_known_is_white_and_hostile_names_are_drawn_as_names(tmp_path: Path) -> None:
    rows = map_rows({HOSTILE: MODELS["callbacks"], "_b": MODELS["thread_pool"]}, caps=(10,), rounds=1)

    with page.settings():
        figure = plot_map.draw(c.cells(rows), page.looks([HOSTILE, "_b"]), "")
        assert figure is not None
        page.save(figure, tmp_path, "map")

    assert texts(figure).count("one round") == 12
    assert all(patch.get_facecolor() == (1, 1, 1, 1) for patch in figure.axes[0].patches)
    assert "\x1b" not in (tmp_path / "map.svg").read_text(encoding="utf-8")


def test_a_panel_is_drawn_into_axes_that_are_given(rows: list[Row]) -> None:
    both = decide(c.cells(rows), ("thread_pool", "native_asyncio"))
    figure = Figure()

    with page.settings():
        plot_map.panel(both, page.looks(MODELS), 1000, figure.subplots())

    assert {"thread_pool", "tie"} <= set(texts(figure))


@pytest.mark.parametrize(("letters", "lines"), [(14, ["native_asyncio"]), (9, ["native_", "asyncio"])])
def test_a_name_without_room_is_broken_not_cut(letters: int, lines: list[str]) -> None:
    assert plot_map._broken("native_asyncio", letters) == lines


def test_no_text_of_a_tile_is_wider_than_its_tile(drawn: Figure) -> None:
    drawn.draw_without_rendering()

    for axes in drawn.axes:
        tile = axes.get_window_extent().width / len(axes.get_xticklabels())
        in_tiles = [text for text in axes.texts if text.get_text()]
        assert in_tiles
        assert all(text.get_window_extent().width <= tile for text in in_tiles)


def test_more_panels_than_fit_are_left_out_and_named() -> None:
    with page.settings():
        figure = plot_map.draw(c.cells(map_rows(caps=range(1, 10), works=("0", "1ms"))), page.looks(MODELS), "")

    assert figure is not None
    assert len(figure.axes) == 6
    assert "Not shown:" in figure.texts[1].get_text()


def test_the_section_has_a_line_for_each_workload_and_the_rule() -> None:
    (section,) = map_table.sections(map_rows())

    assert re.match(r"In \d+ of 48 workloads the models tie", section.title)
    ties, firsts, gap = section.found
    assert re.match(r"In \d+ of 48 workloads the models tie: \d+ of 12 at 0 ms, ", ties)
    assert re.match(
        r"Fastest, or not significantly slower, in the other \d+: callbacks in \d+ and thread_pool in \d+\.$", firsts
    )
    assert re.match(r"The largest significant gap: \w+ is \d\.\d+x as fast as ", gap)
    assert sum(len(table.cells) for table in section.tables) == 48
    assert "all 3 alike" in {line[3] for table in section.tables for line in table.cells}
    assert any("Benjamini-Hochberg" in note for note in section.notes)


def test_the_table_has_harmless_names_and_says_what_is_missing() -> None:
    rows = map_rows({HOSTILE: MODELS["callbacks"], "b": MODELS["thread_pool"]}, caps=(100,), works=("0", "1ms"))
    rows += [crawl_row("invalid_one", number=number, invalid=True) for number in (1, 2)]

    (section,) = map_table.sections(rows)

    assert not any("\x1b" in cell for table in section.tables for line in table.cells for cell in line)
    assert any("Too few valid trials: invalid_one" in note for note in section.notes)


def test_a_run_has_a_map_where_its_crawls_differ_in_latency_and_in_cpu_work() -> None:
    assert of_rows(map_rows(works=("0", "1ms"), caps=(10,))) is not None
    assert of_rows(map_rows(works=("1ms",), caps=(10,))) is None
    assert of_rows(map_rows(works=("0", "1ms"), latencies=("10ms",), caps=(10,))) is None
    assert of_rows([]) is None


def test_two_workloads_without_a_common_latency_or_cpu_work_are_no_map() -> None:
    near, far = map_rows(works=("0", "1ms"), latencies=("0",), caps=(10,)), map_rows(latencies=("10ms",), works=("0",))

    assert of_rows([*near, *far]) is None


def test_the_title_names_the_fastest_and_where_nothing_can_be_told() -> None:
    both = {"a": 20_000, "b": 60_000}
    same = {"a": MODELS["callbacks"], "b": MODELS["callbacks"]}

    (one_round,) = map_table.sections(map_rows(rounds=1))
    (one_wins,) = map_table.sections(map_rows(both, works=("0", "1ms"), caps=(10, 1000), noise=0.005))
    (alike,) = map_table.sections(map_rows(same, noise=0.005, caps=(1, 10)))

    assert one_round.title.endswith("nothing to conclude")
    assert any(note.startswith("Not known: 48 of 48 workloads") for note in one_round.notes)
    assert re.search(
        r"in the other \d+, a \(\d+ times?\) is the fastest or .*; largest .*: a is \d\.\dx as fast as b$",
        one_wins.title,
    )
    assert alike.title == "In 24 of 24 workloads the models tie"


def test_a_group_that_is_ahead_of_the_rest_has_its_colour_and_a_hatch() -> None:
    three = {"a": MODELS["callbacks"], "b": MODELS["callbacks"], "c": MODELS["native_asyncio"]}
    rows = map_rows(three, latencies=("0", "10ms"), works=("0", "1ms"), caps=(10,), noise=0.005)

    with page.settings():
        figure = plot_map.draw(c.cells(rows), page.looks(three), "")

    assert figure is not None
    hatched = [patch for patch in figure.axes[0].patches if patch.get_hatch()]
    assert hatched
    (legend,) = figure.legends
    told = [text.get_text() for text in legend.get_texts()]
    assert "fastest, tied with others" in told
    assert "tie: no significant difference" in told
