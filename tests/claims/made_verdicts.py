"""Verdicts and reports, made from the few values that a test is about."""

from collections.abc import Mapping
from typing import Any

from inflight.bench.studies.claims.verdicts import Report, Trials, Verdict
from tests.made_rows import MACHINE


def made_verdict(**changes: Any) -> Verdict:
    """Make a verdict."""
    texts = {"claim": "A thread costs.", "source": "a chapter", "published": "50k", "about": "By a slope."}
    told = {"figures": "45 kB", "region": "here", "reason": "the rule", "explanation": "It is.", "template": "It is."}
    usual: dict[str, Any] = {"id": "thread-memory", "verdict": "holds", "values": {}, "close": False, "order": 1}
    return Verdict(**usual | texts | told | changes)


def hostile_verdict(text: str) -> Verdict:
    """Make a verdict whose texts are all the same."""
    names = ("claim", "source", "published", "about", "figures", "region", "reason", "explanation", "template")
    return made_verdict(**dict.fromkeys(names, text))


def made_report(*verdicts: Verdict, machine: Mapping[str, Any] = MACHINE, source: str = "Imaginary 9000") -> Report:
    """Make the report of a run."""
    return Report(
        machine=dict(machine),
        source=source,
        runs=("a-run",),
        trials=Trials(3, 4),
        left_out=("c10k",),
        claims=verdicts,
    )
