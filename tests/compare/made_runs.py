"""Runs to be compared: rows with known noise, as values, and as folders like those of ``inflight run``."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import MACHINE_FILE, Row
from inflight.bench.rows.records import changed
from inflight.bench.studies.stored.read import Comparison, compare_sides
from inflight.bench.studies.stored.side import of_rows
from tests.made_rows import MACHINE, crawl_row, edited, memory_rows

STRATEGIES = ("callbacks", "generators")


def compare(
    base: Sequence[Row],
    head: Sequence[Row],
    base_machine: dict[str, Any] = MACHINE,
    head_machine: dict[str, Any] = MACHINE,
    names: tuple[str, str] = ("BASE", "HEAD"),
) -> Comparison:
    """Compare two runs, each given by its rows and its ``machine.json``."""
    return compare_sides(of_rows(names[0], base, base_machine), of_rows(names[1], head, head_machine))


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


def slowed(many: Iterable[Row], factor: float, strategy: str = "callbacks") -> list[Row]:
    """Return rows in which each page of one strategy cost so many times the CPU time."""
    return [
        row if row.strategy != strategy or row.kind != "crawl" else scaled(row, "cpu_per_page_ns", factor)
        for row in many
    ]


def scaled(row: Row, key: str, factor: float) -> Row:
    """Return the row with one figure multiplied; whole numbers stay whole."""
    value = getattr(row.measured, key)
    new = round(value * factor) if isinstance(value, int) else value * factor
    return edited(row, measured={key: new})


def with_ceiling(many: Iterable[Row], per_s: float | None) -> list[Row]:
    """Return rows whose null client got so many responses a second."""
    return [edited(row, server={"ceiling_per_s": per_s}) for row in many]


def saved(folder: Path, many: Iterable[Row], machine: dict[str, Any] | None = None) -> Path:
    """Write a run's folder, and return it."""
    folder.mkdir(parents=True)
    (folder / rows.ROWS_FILE).touch()
    for row in many:
        rows.append(folder, row)
    (folder / MACHINE_FILE).write_text(json.dumps(MACHINE if machine is None else machine), encoding="utf-8")
    return folder
