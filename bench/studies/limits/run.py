"""Find one limit of this machine, and make a row of it."""

from typing import Any

from bench.core.plan import BareTrial
from bench.core.rows import Row
from bench.measure.controller import Begin, Observation, Setting, row_of
from bench.measure.limits import find


def run_limit(trial: BareTrial, setting: Setting) -> Row:
    """Find how much of a resource a process gets, within the bounds of the setting, and return the row."""
    begin = Begin.now()
    found = find(
        trial.values["resource"],
        through_shared=trial.values["through_shared"],
        memory_budget_bytes=setting.budget_bytes,
        deadline_s=setting.deadline_s(trial),
    )
    return limit_row(trial, setting.run, begin, found)


def limit_row(trial: BareTrial, run: str, begin: Begin, found: dict[str, Any]) -> Row:
    """Return the row of what was found. A probe that was killed has found nothing, however far it had come."""
    seen = Observation(measured=found)
    if found["stopped_by"] == "died":
        return row_of(trial, run, begin, "failed", "the process that looked for the limit died", seen)
    return row_of(trial, run, begin, "ok", None, seen)
