"""The plug-in of pytest in a copy with a mutant: tests in the order of their costs, and a log of what they do."""

import json
import math
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plug-in."""
    parser.addoption("--mutants-costs", help="JSON file: the CPU seconds of each test by its node id")
    parser.addoption("--mutants-log", help="append a line of JSON when a test begins or fails: [event, test, reason]")


class Told:
    """Write to the log."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def tell(self, *line: str) -> None:
        """Append a line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell which test begins."""
        self.tell("begins", nodeid, "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell which test failed, or its fixtures."""
        if report.failed:
            self.tell("fails", report.nodeid, reason(report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Tell which file cannot be imported."""
        if report.failed:
            self.tell("fails", report.nodeid, reason(report))


def reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return the last error of a report in one line."""
    errors = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
    return (errors or report.longreprtext.splitlines() or [""])[-1].strip()[:300]


def unordered(nodeid: str) -> str:
    """Return a node id with its parameters sorted: their order depends on which folders pytest was given."""
    name, bracket, parameters = nodeid.partition("[")
    return name + bracket + "-".join(sorted(parameters.removesuffix("]").split("-")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort by cost, to the next power of ten: sorted more finely, tests would make the fixtures of their file again.

    Tests of unknown cost come last.
    """
    if path := config.getoption("--mutants-costs"):
        costs = json.loads(Path(path).read_text(encoding="utf-8"))
        items.sort(key=lambda item: math.ceil(math.log10(max(0.001, costs.get(unordered(item.nodeid), 1e9)))))


def pytest_configure(config: pytest.Config) -> None:
    """Write the log if there is a place for it."""
    if path := config.getoption("--mutants-log"):
        config.pluginmanager.register(Told(path))
