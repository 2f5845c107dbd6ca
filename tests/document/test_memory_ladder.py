"""What a thread costs, bar by bar: each figure is the slope of a stored run, and nothing is added up twice."""

from pathlib import Path

import pytest

from inflight.bench.rows.files import Row
from tests.document.made_runs import store
from tests.present.made_memory_rows import held_row, idle_row
from tests.swarm.made_swarm_rows import c100k_run
from tools.document import memory
from tools.document.stored import DocumentError

pytestmark = pytest.mark.night
SIZES = (1000, 2000, 4000, 7000, 10_000)
LOCKED, FLYING, WAITING = (
    (16_000, 4_000, 16_000, 8_000),
    (26_000, 4_000, 16_000, 16_000),
    (28_000, 4_000, 16_000, 9_000),
)


def memory_rows() -> list[Row]:
    return [
        *(idle_row("thread", n, LOCKED) for n in SIZES),
        *(held_row("thread_pool", n, FLYING, parked=WAITING) for n in SIZES),
    ]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in ("memory", "claims", "quick"):
        store(tmp_path / f"20260101T0-h-{name}", memory_rows())
    store(tmp_path / "20260101T0-h-c100k", c100k_run())
    return tmp_path


def test_each_bar_counts_what_it_says(runs: Path) -> None:
    bars = memory.bars(runs)

    assert [round(bar.size) for bar in bars[:-1]] == [16_000, 26_000, 44_000, 57_000, 62_000]
    assert [list(bar.parts) for bar in bars[:2]] == [["user"], ["user"]]
    assert all(round(sum(bar.parts.values())) == round(bar.size) for bar in bars)


def test_the_last_bar_has_the_server_too(runs: Path) -> None:
    last = memory.bars(runs)[-1]

    assert list(last.parts) == ["user", "page tables", "kernel stacks", "slab and sockets", "server"]
    assert last.parts["server"] > 0


def test_the_table_says_what_each_bar_adds_to_which(runs: Path) -> None:
    told = memory.ladder(runs, runs)

    assert "| 2 | has a fetch in flight, the process alone | 26.0 ±0.0 kB | +10 kB to row 1 |" in told
    assert "| 5 | has a fetch in flight, with the kernel | 62.0 ±0.0 kB | +5.0 kB to row 4 |" in told
    assert "| 3 | 44.0 ±0.0 kB | 44.0 ±0.0 kB | 44.0 ±0.0 kB |" in told


def test_a_run_without_a_layer_is_refused_and_a_dash_in_the_other_runs(runs: Path) -> None:
    store(runs / "20260102T0-h-quick", [idle_row("thread", n, LOCKED, unknown=("slab_bytes",)) for n in SIZES])

    assert "| 3 | 44.0 ±0.0 kB | 44.0 ±0.0 kB | - |" in memory.ladder(runs, runs)

    store(runs / "20260102T0-h-memory", [idle_row("thread", n, LOCKED, unknown=("slab_bytes",)) for n in SIZES])
    with pytest.raises(DocumentError, match="no slope of memory of thread_pool"):
        memory.bars(runs)


def test_without_a_swarm_of_threads_there_is_no_last_bar(runs: Path) -> None:
    store(runs / "20260102T0-h-c100k", [row for row in c100k_run() if row.strategy != "thread_pool"])

    with pytest.raises(DocumentError, match="no swarm of thread_pool"):
        memory.bars(runs)
