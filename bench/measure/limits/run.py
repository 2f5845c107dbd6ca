"""Find one limit of this machine, and return its row."""

from typing import Any

from inflight.bench.measure.limits import find, make_prediction
from inflight.bench.measure.process import TrialError
from inflight.bench.measure.trial import Begin, Observation, Setting, conduct
from inflight.bench.plan.bare import BareTrial
from inflight.bench.rows.files import Row


def run_limit(trial: BareTrial, setting: Setting) -> Row:
    """Find how much of a resource a process gets, within the budget and deadline of the setting; return the row.

    A trial that only predicts has a deadline of its own.
    """
    begin = Begin.now()
    if trial.values.get("predict"):
        return make_row(trial, setting.run, begin, make_prediction(trial.values["resource"]))
    values = find(
        trial.values["resource"],
        through_shared=trial.values["through_shared"],
        memory_budget_bytes=setting.budget_bytes,
        deadline_s=setting.deadline_s(trial),
    )
    return make_row(trial, setting.run, begin, values)


def make_row(trial: BareTrial, run: str, begin: Begin, values: dict[str, Any]) -> Row:
    """Return the row of a finding. If the process died, its figures are not a finding."""

    def observe(seen: Observation) -> None:
        seen.measured = values
        if values["stopped_by"] == "died":
            raise TrialError("the process that looked for the limit died")

    return conduct(trial, run, observe, begin=begin)
