"""One comparison step by step: each number is what its line says it is."""

import math
from pathlib import Path

import pytest
from scipy.stats import ttest_1samp

from inflight.bench.rows import files as stored
from inflight.bench.rows.files import Row
from tests.made_rows import block_rows, edited
from tools.document import example
from tools.document.stored import DocumentError

pytestmark = pytest.mark.night
COSTS = {"callbacks": 20_000, "thread_pool": 27_000}


def made(runs: Path, costs: dict[str, int]) -> list[Row]:
    folder = runs / "1-vm-quick"
    folder.mkdir(parents=True)
    rows = [varied(row) for row in block_rows(costs)]
    for row in rows:
        stored.append(folder, row)
    return rows


def varied(row: Row) -> Row:
    """Return the row with up to 200 ns more per page, by its block, if it is of thread_pool."""
    more_ns = 100 * (row.round % 3) if row.strategy == "thread_pool" else 0
    return edited(row, measured={"cpu_per_page_ns": row.measured.cpu_per_page_ns + more_ns})


def cells(text: str, begin: str) -> list[list[str]]:
    """Return the lines of the table that begins with a head, without the head."""
    (table,) = [part for part in text.split("\n\n") if part.startswith(f"| {begin} |")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()[2:]]


def cost_ns(rows: list[Row], name: str) -> list[float]:
    return [row.measured.cpu_per_page_ns for row in rows if row.strategy == name]


def test_each_step_follows_from_the_rows(tmp_path: Path) -> None:
    rows = made(tmp_path, COSTS)
    own, reference = cost_ns(rows, "thread_pool"), cost_ns(rows, "callbacks")
    logs = [math.log(one / other) for one, other in zip(own, reference, strict=True)]
    tested = ttest_1samp(logs, 0)
    ends = tested.confidence_interval(0.95)
    text = example.part(tmp_path, tmp_path)
    steps = {name: here for name, here, _ in cells(text, "number")}

    assert [ratio for _, ratio, _ in cells(text, "block")] == [f"{math.exp(one):.3f}" for one in logs]
    assert steps["mean of the logarithms"] == f"{math.fsum(logs) / 5:.4f}"
    assert steps["95 % interval"] == f"{math.exp(ends.low):.3f} to {math.exp(ends.high):.3f}"
    assert steps["verdict"] == "differs"


def test_the_sums_are_those_of_the_windows_of_one_block(tmp_path: Path) -> None:
    rows = made(tmp_path, COSTS)
    first = {row.strategy: row.measured for row in rows if row.round == 1}

    for name, _cpu, pages, _each, ratio in cells(example.part(tmp_path, tmp_path), "arm"):
        assert pages == f"{round(sum(window.pages for window in first[name].windows)):,}"
        assert float(ratio) == round(first[name].cpu_per_page_ns / first["callbacks"].cpu_per_page_ns, 3)


def test_the_sentence_on_slices_has_their_least_and_their_greatest(tmp_path: Path) -> None:
    windows = next(row.measured.windows for row in made(tmp_path, COSTS) if row.strategy == "callbacks")
    pages = [round(window.pages) for window in windows]

    text = example.part(tmp_path, tmp_path)

    assert f"each arm had {len(windows)} slices." in text
    assert f"fetched {min(pages):,} to {max(pages):,} pages" in text


def test_arms_that_are_alike_are_not_said_to_differ(tmp_path: Path) -> None:
    made(tmp_path, {"callbacks": 20_000, "thread_pool": 20_000})

    assert "They tie" in example.part(tmp_path, tmp_path)


def test_a_run_without_the_strategy_is_refused(tmp_path: Path) -> None:
    made(tmp_path, {"callbacks": 20_000, "generators": 24_000})

    with pytest.raises(DocumentError, match=r"^the newest run of quick has no valid block of thread_pool"):
        example.part(tmp_path, tmp_path)
