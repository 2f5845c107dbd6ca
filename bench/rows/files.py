"""Rows: everything known about one trial, as one line of JSON. Both halves of the harness share nothing else.

``inflight.bench.rows.records`` defines what a row may hold and validates each line; ``row.schema.json`` is generated
from it.

Format history (``format`` in every row):

1-4 2026-11: before the first release. Stored rows have null for unknown figures, and lack what was added later.
5   2026-11: all present kinds. Unknown figures are absent; null means the same.
"""

import lzma
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from inflight.bench.rows import records
from inflight.bench.rows.parts import NEWEST_FORMAT as FORMAT
from inflight.bench.rows.parts import Cause, Check, Kind, Row, Status

__all__ = ["FORMAT", "Cause", "Check", "Kind", "Row", "RowsError", "Status", "append", "drop_unfinished", "read"]
ROWS_FILE, MACHINE_FILE, SELFTEST_FILE = "rows.jsonl", "machine.json", "selftest.json"
"""Files in the folder of a run: its rows, its machine, and the result of a self-test."""
PACKED_FILE = f"{ROWS_FILE}.xz"
"""The rows of a finished run in a tenth of the space."""
SCHEMA_FILE = Path(__file__).with_name("row.schema.json")
_MACHINE = ("cpu", "usable_cores", "cpu_quota_cores", "memory_bytes", "system", "python", "neighbour")
"""What a machine is known by, of its ``machine.json``."""
_MEMORY_SHARE = 0.02
"""Share by which the memory of a machine may differ from boot to boot."""


class RowsError(Exception):
    """A file of rows cannot be read. The message names the line and what to do."""


def append(folder: Path, row: Row) -> None:
    """Append the row to the file, and flush it to the operating system."""
    with (folder / ROWS_FILE).open("a", encoding="utf-8") as file:
        file.write(row.to_json() + "\n")


def read(folder: Path) -> list[Row]:
    """Return the rows of a run, a folder or its file of rows, in the order in which they were written.

    A last line without a newline is ignored: the run was interrupted while it was written. Raises RowsError if the
    folder is not a run, or if any other line is not a row.
    """
    rows = []
    *lines, _unfinished = text(folder).split("\n")
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(records.read(line))
        except ValueError as error:
            raise RowsError(f"{file_in(folder)}, line {number}: {error}") from error
    return rows


def file_in(folder: Path) -> Path:
    """Return the file of rows in a folder, which may be compressed, and need not exist; a file is its own."""
    if folder.is_file():
        return folder
    packed = folder / PACKED_FILE
    return packed if packed.is_file() and not (folder / ROWS_FILE).exists() else folder / ROWS_FILE


def folders_in(parent: Path, pattern: str = "*") -> list[Path]:
    """Return the folders with a file of rows that match a pattern below another folder, sorted."""
    files = (ROWS_FILE, PACKED_FILE)
    return sorted({path.parent for file in files for path in parent.glob(f"{pattern}/{file}")})


def pack(folder: Path) -> None:
    """Compress the rows of a finished run."""
    plain = folder / ROWS_FILE
    (folder / PACKED_FILE).write_bytes(lzma.compress(plain.read_bytes(), preset=9))
    plain.unlink()


def drop_unfinished(folder: Path) -> None:
    """Remove an unfinished last line, so that the next row starts on its own line."""
    path = folder / ROWS_FILE
    if path.exists():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)


def is_run(folder: Path) -> bool:
    """Return whether a folder contains the rows of a run, at least one."""
    path = file_in(folder)
    return path.is_file() and path.stat().st_size > 0


def newest(results: Path, wanted: Callable[[Path], bool] = is_run, what: str = "run") -> Path:
    """Return the newest run in a folder of results, by name: names begin with the time. Raises RowsError if none."""
    try:
        folders = sorted((path for path in results.iterdir() if path.is_dir()), reverse=True)
    except OSError as error:
        raise RowsError(f"no {what} in {results}: {error.strerror}; `inflight run` makes one") from error
    for folder in folders:
        if is_run(folder) and wanted(folder):
            return folder
    raise RowsError(f"no {what} in {results}; `inflight run` makes one, or name its folder")


def machine(folder: Path) -> dict[str, Any]:
    """Return what ``machine.json`` of a run says; empty without that file. Raises RowsError if it cannot be read."""
    path = folder / MACHINE_FILE
    try:
        values: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RowsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path} does not describe a machine: {error}") from error
    return values


def machine_changes(before: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys whose values make two machines different; empty for the same machine.

    The same are CPU model, usable cores, CPU quota, memory, kernel series (such as Linux 6.18), interpreter, and a
    neighbour that disturbs on purpose.
    """
    sizes = (float(machine.get("memory_bytes") or 0) for machine in (before, other))
    kernels = {re.sub(r"(\d+\.\d+).*", r"\1", str(machine.get("system"))) for machine in (before, other)}
    same = {"memory_bytes": math.isclose(*sizes, rel_tol=_MEMORY_SHARE), "system": len(kernels) == 1}
    return tuple(key for key in _MACHINE if not same.get(key, before.get(key) == other.get(key)))


def text(folder: Path) -> str:
    """Return the rows of a run as they are written, one per line. Raises RowsError if they cannot be read."""
    path = file_in(folder)
    try:
        data = path.read_bytes()
        return (lzma.decompress(data) if path.suffix == ".xz" else data).decode()
    except OSError as error:
        inside = list(map(str, folders_in(folder)))
        hint = f"; it contains runs, such as {inside[-1]}" if inside else ""
        raise RowsError(f"{folder} is not a run: cannot read {path.name} ({error.strerror}){hint}") from None
    except UnicodeDecodeError as error:
        raise RowsError(f"{path} is not text, so it holds no rows") from error
    except lzma.LZMAError as error:
        raise RowsError(f"{path} is damaged or not whole: xz cannot unpack it") from error
