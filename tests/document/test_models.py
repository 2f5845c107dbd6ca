"""What one step costs, as docs/models.md shows it."""

from pathlib import Path

import pytest

from inflight.bench.core.cells import cells
from inflight.bench.rows import files as rows
from inflight.bench.rows.records import changed
from tests.made_rows import arm_row
from tools.document import models
from tools.document.stored import newest

pytestmark = pytest.mark.night


def stored(folder: Path, costs_ns: dict[str, list[int]]) -> Path:
    """Store blocks of strategies with these CPU times per page as a run of ``models``; return the folder of runs."""
    run = folder / "20261122T000000000Z-vm-models"
    run.mkdir()
    for name, values in costs_ns.items():
        for number, cost_ns in enumerate(values, 1):
            row = arm_row(
                name, number=number, cpu_per_page_ns=cost_ns, role="reference" if name == "callbacks" else "compared"
            )
            rows.append(run, changed(row, run=run.name))
    return folder


def test_a_step_is_the_ratio_of_the_two_strategies_within_blocks(tmp_path: Path) -> None:
    names = sorted({name for _, *both in models.STEPS for name in both} | {"callbacks"})
    costs_ns = {name: [20_000, 40_000, 30_000] for name in names} | {"await_by_hand": [22_000, 44_000, 33_000]}

    told = models.part(stored(tmp_path, costs_ns), tmp_path)

    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in told.splitlines() if "x (" in line]
    found = {line[0]: line[3].partition(" ")[0] for line in lines if len(line) == 4}
    assert found.pop("await instead of yield from") == "1.10x"
    assert found.pop("asyncio's loop instead of our own loop") == "0.909x"
    assert set(found.values()) == {"1.00x"}
    assert len(found) == len(models.STEPS) - 2
    assert "part of a page" not in told


def test_a_part_of_a_page_is_the_difference_of_two_strategies_within_blocks(tmp_path: Path) -> None:
    names = {name for _, *both in models.STEPS for name in both}
    costs_ns = {name: [20_000, 40_000, 30_000] for name in names}
    costs_ns |= {"null_client": [6_000, 12_000, 9_000], "core_client": [11_000, 17_000, 14_000]}

    told = models.part(stored(tmp_path, costs_ns), tmp_path)

    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in told.splitlines()]
    found = {line[1].replace("\\", ""): line[2] for line in lines if len(line) == 3}
    assert found["null_client"] == "9.0 µs (1.5 to 16.5)"
    assert found["core_client minus null_client"] == "5.0 µs (5.0 to 5.0)"
    assert found["callbacks minus core_client"].startswith("16.0 µs (")


def test_questions_are_answered_with_intervals_and_those_without_figures_are_left_out(tmp_path: Path) -> None:
    costs_ns = {
        "callbacks": [20_000, 40_000, 30_000],
        "generators": [20_000, 40_000, 30_000],
        "await_by_hand": [22_000, 44_000, 33_000],
        "uvloop_streams": [18_000, 36_000, 27_000],
        "native_asyncio": [20_000, 40_000, 30_000],
        "asyncio_protocol": [20_000],
    }
    run = newest(stored(tmp_path, costs_ns), "models")

    assert models.answered({cell.strategy: cell for cell in cells(run.rows)}) == [
        "Is uvloop worth it? It changes the CPU time per page by -10.0 % (95 %: -10.2 to -9.8 %) with streams.",
        (
            "What does await cost? On one event loop, it changes the CPU time per page by +10.0 % "
            "(95 %: +9.7 to +10.3 %) against yield from."
        ),
    ]
