"""What docs/scale.md and README.md quote of the runs of swarms can be written again, and is what is written."""

import json
from pathlib import Path

import pytest

from bench import rows
from bench.present import readme, scale_figures
from bench.present.readme import ReadmeError
from bench.rows import Row
from tests.made_rows import MACHINE
from tests.swarm.made_swarm_rows import c1m_run, c100k_run, skipped_row

ROOT = Path(__file__).parents[2]
MARKED = "# Scale\n\n<!-- c100k: begin -->\n<!-- c100k: end -->\n\nand\n\n<!-- c1m: begin -->\n<!-- c1m: end -->\n"


def store(folder: Path, some: list[Row]) -> Path:
    folder.mkdir(parents=True)
    for row in some:
        rows.append(folder, row)
    (folder / "machine.json").write_text(json.dumps(MACHINE), encoding="utf-8")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    store(tmp_path / "results" / "20260102T030405678Z-host-c100k", c100k_run())
    store(tmp_path / "results" / "20260103T030405678Z-host-c1m", c1m_run())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "scale.md").write_text(MARKED, encoding="utf-8")
    return tmp_path / "results"


def arguments(runs: Path, *more: str) -> list[str]:
    return ["--docs", str(runs.parent / "docs" / "scale.md"), "--runs", str(runs), *more]


def test_what_is_written_is_what_would_be_written_again(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scale_figures.main(arguments(runs, "--check")) == 1
    assert scale_figures.main(arguments(runs)) == 0
    assert scale_figures.main(arguments(runs, "--check")) == 0
    assert "is not up to date; run `make readme`" in capsys.readouterr().err


def test_findings_tables_and_provenance_are_there(runs: Path) -> None:
    scale_figures.main(arguments(runs))
    text = (runs.parent / "docs" / "scale.md").read_text(encoding="utf-8")

    assert "- 100,000 fetches in flight at once: callbacks in 6.3 s" in text
    assert "| thread\\_pool | 100,000 | 29,000 | 2+2 | 7.0 s |" in text
    assert text.count("Made by `inflight run quick`") == 2
    assert text.index("100,000 fetches") < text.index("\nand\n") < text.index("1,000,000 fetches")


def test_a_part_without_a_run_is_empty_and_one_without_marks_is_left_out(runs: Path) -> None:
    path = runs.parent / "docs" / "scale.md"

    assert scale_figures.written(MARKED, runs / "none", path) == MARKED.replace("begin -->\n", "begin -->\n\n")
    assert scale_figures.written("# Scale\n", runs, path) == "# Scale\n"


def test_half_a_mark_is_refused(runs: Path) -> None:
    with pytest.raises(ReadmeError, match="each once"):
        scale_figures.written("<!-- c1m: begin -->\n", runs, runs.parent / "docs" / "scale.md")


def test_a_run_without_a_valid_swarm_is_not_quoted(runs: Path) -> None:
    folder = store(runs / "20260104T030405678Z-host-c1m", [skipped_row()])

    with pytest.raises(ReadmeError, match="no valid swarm"):
        scale_figures.findings(folder)


def test_pictures_are_linked_from_where_the_file_is(runs: Path) -> None:
    folder = scale_figures.newest("c1m", runs)
    assert folder is not None
    (folder / "plots").mkdir()
    for name in scale_figures.PICTURES:
        (folder / "plots" / f"{name}.svg").touch()

    assert scale_figures.pictures(folder, runs.parent / "docs") == [
        f"![Fetches in flight over time](../results/{folder.name}/plots/swarm.svg)",
        f"![Memory per fetch in flight, in layers](../results/{folder.name}/plots/swarm_memory.svg)",
    ]


def test_the_readme_quotes_both_runs_and_nothing_without_them(runs: Path, tmp_path: Path) -> None:
    folder = scale_figures.newest("c100k", runs)
    assert folder is not None
    text = readme.WRITERS["swarm"](folder, runs.parent)
    alone = store(tmp_path / "other" / "20260102T030405678Z-host-quick", [])

    assert "- 100,000 fetches in flight at once: callbacks in 6.3 s" in text
    assert "- 1,000,000 fetches in flight at once: callbacks in 63 s." in text
    assert readme.WRITERS["swarm"](alone, tmp_path) == ""


def test_the_page_of_scale_is_that_of_the_reference_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert scale_figures.main(["--check"]) == 0, "run `make readme`"
