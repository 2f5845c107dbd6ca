"""The template of a trial: the row for each of its possible ends."""

from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from inflight.bench.measure.process import SkipError, TrialError, WorkerError, WorkerTimeoutError
from inflight.bench.measure.server import Server, ServerError
from inflight.bench.measure.trial import Observation, conduct
from inflight.bench.plan.bare import idle
from inflight.bench.rows import records
from inflight.bench.rows.files import Check, Row

TRIAL = idle("thread", 5)
FIGURES = {"started": 5}


def row_of(error: Exception | None = None, *, alive: bool = True, **seen: Any) -> Row:
    def observe(gathered: Observation) -> None:
        gathered.measured = FIGURES
        gathered.checks = (Check("all were started", "passed", "5 of 5"),)
        for name, value in seen.items():
            setattr(gathered, name, value)
        if error is not None:
            raise error

    row = conduct(TRIAL, "run", observe, cast("Server", SimpleNamespace(alive=alive)))
    assert records.read(row.to_json()) == row
    return row


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (WorkerTimeoutError("too late"), ("timeout", "too late", None)),
        (WorkerError("no thread", "limit"), ("failed", "no thread", "limit")),
        (ServerError("refused"), ("failed", "refused", None)),
        (TrialError("died"), ("failed", "died", None)),
        (SkipError("not here", "not installed"), ("skipped", "not here", "not installed")),
        (psutil.NoSuchProcess(1, msg="gone"), ("failed", "gone (pid=1)", None)),
        (BrokenPipeError(), ("failed", "BrokenPipeError", None)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_becomes_status_reason_and_cause(error: Exception, ending: Any) -> None:
    row = row_of(error)

    assert (row.status, row.reason, row.cause) == ending
    assert row.measured.started == 5, "what was known before is kept"
    assert (row.duration_ns == 0) == (row.status == "skipped")


def test_a_trial_whose_server_died_says_so() -> None:
    row = row_of(WorkerError("no answer"), alive=False)

    assert (row.status, row.reason) == ("failed", "the fake server died during the trial (no answer)")


def test_a_wrong_answer_keeps_its_figures_and_checks() -> None:
    row = row_of(wrong="1 pages missing")

    assert (row.status, row.reason, row.measured.started) == ("wrong", "1 pages missing", 5)
    assert row.checks


def test_invalid_figures_make_a_failed_row_and_end_no_run() -> None:
    row = row_of(measured={"started": -1})

    assert row.status == "failed"
    assert str(row.reason).startswith("invalid measurement: measured.started: ")
    assert row.measured.started is None


def test_a_bug_is_raised() -> None:
    with pytest.raises(LookupError):
        row_of(LookupError("a bug"))
