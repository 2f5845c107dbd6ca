"""A row: everything that is known of one trial, as one line of JSON. The only thing that both halves share.

``inflight.bench.core.records`` says what a row may hold, and judges each line that is read; ``row.schema.json`` is made
from it.

Format history (``format`` in every row):

1   2026-11: first.
2   2026-11: the kinds block, probe and limit, in which no strategy crawls (``stack`` is "none"); layers of memory.
3   2026-11: the kind pair, two sides that take turns; no longer made, and refused.
4   2026-11: the kinds swarm, open and client: many processes at once, constant rates of arrivals, and other clients.
5   2026-11: the kind arm: one arm of a block, in which all arms are alive at once and take turns; the rows of a
    comparison say so (``workload.comparison``); ``cause``. A figure that is unknown is left out, where older rows
    have null; both are read alike.

Integers are nanoseconds (``_ns``) and bytes (``_bytes``); shares are between 0 and 1.
"""

from collections.abc import Iterator
from pathlib import Path

from inflight.bench.core.records.parts import NEWEST_FORMAT as FORMAT
from inflight.bench.core.records.parts import Cause, Check, Kind, Row, Status

__all__ = ["FORMAT", "Cause", "Check", "Kind", "Row", "RowsError", "Status", "append", "drop_unfinished", "read"]
ROWS_FILE, MACHINE_FILE, SELFTEST_FILE = "rows.jsonl", "machine.json", "selftest.json"
"""What lies in the folder of a run: its rows, its machine, and what a self-test came to."""
SCHEMA_FILE = Path(__file__).with_name("row.schema.json")


class RowsError(Exception):
    """A file of rows that cannot be read; the message says which line, and what to do."""


def append(folder: Path, row: Row) -> None:
    """Write the row behind the others, and hand it to the operating system before returning."""
    with (folder / ROWS_FILE).open("a", encoding="utf-8") as file:
        file.write(row.to_json() + "\n")
        file.flush()


def read(folder: Path) -> list[Row]:
    """Return the rows of a run, in the order in which they were written.

    A last line without its line end was being written when the run was cut off; it is left out. Raises RowsError for
    a folder that is not a run, and for any other line that is not a row.
    """
    return list(_rows(folder / ROWS_FILE))


def drop_unfinished(folder: Path) -> None:
    """Cut off a half-written last line, so that the next row begins on a line of its own."""
    path = folder / ROWS_FILE
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        path.write_bytes(whole)


def _rows(path: Path) -> Iterator[Row]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        inside = sorted(str(other.parent) for other in path.parent.glob(f"*/{ROWS_FILE}"))
        hint = f"; it contains runs, such as {inside[-1]}" if inside else ""
        raise RowsError(f"{path.parent} is not a run: cannot read {path.name} ({error.strerror}){hint}") from None
    except UnicodeDecodeError as error:
        raise RowsError(f"{path} is not text, so it holds no rows") from error
    *lines, _unfinished = text.split("\n")
    for number, line in enumerate(lines, start=1):
        try:
            yield Row.from_json(line)
        except ValueError as error:
            raise RowsError(f"{path}, line {number}: {error}") from error
