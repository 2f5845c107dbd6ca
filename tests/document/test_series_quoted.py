"""Beside a figure of one run stands the range of the series, of runs that are alike."""

import json
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.rows import files as rows
from tests.document.made_runs import store
from tests.made_rows import MACHINE, block_rows, edited
from tools.document import series
from tools.document.findings import asyncio_over_callbacks
from tools.document.stored import Run, run

pytestmark = pytest.mark.night


def stored(results: Path, name: str, ratio: float, clock: str = "in band", **changes: Any) -> Run:
    """Store a run in which asyncio needs this multiple of the CPU time of callbacks."""
    found = block_rows(
        {"callbacks": 20_000, "native_asyncio": round(20_000 * ratio)}, others=changes.pop("others", 0.0)
    )
    folder = store(results / name, (edited(row, measured={"clock": clock}) for row in found))
    (folder / rows.MACHINE_FILE).write_text(json.dumps(MACHINE | changes), encoding="utf-8")
    return run(folder)


def test_the_range_is_that_of_the_runs_of_the_series_that_are_alike(tmp_path: Path) -> None:
    quick = stored(tmp_path / "reference", "a-quick", 2.2)
    for number, ratio in enumerate((2.0, 2.1, 2.3)):
        stored(tmp_path / "series", f"{number}-series", ratio)
    stored(tmp_path / "series", "another-clock", 5.0, clock="task clock")
    stored(tmp_path / "series", "another-machine", 5.0, cpu="Other 1")
    stored(tmp_path / "series", "noisy", 5.0, others=0.5)

    assert series.told(quick, asyncio_over_callbacks) == "2.00x to 2.30x in 3 runs of the series"


def test_without_a_run_nothing_is_said(tmp_path: Path) -> None:
    assert series.told(stored(tmp_path / "reference", "a-quick", 2.2), asyncio_over_callbacks) == ""
