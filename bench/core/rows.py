"""A row: everything that is known of one trial, as one line of JSON. The only thing that both halves share.

``bench.core.records`` says what a row may hold, and judges each line that is read; ``row.schema.json`` is made from it.

Format history (``format`` in every row):

1   2026-11: first.
2   2026-11: the kinds block, probe and limit, in which no strategy crawls (``stack`` is "none"); layers of memory.
3   2026-11: the kind pair, two sides that take turns; no longer made, and refused.
4   2026-11: the kinds swarm, open and client: many processes at once, constant rates of arrivals, and other clients.
5   2026-11: the kind arm: one arm of a block, in which all arms are alive at once and take turns; the rows of a
    comparison say so (``workload.comparison``); ``cause``.

Integers are nanoseconds (``_ns``) and bytes (``_bytes``); shares are between 0 and 1.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

FORMAT = 5
ROWS_FILE, MACHINE_FILE, SELFTEST_FILE = "rows.jsonl", "machine.json", "selftest.json"
"""What lies in the folder of a run: its rows, its machine, and what a self-test came to."""
SCHEMA_FILE = Path(__file__).with_name("row.schema.json")

Kind = Literal["crawl", "memory", "block", "probe", "limit", "swarm", "open", "client", "arm"]
Status = Literal["ok", "wrong", "failed", "timeout", "skipped"]
Cause = Literal["not installed", "no interpreter", "limit", "memory budget"]
"""Why a trial was skipped or broke off, where a program decides by it; ``reason`` is for people."""


class RowsError(Exception):
    """A file of rows that cannot be read; the message says which line, and what to do."""


@dataclass(frozen=True, slots=True)
class Check:
    """One named reason to believe a row, or not to."""

    name: str
    verdict: Literal["passed", "failed", "not applicable"]
    detail: str


@dataclass(frozen=True, slots=True)
class Row:
    """One trial: what was asked for, what was measured, and whether to believe it.

    ``status`` is ``ok`` (the right answer came), ``wrong`` (an answer came, but not the right one), ``failed``
    (crash, rubbish, dead server), ``timeout`` (killed at its deadline) or ``skipped`` (never started); ``reason`` says
    more for all but ``ok``. ``measured``, ``server`` and ``knobs`` are empty when the trial did not get that far.
    """

    run: str
    trial: str
    """Names the cell and the round; the same in every run of the same experiment."""
    round: int
    strategy: str
    stack: str
    kind: Kind
    workload: dict[str, Any]
    status: Status
    reason: str | None
    started_at: str
    duration_ns: int
    measured: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    knobs: dict[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    format: int = FORMAT
    cause: Cause | None = None

    @property
    def valid(self) -> bool:
        """Whether the row may be part of a conclusion."""
        return self.status == "ok" and not self.failed_checks

    @property
    def of_comparison(self) -> bool:
        """Whether it belongs to a comparison of two arms, and so to no table of strategies."""
        return "comparison" in self.workload

    @property
    def failed_checks(self) -> tuple[Check, ...]:
        """The red ones."""
        return tuple(check for check in self.checks if check.verdict == "failed")

    def to_json(self) -> str:
        """Return the row as one line, without its line end."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # asdict would copy each figure
        values["checks"] = [asdict(check) for check in self.checks]
        if self.cause is None:
            del values["cause"]
        return json.dumps(values, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> "Row":
        """Read one line. Raises ValueError, with a sentence, for anything that is not a row of a known format."""
        from bench.core import records

        values = records.judge(line)
        checks = tuple(Check(**check) for check in values["checks"])
        return cls(**values | {"checks": checks})


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
        raise RowsError(f"{path.parent} is not a run: cannot read {path.name} ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise RowsError(f"{path} is not text, so it holds no rows") from error
    *lines, _unfinished = text.split("\n")
    for number, line in enumerate(lines, start=1):
        try:
            yield Row.from_json(line)
        except ValueError as error:
            raise RowsError(f"{path}, line {number}: {error}") from error
