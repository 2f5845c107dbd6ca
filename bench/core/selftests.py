"""The latest self-test of this machine, whose error rates a verdict quotes."""

import json
import math
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from inflight.bench.rows.files import SELFTEST_FILE
from inflight.bench.rows.machines import differences

FORMAT = 2


def latest(
    places: Iterable[Path], machine: dict[str, Any], interpreters: Collection[str] = ()
) -> dict[str, Any] | None:
    """Return the newest self-test of the same machine in folders of results or their ``reference``; None without one.

    ``interpreters`` are the labels of those of both sides; empty for that of the harness. An unreadable self-test is
    skipped.
    """
    tests = (test for place in places for test in _readable(place))
    found = [
        test
        for test in tests
        if not differences(test["machine"], machine) and sorted(test.get("interpreters", ())) == sorted(interpreters)
    ]
    return max(found, key=lambda test: str(test["made_at"]), default=None)


def _readable(out: Path) -> Iterator[dict[str, Any]]:
    for path in sorted([*out.glob(f"*/{SELFTEST_FILE}"), *out.glob(f"reference/*/{SELFTEST_FILE}")]):
        try:
            test = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(test, dict) and test.get("format") == FORMAT and _is_quotable(test):
            yield test


def _is_quotable(test: dict[str, Any]) -> bool:
    """Return whether a self-test has all figures that a verdict and its plan quote."""
    try:
        alarms = test["false_alarms"]["real"]
        figures = [alarms["alarms"], alarms["decisions"], alarms["blocks"], alarms["upper"]]
        figures += [value for size, one in test["detection"].items() for value in (int(size), one["share"])]
        figures += [
            one[key] for one in test["detection"].values() if one["seen"] is not None for key in ("seen", "low", "high")
        ]
        figures += [noise["cpu_per_page"] for noise in test["noise"].values()]
        fine = isinstance(test["machine"], dict) and isinstance(test["made_at"], str)
        fine = fine and all(isinstance(label, str) for label in test.get("interpreters", ()))
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    return fine and all(isinstance(figure, int | float) and math.isfinite(figure) for figure in figures)
