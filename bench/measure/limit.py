"""Find one limit of this machine, and make a row of it."""

from bench.measure.controller import Begin, Observation, Setting, row_of
from bench.measure.limits import find
from bench.plan import BareTrial
from bench.rows import Row


def run_limit(trial: BareTrial, setting: Setting) -> Row:
    """Find how much of a resource a process gets, within the bounds of the setting, and return the row."""
    begin, seen = Begin.now(), Observation()
    seen.measured = find(
        trial.values["resource"],
        through_shared=trial.values["through_shared"],
        memory_budget_bytes=setting.budget_bytes,
        deadline_s=setting.deadline_s(trial),
    )
    return row_of(trial, setting.run, begin, "ok", None, seen)
