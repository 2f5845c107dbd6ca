"""Rows of what was counted, made from the few values that a test is about."""

from collections.abc import Mapping, Sequence
from typing import Any

from inflight.bench.rows.files import Row, Status
from tests.made_rows import FAILED, PASSED, RUN, edited, made_site, make

PAGES = 300
EQUAL = {"python_calls": [5400, 5400], "c_calls": [9900, 9900], "system_calls": [900, 900]}
MORE = EQUAL | {"python_calls": [5700, 5700]}
LESS = EQUAL | {"c_calls": [9300, 9300]}
OF = {"calls": ("python_calls", "c_calls"), "system calls": ("system_calls", "futex_calls")}
NAMES = {
    "python_calls": "strategies/core/frontier.py:Frontier.finish",
    "c_calls": "<built-in method builtins.len>",
    "system_calls": "sendto",
}


def counts_row(
    strategy: str = "callbacks",
    *,
    number: int = 1,
    status: Status = "ok",
    reason: str | None = None,
    invalid: bool = False,
    lacks: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
    **totals: Sequence[int],
) -> Row:
    """Make the row of a trial that counts. It has no total of what it lacks, by counter."""
    absent = [name for counter in lacks or {} for name in OF[counter]]
    counted = {"python_calls": (5400, 5400), "c_calls": (9900, 9900), "system_calls": (900, 900)} | totals
    present = {name: counts for name, counts in counted.items() if name not in absent}
    measured: dict[str, Any] = {"pages": PAGES, "totals": present}
    for name, counts in present.items():
        per_page = sum(counts) / len(counts) / PAGES
        measured |= {f"{name}_per_page": per_page} | ({name: {NAMES[name]: per_page}} if name in NAMES else {})
    measured["repeats_equal"] = all(len(set(counts)) == 1 for counts in present.values())
    measured |= {"lacks": dict(lacks)} if lacks else {}
    cell = "counts/latency=1ms/in_flight=1/keep-alive"
    return make(
        run=RUN,
        trial=f"{cell}/{strategy}/round={number}",
        round=number,
        strategy=strategy,
        stack="shared",
        kind="counts",
        workload={
            "id": cell,
            "latency": "1ms",
            "mean_latency_ns": 1_000_000,
            "in_flight": 1,
            "connection": "keep-alive",
            "site": made_site(1000, "1ms"),
            "repeats": 2,
            **(more or {}),
        },
        status=status,
        reason=None if status == "ok" else reason or "for a reason",
        started_at="2026-01-02T03:04:05.678+00:00",
        duration_ns=0 if status == "skipped" else 1_700_000_000,
        measured=measured if status == "ok" else {},
        knobs={"strategy": strategy, "python": "3.11.7", "implementation": "cpython", "gil": True},
        checks=() if status != "ok" else (PASSED, FAILED) if invalid else (PASSED,),
    )


def side_row(
    side: str,
    totals: Mapping[str, Sequence[int]],
    *,
    lacks: Mapping[str, str] | None = None,
    knobs: Mapping[str, Any] | None = None,
    **measured: Any,
) -> Row:
    """Make the row of a side of a comparison."""
    arm = {"name": side, "strategy": "callbacks", "role": "compared", "label": f"side {side}", "in_flight": 1}
    more = {"arm": arm, "comparison": {"name": "ab", "metrics": ["calls"], "gated": ["calls"]}}
    row = counts_row(more=more, lacks=lacks, **dict[str, Any](totals))
    return edited(row, knobs=knobs or {}, measured=measured)
