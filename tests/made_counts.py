"""Rows of the sides of a comparison of counts."""

from collections.abc import Mapping, Sequence
from typing import Any

from inflight.bench.rows.files import Row
from tests.made_rows import counts_row, edited

PAGES = 300
EQUAL = {"python_calls": [5400, 5400], "c_calls": [9900, 9900], "system_calls": [900, 900]}
MORE = EQUAL | {"python_calls": [5700, 5700]}
LESS = EQUAL | {"c_calls": [9300, 9300]}
COUNTERS = {"calls": ("python_calls", "c_calls"), "system calls": ("system_calls",), "bytecodes": ("bytecodes",)}


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
    unknown = {f"{name}{ending}": None for name in absent for ending in ("", "_per_page")}
    is_equal = all(len(set(each)) == 1 for each in present.values())
    return edited(
        counts_row(measured=unknown | {"lacks": dict(lacks or {}), "totals": None}),
        workload={"arm": arm, "comparison": comparison},
        knobs=knobs or {},
        measured={"totals": present, "repeats_equal": is_equal, **measured},
    )
