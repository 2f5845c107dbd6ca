"""The tables of crawls and of blocks: on a terminal, as text, and as JSON."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight.bench.present import text_grid
from inflight.bench.present.table import Table
from inflight.bench.report.terminal import WIDTH, print_summary, summary_json, summary_table
from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Check
from inflight.bench.rows.records import changed
from inflight.bench.show import html, missing
from tests.made_rows import crawl_row, grid

HOSTILE = "$x^{2}$<b>&[red]`|\x1b[31m\n"


def text(rows: list[Row]) -> str:
    return summary_table(rows).plain


def sentences(rows: list[Row]) -> str:
    """Return the text in one line, so that neither breaks nor the widths of columns matter."""
    return " ".join(text(rows).split())


def test_no_rows() -> None:
    assert text([]).startswith("• Valid trials: 0 of 0")


def test_no_valid_row() -> None:
    assert "No valid trial: nothing here supports a conclusion" in sentences(
        [crawl_row(invalid=True), crawl_row("other", status="failed")]
    )


def test_red_figures_are_dimmed() -> None:
    table = summary_table([crawl_row(invalid=True, pages_per_s=9800)])

    styles = [span.style for span in table.spans if "✗" in table.plain[span.start : span.end]]
    assert "dim red" in styles


def test_what_does_not_count_stands_in_one_table_by_reason() -> None:
    rows = [crawl_row(f"s{n}", invalid=True) for n in range(6)]
    rows += [crawl_row("a", status="skipped", reason="too few files"), crawl_row("b", status="timeout", reason="slow")]

    table = missing.table(rows)

    assert table is not None
    assert [line[:3] for line in table.cells] == [
        ('failed "server had room"', "6", "s0, s1, s2, s3, 2 more"),
        ("skipped", "1", "a"),
        ("timeout", "1", "b"),
    ]
    assert [line[3] for line in table.cells[1:]] == ["too few files", "slow"]
    assert missing.table([crawl_row()]) is None


def test_reasons_beyond_the_most_frequent_are_counted() -> None:
    rows = [
        changed(crawl_row(f"s{n}"), checks=(Check(f"check {n}", "failed", ""),)) for n in range(missing.MAX_LINES + 3)
    ]

    table = missing.table(rows)

    assert table is not None
    assert (len(table.lines), table.notes) == (missing.MAX_LINES, ("More reasons in the rows: 3.",))


def test_every_check_has_a_line_with_its_meaning_the_failed_ones_first() -> None:
    invalid, green = Check("server had room", "failed", "99 %"), Check("answer correct", "passed", "")
    rows = [changed(crawl_row(number=n), checks=(green, invalid) if n == 1 else (green,)) for n in (1, 2)]

    section = missing.section(rows)

    assert [table.title for table in section.tables] == ["Not counted", "Validity checks"]
    assert section.tables[1].cells == [
        ("✗ server had room", "0", "1", "0"),
        ("✓ answer correct", "2", "0", "0"),
    ]
    assert section.notes == (missing.EXCLUDED,)
    assert missing.section(rows[1:]).notes == ()


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
    [user] = [one for one in found["memory"] if (one["line"], one["layer"]) == ("one", "user")]
    assert user["estimate"] == pytest.approx(1000, abs=5)
    assert [(one["strategy"], one["status"], one["reason"]) for one in found["invalid"]] == [
        ("two", "ok", None),
        ("three", "timeout", "too slow"),
    ]
    assert found["invalid"][0]["failed_checks"][0]["name"] == "server had room"


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
