"""Rows as a table of one line a trial: a pandas DataFrame, and a CSV file."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from bench.core.cells import CRAWLED
from bench.core.rows import Row

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
"""What a cell begins with that a spreadsheet takes for a formula."""

Read = Callable[[Row], Any]


def _of_measured(key: str) -> Read:
    return lambda row: row.measured.get(key)


def _of_workload(key: str) -> Read:
    return lambda row: row.workload.get(key)


def _of_server(key: str) -> Read:
    """Read what the server counted; of a kind of trial with several servers that is among what was measured."""
    return lambda row: row.server.get(key, row.measured.get(f"server_{key}"))


def _bound_by(row: Row) -> Any:
    """Return the name of the limit that bound; rows of swarms know more of it."""
    found = row.measured.get("bound_by")
    return found if found is None or isinstance(found, str) else found.name


def _number_of(key: str) -> Read:
    """Read how many things a list names."""
    return lambda row: len(row.measured[key]) if isinstance(row.measured.get(key), list) else None


def _of_times(kind: str, key: str) -> Read:
    return lambda row: (row.measured.get(kind) or {}).get(key)


COLUMNS: dict[str, Read] = {
    "run": lambda row: row.run,
    "trial": lambda row: row.trial,
    "round": lambda row: row.round,
    "strategy": lambda row: row.strategy,
    "stack": lambda row: row.stack,
    "kind": lambda row: row.kind,
    "workload": lambda row: row.workload["id"],
    "latency": _of_workload("latency"),
    "mean_latency_ns": _of_workload("mean_latency_ns"),
    "in_flight": _of_workload("in_flight"),
    "connection": _of_workload("connection"),
    "cpu_work": lambda row: row.workload.get("cpu", "0") if row.kind in CRAWLED else None,
    "cpu_work_ns": lambda row: row.workload.get("cpu_ns", 0) if row.kind in CRAWLED else None,
    "site_pages": lambda row: (row.workload.get("site") or {}).get("pages"),
    "n": _of_workload("n"),
    **{key: _of_workload(key) for key in _OPEN},
    **{key: _of_workload(key) for key in _SWARM_ASKED},
    "status": lambda row: row.status,
    "reason": lambda row: row.reason,
    "valid": lambda row: row.valid,
    "failed_checks": lambda row: "; ".join(check.name for check in row.failed_checks),
    "started_at": lambda row: row.started_at,
    "duration_ns": lambda row: row.duration_ns,
    "python": lambda row: row.knobs.get("python"),
    "gil": lambda row: row.knobs.get("gil"),
    **{key: _of_measured(key) for key in _MEASURED},
    "bound_by": _bound_by,
    "lost": _number_of("lost"),
    "late": _number_of("late"),
    **{f"{kind}_{key}": _of_times(kind, key) for kind in _TIMED for key in _TIMES},
    **{f"server_{key}": _of_server(key) for key in _SERVER},
}
"""Every column, in order, and where it comes from. What each means and its unit: ``results/README.md``."""


def frame(rows: Iterable[Row]) -> "pd.DataFrame":
    """Return the rows as a tidy table: one line a trial, the columns of ``COLUMNS``, missing where not measured.

    Durations are in nanoseconds (``_ns``), sizes in bytes (``_bytes``), shares between 0 and 1.
    """
    import pandas as pd

    many = list(rows)
    table = {name: pd.Series([_written(read(row)) for row in many], dtype=object) for name, read in COLUMNS.items()}
    return pd.DataFrame(table).convert_dtypes()


def csv(rows: Iterable[Row]) -> str:
    """Return ``frame(rows)`` as CSV, with a line of column names. No text in it is a formula to a spreadsheet."""
    from pandas.api.types import is_numeric_dtype

    table = frame(rows)
    for name in [name for name in table.columns if not is_numeric_dtype(table[name])]:
        table[name] = table[name].map(_harmless)
    return str(table.to_csv(index=False, lineterminator="\n"))


def _harmless(cell: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would calculate; numbers stay what they are, also below 0.

    See https://owasp.org/www-community/attacks/CSV_Injection. A carriage return becomes a line feed: it would not be
    quoted, and readers would take it for the end of a line.
    """
    if not isinstance(cell, str):
        return cell
    return f"{chr(39) if cell.startswith(_FORMULA) else ''}{cell}".replace("\r", "\n")


def _written(value: Any) -> Any:
    """Return a text as UTF-8 can write it: JSON can name half a surrogate pair, which becomes a ``?``."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
