"""Spinning tries again and again, a selector tries once for each socket; both wait for what comes late."""

import selectors
import socket
import sys

import pytest

from inflight.bench.claims.programs import spin
from tests.probes.asking import ask_process


@pytest.mark.parametrize(("waits_for", "sockets", "wait_ms"), [("answer", 10, 100), ("connect", 5, 50)])
def test_both_wait_for_every_socket_and_a_selector_makes_no_attempt_in_vain(
    waits_for: str, sockets: int, wait_ms: int
) -> None:
    for how in ("spin", "selector"):
        measured = ask_process("spin", how=how, waits_for=waits_for, sockets=sockets, wait_ms=wait_ms)

        assert "stopped_by" not in measured or sys.platform != "linux"
        if "stopped_by" in measured:
            pytest.skip(measured["error"])
        assert measured["attempts"] >= sockets
        assert measured["attempts"] == sockets or how == "spin"
        assert measured["cpu_share"] == measured["cpu_ns"] / measured["wall_ns"] > 0


@pytest.mark.parametrize(("how", "attempts"), [("spin", 3 * 7), ("selector", 3)])
def test_spinning_makes_an_attempt_at_each_look(how: str, attempts: int) -> None:
    """Each socket has its answer at the seventh look at it, or from the start if only a selector looks."""
    looks: dict[socket.socket, int] = {}

    def attempt(sock: socket.socket) -> bool:
        looks[sock] = looks.get(sock, 0) + 1
        return how == "selector" or looks[sock] == 7

    pairs = [socket.socketpair() for _ in range(3)]
    for _, far in pairs:
        far.sendall(b"!")

    assert spin.WAITS[how]([near for near, _ in pairs], selectors.EVENT_READ, attempt) == attempts
    for pair in pairs:
        for sock in pair:
            sock.close()
