"""Spinning burns a core, a selector does not."""

import sys

import pytest

from tests.probes.asking import ask

TRIES = 5
"""A stalled machine gives a spinning process no CPU time for a while."""


def share(how: str, waits_for: str, sockets: int, wait_ms: int) -> float:
    """Return CPU seconds per waited second."""
    measured = ask("spin", how=how, waits_for=waits_for, sockets=sockets, wait_ms=wait_ms)

    assert "stopped_by" not in measured or sys.platform != "linux"
    if "stopped_by" in measured:
        pytest.skip(measured["error"])
    assert measured["wall_ns"] >= 0.9 * wait_ms * 1e6
    assert measured["attempts"] == sockets or how == "spin"
    return float(measured["cpu_share"])


@pytest.mark.parametrize(
    ("waits_for", "sockets", "wait_ms"),
    [("answer", 1, 300), ("answer", 10, 500), ("connect", 20, 200)],
)
def test_spinning_burns_more_than_ten_times_the_cpu_of_a_selector(waits_for: str, sockets: int, wait_ms: int) -> None:
    waits = waits_for, sockets, wait_ms

    assert any(share("spin", *waits) > 10 * share("selector", *waits) for _ in range(TRIES))


def test_spinning_makes_many_attempts() -> None:
    tries = (ask("spin", how="spin", sockets=3, wait_ms=100) for _ in range(TRIES))

    assert any(measured["attempts"] > 100 * measured["sockets"] for measured in tries)
