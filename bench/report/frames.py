"""Rows as a table with one line per trial: a CSV file, and a pandas DataFrame where pandas is installed."""

import csv as comma_separated
import io
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.util import find_spec
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from inflight.bench.core.cells import CRAWLED, knob
from inflight.bench.rows.bare import limit_text
from inflight.bench.rows.files import Row

if TYPE_CHECKING:
    import pandas as pd

_TIMES = ("mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns", "count")
_LAYERS = (
    "uss_bytes",
    "pss_bytes",
    "rss_bytes",
    "page_tables_bytes",
    "kernel_stack_bytes",
    "slab_bytes",
    "socket_bytes",
    "server_uss_bytes",
)
_SWARM_LAYERS = (
    "server_pss_bytes",
    "server_rss_bytes",
    "server_page_tables_bytes",
    "all_page_tables_bytes",
    "available_bytes",
    "threads",
    "connections",
    "tcp_sockets",
    "time_waits",
    "tasks",
)
_MEASURED = (
    "pages",
    "failed_pages",
    "pages_per_s",
    "makespan_ns",
    "cpu_per_page_ns",
    "cpu_user_ns",
    "cpu_system_ns",
    "switches_per_page",
    "voluntary_switches",
    "involuntary_switches",
    "peak_in_flight",
    "tries",
    "peak_threads",
    "gc_collections",
    "gc_total_ns",
    "gc_max_ns",
    "uss_bytes",
    "pss_bytes",
    "rss_bytes",
    "held_in_flight",
    *(f"{stage}_{name}" for stage in ("base", "held", "parked") for name in _LAYERS),
    *(f"{stage}_{name}" for stage in ("base", "held") for name in _SWARM_LAYERS),
    "held_disturbed",
    "parked_disturbed",
    "reach_ns",
    "reach_cpu_ns",
    "reach_server_cpu_ns",
    "drain_ns",
    "started",
    "start_ns",
    "cpu_ns",
    "ps_rss_bytes",
    "found",
    "stopped_by",
    "planned_in_flight",
    "client_processes",
    "server_processes",
    "nodes",
    "hosts",
    "client_cpu_ns",
    "locust_cpu_ns",
    "reporting_share",
    "ephemeral_ports",
    "port_refusals",
    "work_units",
    "work_ns",
    "steal_share",
    "listen_drops",
    "offered_per_s",
    "arrivals",
    "completed",
    "completed_per_s",
    "failed",
    "kept",
    "why",
    "client_cpu_share",
    "server_cpu_share",
)
_OPEN = ("rate_per_s", "users", "target")
_SWARM_ASKED = ("ramp_per_s", "processes")
_TIMED = ("service", "response", "queueing", "corrected", "uncorrected")
_SERVER = ("requests", "peak_in_flight", "cpu_share", "cpu_ns", "lateness_p50_ns", "lateness_p99_ns")

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet read a cell as a formula."""

Read = Callable[[Row], Any]


def _of(*path: str) -> Read:
    """Read a figure of a part of a row; None if rows of its kind do not have it."""

    def read(row: Row) -> Any:
        found: Any = row
        for name in path:
            found = getattr(found, name, None)
        return found

    return read


def _of_crawls(key: str, default: Any) -> Read:
    return lambda row: (getattr(row.workload, key) or default) if row.kind in CRAWLED else None


def _of_server(key: str) -> Read:
    """Read a count of the server; trials with several servers have it among their measured figures."""

    def read(row: Row) -> Any:
        own = getattr(row.server, key)
        return getattr(row.measured, f"server_{key}", None) if own is None else own

    return read


def _bound_by(row: Row) -> Any:
    """Return the name of the limit that stopped the trial; rows of swarms have more details of it."""
    found = getattr(row.measured, "bound_by", None)
    return limit_text(getattr(found, "name", found))


def _number_of(key: str) -> Read:
    """Read the length of a list."""
    return lambda row: None if (found := getattr(row.measured, key, None)) is None else len(found)


COLUMNS: dict[str, Read] = {
    **{key: attrgetter(key) for key in ("run", "trial", "round", "strategy", "stack", "kind")},
    "workload": _of("workload", "id"),
    **{key: _of("workload", key) for key in ("latency", "mean_latency_ns", "in_flight", "connection")},
    "cpu_work": _of_crawls("cpu", "0"),
    "cpu_work_ns": _of_crawls("cpu_ns", 0),
    "site_pages": _of("workload", "site", "pages"),
    **{key: _of("workload", key) for key in ("n", *_OPEN, *_SWARM_ASKED)},
    **{key: attrgetter(key) for key in ("status", "reason", "valid")},
    "failed_checks": lambda row: "; ".join(check.name for check in row.failed_checks),
    **{key: attrgetter(key) for key in ("started_at", "duration_ns")},
    **{key: partial(knob, name=key) for key in ("python", "gil")},
    **{key: _of("measured", key) for key in _MEASURED},
    "bound_by": _bound_by,
    **{key: _number_of(key) for key in ("lost", "late")},
    **{f"{kind}_{key}": _of("measured", kind, key) for kind in _TIMED for key in _TIMES},
    **{f"server_{key}": _of_server(key) for key in _SERVER},
}
"""Every column, in order, with the function that reads it. ``results/README.md`` has meanings and units."""


def need_pandas() -> None:
    """Raise ModuleNotFoundError, which says what to install, unless pandas is installed."""
    if find_spec("pandas") is None:
        raise ModuleNotFoundError("tables need pandas: pip install 'inflight-bench[pandas]'", name="pandas")


def frame(rows: Iterable[Row]) -> "pd.DataFrame":
    """Return the rows as a tidy table: one line per trial, the columns of ``COLUMNS``, missing if not measured.

    Durations are in nanoseconds (``_ns``), sizes in bytes (``_bytes``), shares between 0 and 1.
    """
    need_pandas()
    import pandas as pd

    table = {name: pd.Series(values, dtype=object) for name, values in _columns(rows).items()}
    return pd.DataFrame(table).convert_dtypes()


def csv(rows: Iterable[Row]) -> str:
    """Return the table as CSV with a header line. No spreadsheet reads a text of it as a formula."""
    columns = {name: _alike(values) for name, values in _columns(rows).items()}
    text = io.StringIO()
    table = comma_separated.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _columns(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """Return the values of each column; None where there is none."""
    many = list(rows)
    return {name: [_written(read(row)) for row in many] for name, read in COLUMNS.items()}


def _alike(values: Sequence[Any]) -> list[Any]:
    """Return a column as CSV: numbers are all written as integers, or all with a decimal point."""
    numbers = [value for value in values if type(value) in {int, float}]
    if len(numbers) < sum(value is not None for value in values):
        return list(map(_harmless, values))
    kind = int if all(number % 1 == 0 for number in numbers) else float
    return [None if value is None else kind(value) for value in values]


def _harmless(cell: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would evaluate; numbers, also negative ones, stay as they are.

    See https://owasp.org/www-community/attacks/CSV_Injection. A carriage return becomes a line feed: it would not be
    quoted, and readers would take it as the end of a line.
    """
    if not isinstance(cell, str):
        return cell
    return f"{chr(39) if cell.startswith(_FORMULA) else ''}{cell}".replace("\r", "\n")


def _written(value: Any) -> Any:
    """Return a text that UTF-8 can encode: half a surrogate pair, which JSON allows, becomes a ``?``."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
