"""The stored runs that documents quote."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from inflight.bench.claims.verdicts import Report
from inflight.bench.frame.frame import long, trials, with_cycles
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row, RowsError, folders_in
from inflight.bench.show import folder as folders
from inflight.bench.show.folder import Extras

REFERENCE = Path("results/reference")


class DocumentError(Exception):
    """A document or a stored run is not as it must be; the message says how."""


@dataclass(frozen=True)
class StoredRun:
    """A stored run."""

    folder: Path
    rows: Sequence[Row]
    machine: dict[str, Any]
    """As in ``machine.json``; empty if unknown."""
    extras: Extras

    @property
    def provenance(self) -> str:
        """How it was made, as Markdown."""
        return folders.origin_in_markdown(self.rows, self.machine)

    @property
    def source(self) -> str:
        """Its machine, interpreter, date and name, as a line of text."""
        return folders.source(self.rows, self.machine)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """Its trials with their figures."""
        return trials(self.rows)

    @cached_property
    def lines(self) -> pd.DataFrame:
        """The frame of its rows, with what ratios need."""
        return with_cycles(long(self.trials), self.rows)


@dataclass(frozen=True)
class Runs:
    """A folder of runs, each of which is read once."""

    folder: Path
    plots: dict[Path, set[str]] = field(default_factory=dict)
    """The names of the plots that pages show, by the folder of the run."""
    _read: dict[Path, StoredRun] = field(default_factory=dict)

    def run(self, folder: Path) -> StoredRun:
        """Read a stored run. Raises DocumentError."""
        try:
            if folder not in self._read:
                self._read[folder] = StoredRun(folder, rows.read(folder), *folders.read(folder))
        except RowsError as error:
            raise DocumentError(str(error)) from error
        return self._read[folder]

    def all(self, ending: str) -> list[Path]:
        """Return the runs of experiments whose names are or end with this, the oldest first."""
        return folders_in(self.folder, f"-{ending}")

    def newest(self, experiment: str) -> StoredRun:
        """Return the newest run of an experiment. Raises DocumentError when there is none."""
        runs = [run for run in self.all(experiment) if folders.experiment(run.name, rows.machine(run)) == experiment]
        if not runs:
            raise DocumentError(
                f"no run of {experiment} in {self.folder}; make one with `inflight`, and move its folder there"
            )
        return self.run(runs[-1])

    def claims(self) -> list[Report]:
        """Return the newest verdicts of all claims, and those of claims that were run alone. Raises DocumentError."""
        runs = [self.newest("claims"), *map(self.run, self.all("claim"))]
        return [run.extras.claims for run in runs if run.extras.claims is not None]
