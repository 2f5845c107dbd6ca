"""docs/your-client.md: the files that it shows are those in docs/examples, and they are strategies that work."""

import json
import sys
from pathlib import Path

import pytest

from inflight import strategies
from inflight.conformance import fake_site
from inflight.conformance.crawling import comparable, crawl
from inflight.conformance.fake_site import MIXED
from inflight.strategies import registry
from tests.processes import run_to_end

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = sorted((DOCS / "examples").glob("my_*.py"))
each = pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])


def test_there_are_async_and_blocking_examples() -> None:
    assert [path.stem for path in EXAMPLES] == ["my_async_client", "my_blocking_client", "my_httpx_client"]


@each
def test_the_page_links_the_file_and_shows_one_of_each_kind(example: Path) -> None:
    page = (DOCS / "your-client.md").read_text("utf-8")

    assert f"(examples/{example.name})" in page
    assert (f"```python\n{example.read_text('utf-8')}```" in page) is (example.stem != "my_async_client")


@each
@pytest.mark.parametrize("connection", ["keep-alive", "per-fetch"])
def test_an_example_finds_what_is_there(example: Path, connection: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.VARIABLE, "{}")
    name = strategies.add(str(example))
    with fake_site.running() as fake:
        fake.configure(**MIXED)

        crawled = crawl(strategies.load(name), f"{fake.url}/", max_in_flight=20, connection=connection)

        assert comparable(crawled.pages) == fake.expected()
        assert fake.stats()["requests"] == len(crawled.pages)


def failed_tests(example: Path) -> set[str]:
    """Return the names of the tests that ``inflight check`` says an example fails."""
    done = run_to_end(
        [
            sys.executable,
            "-m",
            "inflight",
            "check",
            str(example),
            "--json",
            "--timeout",
            "100s",
        ]
    )
    found = json.loads(done.stdout)
    assert not found["not_run"]
    return {f"test_{failure['test'].replace(' ', '_')}" for rule in found["rules"] for failure in rule["failures"]}


@pytest.mark.night
@each
def test_an_example_breaks_no_rule_but_for_limits_of_its_library(example: Path) -> None:
    assert failed_tests(example) == set()
