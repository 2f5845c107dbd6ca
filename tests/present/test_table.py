"""The tables of crawls and of blocks: on a terminal, as text, and as JSON."""

import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight.bench.present import html, text_grid
from inflight.bench.present.table import Table
from inflight.bench.present.text_bars import MOST_BARS
from inflight.bench.report.answer import answer
from inflight.bench.report.terminal import WIDTH, print_summary, summary_json, summary_table
from inflight.bench.rows.files import Row
from inflight.bench.studies.throughput import show
from tests.made_rows import MS, arm_row, block_rows, crawl_row, edited, grid, memory_row

HOSTILE = "$x^{2}$<b>&[red]`|\x1b[31m\n"


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def text(rows: list[Row]) -> str:
    return summary_table(rows).plain


def sentences(rows: list[Row]) -> str:
    """Return the text in one line, so that neither breaks nor the widths of columns matter."""
    return " ".join(text(rows).split())


def test_the_tables_as_a_teacher_shows_them() -> None:
    rows = [*grid(["callbacks", "thread_pool"]), *grid(["aiohttp_client"], stack="own")]

    lines = text(rows).splitlines()
    first = lines.index("CPU per page at no added latency, 100 in flight")
    assert lines[first : first + 12] == [
        "CPU per page at no added latency, 100 in flight",
        "                         CPU              ratio to",
        "strategy            per page      callbacks (95 %)",
        "callbacks         20 µs ±3 %             reference",
        "thread_pool     40.1 µs ±2 %  1.99x (1.96 to 2.02)",
        "─── with an HTTP stack of their own ".ljust(WIDTH, "─"),
        "aiohttp_client    20 µs ±3 %  1.00x (0.99 to 1.01)",
        "",
        "Pages per second",
        "added latency          0 ms    50 ms     50 ms       50 ms        50 ms",
        "in flight               100        1        10         100        1,000",
        "callbacks       51,000 ±6 %  20 ±6 %  200 ±6 %  2,000 ±6 %  20,000 ±6 %",
    ]


def test_no_rows() -> None:
    assert text([]) == "• No trial has been run: there is nothing to show."


def test_no_valid_row() -> None:
    assert "No valid trial among 2: nothing here supports a conclusion" in sentences(
        [crawl_row(invalid=True), crawl_row("other", status="failed")]
    )


def test_one_round_shows_two_digits_and_says_so() -> None:
    rows = [crawl_row(pages_per_s=9812)]

    assert "9,800" in text(rows)
    assert "One round: the noise is unknown, so two digits are shown." in sentences(rows)


def test_two_rounds_have_an_interval_and_unsteady_ones_lose_a_digit() -> None:
    steady = [crawl_row("steady", number=n, pages_per_s=9812 + n) for n in (1, 2)]
    shaky = [crawl_row("shaky", number=n, pages_per_s=8812 + 400 * n) for n in (1, 2)]

    assert "9,810 ±0.9 %" in text(steady + shaky)
    assert "9,400 ±30 %" in text(steady + shaky)
    wild = [crawl_row("wild", number=n, pages_per_s=10_000 * n) for n in (1, 3)]
    assert "(±>100 %)" in text(wild)
    assert "Means over 2 rounds, ± half of their 95 % interval" in sentences(steady + shaky)


def test_invalid_figures_are_marked_and_explained() -> None:
    rows = [crawl_row(invalid=True, pages_per_s=9800), crawl_row("other")]

    assert "9,800✗" in text(rows)
    assert "✗: from invalid trials only, and excluded from conclusions." in sentences(rows)
    told = sentences(rows)
    assert 'callbacks: the only trial is invalid: failed "server had room" (80 % of its core, limit 70 %).' in told


def test_a_ratio_of_invalid_trials_is_left_out_but_not_called_not_measured() -> None:
    rows = [crawl_row(number=n) for n in (1, 2)] + [crawl_row("other", number=n, invalid=True) for n in (1, 2)]

    notes = [note for section in show.sections(rows) for table in section.tables for note in table.notes]

    assert "-: no valid trials to compare." in notes
    assert "-: not measured." not in notes


def test_invalid_figures_are_dimmed() -> None:
    table = summary_table([crawl_row(invalid=True, pages_per_s=9800)])

    styles = [span.style for span in table.spans if "✗" in table.plain[span.start : span.end]]
    assert "dim red" in styles


def test_all_skipped() -> None:
    rows = [crawl_row(number=n, status="skipped", reason="needs Python 3.12 or newer") for n in (1, 2)]
    told = sentences([*rows, crawl_row("b")])

    assert told.count("all 2 trials were skipped: needs Python 3.12 or newer.") == 1
    assert "invalid" not in told
    assert "callbacks skipped - " in sentences(rows)


def test_invalid_and_skipped_trials_are_told_apart() -> None:
    rows = [crawl_row(invalid=True), crawl_row(number=2, status="skipped", reason="too few files"), crawl_row(number=3)]

    assert "callbacks: 1 of its 3 trials in this run is invalid: failed" in sentences(rows)
    assert "; 1 of 3 trials were skipped: too few files." in sentences(rows)


def test_a_workload_that_was_only_skipped_is_not_called_measured() -> None:
    rows = [
        *grid(["one"], latencies=("0", "50ms"), caps=(100,)),
        crawl_row("two", in_flight=1, status="skipped", reason="needs Python 3.12 or newer"),
    ]

    assert "Measured, but not in this table" not in sentences(rows)


def test_invalid_trials_of_many_strategies_are_counted() -> None:
    assert "18 more strategies have invalid trials; the rows say why." in sentences(
        [crawl_row(f"s{n:02}", invalid=True) for n in range(30)]
    )


def test_omitted_workloads_are_named() -> None:
    rows = grid(["one"], latencies=("0", "10ms", "50ms"), caps=(1, 2, 5, 10, 20, 50, 100))

    assert (
        "Measured, but not in this table: 1 to 50 (6 numbers) in flight at no added latency; 1 to 100 (7 numbers) in "
        "flight at 10 ms; 2, 10 and 50 in flight at 50 ms." in sentences(rows)
    )


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_hundred_strategies_fit(width: int) -> None:
    rows = [crawl_row(f"strategy_number_{n:03}", pages_per_s=1000 + n) for n in range(100)]
    table = summary_table(rows, width).plain.splitlines()

    assert sum(line.startswith("strategy_") for line in table) == 200 + MOST_BARS
    assert max(map(len, table)) <= width


@pytest.mark.ci
@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1, max_size=60))
def test_no_name_breaks_the_table(name: str) -> None:
    lines = text([*grid([name], rounds=1), crawl_row(name, invalid=True)]).splitlines()

    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= WIDTH


def test_a_name_is_no_markup() -> None:
    assert "$x^{2}$<b>&[red]`|?[31m" in text([crawl_row(HOSTILE)])


def test_nothing_is_coloured_in_a_file() -> None:
    file = io.StringIO()
    print_summary([crawl_row(invalid=True), *grid()], file)

    assert "\x1b" not in file.getvalue()
    assert file.getvalue() == text([crawl_row(invalid=True), *grid()]) + "\n"


@pytest.mark.parametrize(("lines", "times"), [("10", 2), ("1000", 1)])
def test_a_terminal_that_is_too_low_shows_the_findings_again_at_its_end(
    lines: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", lines)
    monkeypatch.setenv("COLUMNS", "100")
    file = Terminal()
    print_summary(grid(), file)

    finding = answer(grid())[-1]
    assert file.getvalue().count(finding) == times
    assert (finding in file.getvalue().splitlines()[-1]) == (times == 2)


def test_json_has_the_same_figures() -> None:
    rows = [*grid(["one"]), crawl_row("two", invalid=True), crawl_row("three", status="timeout", reason="too slow")]
    found = json.loads(json.dumps(summary_json(rows), allow_nan=False))

    assert found["trials"] == {"planned": len(rows), "valid": len(rows) - 2, "by_status": {"ok": 27, "timeout": 1}}
    assert [one["strategy"] for one in found["strategies"]] == ["one", "three", "two"]
    [cell] = [one for one in found["cells"] if one["latency"] == "50ms" and one["in_flight"] == 10]
    cpu = cell["cpu_per_page_ns"]
    assert (cpu["mean"], cpu["rounds"], cpu["valid"]) == (pytest.approx(20_150, abs=1), 2, True)
    assert cpu["interval"] == pytest.approx([19_523, 20_796], abs=10)
    assert [cell["pages_per_s"] for cell in found["cells"] if cell["strategy"] == "three"] == [None]
    assert [cell["pages_per_s"]["valid"] for cell in found["cells"] if cell["strategy"] == "two"] == [False]
    assert round(found["memory"][0]["slope"]["per_fetch"]) == pytest.approx(1000, abs=5)
    assert [(one["strategy"], one["status"], one["reason"]) for one in found["invalid"]] == [
        ("two", "ok", None),
        ("three", "timeout", "too slow"),
    ]
    assert found["invalid"][0]["failed_checks"][0]["name"] == "server had room"


def test_json_says_why_there_is_no_slope() -> None:
    [memory] = summary_json([memory_row()])["memory"]

    assert (memory["slope"], memory["reason"]) == (None, "needs 5 different numbers in flight, has 1")


def test_json_of_nothing_is_whole() -> None:
    assert summary_json([])["trials"] == {"planned": 0, "valid": 0, "by_status": {}}


def test_json_keys_are_documented() -> None:
    documentation = summary_json.__doc__ or ""

    assert [key for key in summary_json(grid()) if f"``{key}``" not in documentation] == []


def test_the_summary_has_the_sensitivity_of_each_throughput() -> None:
    valid, invalid = summary_json([crawl_row(pages_per_s=20_000.0), crawl_row("invalid", invalid=True)])["cells"]

    assert valid["pages_per_s"]["sensitivity"] == [1.0, 1.0]
    assert invalid["pages_per_s"]["sensitivity"] is None
    assert "sensitivity" not in valid["cpu_per_page_ns"]


# Blocks


def test_the_placebo_comes_first() -> None:
    assert (
        "The same code, measured twice, differs in CPU time per page by +0.6 % (95 % interval -0.1 to +1.3 %)."
        in " ".join(text(block_rows()).split())
    )


def test_a_placebo_is_no_strategy() -> None:
    assert "again" not in text(block_rows())
    assert [one["strategy"] for one in summary_json(block_rows())["strategies"]] == ["callbacks", "generators"]


def test_a_full_server_and_a_late_one_are_marked_in_the_table_of_rates() -> None:
    rows = block_rows(latency="10ms")
    server = {"cpu_share": 0.85, "run_delay_share": 0.06}
    marked = [edited(row, server=server, measured={"late_ns": 2 * MS}) for row in rows]

    (line,) = (line for line in text(marked).splitlines() if line.startswith("callbacks") and "≥" in line)
    assert re.search(r"≥[0-9,]+ ±\S+ % at 12 ms", line)
    assert "≥: the server was full. at 12 ms: the latency that was served." in sentences(marked)
    assert not {"≥", " at 12 ms"} & {mark for mark in ("≥", " at 12 ms") if mark in sentences(rows)}


def test_one_block_has_a_placebo_without_an_interval() -> None:
    rows = block_rows(blocks=1)

    assert "differs in CPU time per page by +1.0 % (one block: its interval is unknown)." in sentences(rows)
    assert summary_json(rows)["placebo"]["low"] is None
    assert "1.20x" in text(rows)


def test_ratios_are_those_of_the_blocks_and_know_nothing_of_what_blocks_share() -> None:
    assert "generators 25 µs ±4 % 1.20x (1.20 to 1.20)" in sentences(block_rows())


def test_an_arm_that_failed_leaves_the_others_their_figures() -> None:
    rows = [row for row in block_rows() if row.strategy != "generators"]
    rows += [
        arm_row("generators", number=n, status="failed", reason="the strategy raised OSError") for n in range(1, 6)
    ]

    assert "generators failed -" in sentences(rows)
    assert "callbacks 21 µs ±4 % reference" in sentences(rows)
    told = sentences(rows)
    assert "generators: all 5 trials are invalid: failed 5 times (such as the strategy raised OSError)." in told


def test_names_that_differ_at_their_ends_are_shown_whole() -> None:
    ends = ("3.14.0a3", "3.14.0a3t")
    found = Table("", ("name", *"abcdef"), tuple((f"native_asyncio {end}", *["1,234,567 ±8"] * 6) for end in ends))

    lines = text_grid.lines_of(found, 100)

    assert [line.strip() for line in lines if "3.14" in line] == list(ends)
    assert sum(line.startswith("native_asyncio") for line in lines) == 2


def test_a_name_on_a_page_breaks_between_its_parts_and_a_figure_does_not() -> None:
    found = Table("", ("rate", "x"), (("thread_pool (cores=2)", "1_000"), ("32,000/s", "a=b")))

    shown = str(html.table(found))

    assert "thread_<wbr>pool (cores=<wbr>2)" in shown
    assert all(f">{text}<" in shown for text in ("1_000", "32,000/s", "a=b"))
