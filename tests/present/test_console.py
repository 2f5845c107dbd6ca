"""One line per trial, and the output of a quiet command."""

import io
import sys

import pytest

from inflight.bench.commands.output import complain, hushed
from inflight.bench.present import console
from inflight.bench.present.console import wants_colour, wants_live
from inflight.bench.report.trial_lines import name_width, trial_line
from inflight.bench.rows.files import Status
from tests.made_rows import crawl_row, memory_row


class Terminal(io.StringIO):
    """A text file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_good_trial_shows_its_figures() -> None:
    row = crawl_row(latency="50ms", in_flight=1000, pages_per_s=9812.3, cpu_per_page_ns=38_000)

    words = " ".join(trial_line(17, 84, row, colour=False).split())
    assert words == "17/84 callbacks 50 ms 1,000 in flight 9,810 pages/s 38.0 µs CPU/page ok"


def test_the_numbers_stand_below_each_other() -> None:
    lines = [trial_line(n, 100, crawl_row(pages_per_s=rate), colour=False) for n, rate in ((1, 20), (100, 40_000))]

    assert len({line.index("CPU/page") for line in lines}) == 1


def test_a_long_name_does_not_move_the_other_columns() -> None:
    rows = [crawl_row("thread_pool_executor"), crawl_row("callbacks")]
    width = name_width(["thread_pool_executor, callbacks"])
    lines = [trial_line(1, 2, row, colour=False, width=width) for row in rows]

    assert len({line.index("CPU/page") for line in lines}) == 1
    assert "thread_pool_executor " in lines[0]


def test_a_memory_trial_shows_what_was_held() -> None:
    line = trial_line(1, 2, memory_row(held=2000, uss_bytes=63_300_000), colour=False)

    assert " ".join(line.split()) == "1/2 callbacks memory 2,000 in flight 63.3 MB held (USS) ok"


def test_a_failed_check_is_named_with_its_figures() -> None:
    line = trial_line(1, 2, crawl_row(invalid=True), colour=False)

    assert line.endswith('✗ failed "server had room": 80 % of its core, limit 70 %')


@pytest.mark.parametrize("status", ["wrong", "failed", "timeout"])
def test_a_trial_that_did_not_end_well_says_its_status_and_why_and_no_figures(status: Status) -> None:
    line = trial_line(1, 2, crawl_row(status=status, reason="page 3 is missing"), colour=False)

    assert line.endswith(f"✗ {status}: page 3 is missing")
    assert "pages/s" not in line


def test_a_skipped_trial_is_no_error() -> None:
    line = trial_line(1, 2, crawl_row(status="skipped", reason="not installed: aiohttp"), colour=True)

    assert "skipped: not installed: aiohttp" in line
    assert "✗" not in line
    assert console.RED not in line


def test_connections_are_named_unless_they_are_kept_alive() -> None:
    assert "per-fetch" in trial_line(1, 2, crawl_row(connection="per-fetch"), colour=False)


def test_a_name_or_a_reason_cannot_move_the_cursor_or_break_the_line() -> None:
    row = crawl_row("a\x1b[2Jb", status="failed", reason="one\ntwo\x07\x1b[31m" + 1000 * "x")
    line = trial_line(1, 2, row, colour=False)

    assert line.isprintable()
    assert len(line) < 350


def test_invalid_is_red() -> None:
    assert console.RED in trial_line(1, 2, crawl_row(invalid=True), colour=True)
    assert console.GREEN in trial_line(1, 2, crawl_row(), colour=True)
    assert "\x1b" not in trial_line(1, 2, crawl_row(invalid=True), colour=False)


def test_colour_needs_a_terminal_and_no_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())

    monkeypatch.setenv("TERM", "dumb")
    assert not wants_colour(Terminal())

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())


def test_colour_depends_on_standard_error_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stderr", Terminal())

    assert console.GREEN in trial_line(1, 2, crawl_row())


@pytest.mark.parametrize("term", ["dumb", "unknown", "", None])
def test_a_line_is_redrawn_only_on_a_terminal_of_a_known_type(
    monkeypatch: pytest.MonkeyPatch, term: str | None
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert wants_live(Terminal())
    assert not wants_live(io.StringIO())

    if term is None:
        monkeypatch.delenv("TERM")
    else:
        monkeypatch.setenv("TERM", term)
    assert not wants_live(Terminal())


def test_a_quiet_command_prints_errors_only(capsys: pytest.CaptureFixture[str]) -> None:
    with hushed():
        print("talk", file=sys.stderr, flush=True)
        complain("it went wrong")
        print("a result")
    print("talk again", file=sys.stderr)
    complain("and again")

    assert capsys.readouterr() == ("a result\n", "it went wrong\ntalk again\nand again\n")


def test_a_quiet_command_has_no_colour_and_no_redrawn_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal())

    with hushed():
        assert not wants_live(sys.stderr)
        assert not wants_colour(sys.stderr)
