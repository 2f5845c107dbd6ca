"""Spinning burns a core, a selector does not."""

import sys

import pytest

from tests.probes.asking import ask


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
    assert share("spin", waits_for, sockets, wait_ms) > 10 * share("selector", waits_for, sockets, wait_ms)


def test_spinning_makes_many_attempts() -> None:
    measured = ask("spin", how="spin", sockets=3, wait_ms=100)

    assert measured["attempts"] > 100 * measured["sockets"]
