"""What the documentation shows can be run as it stands, and it leaves nothing out."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from inflight import strategies
from inflight.bench.core.experiment import parse
from inflight.fake_server.faults import FAULTS
from inflight.fake_server.site import SiteConfig

DOCS = Path(__file__).parent.parent / "docs"
EXPERIMENTS = (DOCS / "experiments.md").read_text(encoding="utf-8")


def test_the_example_of_an_experiment_is_one() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", EXPERIMENTS, re.DOTALL)

    experiment = parse(tomllib.loads(example), "example", strategies.names(), "experiments.md")

    assert len(experiment.workloads()) == 5


def test_every_key_of_a_site_and_every_fault_is_explained() -> None:
    keys = {field.name for field in fields(SiteConfig)} - {"delay", "endless"}  # latency, and [[throughput]]

    assert not [name for name in (*keys, *FAULTS) if f"`{name}`" not in EXPERIMENTS]


def test_every_page_is_in_the_navigation() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in (*DOCS.glob("*.md"), *DOCS.glob("*/README.md"))}
    named = set(re.findall(r"^- \[[^]]+\]\(([^)]+)\)", (DOCS / "README.md").read_text(encoding="utf-8"), re.MULTILINE))

    assert not pages - named - {"README.md"}, "docs/README.md is the navigation of the site: add a line there"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_a_page_begins_with_what_its_reader_can_do(page: Path) -> None:
    _title, first, *_ = page.read_text(encoding="utf-8").split("\n\n")

    said = " ".join(first.split())
    assert re.search(r"\byou (can|know)\b", said), f"{page.name}: let the first paragraph say what the reader can do"
