"""A run's figures as one JSON value: what ``inflight run --json`` prints."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from inflight.bench.report.results import ASKED
from inflight.bench.report.studies import Studies
from inflight.bench.rows.files import FORMAT, Row


def summary_json(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of a run as JSON values; durations in nanoseconds, sizes in bytes.

    ``format`` is the format of the rows, ``runs`` has the names of their runs, ``trials`` the numbers of ``planned``
    and ``valid`` trials and of trials ``by_status``. ``strategies`` has one object per strategy: ``strategy``,
    ``stack``, ``trials``, ``valid``. ``invalid`` has one object for each invalid trial: ``trial``, ``strategy``,
    ``status``, ``reason`` and ``failed_checks`` (``name``, ``detail``). The other keys are the studies, each a list:
    of timed trials (``show.sections.as_json``) ``map``, ``interpreters``, ``cores``, ``throughput``, ``retention``,
    ``cpu``, ``times``, ``lag``; ``memory`` (``show.memory.as_json``); and listings (``show.listing.as_json``) ``held``,
    ``ps``, ``limits``, ``probes``, ``swarm``, ``open_loop``, ``clients``.
    """
    return {
        "format": FORMAT,
        "runs": sorted({row.run for row in rows}),
        "trials": {
            "planned": len(rows),
            "valid": sum(row.valid for row in rows),
            "by_status": dict(sorted(Counter(row.status for row in rows).items())),
        },
        "strategies": _strategies(rows),
        **Studies(rows).as_json(),
        "invalid": [_invalid(row) for row in rows if not row.valid],
    }


def _strategies(rows: Sequence[Row]) -> list[dict[str, Any]]:
    crawled = (row for row in rows if row.kind in ASKED and not row.of_comparison and not _is_placebo(row))
    found = dict(
        sorted({row.strategy: row.stack for row in crawled}.items(), key=lambda one: (one[1] != "shared", one[0]))
    )
    return [
        {
            "strategy": name,
            "stack": stack,
            "trials": sum(row.strategy == name for row in rows),
            "valid": sum(row.strategy == name and row.valid for row in rows),
        }
        for name, stack in found.items()
    ]


def _is_placebo(row: Row) -> bool:
    arm = getattr(row.workload, "arm", None)
    return arm is not None and arm.role == "placebo"


def _invalid(row: Row) -> dict[str, Any]:
    return {
        "trial": row.trial,
        "strategy": row.strategy,
        "status": row.status,
        "reason": row.reason,
        "failed_checks": [{"name": check.name, "detail": check.detail} for check in row.failed_checks],
    }
