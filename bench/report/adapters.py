# ruff: noqa: D103
"""What ``bench.report.studies`` asks of a study, for those that do not have it themselves yet.

``<study>_sections``, ``<study>_figures`` and ``<study>_plots`` are used until the study's own module has the function.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bench.core.rows import Row
from bench.present import words
from bench.present.name_looks import Look
from bench.present.section import Section
from bench.present.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Named = tuple[str, "Figure | None"]
Looks = Mapping[str, Look]
MOST_SETTINGS = 6


def _titled(text: str | None, tables: Sequence[Table] = ()) -> list[Section]:
    """Return a section with these tables, if there is anything in it."""
    told = "" if not text else text[0].upper() + text[1:]
    shown = tuple(table for table in tables if table.lines)
    return [Section(told, shown)] if told or shown else []


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


# Comparisons


def compare_sections(rows: Sequence[Row]) -> list[Section]:
    return _titled(_of_comparisons(rows))


def _of_comparisons(rows: Sequence[Row]) -> str | None:
    """Say what B changes against A in the comparison that has most blocks, with the intervals."""
    from bench.studies.compare import read
    from bench.studies.compare.decide import DESIGNED
    from bench.studies.compare.effect import effect, told

    found = [read.tally(read.blocks(own)).good for own in read.comparisons(rows).values()]
    good = max(found, key=len, default=())
    if not good:
        return None
    a, b = (words.plain(read.label(good[0], side), 40) for side in "AB")
    changes = [
        told(effect(name, own, DESIGNED.alpha))
        for name, own in read.gated_values(good).items()
        if len(set(own)) > 1 and all(map(math.isfinite, own))
    ]
    return f"over {len(good)} blocks, {b} (B) against {a} (A): {', '.join(changes) or 'no change that varies'}"
