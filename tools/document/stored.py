"""The stored runs that documents quote, and the marks between which they quote them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inflight.bench.api import load
from inflight.bench.present.markdown import escaped
from inflight.bench.present.section import Section
from inflight.bench.report import provenance
from inflight.bench.rows.files import Row, RowsError, folders_in

REFERENCE = Path("results/reference")
Part = Callable[[Path, Path], str]
"""Returns what stands between two marks; asks for the folder of runs, and for the folder of the file."""
Findings = Callable[[Sequence[Row]], Sequence[Section]]
"""What shows the rows of a study as sections."""


class DocumentError(Exception):
    """A document or a stored run is not as it must be; the message says how."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run."""

    folder: Path
    rows: Sequence[Row]
    machine: dict[str, Any]
    """As in ``machine.json``; empty without one."""

    @property
    def provenance(self) -> str:
        """How it was made, as Markdown."""
        return provenance.markdown(self.rows, self.machine)

    def picture(self, name: str, words_for_it: str, beside: Path) -> str:
        """Return a link to one of its plots for a file in the folder ``beside``; empty if it has none of that name."""
        plot = self.folder / "plots" / f"{name}.svg"
        if not plot.is_file():
            return ""
        return f"![{words_for_it}]({Path(os.path.relpath(plot.resolve(), beside.resolve())).as_posix()})"

    def finding(self, of: Findings, plot: str, words_for_it: str, beside: Path) -> str:
        """Return the title of the first section of a study, the run's plot of it, and how it was made.

        Raises DocumentError.
        """
        found = of(self.rows)
        if not found:
            raise DocumentError(f"{self.folder} has no rows for the plot {plot!r}")
        return joined(f"**{escaped(found[0].title)}.**", self.picture(plot, words_for_it, beside), self.provenance)


def run(folder: Path) -> Run:
    """Read a stored run. Raises DocumentError."""
    try:
        found = load(folder)
    except RowsError as error:
        raise DocumentError(str(error)) from error
    return Run(folder, found.rows, found.machine)


def folders(runs: Path, experiment: str) -> list[Path]:
    """Return the runs of an experiment, the oldest first: names begin with the time and end with the experiment."""
    return folders_in(runs, f"*-{experiment}")


def newest(runs: Path, experiment: str) -> Run:
    """Return the newest run of an experiment. Raises DocumentError when there is none."""
    found = folders(runs, experiment)
    if not found:
        raise DocumentError(f"no run of {experiment} in {runs}; make one with `inflight`, and move its folder there")
    return run(found[-1])


def replaced(text: str, name: str, part: str) -> str:
    """Return the text with a part between its marks ``<!-- name: begin -->`` and ``<!-- name: end -->``."""
    begin, end = (f"<!-- {name}: {place} -->" for place in ("begin", "end"))
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise DocumentError(f"it needs the line {begin} and, below it, the line {end}, each once")
    return f"{text[: text.index(begin)]}{begin}\n{part}\n{text[text.index(end) :]}"


def joined(*parts: str) -> str:
    """Return the parts that are not empty as paragraphs."""
    return "\n\n".join(filter(None, parts))
