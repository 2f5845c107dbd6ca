"""What docs/scale.md and README.md quote of the runs of swarms."""

from pathlib import Path

import pytest

from tests.document.made_runs import store
from tests.swarm.made_swarm_rows import PID_MAX, c1m_run, c100k_run, skipped_row, swarm_row
from tools.document import scale
from tools.document.stored import DocumentError, run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    store(tmp_path / "results" / "20260102T030405678Z-host-c100k", c100k_run())
    store(tmp_path / "results" / "20260103T030405678Z-host-c1m", c1m_run())
    return tmp_path / "results"


def test_findings_tables_and_provenance_are_there(runs: Path) -> None:
    text = scale.c100k(runs, runs.parent)

    assert "- 100,000 fetches in flight at once: callbacks in 6.3 s" in text
    assert "| thread\\_pool | 100,000 | 29,000 | 2+2 | 7.0 s |" in text
    assert text.startswith("Made by `inflight run quick`")
    assert "- 1,000,000 fetches in flight at once" in scale.c1m(runs, runs.parent)


def test_a_run_without_a_valid_swarm_is_not_quoted(runs: Path) -> None:
    folder = store(runs / "20260104T030405678Z-host-c1m", [skipped_row()])

    with pytest.raises(DocumentError, match="no valid swarm"):
        scale.findings(run(folder))


def test_pictures_are_linked_from_where_the_file_is(runs: Path) -> None:
    folder = runs / "20260103T030405678Z-host-c1m"
    (folder / "plots").mkdir()
    for name in scale.PICTURES:
        (folder / "plots" / f"{name}.svg").touch()

    text = scale.c1m(runs, runs.parent / "docs")

    assert f"![Fetches in flight over time](../results/{folder.name}/plots/swarm.svg)" in text
    assert f"![Memory per fetch in flight, in layers](../results/{folder.name}/plots/swarm_memory.svg)" in text


def test_the_readme_quotes_the_largest_number_that_was_held(runs: Path) -> None:
    assert scale.in_short(runs) == "1,000,000 in 63 s, with callbacks in many processes"


def test_what_a_limit_stopped_is_not_quoted(runs: Path) -> None:
    store(
        runs / "20260105T030405678Z-host-c100k", [swarm_row("thread_pool", 100_000, planned=29_000, bound_by=PID_MAX)]
    )
    store(runs / "20260105T030405678Z-host-c1m", [skipped_row()])

    with pytest.raises(DocumentError, match="nothing to quote"):
        scale.in_short(runs)
