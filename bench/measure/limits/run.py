"""Find one limit of this machine, and return its row."""

from functools import partial
from typing import Any

from inflight.bench.measure.limits import find
from inflight.bench.measure.process import TrialError
from inflight.bench.measure.trial import Begin, Observation, Setting, conduct
from inflight.bench.plan.bare import BareTrial
from inflight.bench.rows.files import Row


def run_limit(trial: BareTrial, setting: Setting) -> Row:
    """Find how much of a resource a process gets, within the budget and deadline of the setting; return the row."""
    return conduct(trial, setting.run, partial(_observe, trial, setting))


def limit_row(trial: BareTrial, run: str, begin: Begin, found: dict[str, Any]) -> Row:
    """Return the row of a limit that was already found."""
    return conduct(trial, run, partial(_note, found), begin=begin)


def _observe(trial: BareTrial, setting: Setting, seen: Observation) -> None:
    found = find(
        trial.values["resource"],
        through_shared=trial.values["through_shared"],
        memory_budget_bytes=setting.budget_bytes,
        deadline_s=setting.deadline_s(trial),
    )
    _note(found, seen)


def _note(found: dict[str, Any], seen: Observation) -> None:
    """Note the finding. Raises TrialError if the process died: then its figures are not a finding."""
    seen.measured = found
    if found["stopped_by"] == "died":
        raise TrialError("the process that looked for the limit died")
