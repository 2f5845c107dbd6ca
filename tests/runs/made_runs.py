"""Runs to be compared: rows with known noise, as values, and as folders like those of ``inflight run``."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import MACHINE_FILE, Row
from inflight.bench.rows.records import changed
from inflight.bench.runs.compare import ComparedRuns, Run, compare
from tests.made_rows import MACHINE, crawl_row, edited, memory_rows

STRATEGIES = ("callbacks", "generators")


def compared(*runs: Sequence[Row], machine: dict[str, Any] = MACHINE) -> ComparedRuns:
    """Compare runs given by their rows; the last one was made on this machine."""
    machines = [MACHINE] * (len(runs) - 1) + [machine]
    return compare([Run(f"run {n}", *made) for n, made in enumerate(zip(runs, machines, strict=True), 1)])


def noisy_run(
    seed: int = 1,
    *,
    sd: float = 0.02,
    rounds: int = 3,
    strategies: Sequence[str] = STRATEGIES,
    caps: Sequence[int] = (10, 100),
    memory: bool = True,
) -> list[Row]:
    """Make a run whose times vary by a lognormal factor, whose core is full, and which has memory trials."""
    noise = Random(seed)
    found = []
    for place, name in enumerate(strategies, 1):
        for cap in caps:
            for number in range(1, rounds + 1):
                cpu_ns = round(50_000 * place * noise.lognormvariate(0.0, sd))
                found.append(
                    crawl_row(name, in_flight=cap, number=number, cpu_per_page_ns=cpu_ns, pages_per_s=0.99e9 / cpu_ns)
                )
        if memory:
            found += memory_rows(name, 1000 * place)
    return [changed(row, run=f"run-{seed}") for row in found]


def slowed(many: Iterable[Row], factor: float, strategy: str = "generators") -> list[Row]:
    """Return rows in which each page of one strategy cost so many times the CPU time."""
    return scaled(many, "cpu_per_page_ns", factor, strategy)


def busy(many: Iterable[Row], factor: float) -> list[Row]:
    """Return rows of a busy hour, in which all strategies need so many times the CPU time."""
    return slowed(slowed(many, factor, "callbacks"), factor)


def scaled(many: Iterable[Row], key: str, factor: float, strategy: str = "generators") -> list[Row]:
    """Return rows with one figure of one strategy multiplied; whole numbers stay whole."""

    def new(value: float) -> float:
        return round(value * factor) if isinstance(value, int) else value * factor

    return [
        edited(row, measured={key: new(value)})
        if row.strategy == strategy and (value := getattr(row.measured, key, None))
        else row
        for row in many
    ]


def saved(
    folder: Path, many: Iterable[Row], machine: dict[str, Any] = MACHINE, experiment: str = 'about = "made"\n'
) -> Path:
    """Write a run's folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / rows.ROWS_FILE).write_text("".join(f"{row.to_json()}\n" for row in many), encoding="utf-8")
    (folder / MACHINE_FILE).write_text(json.dumps(machine), encoding="utf-8")
    (folder / "experiment.toml").write_text(experiment, encoding="utf-8")
    return folder
