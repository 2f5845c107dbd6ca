"""``inflight run --strict``: what it says, and when it ends with 1."""

from pathlib import Path

import pytest

from inflight.bench.commands.run import bad_rows, strictly
from inflight.bench.core.rows import Row
from tests.cli.command import inflight
from tests.made_rows import crawl_row

SKIPPED = crawl_row("client", status="skipped", reason="not installed: aiohttp")
SMALL = "strategies = ['callbacks']\n[[crawl]]\npages = 20\nin_flight = [2]\nlatency = ['50ms']\n"
LATE = "strategies = ['callbacks', 'thread_pool']\ndeadline_s = 0.001\n[[crawl]]\npages = 5\n"


@pytest.mark.parametrize(
    ("rows", "number"),
    [
        ([crawl_row(), SKIPPED], 0),
        ([crawl_row(), crawl_row(red=True)], 1),
        ([crawl_row(), crawl_row(status="wrong"), crawl_row(status="failed"), crawl_row(status="timeout")], 3),
    ],
    ids=["skipped ones do not count", "a red one does", "so does each that ended badly"],
)
def test_a_row_is_bad_unless_it_is_valid_or_skipped(rows: list[Row], number: int) -> None:
    assert len(bad_rows(rows)) == number


def test_strict_counts_failed_checks_and_names_skipped_trials() -> None:
    rows = [crawl_row(), crawl_row(red=True), crawl_row(red=True), crawl_row(status="timeout"), SKIPPED]

    assert strictly(rows) == [
        "strict: 3 of 5 trials are not valid",
        'strict: "server had room" failed 2 times',
        "strict: 1 trial ended as timeout",
        "strict: 1 trial skipped: not installed: aiohttp",
    ]


def test_strict_prints_nothing_on_a_valid_run() -> None:
    assert strictly([crawl_row()]) == []


def test_strict_exits_with_1_on_timeouts(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")

    done = inflight("run", "late.toml", "--strict", folder=tmp_path)

    assert done.code == 1
    assert [line.split()[1] for line in done.err.splitlines() if line.startswith("strict: ")] == ["2", "2"]
    assert "timeout" in done.err
    assert "strict" not in done.out


def test_without_strict_nothing_is_printed(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")

    assert "strict" not in inflight("run", "late.toml", folder=tmp_path).err


def test_a_small_run_has_its_warm_up_in_its_rows(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")

    done = inflight("run", "small.toml", "--strict", folder=tmp_path, calm=True)

    (rows_file,) = (tmp_path / "results").glob("*/rows.jsonl")
    row = Row.from_json(rows_file.read_text(encoding="utf-8").splitlines()[0])
    assert 0 < row.measured.warm_up_ns < row.measured.makespan_ns
    assert (done.code, row.failed_checks) == (0, ())
    assert {check.name for check in row.checks} >= {"client ports left", "limits high enough", "throughput steady"}
