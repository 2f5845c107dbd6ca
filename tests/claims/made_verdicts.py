"""Verdicts and reports, made from the few values that a test is about."""

from collections.abc import Mapping
from typing import Any

from inflight.bench.claims.verdicts import PartAnswer, Report, Verdict
from tests.made_rows import MACHINE

TEXTS = ("claim", "source", "published", "tested", "background", "measured", "why")


def made_verdict(**changes: Any) -> Verdict:
    """Make a verdict."""
    texts = {"claim": "A thread costs.", "source": "a chapter", "published": "50k", "tested": "By a slope."}
    told = {"measured": "45 kB", "why": "It costs 45 kB.", "background": "It has a stack."}
    part = PartAnswer(name="idle", answer="yes", measured="45 kB", must="below 50 kB")
    usual: dict[str, Any] = {"id": "thread-memory", "verdict": "true", "is_borderline": False}
    return Verdict(**usual | texts | told | {"answers": (part,), "figures": {}} | changes)


def hostile_verdict(text: str) -> Verdict:
    """Make a verdict whose texts are all the same."""
    part = PartAnswer(name=text, answer="no", measured=text, must=text)
    return made_verdict(**dict.fromkeys(TEXTS, text), answers=(part,), exhibits={"callbacks": text})


def made_report(*verdicts: Verdict, machine: Mapping[str, Any] = MACHINE, source: str = "Imaginary 9000") -> Report:
    """Make the report of a run."""
    runs = ("a-run",)
    return Report(
        machine=dict(machine), source=source, runs=runs, measured=3, reused=4, left_out=("c10k",), claims=verdicts
    )
