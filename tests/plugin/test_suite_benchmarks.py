"""The suite of benchmarks for pytest-benchmark: one of them, made twice, and compared by pytest-benchmark itself."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from inflight import strategies
from tests.measure.workshop import Workshop
from tests.plugin.projects import ENVIRONMENT, assert_passed, run_pytest
from tests.processes import run_to_end
from tests.suite.benchmarks import CRAWL, ROUNDS
from tests.suite.measuring import CHECKS

ROOT = Path(__file__).parents[2]
SUITE = "tests/suite/benchmarks.py"


def run_suite(json_file: Path, chosen: str) -> dict[str, Any]:
    done = run_pytest(ROOT, SUITE, "--benchmark-only", "-k", chosen, f"--benchmark-json={json_file}")
    assert_passed(done, 1)
    values: dict[str, Any] = json.loads(json_file.read_text("utf-8"))
    return values


@pytest.mark.night
def test_a_benchmark_records_its_turns_and_two_runs_can_be_compared(tmp_path: Path) -> None:
    files = [tmp_path / "base.json", tmp_path / "head.json"]
    for file in files:
        (made,) = run_suite(file, "test_crawl and callbacks")["benchmarks"]
        assert made["name"] == "test_crawl[callbacks]"
        assert made["group"] == "crawl"
        assert len(made["stats"]["data"]) == ROUNDS
        extra = made["extra_info"]
        for figure in ("cpu_per_page_ns", "pages_per_s", "makespan_ns"):
            assert len(extra[figure]) == ROUNDS
            assert min(extra[figure]) > 0
        assert [turn["pages"] for turn in extra["warm_up"]] == [CRAWL.site.pages]
        assert list(extra["checks"]) == list(CHECKS)
        assert extra["checks"]["answer correct"]["verdict"] == "passed"
        assert extra["invalid"] == [name for name, made in extra["checks"].items() if made["verdict"] == "failed"]
        assert extra["uss_bytes"] > 0
        assert extra["server_share"] > 0
        assert extra["knobs"]["strategy"] == "callbacks"

    compared = run_to_end(
        [sys.executable, "-m", "pytest_benchmark", "compare", *map(str, files)], cwd=tmp_path, env=ENVIRONMENT
    )

    assert compared.returncode == 0, compared.stderr
    assert compared.stdout.count("test_crawl[callbacks]") == 2


@pytest.mark.night
def test_failed_checks_are_recorded_with_a_warning_and_a_wrong_answer_fails(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    workshop.add_strategy("timid", "def crawl(job, frontier):\n    honest(job, frontier)")
    workshop.add_strategy(
        "forgetful", "def crawl(job, frontier):\n    honest_callbacks(job, frontier)\n    frontier.finished.pop()"
    )

    done = run_pytest(
        tmp_path, SUITE, "--benchmark-only", "-k", "test_pages and (timid or forgetful)", "--benchmark-json=made.json"
    )

    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "1 pages missing, 0 too many, 0 different" in done.stdout
    assert "RedBenchmarkWarning: pages, timid: invalid (" in done.stdout
    made = json.loads((tmp_path / "made.json").read_text("utf-8"))["benchmarks"]
    invalid = {benchmark["extra_info"]["strategy"]: benchmark["extra_info"]["invalid"] for benchmark in made}
    assert "cap reached, never exceeded" in invalid["timid"]
    assert "answer correct" in invalid["forgetful"]


@pytest.mark.ci
def test_every_strategy_is_benchmarked_on_three_workloads() -> None:
    done = run_pytest(ROOT, SUITE, "--collect-only", "-q")

    assert [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line] == [
        f"{test}[{name}]" for test in ("test_crawl", "test_pages", "test_sleepy") for name in strategies.models()
    ]
