"""What README.md and docs/ quote of the stored runs: written between marks, true, and up to date."""

import math
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from statistics import fmean

import pytest
from scipy.stats import t

from inflight.bench.rows.files import Row
from tests.document.made_runs import store
from tests.made_rows import block_rows, edited, held_row, ladder
from tools.document import __main__ as program
from tools.document import values
from tools.document.__main__ import MARK, PAGES, given, macros, part, replaced
from tools.document.stored import REFERENCE, DocumentError, Runs

ROOT = Path(__file__).parents[2]
PARKED = {
    "generator": (460, 1, 0, 0),
    "thread": (16_460, 4_154, 16_384, 7_820),
    "asyncio_task": (1_150, 2, 0, 0),
    "asyncio_task_socket": (2_900, 6, 0, 8_700),
}
"""Bytes of user memory, page tables, kernel stacks and slab of each."""
COSTS = {"callbacks": 20_000, "thread_pool": 27_000, "native_asyncio": 40_000}


def memory_run() -> list[Row]:
    """Make a run of ``memory``: idle threads and tasks, and coroutines in flight and parked."""
    sizes = (2000, 4000, 6000, 8000, 10_000)
    held = [
        held_row(
            "native_asyncio",
            n,
            (4_850, 10, 0, 8_600),
            parked=(3_880, 10, 0, 900),
            connection="per-fetch",
        )
        for n in sizes
    ]
    return ladder(PARKED, sizes) + held


def varied(row: Row) -> Row:
    """Return the row with up to 200 ns more per page, by its block, if it is of thread_pool."""
    more_ns = 100 * (row.round % 3) if row.strategy == "thread_pool" else 0
    return edited(row, measured={"cpu_per_page_ns": row.measured.cpu_per_page_ns + more_ns})


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Return a folder with one run of ``quick``."""
    store(tmp_path / "reference" / "20260101T0-b-quick", map(varied, block_rows(COSTS)))
    return Runs(tmp_path / "reference")


@pytest.mark.ci
def test_writing_the_documents_again_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["document", "--check"])

    assert program.main() == 0, capsys.readouterr().err


@pytest.mark.night
def test_every_part_is_on_a_page() -> None:
    pages = [path for pattern in PAGES for path in ROOT.glob(pattern)]
    marks = {f"{path.stem}_{mark}" for path in pages for mark in MARK.findall(path.read_text("utf-8"))}
    starts = tuple(f"{path.stem}_".lower().replace("-", "_") for path in pages)
    module = macros(Runs(ROOT / REFERENCE), ROOT)
    parts = {name for name in dir(module) if name.startswith(starts)}

    assert parts == {name.lower().replace("-", "_") for name in marks}


def test_a_part_is_written_between_its_marks() -> None:
    text = "before\n<!-- quick: begin -->\nold\n<!-- quick: end -->\nafter\n"

    assert replaced(text, "quick", "new") == "before\n<!-- quick: begin -->\nnew\n<!-- quick: end -->\nafter\n"
    with pytest.raises(DocumentError, match="each once"):
        replaced("<!-- quick: begin -->\n", "quick", "new")


def test_a_sentence_that_is_no_longer_true_is_not_written(runs: Runs) -> None:
    store(runs.folder / "20260201T0-b-quick", block_rows({"callbacks": 20_000, "thread_pool": 20_000}))

    assert given(True) == ""
    with pytest.raises(DocumentError, match="a run no longer shows what the text says"):
        part("method_example", runs, runs.folder)


def test_a_mark_that_no_template_knows_is_an_error(runs: Runs) -> None:
    with pytest.raises(DocumentError, match=r"parts.md has nothing for it"):
        part("method_missing", runs, runs.folder)


@pytest.mark.night
def test_the_numbers_of_the_example_follow_from_its_blocks(runs: Runs) -> None:
    found = values.example(runs.newest("quick"), "thread_pool")
    blocks = [strategy for strategy, _ in found.blocks]

    assert math.log(found.ratio.estimate) == pytest.approx(fmean(blocks))
    half = t.ppf(0.975, found.spread.freedom) * found.spread.sd / math.sqrt(len(blocks))
    assert math.log(found.ratio.high / found.ratio.low) == pytest.approx(2 * half)
    assert "| verdict | differs |" in part("method_example", runs, runs.folder)


@pytest.mark.ci
def test_memory_per_coroutine_is_that_of_the_newest_run(runs: Runs) -> None:
    store(runs.folder / "20260501T0-a-memory", memory_run())

    found = values.coroutines(runs.newest("memory"))

    assert found.task.estimate == pytest.approx(PARKED["asyncio_task"][0], rel=0.05)
    assert found.socket.estimate == pytest.approx(PARKED["asyncio_task_socket"][0], rel=0.05), "without the kernel"
    assert found.full.estimate > 2 * found.fetch.estimate > 0
    assert "here 1.1" in part("readme_chapter", runs, runs.folder)


@pytest.mark.ci
@pytest.mark.parametrize(
    "other",
    [{"thread": (5_000, 0, 0, 0)}, {"asyncio_task": (2_900, 0, 0, 0)}],
    ids=str,
)
def test_other_figures_of_a_thread_or_task_do_not_keep_the_sentence(
    other: dict[str, tuple[int, ...]], runs: Runs
) -> None:
    rows = [row for row in memory_run() if row.strategy not in other]
    numbers = (10_000, 15_000, 20_000, 30_000, 50_000)
    store(runs.folder / "20260501T0-a-memory", [*rows, *ladder(other, numbers)])

    with pytest.raises(DocumentError, match="a run no longer shows what the text says"):
        part("readme_chapter", runs, runs.folder)


@pytest.mark.night
def test_every_target_of_make_in_the_readme_is_one() -> None:
    targets = re.findall(r"^([a-z0-9%-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    used = set(
        re.findall(
            r"(?:`|^)make ([a-z0-9-]+)",
            (ROOT / "README.md").read_text("utf-8"),
            re.MULTILINE,
        )
    )

    assert {"run", "demo"} <= used
    assert [one for one in used if not any(fnmatch(one, target.replace("%", "*")) for target in targets)] == []
