"""Stored runs for the tests of documents."""

import json
from collections.abc import Iterable
from pathlib import Path

from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from tests.made_rows import MACHINE


def store(folder: Path, many: Iterable[Row]) -> Path:
    """Write rows and a machine into a new folder; return it."""
    folder.mkdir(parents=True)
    for row in many:
        rows.append(folder, changed(row, run=folder.name))
    (folder / "machine.json").write_text(json.dumps(MACHINE), "utf-8")
    return folder
