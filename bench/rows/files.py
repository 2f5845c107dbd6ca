"""Rows: everything known about one trial, as one line of JSON.

The harness has two halves, which share nothing else: one measures and writes rows (``measure``), the other one makes
tables, pictures and verdicts of them (``frame``, ``show`` and others).

``append`` writes a row when its trial has ended, ``read`` returns those of a run; commands, ``show`` and
``measure.run`` call them. ``inflight.bench.rows.records`` defines what a row may hold and validates each line;
``row.schema.json`` is generated from it. The other files of a run are written and read by ``write`` and ``content``.

Format history (``format`` in every row):

1-4 2026-11: before the first release. Stored rows have null for unknown figures, and lack what was added later.
5   2026-11: all kinds but counts. Unknown figures are absent; null means the same. Later rows say which failed checks
    judge the surroundings (``outside``).
6   2026-11: the kind counts; the others are still written as 5.

The folder of a run may come from a stranger. Its files are opened by ``opened`` and written by ``write``: only regular
files of a bounded size are read, and nothing is written through a link. A link that the user names, as the folder of a
run or as a file of rows, is followed.
"""

import errno
import lzma
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import IO, Any
from uuid import uuid4

import msgspec

from inflight.bench.rows import records
from inflight.bench.rows.parts import NEWEST_FORMAT as FORMAT
from inflight.bench.rows.parts import Cause, Check, Kind, Row, Status

__all__ = ["FORMAT", "Cause", "Check", "Kind", "Row", "RowsError", "Status", "append", "drop_unfinished", "read"]
ROWS_FILE, MACHINE_FILE, SELFTEST_FILE = "rows.jsonl", "machine.json", "selftest.json"
EXPERIMENT_FILE, VERDICT_FILE = "experiment.toml", "verdict.json"
"""Files in the folder of a run: its rows, its machine, the results of a self-test and of a comparison, and its plan."""
PACKED_FILE = f"{ROWS_FILE}.xz"
"""The rows of a finished run in a tenth of the space."""
MAX_TEXT_BYTES, MAX_LINE_BYTES, MAX_FILE_BYTES = 256 * 2**20, 16 * 2**20, 4 * 2**20
"""Maximum sizes: of all rows of a run, unpacked; of one row; of each other file of a run that is read."""
SCHEMA_FILE = Path(__file__).with_name("row.schema.json")
"""The schema of a row, which ``schema`` generates."""
_MACHINE = ("cpu", "usable_cores", "cpu_quota_cores", "memory_bytes", "system", "python", "neighbour")
"""What a machine is known by, of its ``machine.json``."""
_MEMORY_SHARE = 0.02
"""Share by which the memory of a machine may differ from boot to boot."""
_PATH = re.compile(r"(?:(?<![\w./~])|(?<=file://))/([^\s/'\"`,;:()<>|=]+)(?:/[^\s'\"`,;:()<>|=]*)?")
"""An absolute path within a text: a slash with no part of a path before it, but for ``file://``; a folder; and the rest
up to a blank or a character that ends a path in messages."""
_OF_THE_KERNEL = frozenset({"proc", "sys", "dev"})
"""Folders that are the same on every machine; paths in them are evidence, such as /proc/net/netstat."""


class RowsError(Exception):
    """A file of rows cannot be read. The message names the line and what to do."""


def append(folder: Path, row: Row) -> None:
    """Append the row to the file, and flush it to the operating system. Raises OSError."""
    with opened(folder / ROWS_FILE, "ab") as file:
        file.write(f"{row.to_json()}\n".encode())


def opened(path: Path, mode: str = "rb") -> IO[bytes]:
    """Open a file of a run. Raises OSError if it is not a regular file; never follows a link or waits for a pipe."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        what = "it is a link, a pipe, a device or a folder; put the file itself in its place"
        raise OSError(errno.EINVAL, what, str(path))
    return open(path, mode, opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666))


def content(path: Path) -> bytes:
    """Return a file of a run other than its rows. Raises OSError, also if it is not a regular file or too large."""
    with opened(path) as file:
        data = file.read(MAX_FILE_BYTES)
    if len(data) == MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, "it is too large: 4 MiB or more", str(path))
    return data


def write(path: Path, data: str | bytes) -> None:
    """Write a file of a run as a new file that then replaces the name. Raises OSError.

    So a link with this name is replaced, not followed, and no reader meets half a file.
    """
    made = path.with_name(f".{uuid4().hex}")
    try:
        with made.open("xb") as file:
            file.write(data if isinstance(data, bytes) else data.encode("utf-8", "replace"))
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def read(folder: Path) -> list[Row]:
    """Return the rows of a run, a folder or its file of rows, in the order in which they were written.

    A last line without a newline is ignored: the run was interrupted while it was written. Raises RowsError if the
    folder is not a run, or if any other line is not a row.
    """
    rows = []
    for number, line in enumerate(_lines(folder), start=1):
        if not line.endswith("\n"):
            break
        try:
            rows.append(records.read(line[:-1]))
        except ValueError as error:
            raise RowsError(f"{file_in(folder)}, line {number}: {error}") from error
    return rows


def file_in(folder: Path) -> Path:
    """Return the file of rows in a folder, which may be compressed, and need not exist; a file is its own."""
    if folder.is_file():
        return folder.resolve()
    packed = folder / PACKED_FILE
    return packed if packed.exists() and not (folder / ROWS_FILE).exists() else folder / ROWS_FILE


def folders_in(parent: Path, ending: str = "") -> list[Path]:
    """Return the folders in another one that have a file of rows and a name with this ending, sorted."""
    paths = {path.parent for file in (ROWS_FILE, PACKED_FILE) for path in parent.glob(f"*/{file}")}
    return sorted(path for path in paths if path.name.endswith(ending))


def drop_unfinished(folder: Path) -> None:
    """Remove an unfinished last line, so that the next row starts on its own line. Raises OSError."""
    path = folder / ROWS_FILE
    if path.exists():
        with opened(path, "r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def is_run(folder: Path) -> bool:
    """Return whether a folder contains the rows of a run, at least one."""
    path = file_in(folder)
    return path.is_file() and path.stat().st_size > 0


def newest(results: Path, wanted: Callable[[Path], bool] = is_run, what: str = "run") -> Path:
    """Return the newest run in a folder of results, by name: names begin with the time. Raises RowsError if none."""
    try:
        folders = sorted((path for path in results.iterdir() if path.is_dir() and not path.is_symlink()), reverse=True)
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
        values: dict[str, Any] = msgspec.json.decode(content(path), type=dict)
        float(values.get("memory_bytes") or 0)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RowsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise RowsError(f"{path} does not describe a machine: {error}") from error
    return values


def machine_changes(before: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys whose values make two machines different; empty for the same machine.

    The same are CPU model, usable cores, CPU quota, memory, kernel series (such as Linux 6.18), interpreter, and a
    neighbour that disturbs on purpose.
    """
    sizes = (float(values.get("memory_bytes") or 0) for values in (before, other))
    kernels = {re.sub(r"(\d+\.\d+).*", r"\1", str(values.get("system"))) for values in (before, other)}
    same = {"memory_bytes": math.isclose(*sizes, rel_tol=_MEMORY_SHARE), "system": len(kernels) == 1}
    return tuple(key for key in _MACHINE if not same.get(key, before.get(key) == other.get(key)))


def without_places(value: Any) -> Any:
    """Return a value of JSON without the folders of this machine: of each absolute path, only its last part is left.

    So results can be published: ``/home/me/.venv/bin/python3.11`` becomes ``python3.11``. A path that begins with no
    folder of this machine is that of a page, and stays: ``/p/3``.
    """
    if isinstance(value, dict):
        return {without_places(name): without_places(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(item) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith("/") and _is_here(value) and os.path.lexists(value):  # it may contain spaces
        return PurePath(value).name
    return _PATH.sub(lambda match: PurePath(match[0]).name if _is_here(match[0]) else match[0], value)


def _is_here(path: str) -> bool:
    """Return whether the path begins with a folder of this machine, other than the kernel's."""
    first = path.split("/")[1]
    return bool(first) and first not in _OF_THE_KERNEL and os.path.lexists(f"/{first}")


def text(folder: Path) -> str:
    """Return the rows of a run as they are written, one per line; for tests and tools.

    Raises RowsError if they cannot be read.
    """
    return "".join(_lines(folder))


def _lines(folder: Path) -> Iterator[str]:
    """Yield the lines of a file of rows with their ends, as they are unpacked. Raises RowsError."""
    path, left_bytes = file_in(folder), MAX_TEXT_BYTES
    try:
        with opened(path) as packed, lzma.open(packed) if path.suffix == ".xz" else packed as file:
            while line := file.readline(min(left_bytes, MAX_LINE_BYTES) + 1):
                left_bytes -= len(line)
                if left_bytes < 0 or len(line) > MAX_LINE_BYTES:
                    raise RowsError(f"{path} holds more than 256 MiB of rows, or 16 MiB in one: no run is that long")
                yield line.decode()
    except OSError as error:
        inside = list(map(str, folders_in(folder)))
        hint = f"; it contains runs, such as {inside[-1]}" if inside else ""
        raise RowsError(f"{folder} is not a run: cannot read {path.name} ({error.strerror}){hint}") from None
    except UnicodeDecodeError as error:
        raise RowsError(f"{path} is not text, so it holds no rows") from error
    except (lzma.LZMAError, EOFError) as error:
        raise RowsError(f"{path} is damaged or not whole: xz cannot unpack it") from error
