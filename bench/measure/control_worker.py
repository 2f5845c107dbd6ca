"""The negative controls of a pair: a process that no side can change, which does the same little work after each turn.

It is told the server's ``port``, how many ``connections`` to keep, and how many ``requests`` to ask. On each line after
that it answers with the CPU time of two pieces of fixed work: ``spin_ns``, an empty
loop, which sees the processor alone; and ``null_ns``, requests that are asked and not looked at, which sees the kernel
and the server too. If these differ between the turns of A and those of B, something else than the sides does.
"""

import selectors
import socket
import sys
import time
from typing import Self

from bench.measure.null_client import REQUEST, response_length
from bench.measure.worker import knobs_of_interpreter, take_order

SPINS, LOOPS = 1_500, 200
"""Short loops, as planted slowdowns are: below 257 CPython has all integers ready, beyond it makes them, at twice the
cost (Objects/longobject.c, small_ints)."""


def main() -> None:
    """Do the work as often as standard input asks for it."""
    say, order = take_order()
    with NullClient(order["port"], order["connections"], order["requests"]) as client:
        say({"event": "ready", "knobs": knobs_of_interpreter()})
        for _ in sys.stdin:
            say({"event": "controlled", "spin_ns": spin(), "null_ns": client.ask(), "loops": SPINS * LOOPS})


def spin() -> int:
    """Return the CPU time of SPINS times LOOPS rounds of an empty loop, in nanoseconds."""
    spins, loops = range(SPINS), range(LOOPS)
    begin_ns = time.process_time_ns()
    for _ in spins:
        for _ in loops:
            pass
    return time.process_time_ns() - begin_ns


class NullClient:
    """Keep connections, and ask on them for the same page."""

    def __init__(self, port: int, connections: int, requests: int) -> None:
        self._requests = requests
        self._length = response_length(port)
        self._selector = selectors.DefaultSelector()
        self._socks = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
        for sock in self._socks:
            self._selector.register(sock, selectors.EVENT_READ, sock)

    def __enter__(self) -> Self:
        return self

    def ask(self) -> int:
        """Return the CPU time of asking so often, in nanoseconds. Raises OSError when the server is gone."""
        begin_ns = time.process_time_ns()
        missing = dict.fromkeys(self._socks, self._length)
        asked = answered = 0
        for sock in self._socks:
            sock.sendall(REQUEST)
            asked += 1
        while answered < asked:
            for key, _ in self._selector.select(1):
                sock = key.data
                data = sock.recv(65536)
                if not data:
                    raise ConnectionResetError("the server hung up")
                missing[sock] -= len(data)
                if missing[sock] > 0:
                    continue
                answered += 1
                if asked < self._requests:
                    missing[sock] = self._length
                    sock.sendall(REQUEST)
                    asked += 1
        return time.process_time_ns() - begin_ns

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for sock in self._socks:
            sock.close()


if __name__ == "__main__":
    main()
