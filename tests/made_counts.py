"""Rows of trials that count, made from the few values that a test is about."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inflight.bench.rows.files import Check, Row, Status
from tests.made_rows import MS, crawl_row, edited, make

PAGES = 300
EQUAL = {"python_calls": [5400, 5400], "c_calls": [9900, 9900], "system_calls": [900, 900]}
MORE = EQUAL | {"python_calls": [5700, 5700]}
LESS = EQUAL | {"c_calls": [9300, 9300]}
CHECKS = [Check("answer correct", "passed", "500 pages as the site has them")]
COUNTERS = {"calls": ("python_calls", "c_calls"), "system calls": ("system_calls",), "bytecodes": ("bytecodes",)}


def counts_row(
    strategy: str = "callbacks",
    python_calls: Mapping[str, float] | None = None,
    system_calls: Mapping[str, float] | None = None,
    *,
    c_calls: float = 33,
    more: int | None = 0,
    bytecodes: float | None = None,
    stack: str = "shared",
    number: int = 1,
    status: Status = "ok",
    reason: str | None = None,
    lacks: Mapping[str, str] | None = None,
    **measured: Any,
) -> Row:
    """Make the row of a strategy that was counted, from its calls per page.

    ``more``: by how many calls the total of the second repeat is larger; None: one repeat. ``lacks``: counters whose
    figures are absent, with the reason. ``number``: the round. ``measured`` has further values.
    """
    python_calls = {"strategies/x.py:f": 18.0} if python_calls is None else python_calls
    system_calls = {"sendto": 1.0, "recvfrom": 1.0, "epoll_wait": 1.0} if system_calls is None else system_calls
    per_page = {
        "python_calls": sum(python_calls.values()),
        "c_calls": c_calls,
        "system_calls": sum(system_calls.values()),
    }
    per_page |= {} if bytecodes is None else {"bytecodes": bytecodes}
    absent = {name for counter in lacks or {} for name in COUNTERS[counter]}
    per_page = {name: value for name, value in per_page.items() if name not in absent}
    totals = {name: [round(PAGES * value)] for name, value in per_page.items()}
    if more is not None:
        totals = {name: [total, total + more] for name, (total,) in totals.items()}
    values: dict[str, Any] = {"pages": PAGES, "totals": totals}
    values |= {f"{name}_per_page": sum(each) / len(each) / PAGES for name, each in totals.items()}
    names = {"python_calls": python_calls, "c_calls": {"len": c_calls}, "system_calls": system_calls}
    values |= {name: dict(calls) for name, calls in names.items() if name not in absent}
    values |= {} if more is None else {"repeats_equal": more == 0}
    values |= {"lacks": dict(lacks)} if lacks else {}
    made = crawl_row(strategy, latency="10ms", in_flight=1, pages=1000)
    cell = "counts/latency=1ms/in_flight=1/keep-alive"
    workload = msgspec.to_builtins(made.workload) | {"id": cell, "latency": "1ms", "mean_latency_ns": MS}
    workload |= {"repeats": 1 if more is None else 2} | ({} if bytecodes is None else {"bytecodes": True})
    return make(
        kind="counts",
        run=made.run,
        trial=f"{cell}/{strategy}/round={number}",
        round=number,
        strategy=strategy,
        stack=stack,
        status=status,
        reason=reason,
        started_at=made.started_at,
        duration_ns=made.duration_ns,
        checks=CHECKS if status == "ok" else (),
        workload=workload,
        measured=values | measured if status == "ok" else {},
        knobs=msgspec.to_builtins(made.knobs),
    )


def side_row(
    side: str,
    totals: Mapping[str, Sequence[int]],
    *,
    lacks: Mapping[str, str] | None = None,
    knobs: Mapping[str, Any] | None = None,
    **measured: Any,
) -> Row:
    """Make the row of a side of a comparison, from its totals."""
    arm = {"name": side, "strategy": "callbacks", "role": "compared", "label": f"side {side}", "in_flight": 1}
    comparison = {"name": "ab", "metrics": ["calls"], "gated": ["calls"]}
    absent = {name for counter in lacks or {} for name in COUNTERS[counter]}
    present = {name: list(each) for name, each in totals.items() if name not in absent}
    is_equal = all(len(set(each)) == 1 for each in present.values())
    return edited(
        counts_row(lacks=lacks),
        workload={"arm": arm, "comparison": comparison},
        knobs=knobs or {},
        measured={"totals": present, "repeats_equal": is_equal, **measured},
    )
