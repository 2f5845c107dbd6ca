"""What the documentation shows can be run as it stands, and it leaves nothing out."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from inflight import strategies
from inflight.bench.plan.experiment import HEAD, TABLES, AnswerColumn, TableName, load, parse
from inflight.bench.show.studies import STUDIES
from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import SiteConfig

pytestmark = pytest.mark.night
DOCS = Path(__file__).parent.parent / "docs"
README = (DOCS.parent / "README.md").read_text("utf-8")
EXPERIMENTS = (DOCS / "experiments.md").read_text("utf-8")


def test_the_example_of_an_experiment_is_one() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", EXPERIMENTS, re.DOTALL)

    experiment = parse(tomllib.loads(example), "example", strategies.names(), "experiments.md")

    assert len(experiment.cells()) == 5


def test_every_key_of_a_site_and_every_fault_is_explained() -> None:
    keys = {field.name for field in fields(SiteConfig)} - {"delay", "endless"}  # latency, and [[throughput]]

    assert not [name for name in (*keys, *FAULTS) if f"`{name}`" not in EXPERIMENTS]


def test_every_key_of_an_experiment_is_explained() -> None:
    keys = {*HEAD, *(key for table in TABLES for key in table.__struct_fields__)}

    assert not [name for name in keys if f"`{name}`" not in EXPERIMENTS and f"`[{name}]`" not in EXPERIMENTS]


def test_every_column_of_an_answer_is_listed() -> None:
    assert not [name for name in get_args(AnswerColumn) if f'`"{name}"`' not in EXPERIMENTS]


def test_every_table_of_a_last_screen_is_a_study_and_listed() -> None:
    (line,) = [line for line in EXPERIMENTS.splitlines() if line.startswith("| `tables` |")]

    assert set(re.findall(r'`"(\w+)"`', line)) == set(get_args(TableName)) <= {study.name for study in STUDIES}


def test_readme_is_short() -> None:
    assert len(README.split()) <= 800


def test_every_experiment_that_readme_runs_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    names = set(re.findall(r"`inflight run ([a-z0-9./-]+)", README))

    assert {"chapter", "docs/lessons/18-c10k.toml"} <= names
    for name in names:
        assert load(name, strategies.names())
