"""A row: everything that is known of one trial, as one line of JSON. The only thing that both halves share.

Format history (``format`` in every row; ``row.schema.json`` describes the newest):

1   2026-11: first.
2   2026-11: the kinds block, probe and limit, in which no strategy crawls (``stack`` is "none"); layers of memory.
3   2026-11: the kind pair, two sides that take turns.
4   2026-11: the kinds swarm, open and client: many processes at once, constant rates of arrivals, and other clients.

Integers are nanoseconds (``_ns``) and bytes (``_bytes``); shares are between 0 and 1.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

FORMAT = 4
ROWS_FILE = "rows.jsonl"
SCHEMA_FILE = Path(__file__).with_name("row.schema.json")

_TYPES = dict.fromkeys(("run", "trial", "strategy", "stack", "kind", "status", "started_at"), str) | {
    "round": int,
    "duration_ns": int,
    "workload": dict,
    "measured": dict,
    "server": dict,
    "knobs": dict,
    "checks": list,
}
_CRAWL_KEYS = frozenset({"id", "latency", "mean_latency_ns", "in_flight", "connection", "site"})
_WORKLOAD_KEYS = {
    "crawl": _CRAWL_KEYS,
    "memory": _CRAWL_KEYS,
    "block": frozenset({"id", "block", "n"}),
    "probe": frozenset({"id", "probe", "arguments"}),
    "limit": frozenset({"id", "resource", "through_shared"}),
    "pair": frozenset({"id", "a", "b", "latency", "mean_latency_ns", "site", "metrics"}),
    "swarm": frozenset({"id", "in_flight", "connection", "site"}),
    "open": frozenset({"id", "rate_per_s", "seconds", "users"}),
    "client": frozenset({"id", "latency", "mean_latency_ns", "in_flight", "seconds", "site"}),
}

_VERDICTS = frozenset({"passed", "failed", "not applicable"})
_FIGURES = ("_ns", "_bytes", "_per_s", "_share")
"""What the name of a figure ends with: a finite number, or a list of such, or unknown."""
_NEEDED = {
    "crawl": ("pages_per_s", "makespan_ns", "cpu_per_page_ns"),
    "swarm": ("planned_in_flight", "makespan_ns"),
    "open": ("offered_per_s",),
}
"""What a trial that ended well has measured, above 0; of other kinds it depends."""
_SCALES = frozenset({"swarm", "open", "client"})
"""Kinds in which no figure is several at once."""
_WHOLE = {
    "swarm": (
        *("planned_in_flight", "held_in_flight", "client_processes", "server_processes", "nodes", "hosts"),
        *("pages", "failed_pages"),
    ),
    "open": ("arrivals", "started", "completed", "failed", "peak_in_flight"),
    "client": ("completed", "failed", "server_requests"),
}
"""Counts among what was measured: whole numbers from 0 on, where a trial got so far."""
_ASKED_WHOLE = {"swarm": ("in_flight",), "open": ("users",), "client": ("in_flight",)}
"""Counts in a workload: whole numbers from 1 on."""
_TEXTS = ("latency", "target")
"""What of a workload is text; may be null where it may be left out."""
_MAY_BE_LEFT_OUT = {"swarm": frozenset({"ramp_per_s"}), "open": frozenset({"mean_latency_ns"})}
"""What of a workload may be null: a swarm as fast as it goes, a target whose latency is its own."""
_LINES = {
    "crawl": ("timeline", "samples"),
    "memory": ("timeline", "samples"),
    "swarm": ("timeline",),
    "open": ("backlog",),
}
"""What was measured over time."""
_LISTS = {"backlog": ("at_ns", "waiting")}
"""What such a line cannot do without."""
_HAS_GAPS = frozenset({"cpu_ns", "used_bytes"})
"""What of it is unknown at some moments, or on some systems."""

Kind = Literal["crawl", "memory", "block", "probe", "limit", "pair", "swarm", "open", "client"]
Status = Literal["ok", "wrong", "failed", "timeout", "skipped"]


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

    @property
    def valid(self) -> bool:
        """Whether the row may be part of a conclusion."""
        return self.status == "ok" and not self.failed_checks

    @property
    def failed_checks(self) -> tuple[Check, ...]:
        """The red ones."""
        return tuple(check for check in self.checks if check.verdict == "failed")

    def to_json(self) -> str:
        """Return the row as one line, without its line end."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # asdict would copy each figure
        values["checks"] = [asdict(check) for check in self.checks]
        return json.dumps(values, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> "Row":
        """Read one line. Raises ValueError for anything that is not a row of a known format."""
        values = json.loads(line, parse_constant=_refuse_constant)
        if not isinstance(values, dict) or type(values.get("format")) is not int or values["format"] < 1:
            raise ValueError("not a row")
        if values["format"] > FORMAT:
            raise ValueError(f"a row of format {values['format']}; this version of inflight reads up to {FORMAT}")
        names = {f.name for f in fields(cls)}
        if missing := sorted(names - set(values)):
            raise ValueError(f"a row without {', '.join(missing)}")
        if wrong := sorted(name for name, kind in _TYPES.items() if not isinstance(values[name], kind)):
            raise ValueError(f"a row with the wrong kind of {', '.join(wrong)}")
        if values["kind"] not in _WORKLOAD_KEYS:
            raise ValueError(f"a row of the unknown kind {values['kind']!r}")
        if missing := sorted(_WORKLOAD_KEYS[values["kind"]] - set(values["workload"])):
            raise ValueError(f"a row whose workload lacks {', '.join(missing)}")
        if (wrong_figure := _wrong_figure(values)) is not None:
            raise ValueError(f"a row whose {wrong_figure}")
        checks = tuple(Check(**check) for check in values["checks"])
        if strange := [check.verdict for check in checks if check.verdict not in _VERDICTS]:
            raise ValueError(f"a row with a check whose verdict is {strange[0]!r}")
        return cls(**{name: values[name] for name in names} | {"checks": checks})


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _wrong_figure(values: dict[str, Any]) -> str | None:
    """Say which figure of a row is none, in the words that follow "a row whose"; None where all are fine.

    Readers count on it: files of rows come from other machines, and may have been edited.
    """
    optional = _MAY_BE_LEFT_OUT.get(values["kind"], frozenset())
    for part in ("workload", "measured", "server"):
        for name, value in _figures(values[part]):
            is_several = isinstance(value, list | dict) and values["kind"] in _SCALES
            if is_several or not _is_figure(value) or (value is None and part == "workload" and name not in optional):
                return f"{part} has no number for {name}: {str(value)[:40]}"
    is_ok = values["status"] == "ok"
    if (wrong := _wrong_scale(values["kind"], values["workload"], values["measured"], is_ok=is_ok)) is not None:
        return wrong
    if is_ok:
        for name in _NEEDED.get(values["kind"], ()):
            value = values["measured"].get(name)
            if value is None or value <= 0:
                return f"measured says ok without {name}"
    lines = [(name, values["measured"].get(name)) for name in _LINES.get(values["kind"], ())]
    if not all(line is None or _is_time_line(line, _LISTS.get(name, ())) for name, line in lines):
        return "time line is none"
    return None


def _wrong_scale(kind: str, workload: dict[str, Any], measured: dict[str, Any], *, is_ok: bool) -> str | None:
    """Say the same of what rows have since there are several processes, rates and other clients."""
    site = workload.get("site", {})
    if not isinstance(site, dict) and not (site is None and kind == "open"):
        return f"workload has no table for site: {str(site)[:40]}"
    if kind not in _SCALES:
        return None
    for name in _TEXTS:
        if not isinstance(told := workload.get(name), str | None) or (told is None and name in _WORKLOAD_KEYS[kind]):
            return f"workload has no text for {name}: {str(told)[:40]}"
    for name in _ASKED_WHOLE[kind]:
        if not _is_whole(count := workload[name], 1):
            return f"workload has no whole number from 1 on for {name}: {str(count)[:40]}"
    if (mean_ns := workload.get("mean_latency_ns")) is not None and mean_ns < 0:
        return f"workload has less than 0 for mean_latency_ns: {mean_ns}"
    if kind == "open" and workload["rate_per_s"] <= 0:
        return f"workload has no number above 0 for rate_per_s: {workload['rate_per_s']}"
    for name in _WHOLE[kind]:
        if name in measured and not _is_whole(measured[name], 0):
            return f"measured has no whole number from 0 on for {name}: {str(measured[name])[:40]}"
    return _wrong_outcome(kind, measured, is_ok=is_ok)


def _wrong_outcome(kind: str, measured: dict[str, Any], *, is_ok: bool) -> str | None:
    """Say the same of what an open loop or a client completed, and of how long that took it."""
    per_s = measured.get("completed_per_s")
    if per_s is not None and per_s < 0:
        return f"measured has less than 0 for completed_per_s: {per_s}"
    if kind == "client" and is_ok:
        if per_s is None:
            return "measured says ok without completed_per_s"
        if not isinstance(measured.get("service"), dict):
            return "measured says ok without service"
    return None


def _is_whole(value: Any, least: int) -> bool:
    return type(value) is int and value >= least


def _figures(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if name.endswith(_FIGURES) or name == "in_flight":
            yield name, value
        if isinstance(value, dict) and name not in _NO_TABLES:
            yield from _figures(value)


_NO_TABLES = frozenset({"timeline", "samples", "backlog", "errors"})
"""Lines over time, which are judged as such, and counts whose names are anybody's words."""


def _is_figure(value: Any) -> bool:
    if isinstance(value, list | dict):
        return True  # several of them: of a pair, or by the thread
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))


def _is_time_line(line: Any, needed: Sequence[str]) -> bool:
    """Tell whether these are lists of numbers, as long as each other; some figures may be unknown."""
    if not isinstance(line, dict):
        return False
    lists = {name: own for name, own in line.items() if isinstance(own, list)}
    if not lists.keys() >= set(needed):
        return False
    numbers = all(type(one) is int or (one is None and name in _HAS_GAPS) for name, own in lists.items() for one in own)
    width = line.get("bin_ns", 1)
    return numbers and type(width) is int and width > 0 and len(set(map(len, lists.values()))) <= 1


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
        except (ValueError, TypeError, RecursionError) as error:
            raise RowsError(f"{path}, line {number}: {error}") from error
