"""The tables of crawls and of blocks: on a terminal, as text, and as JSON."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight.bench.present import html, text_grid
from inflight.bench.present.table import Table
from inflight.bench.report.answer import answer
from inflight.bench.report.terminal import WIDTH, print_summary, summary_json, summary_table
from inflight.bench.rows.files import Row
from tests.made_rows import crawl_row, grid, memory_row

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


def test_no_rows() -> None:
    assert text([]) == "• No trial has been run: there is nothing to show."


def test_no_valid_row() -> None:
    assert "No valid trial among 2: nothing here supports a conclusion" in sentences(
        [crawl_row(invalid=True), crawl_row("other", status="failed")]
    )


def test_red_figures_are_dimmed() -> None:
    table = summary_table([crawl_row(invalid=True, pages_per_s=9800)])

    styles = [span.style for span in table.spans if "✗" in table.plain[span.start : span.end]]
    assert "dim red" in styles


def test_all_skipped() -> None:
    rows = [crawl_row(number=n, status="skipped", reason="needs Python 3.12 or newer") for n in (1, 2)]
    told = sentences([*rows, crawl_row("b")])

    assert told.count("all 2 trials were skipped: needs Python 3.12 or newer.") == 1
    assert "invalid" not in told


def test_invalid_and_skipped_trials_are_told_apart() -> None:
    rows = [crawl_row(invalid=True), crawl_row(number=2, status="skipped", reason="too few files"), crawl_row(number=3)]

    assert "callbacks: 1 of its 3 trials in this run is invalid: failed" in sentences(rows)
    assert "; 1 of 3 trials were skipped: too few files." in sentences(rows)


def test_red_trials_of_many_strategies_are_counted() -> None:
    assert "18 more strategies have invalid trials; the rows say why." in sentences(
        [crawl_row(f"s{n:02}", invalid=True) for n in range(30)]
    )


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_hundred_strategies_fit(width: int) -> None:
    rows = [crawl_row(f"strategy_number_{n:03}", pages_per_s=1000 + n) for n in range(100)]
    table = summary_table(rows, width).plain.splitlines()

    assert sum(line.startswith("strategy_") for line in table) == 200
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
    [cpu] = [one for one in found["cpu"] if (one["latency"], one["in_flight"]) == ("50ms", 10)]
    assert (cpu["estimate"], cpu["n"], cpu["valid"]) == (pytest.approx(20_150, abs=1), 2, True)
    assert [cpu["low"], cpu["high"]] == pytest.approx([19_523, 20_796], abs=10)
    assert [one["valid"] for one in found["throughput"] if one["line"] == "two"] == [False]
    assert "three" not in {one["line"] for one in found["throughput"]}
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


# Blocks


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
