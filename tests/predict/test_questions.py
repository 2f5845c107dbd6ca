"""Ten questions whose answers were measured: what ``inflight advise`` says of each, from stored costs alone."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import call

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
FILE = Path(__file__).with_name("questions.toml")
QUESTIONS: list[dict[str, Any]] = tomllib.loads(FILE.read_text("utf-8"))["question"]


@pytest.mark.parametrize("question", QUESTIONS, ids=[question["ask"] for question in QUESTIONS])
def test_advice_is_what_was_measured(question: dict[str, Any]) -> None:
    ask = question["ask"].split()
    costs = max(REFERENCE.glob("*-costs-tls" if "--tls" in ask else "*-costs"))

    done = call("advise", *ask, "--from", costs, "--json")

    told = json.loads(done.out)
    advised = told["advised"]
    if question["answer"] == "cannot be told":
        assert (done.code, advised) == (3, None)
        return
    assert done.code == 0
    assert advised["strategy"] in question["answer"]
    assert advised["processes"] in question.get("processes", [1])
    assert set(told["alike"]) >= set(question.get("alike", []))
    low, high = question["pages_per_s"]
    assert low / 1.25 <= advised["pages_per_s"][0] <= high * 1.25
