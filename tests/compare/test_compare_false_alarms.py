"""How often two runs without any difference come out as a regression, with cells as noisy as those of a real run."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.compare.made_runs import compare
from tests.made_rows import edited

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
COMPARISONS = 20
FIGURES = ("cpu_per_page_ns", "pages_per_s")


def crawls() -> list[Row]:
    """Return the valid arms of the newest quick run, without the placebo."""
    found = rows.read(max(REFERENCE.glob("*-quick")))
    return [row for row in found if row.kind == "arm" and row.valid and row.workload.arm.role != "placebo"]


def noise_of_each(found: Sequence[Row]) -> dict[tuple[str, str], float]:
    """Return for each cell a noise (SD of logarithms), half-way on a scale of ratios between its own and all cells'."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in found:
        key = row.strategy, row.workload.id
        groups.setdefault(key, []).append(math.log(row.measured.cpu_per_page_ns))
    own = {key: statistics.variance(logs) for key, logs in groups.items() if len(logs) > 1}
    shared = statistics.fmean(own.values())
    return {key: (max(own.get(key, shared), 1e-6) * shared) ** 0.25 for key in groups}


def drawn(
    found: Sequence[Row], noise: dict[tuple[str, str], float], draw: Random, run: str, factor: float
) -> list[Row]:
    """Return a made-up run: each cell's median, times a logarithmic noise of its own, times a factor on CPU time."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        groups.setdefault((row.strategy, row.workload.id), []).append(row)
    made = []
    for key, own in groups.items():
        middle = {name: statistics.median(getattr(row.measured, name) for row in own) for name in FIGURES}
        for row in own:
            slower = math.exp(draw.gauss(0, noise[key])) * factor
            values = {
                "cpu_per_page_ns": round(middle["cpu_per_page_ns"] * slower),
                "pages_per_s": middle["pages_per_s"] / slower,
            }
            made.append(edited(row, run=run, measured=values))
    return made


def verdicts(factor: float, comparisons: int = COMPARISONS) -> Counter[str]:
    found = crawls()
    noise, draw = noise_of_each(found), Random(1)
    machine = json.loads((max(REFERENCE.glob("*-quick")) / "machine.json").read_text(encoding="utf-8"))
    return Counter(
        compare(
            drawn(found, noise, draw, "one", 1.0), drawn(found, noise, draw, "two", factor), machine, machine
        ).verdict
        for _ in range(comparisons)
    )


def test_runs_without_a_difference_are_hardly_ever_called_a_regression() -> None:
    assert verdicts(1.0)["regression"] <= 1  # 0.5 % by design: two of 20 would be a chance of one in two hundred


def test_runs_with_slower_pages_are_always_called_a_regression() -> None:
    assert verdicts(2.0, 10) == {"regression": 10}
