"""Stored runs for the tests of documents."""

import json
from collections.abc import Iterable
from pathlib import Path

from inflight.bench.core import rows
from inflight.bench.core.records import changed
from inflight.bench.core.rows import Row
from tests.made_rows import MACHINE


def store(folder: Path, many: Iterable[Row]) -> Path:
    """Write rows and a machine into a new folder; return it."""
    folder.mkdir(parents=True)
    for row in many:
        rows.append(folder, changed(row, run=folder.name))
    (folder / "machine.json").write_text(json.dumps(MACHINE), encoding="utf-8")
    return folder
