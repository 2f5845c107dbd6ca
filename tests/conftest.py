"""What all tests share: properties that are checked without a clock, and Ctrl-C that arrives."""

import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "same", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", settings.get_profile("same"), derandomize=False, max_examples=1000)
settings.load_profile("same")  # the same examples on every run: a red test is red for everybody


def pytest_configure() -> None:
    """Take SIGINT, and with it let every child process take it, also where a shell has started us with ``&``.

    Shells start background jobs with SIGINT ignored, and a process passes that on to its children.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
