"""The outputs of open loops and other clients: tables, JSON, plots, the page, Markdown, CSV."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inflight.bench.present import page
from inflight.bench.report.answer import answer
from inflight.bench.report.files import Extras
from inflight.bench.report.markdown import markdown
from inflight.bench.report.page import page as whole_page
from inflight.bench.report.plots import save_all
from inflight.bench.report.terminal import WIDTH, summary_json, summary_table
from inflight.bench.report.tidy import trials
from inflight.bench.rows.files import Row
from inflight.bench.studies.open_loop.plot import plots
from inflight.bench.studies.open_loop.read import KINDS
from inflight.bench.studies.open_loop.show import sections
from tests.made_rows import MACHINE, edited, grid
from tests.present.test_plots_memory import beyond, overlapping, text_of
from tests.selftest.made_clients import client_row
from tests.swarm.made_open_rows import TARGET, open_row, open_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOSTILE = ["$x^{2}$<b>&", "a\x00b\x1b[31m\n\N{PILE OF POO}", "x" * 200]
EVERYTHING = [
    *open_run(),
    *open_run((100, 1000, 2000), rounds=1, target=TARGET),
    open_row(3000, invalid=True),
    open_row(16_000, status="failed", reason="boom"),
    open_row(32_000, status="skipped"),
]


def printed(rows: list[Row]) -> str:
    return summary_table(rows).plain


def drawn(rows: list[Row]) -> list[str]:
    """Draw both plots, check that nothing overlaps or leaves the page, and return all of their text."""
    with page.settings():
        return [checked(figure) for _, figure in plots(rows, {}, "footer")]


def checked(figure: "Figure | None") -> str:
    assert figure is not None
    assert overlapping(figure) == []
    assert beyond(figure) == []
    return text_of(figure)


def test_the_table_has_corrected_and_uncorrected_side_by_side() -> None:
    (table,) = sections(open_run((2000, 4000)))[0].tables

    assert table.cells == [
        ("2,000/s", "2,000", "10.5 ms", "12.6 ms", "10.5 ms", "11.9 ms", "1", "77 %", "23 %", "yes"),
        ("4,000/s", "2,600", "2.71 s", "5.34 s", "11.3 ms", "17.8 ms", "14,001", "100 %", "28 %", "no"),
    ]
    assert table.notes[0] == "4,000/s: cannot keep the rate: 40,000 were due; the client's core was full."


def test_the_table_has_all_planned_rates_and_no_line_is_too_wide() -> None:
    text = printed(EVERYTHING)

    assert max(map(len, text.splitlines())) <= WIDTH
    for told in ("3,000/s ✗", "16,000/s failed", "32,000/s skipped", "failed (boom)", TARGET):
        assert told in " ".join(text.split()) or told in text


def test_failures_are_in_a_note() -> None:
    row = open_row(1000)
    row = edited(row, measured={"failed": 12})

    assert "failed" not in printed([open_row(1000)])
    assert "1,000/s: 12 requests failed." in printed([row])


def test_the_table_of_a_target_has_no_column_for_the_server() -> None:
    assert "server core" in sections([open_row()])[0].tables[0].heads
    assert "server core" not in sections([open_row(target=TARGET)])[0].tables[0].heads


def test_without_a_valid_trial_the_table_says_so() -> None:
    assert "No valid trial among 1" in printed([open_row(status="failed")])


def test_a_run_of_an_experiment_shows_the_same_table_below_its_crawls() -> None:
    text = summary_table([*grid(), *open_run()]).plain

    assert "thread_pool" in text
    assert "Open loop: 10 ms added latency, at most 200 in flight, requests/s" in text
    assert not [line for line in text.splitlines() if line.startswith("locust")]


def test_the_json_has_each_rate_and_can_be_written() -> None:
    found = json.loads(json.dumps(summary_json(EVERYTHING), allow_nan=False))

    kept = {(one["target"], one["rate_per_s"]): one["kept"] for one in found["offered"]}
    assert kept[None, 2000] is True
    assert kept[None, 4000] is False
    assert kept[None, 16_000] is None
    lost = next(one for one in found["offered"] if one["rate_per_s"] == 4000)
    assert lost["why"].startswith("cannot keep the rate: ")
    assert lost["corrected"]["p99_ns"]["median"] > 100 * lost["uncorrected"]["p99_ns"]["median"]
    assert "locust" not in {one["strategy"] for one in found["strategies"]}


def test_the_plots_name_times_and_rates() -> None:
    offered, backlog = drawn(open_run())

    for name in ("cannot keep", "added latency", *(f"{kind} {q}" for kind in KINDS for q in ("p50", "p99"))):
        assert name in offered
    for told in ("4,000/s", "8,000/s", "250/s to 2,000/s", "14,000 at 4,000/s"):
        assert told in backlog


@pytest.mark.parametrize(
    "rows",
    [
        EVERYTHING,
        [open_row(100)],
        open_run((4000, 8000)),
        open_run((0.5, 1, 100_000), rounds=1),
        [open_row(invalid=True)],
        [row for n in range(4) for row in open_run((10, 5000), rounds=1, target=f"http://127.0.0.1:{n}/")],
    ],
    ids=["everything", "one rate", "all lost", "far apart", "invalid", "many places"],
)
def test_no_texts_of_a_plot_overlap(rows: list[Row]) -> None:
    drawn(rows)


@pytest.mark.parametrize("rows", [[], [open_row(status="failed")], [open_row(status="skipped")], grid(rounds=1)])
def test_without_open_loops_nothing_is_drawn(rows: list[Row]) -> None:
    assert [figure for _, figure in plots(rows, {}, "footer")] == [None, None]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_no_harm(text: str) -> None:
    rows = [*open_run((1000, 4000), rounds=1, target=text, why=text), open_row(5, status="failed", reason=text)]

    drawn(rows)
    assert "\x1b" not in printed(rows)
    assert "<b>" not in markdown(rows, MACHINE)


def test_every_plot_is_saved_and_the_page_has_all_of_it(tmp_path: Path) -> None:
    paths = save_all(EVERYTHING, MACHINE, tmp_path)
    content = whole_page(EVERYTHING, MACHINE, Extras("20260102T030405678Z-host-open"))

    assert [path.name for path in paths] == ["offered.png", "offered.svg", "backlog.png", "backlog.svg"]
    assert ET.parse(tmp_path / "offered.svg").getroot().tag.endswith("svg")  # noqa: S314  (written by us)
    for told in ("Open loop:", "plot-offered", "plot-backlog", "32,000/s"):
        assert told in content


def test_the_answer_is_the_title() -> None:
    assert answer(open_run())[0] == f"{sections(open_run())[0].title}."


def test_markdown_has_the_table_and_the_reason() -> None:
    text = markdown(open_run(), MACHINE)

    assert "| offered | completed/s | corrected p50 |" in text
    assert "cannot keep the rate: 40,000 were due" in text


def test_trials_have_rates_and_both_times() -> None:
    rows = [open_row(), open_row(4000, target=TARGET), open_row(1, status="skipped"), client_row("wrk")]
    table = trials(rows)

    assert [json.loads(site).get("rate_per_s") for site in table["site"]] == [1000, 4000, 1, None]
    assert json.loads(table["site"][1])["target"] == TARGET
    assert table["corrected_p50_ns"][0] > table["uncorrected_p50_ns"][0] > 0
    assert table["service_p50_ns"].notna().tolist() == [False, False, False, True]
