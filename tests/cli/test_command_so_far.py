"""The page of a run that still goes on: when it is written, and what it says."""

import shutil
from pathlib import Path

import pytest

from inflight.bench.commands import so_far
from inflight.bench.commands.so_far import FIRST_NS, TIMES, write_now_and_then
from inflight.bench.rows import files as rows
from tests.cli.command import call

ROOT = Path(__file__).parents[2]
SENTENCE = "This run is not complete: 2 of 9 steps are done. Reload this page later."
TOOK_NS = 3_000_000_000


class Written:
    """Stands in for the process that writes a page: it takes three seconds, and finds one thing."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.sentences: list[str] = []

    def clock(self) -> int:
        return self.now_ns

    def write(self, _folder: Path, sentence: str) -> list[str]:
        self.now_ns += TOOK_NS
        self.sentences.append(sentence)
        return ["so far: it was written"]


def ended_at(times_ns: list[int], total: int = 9, known: int = 9) -> Written:
    """Return what was written in a run whose trials end at these times."""
    written = Written()
    after = write_now_and_then(Path("run"), total, written.write, written.clock)
    for number, now_ns in enumerate(times_ns, start=1):
        written.now_ns = max(now_ns, written.now_ns)
        after(number, known, [])
    return written


def test_a_page_is_written_after_the_first_trial_that_ends_late_enough(capsys: pytest.CaptureFixture[str]) -> None:
    written = ended_at([FIRST_NS - 1, FIRST_NS])

    assert written.sentences == [SENTENCE]
    assert capsys.readouterr().err == "so far: it was written\n"


def test_it_is_written_again_only_when_writing_takes_a_small_share_of_the_time() -> None:
    first_ns = FIRST_NS + TOOK_NS
    again_ns = first_ns + TIMES * TOOK_NS

    assert len(ended_at([FIRST_NS, again_ns - 1]).sentences) == 1
    assert len(ended_at([FIRST_NS, again_ns]).sentences) == 2


def test_it_is_not_written_after_the_last_trial_because_the_whole_page_follows() -> None:
    assert ended_at([1, FIRST_NS], total=2, known=2).sentences == []


def test_trials_of_before_a_run_was_resumed_are_counted() -> None:
    (sentence,) = ended_at([FIRST_NS], total=20, known=9).sentences

    assert "12 of 20 steps" in sentence


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """Return the folder of a run with the rows of its first block alone."""
    stored = max((ROOT / "results" / "reference").glob("*-quick"))
    folder = shutil.copytree(stored, tmp_path / stored.name)
    lines = rows.text(folder).splitlines(keepends=True)
    (folder / rows.ROWS_FILE).write_text("".join(lines[:6]), encoding="utf-8")
    return folder


def test_the_page_says_first_that_it_is_not_complete_and_the_whole_page_does_not(unfinished: Path) -> None:
    path, finding = so_far.written(unfinished, SENTENCE)

    page = unfinished / "report.html"
    text = page.read_text(encoding="utf-8")
    assert path == f"page:  {page}, so far"
    assert finding.startswith("so far: ")
    assert "callbacks" in finding
    assert SENTENCE in text.partition("<main")[0]
    assert "<svg" in text
    assert call("report", unfinished).code == 0
    assert "not complete" not in page.read_text(encoding="utf-8"), "the whole page does not say so"


def test_a_page_that_cannot_be_written_does_not_end_the_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert so_far.written(tmp_path / "nothing", SENTENCE) == ["page:  not yet: exit code 1"]
    assert "RowsError" in capfd.readouterr().err, "the reason is not hidden"
