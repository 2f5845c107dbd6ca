"""What all tests share: properties checked without a clock, Ctrl-C that arrives, programs that are compiled once."""

import compileall
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.laboratory import laboratory
from tests.real_run import real_run

__all__ = ["laboratory", "real_run"]
ROOT = Path(__file__).parents[1]

settings.register_profile(
    "same", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", settings.get_profile("same"), derandomize=False, max_examples=1000)
settings.load_profile("same")  # the same examples on every run: a red test is red for everybody


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that stores the outputs of recorded rows again (``tests/outputs.py``)."""
    parser.addoption(
        "--update-outputs",
        action="store_true",
        help="store what outputs say of recorded rows now",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let child processes take SIGINT, and let them find their modules compiled."""
    # A shell starts background jobs ("make test &") with SIGINT ignored, and processes pass that on to their children.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Commands under test write no .pyc files. Without any to read, each of some hundred compiles all of its modules.
    if not hasattr(config, "workerinput"):  # xdist's workers have this, and the process that starts them does it once
        for package in ("inflight", "bench", "strategies", "fake_server"):
            compileall.compile_dir(ROOT / package, quiet=2)
