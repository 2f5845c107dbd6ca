"""The headline table and its sentences, on a terminal, as text, and as JSON."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.present.table import WIDTH, print_summary, summary_json, summary_table
from bench.rows import Row
from tests.made_rows import crawl_row, grid, memory_row, memory_rows

HOSTILE = "$x^{2}$<b>&[red]`|\x1b[31m\n"


def text(rows: list[Row]) -> str:
    return summary_table(rows).plain


def sentences(rows: list[Row]) -> str:
    return " ".join(text(rows).split())


def test_the_table_as_a_teacher_shows_it() -> None:
    rows = [*grid(["callbacks", "thread_pool"]), *grid(["aiohttp_client"], stack="own")]

    assert text(rows).splitlines()[:8] == [
        "strategy        pages/s                       pages/s   CPU per page     user memory          ",
        "added latency      0 ms                         50 ms           0 ms       per fetch          ",
        "in flight           100      1    10     100    1,000            100       in flight    trials",
        "─" * WIDTH,
        "callbacks        50,800   20.3   203   2,030   20,300        20.1 µs   1.00 ±0.00 kB     26 ok",
        "thread_pool      25,400   20.3   203   2,030   20,300        40.1 µs   2.00 ±0.00 kB     26 ok",
        "─── with an HTTP stack of their own ".ljust(WIDTH, "─"),
        "aiohttp_client   50,800   20.3   203   2,030   20,300        20.1 µs   1.00 ±0.00 kB     26 ok",
    ]


def test_no_rows() -> None:
    assert text([]) == "No trial has been run: there is nothing to show."


def test_no_valid_row() -> None:
    assert "No valid trial among 2: nothing here supports a conclusion." in sentences(
        [crawl_row(red=True), crawl_row("other", status="failed")]
    )


def test_one_round_shows_two_digits_and_says_so() -> None:
    rows = [crawl_row(pages_per_s=9812)]

    assert "9,800" in text(rows)
    assert "One round: its spread is not known, so two digits are shown" in sentences(rows)


def test_two_rounds_are_medians_and_unsteady_ones_lose_a_digit() -> None:
    steady = [crawl_row("steady", number=n, pages_per_s=9812 + n) for n in (1, 2)]
    shaky = [crawl_row("shaky", number=n, pages_per_s=8812 + 400 * n) for n in (1, 2)]

    assert "9,810" in text(steady + shaky)
    assert "9,400" in text(steady + shaky)
    assert (
        "Medians over the valid trials of 2 rounds; two digits where the rounds differ by more than 2 %."
        in sentences(steady + shaky)
    )


def test_red_figures_are_marked_and_explained() -> None:
    rows = [crawl_row(red=True, pages_per_s=9800), crawl_row("other")]

    assert "9,800✗" in text(rows)
    assert "✗: from red trials only, and part of no conclusion." in sentences(rows)
    assert 'callbacks: the only trial is red: failed "server had room" (80% of its core, limit 70%).' in sentences(rows)


def test_red_figures_are_dimmed() -> None:
    table = summary_table([crawl_row(red=True, pages_per_s=9800)])

    styles = [span.style for span in table.spans if "✗" in table.plain[span.start : span.end]]
    assert "dim red" in styles


def test_reasons_are_grouped_with_an_example() -> None:
    rows = [crawl_row(number=n, red=n < 4) for n in range(1, 6)]

    assert (
        'callbacks: 3 of 5 trials red: failed "server had room" 3 times (such as 80% of its core, limit 70%).'
        in sentences(rows)
    )


def test_all_skipped() -> None:
    rows = [crawl_row(number=n, status="skipped", reason="not installed: aiohttp") for n in (1, 2)]

    assert "all 2 trials are red: skipped 2 times (such as not installed: aiohttp)." in sentences(
        [*rows, crawl_row("b")]
    )
    assert "skipped" in text(rows).splitlines()[4]


def test_red_trials_of_many_strategies_are_counted() -> None:
    assert "18 more strategies have red trials; the rows say why." in sentences(
        [crawl_row(f"s{n:02}", red=True) for n in range(30)]
    )


def test_a_gap_is_explained() -> None:
    rows = [crawl_row("one"), crawl_row("one", latency="50ms"), crawl_row("two")]

    assert "-: not measured." in sentences(rows)
    assert "-: not measured." not in sentences([crawl_row()])


def test_what_memory_is_is_said() -> None:
    assert "Memory is USS, as a slope over 5 numbers in flight, ± its 95 % interval." in sentences(memory_rows())


def test_a_bent_line_is_a_range_and_is_explained() -> None:
    rows = [memory_row(held=n, uss_bytes=10**7 + 1000 * n + 5000 * max(0, n - 1200)) for n in range(400, 2400, 400)]

    assert "1.0 to 6.0 kB" in text(rows)
    assert "± its 95 % interval; a range where the line is bent." in sentences(rows)


def test_no_slope_has_a_reason() -> None:
    rows = [memory_row(held=n) for n in (1, 2, 3)]

    assert "No memory slope for callbacks: needs 5 different numbers in flight, has 3." in sentences(rows)


def test_what_is_left_out_is_said() -> None:
    rows = grid(["one"], latencies=("0", "10ms", "50ms"), caps=(1, 2, 5, 10, 20, 50, 100))

    assert (
        "Measured, but not in this table: 10 ms; 1 to 50 (6 numbers) in flight at no added latency; 2, 10 and 50 in "
        "flight at 50 ms." in sentences(rows)
    )


def test_unlike_settings_get_tables_with_titles() -> None:
    lines = text([crawl_row(), crawl_row(connection="per-fetch"), *memory_rows()]).splitlines()

    assert [line for line in lines if "connections" in line] == ["keep-alive connections", "per-fetch connections"]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_hundred_strategies_fit(width: int) -> None:
    rows = [crawl_row(f"strategy_number_{n:03}", pages_per_s=1000 + n) for n in range(100)]
    table = summary_table(rows, width).plain.splitlines()

    assert sum(line.startswith("strategy_") for line in table) == 100
    assert max(map(len, table)) <= width


@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1, max_size=60))
def test_no_name_breaks_the_table(name: str) -> None:
    lines = text([*grid([name], rounds=1), crawl_row(name, red=True)]).splitlines()

    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= WIDTH


def test_a_name_is_no_markup() -> None:
    assert "$x^{2}$<b>&[red]`|?[31m" in text([crawl_row(HOSTILE)])


def test_nothing_is_coloured_in_a_file() -> None:
    file = io.StringIO()
    print_summary([crawl_row(red=True), *grid()], file)

    assert "\x1b" not in file.getvalue()
    assert file.getvalue() == text([crawl_row(red=True), *grid()]) + "\n"


def test_a_row_without_the_measured_keys_crashes_nothing() -> None:
    row = crawl_row()
    row.measured.clear()

    assert "callbacks" in text([row])


def test_json_has_the_same_figures() -> None:
    rows = [*grid(["one"]), crawl_row("two", red=True), crawl_row("three", status="timeout", reason="too slow")]
    found = json.loads(json.dumps(summary_json(rows), allow_nan=False))

    assert found["trials"] == {"planned": len(rows), "valid": len(rows) - 2, "by_status": {"ok": 27, "timeout": 1}}
    assert [one["strategy"] for one in found["strategies"]] == ["one", "three", "two"]
    [cell] = [one for one in found["cells"] if one["latency"] == "50ms" and one["in_flight"] == 10]
    assert cell["cpu_per_page_ns"] == {"median": 20_150, "low": 20_100, "high": 20_200, "rounds": 2, "valid": True}
    assert [cell["pages_per_s"] for cell in found["cells"] if cell["strategy"] == "three"] == [None]
    assert [cell["pages_per_s"]["valid"] for cell in found["cells"] if cell["strategy"] == "two"] == [False]
    assert round(found["memory"][0]["slope"]["per_fetch"]) == pytest.approx(1000, abs=5)
    assert [(one["strategy"], one["status"], one["reason"]) for one in found["red"]] == [
        ("two", "ok", None),
        ("three", "timeout", "too slow"),
    ]
    assert found["red"][0]["failed_checks"][0]["name"] == "server had room"


def test_json_says_why_there_is_no_slope() -> None:
    [memory] = summary_json([memory_row()])["memory"]

    assert (memory["slope"], memory["reason"]) == (None, "needs 5 different numbers in flight, has 1")


def test_json_of_nothing_is_whole() -> None:
    assert summary_json([])["trials"] == {"planned": 0, "valid": 0, "by_status": {}}


def test_json_keys_are_documented() -> None:
    documentation = summary_json.__doc__ or ""

    assert [key for key in summary_json(grid()) if f"``{key}``" not in documentation] == []


def test_throughput_has_its_sensitivity_below_the_table() -> None:
    assert (
        "Sensitivity of pages/s to CPU time, by number in flight: at no added latency, 1 with 100; at 50 ms, "
        "0.00041 to 0.00081 with 1, 0.00041 to 0.00083 with 10"
    ) in sentences(grid())
    assert "5 % more CPU per page takes 0.05 % of pages/s: compare CPU per page." in sentences(grid())


def test_where_throughput_shows_a_slowdown_in_full_there_is_no_warning() -> None:
    rows = grid(latencies=["0"], caps=[100])

    assert "at no added latency, 1 with 100." in sentences(rows)
    assert "compare CPU per page" not in sentences(rows)


def test_red_throughput_has_no_sensitivity() -> None:
    assert "Sensitivity" not in text([crawl_row(red=True)])


def test_the_summary_has_the_sensitivity_of_each_throughput() -> None:
    valid, red = summary_json([crawl_row(pages_per_s=20_000.0), crawl_row("red", red=True)])["cells"]

    assert valid["pages_per_s"]["sensitivity"] == [1.0, 1.0]
    assert red["pages_per_s"]["sensitivity"] is None
    assert "sensitivity" not in valid["cpu_per_page_ns"]
