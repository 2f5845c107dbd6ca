"""Run the preset "series" once, and store its compressed rows under results/series/, whatever they show.

    make series
    python -m tools.series --between        # at the end of a change: write the spread between the runs

Nothing is removed from a series. ``machine.json`` of each run has digests of the code that its figures depend on. If
one has changed since the last run, ``inflight ab`` against the last commit before the change (for the block engine: six
runs, old and new code in turn) shows whether both are equal within 2 %. Otherwise a new series begins, in a new folder.
"""

import hashlib
import json
import lzma
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inflight.bench import api
from inflight.bench.frame import ratios
from inflight.bench.frame.frame import frame, with_cycles
from inflight.bench.frame.statistics import Estimate, between
from inflight.bench.rows import files as rows
from inflight.bench.runs import earlier
from inflight.bench.show import summary

ROOT = Path(__file__).resolve().parents[1]
SERIES = ROOT / "results" / earlier.SERIES
CODE: Mapping[str, tuple[str, ...]] = {
    "strategies": ("strategies",),
    "fake_server": ("fake_server",),
    "block engine": ("bench/measure/blocks", "bench/measure/worker"),
}
"""Folders by the name of their digest."""

MIN_RUNS = 3
"""Minimum number of runs that have a pair."""


def digests() -> dict[str, str]:
    """Return a digest of each part of the code: of the paths and contents of its Python files."""
    sums = {}
    for name, folders in CODE.items():
        digest = hashlib.sha256()
        for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
        sums[name] = digest.hexdigest()[:16]
    return sums


def pack(folder: Path) -> None:
    """Compress the rows of a finished run."""
    rows.write(folder / rows.PACKED_FILE, lzma.compress(rows.text(folder).encode(), preset=9))
    (folder / rows.ROWS_FILE).unlink()


def spreads_between(folders: Sequence[Path]) -> dict[str, Any]:
    """Return the table of spreads between these runs (``ratios.TABLE``): of each pair that three or more runs have."""
    found: dict[tuple[Any, ...], dict[tuple[str, str], list[Estimate]]] = {}
    for folder in folders:
        run = rows.read(folder)
        lines = with_cycles(frame(run), run)
        arms = lines[lines["spread"].notna() & (lines["figure"] == "cpu_per_page_ns") & (lines["role"] != "placebo")]
        for cell in arms["cell"].unique():
            group = arms[arms["cell"] == cell]
            for pair, estimate in ratios.estimates(group):
                found.setdefault(cell, {}).setdefault(pair, []).append(estimate)
    cells = [
        dict(zip(ratios.OF_TABLE, cell, strict=True)) | {"pairs": [_pair(*each) for each in sorted(pairs.items())]}
        for cell, pairs in sorted(found.items())
        if max(map(len, pairs.values())) >= MIN_RUNS
    ]
    return {"runs": [folder.name for folder in folders], "digests": digests(), "cells": cells}


def _pair(strategies: tuple[str, str], estimates: Sequence[Estimate]) -> dict[str, Any]:
    tau = between([estimate.value for estimate in estimates], [estimate.error for estimate in estimates])
    return {"strategies": strategies, "tau": round(tau, 4), "runs": len(estimates)}


def main() -> int:
    """Run, store, and show what earlier runs of the series found."""
    before = rows.folders_in(SERIES)
    if sys.argv[1:] == ["--between"]:
        ratios.TABLE.write_text(json.dumps(spreads_between(before), indent=1) + "\n", encoding="utf-8")
        return 0
    results = api.run("series", out=SERIES)
    folder, code = results.folder, digests()
    machine: dict[str, Any] = rows.machine(folder) | {"digests": code}
    (folder / rows.MACHINE_FILE).write_text(json.dumps(machine, indent=2) + "\n", encoding="utf-8")
    pack(folder)
    summary.print_summary(results.rows, sys.stdout, before=earlier.section(folder, results.rows))
    print(f"rows:  {folder / rows.PACKED_FILE}")
    if before:
        last = rows.machine(before[-1]).get("digests", {})
        for name in [name for name in code if last.get(name) != code[name]]:
            print(f"{name} has changed since {before[-1].name}: see tools/series.py on when a new series begins")
    return 0


if __name__ == "__main__":
    sys.exit(main())
