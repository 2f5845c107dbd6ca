"""What tests cost in CPU time: in all, per folder, and the dearest ones; printed at the end, with what pytest says.

The CPU time of a test includes its fixtures and the processes that it waited for.
"""

import json
import resource
from collections import defaultdict
from collections.abc import Generator, Mapping
from operator import itemgetter
from pathlib import Path

import pytest

MAX_SHOWN = 10
LEAST_SECONDS = 0.05


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended and were waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--costs",
        metavar="FILE",
        help="write the CPU seconds of each test to this JSON file",
    )


class Costs:
    """Measure each test where it runs, and add up where the results come together."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Measure a test with its fixtures; the last report of the test carries the figure."""
        self.before = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "teardown":
            report.user_properties = [("cpu_seconds", cpu_seconds() - self.before)]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == "cpu_seconds" and isinstance(value, float):
                self.seconds[report.nodeid] = value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print one table: the whole, the folders, the dearest tests."""
        folders: defaultdict[str, float] = defaultdict(float)
        for nodeid, seconds in self.seconds.items():
            folders[str(Path(nodeid.partition("::")[0]).parent)] += seconds
        terminalreporter.section(f"CPU time: {cpu_seconds():.0f} s")
        for name, seconds in [*dearest(folders), *dearest(self.seconds)[:MAX_SHOWN]]:
            if seconds >= LEAST_SECONDS:
                terminalreporter.line(f"{seconds:7.1f} s  {name}")
        if path := self.config.getoption("--costs"):
            Path(path).write_text(json.dumps(self.seconds, indent=0), "utf-8")


def dearest(costs: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(costs.items(), key=itemgetter(1), reverse=True)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(config), "costs")
