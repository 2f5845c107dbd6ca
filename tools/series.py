"""Run the preset "series" once, and store its compressed rows under results/series/, whatever they show.

    make series
    python -m tools.series --between        # at the end of a change: write the spread between the runs
    python -m tools.series --coverage       # how often the interval for the next run covers another of these runs

Nothing is removed from a series. ``machine.json`` of each run has digests of the code and of the file that its figures
depend on. The table of spreads lists those that are known to give equal figures. Another one is added there by hand,
with its evidence in results/README.md: ``inflight ab`` against the last commit before the change, or six runs, old and
new code in turn, show no more than 2 %. If they show more, a new series begins, in a new folder.
"""

import hashlib
import json
import lzma
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from math import exp
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pandas as pd

from inflight.bench import api
from inflight.bench.frame import history, ratios
from inflight.bench.frame.frame import frame, trials, with_cycles
from inflight.bench.frame.ratios import Cell, Place
from inflight.bench.frame.statistics import Estimate, between
from inflight.bench.plan.trial import REFERENCE
from inflight.bench.rows import files as rows
from inflight.bench.show import summary
from inflight.bench.show.studies import Studies

ROOT = Path(__file__).resolve().parents[1]
REFERENCE_RUNS = ROOT / "results" / "reference"
SERIES = ROOT / "results" / history.SERIES
CODE: Mapping[str, tuple[str, ...]] = {
    "strategies": ("strategies/**/*.py",),
    "fake_server": ("fake_server/**/*.py",),
    "block engine": ("bench/measure/blocks/**/*.py", "bench/measure/worker/**/*.py"),
    "experiment": ("bench/plan/presets/series.toml",),
}
"""Patterns of files by the name of their digest."""

COVERAGE = ("latency", "cpu", "in_flight", "strategy", "runs", "tries", "covered", "first_half", "half_width", "widest")
"""The columns of the table of coverage."""
MIN_RUNS = 3
"""Minimum number of runs that have a pair."""


def digests() -> dict[str, str]:
    """Return a digest of each part of the code: of the paths and contents of its files."""
    sums = {}
    for name, patterns in CODE.items():
        digest = hashlib.sha256()
        for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
            digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
        sums[name] = digest.hexdigest()[:16]
    return sums


def spreads_table() -> dict[str, Any]:
    """Return the table of spreads between runs, as its file has it."""
    return json.loads(ratios.TABLE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def runs_of_the_table() -> list[Path]:
    """Return the runs that the table of spreads names."""
    return [SERIES / name for name in spreads_table()["runs"]]


def pack(folder: Path) -> None:
    """Compress the rows of a finished run."""
    rows.write(folder / rows.PACKED_FILE, lzma.compress(rows.text(folder).encode(), preset=9))
    (folder / rows.ROWS_FILE).unlink()


def estimates(folder: Path) -> ratios.Estimates:
    """Return the ratio of each pair of strategies in each cell of a run."""
    run = rows.read(folder)
    return ratios.estimates(with_cycles(frame(run), run))


def spreads_between(folders: Sequence[Path]) -> dict[str, Any]:
    """Return the table of spreads between these runs (``ratios.TABLE``): of each pair that three or more runs have."""
    runs = [estimates(folder) for folder in folders]
    cells: dict[Cell, list[dict[str, Any]]] = {}
    for (cell, pair), alike in _by_pair(runs, MIN_RUNS):
        entry = {"strategies": sorted(pair), "tau": round(tau(alike), 4), "runs": len(alike)}
        cells.setdefault(cell, []).append(entry)
    tables = [dict(zip(ratios.OF_TABLE, cell, strict=True)) | {"pairs": pairs} for cell, pairs in cells.items()]
    return {"runs": [folder.name for folder in folders], "cells": tables}


def memory_of(folders: Sequence[Path]) -> dict[str, Any]:
    """Return the ranges of memory of those of the runs that have it."""
    memories = {folder.name: history.memory(trials(rows.read(folder))) for folder in folders}
    known = {name: memory for name, memory in memories.items() if memory}
    ends = history.ranges(list(known.values()), least=2)
    ranges = [[*subject, *map(round, of_subject)] for subject, of_subject in sorted(ends.items())]
    return {"runs": list(known), "ranges": ranges}


def _by_pair(runs: Sequence[Mapping[Place, Estimate]], least: int) -> Iterator[tuple[Place, list[Estimate]]]:
    """Yield each pair in its cell, in order, with the estimates of the runs that have it, if these are enough."""
    places = {place for run in runs for place in run}
    for place in sorted(places, key=lambda place: (place[0], sorted(place[1]))):
        alike = [run[place] for run in runs if place in run]
        if len(alike) >= least:
            yield place, alike


def tau(of: Sequence[Estimate]) -> float:
    """Return the spread between runs."""
    return between([each.value for each in of], [each.error for each in of])


def coverage(runs: Sequence[Mapping[Place, Estimate]]) -> pd.DataFrame:
    """Return how often the interval for the next run covers another run: one line for each cell and ratio.

    Over all ordered pairs of runs; the spread between runs is computed without these two. ``half_width``: the median,
    as a share of the ratio; ``widest``: the maximum. ``first_half``: how often, with the spread of the first half of
    the runs, an interval of one of the second half covers another one of it.
    """
    lines = []
    for (cell, pair), alike in _by_pair(runs, MIN_RUNS + 2):
        if REFERENCE not in pair:
            continue
        tries = []
        for run, other in permutations(alike, 2):
            others = [each for each in alike if each is not run and each is not other]
            tries.append(_try(run, other, others))
        covered, widths = zip(*tries, strict=True)
        half = len(alike) // 2
        later = [_try(run, other, alike[:half])[0] for run, other in permutations(alike[half:], 2)]
        shares = fmean(covered), fmean(later), exp(median(widths)) - 1, exp(max(widths)) - 1
        lines.append((*cell[1:4], *(pair - {REFERENCE}), len(alike), len(tries), *shares))
    return pd.DataFrame(lines, columns=COVERAGE)


def overall(table: pd.DataFrame, name: str) -> float:
    """Return a share of the table of coverage over all its tries."""
    return float((table[name] * table["tries"]).sum() / table["tries"].sum())


def _try(run: Estimate, other: Estimate, of: Sequence[Estimate]) -> tuple[bool, float]:
    """Tell whether the interval of a run, with the spread of the runs ``of``, covers another; and its half width."""
    low, high = ratios.next_run(run, ratios.measured_between(tau(of), len(of)))
    return low <= other.value <= high, (high - low) / 2


def main() -> int:
    """Run, store, and show what earlier runs of the series found."""
    before = rows.folders_in(SERIES)
    if sys.argv[1:] == ["--between"]:
        stored = spreads_table() | spreads_between(before)
        stored["memory"] = memory_of(rows.folders_in(REFERENCE_RUNS))
        ratios.TABLE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        return 0
    if sys.argv[1:] == ["--coverage"]:
        table = coverage([estimates(folder) for folder in runs_of_the_table()])
        print(table.to_string(index=False, float_format="{:.3f}".format))
        for name in ("covered", "first_half"):
            print(f"{name}, overall: {overall(table, name):.3f}")
        print(f"half_width: median {table['half_width'].median():.3f}, maximum {table['half_width'].max():.3f}")
        return 0
    results = api.run("series", out=SERIES)
    folder, code = results.folder, digests()
    machine: dict[str, Any] = rows.machine(folder) | {"digests": code}
    (folder / rows.MACHINE_FILE).write_text(json.dumps(machine, indent=2) + "\n", encoding="utf-8")
    pack(folder)
    summary.print_summary(Studies(results.rows, folder), sys.stdout)
    print(f"rows:  {folder / rows.PACKED_FILE}")
    listed = spreads_table()["digests"]
    for name, digest in code.items():
        if digest not in listed.get(name, []):
            print(f"{name}: {digest} is not listed in {ratios.TABLE.name}: see tools/series.py on what to show first")
    return 0


if __name__ == "__main__":
    sys.exit(main())
