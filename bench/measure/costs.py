"""Programs that measure what a run needs to know before it. Each runs on the client's core, in a process of its own.

::

    python -m inflight.bench.measure.costs unit           the nanoseconds of a unit of CPU work
    python -m inflight.bench.measure.costs fetch          {"with_ns": ..., "without_ns": ..., "loop_ns": ...}
    python -m inflight.bench.measure.costs server PORT    {"per_s": ...}

All trials of a run use one cost of a unit, so they compute the same, however busy the machine is.

*fetch* is what the harness adds to each fetch inside the worker: the frontier with and without measuring, over the same
fetches in turns, and an iteration of an empty loop, as it is planted in a side; each is the median of its turns.
Without measuring, the frontier leaves out what no crawl needs: when a fetch was started and finished, and the current
and maximum number in flight. Any crawl needs deadlines (a clock), the number of tries (retries) and the finished
fetches (the result).

*server* is how many requests per second the server at a port can answer. The null client keeps CONNECTIONS connections
busy with requests, and counts bytes instead of parsing them.
"""

import gc
import json
import selectors
import socket
import sys
import time
from statistics import median

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.page import Fetch
from inflight.strategies.core.work import cost_ns

BURST_UNITS = 600
"""Units of CPU work in a burst, which is timed as a whole."""
BURSTS = 25
"""Number of bursts, the median of which counts."""
FETCHES = 5_000
"""Number of fetches of a turn of ``fetch``."""
TURNS = 41
"""Number of turns, the median of which counts."""
CONNECTIONS = 100
"""Connections of the null client."""
SECONDS = 0.5
"""How long the null client sends requests."""
REQUEST = b"GET / HTTP/1.1\r\nHost: null\r\n\r\n"
"""The request that it repeats."""


def unit_ns() -> float:
    """Return the cost of a unit: the median of bursts of a few milliseconds, after a burst that warms up."""
    cost_ns(BURST_UNITS)
    return cost_ns(BURST_UNITS, BURSTS) / BURST_UNITS


class MeasuredFrontier(Frontier):
    """The frontier as it is, with a method to end a fetch."""

    def end(self, fetch: Fetch) -> None:
        """Note that a fetch has ended, as ``finish`` does."""
        self._end(fetch, self._clock())


class PlainFrontier(Frontier):
    """A frontier that keeps only what a crawl needs."""

    def start(self, fetch: Fetch) -> None:
        """Note that a try begins now."""
        fetch.deadline_ns = self._clock() + self._timeout_ns
        fetch.tries += 1

    def end(self, fetch: Fetch) -> None:
        """Note that a fetch has ended."""
        self._end(fetch, 1)

    def _end(self, fetch: Fetch, now: int) -> None:
        """Note the end without what ``Frontier`` records."""
        if fetch.finished_ns:
            raise RuntimeError(f"{fetch.url} was finished twice")
        fetch.finished_ns = now
        self.finished.append(fetch)


def fetch_ns() -> dict[str, float]:
    """Return the cost of a fetch with and without measuring, and of an iteration of an empty loop."""
    job = Job(roots=tuple(f"http://127.0.0.1/{n}" for n in range(FETCHES)))
    gc.disable()
    costs: dict[str, list[float]] = {"with_ns": [], "without_ns": [], "loop_ns": []}
    for _ in range(TURNS):
        costs["with_ns"].append(book(MeasuredFrontier(job)))
        costs["without_ns"].append(book(PlainFrontier(job)))
        begin_ns = time.perf_counter_ns()
        for _ in range(FETCHES):
            pass
        costs["loop_ns"].append((time.perf_counter_ns() - begin_ns) / FETCHES)
    return {name: median(times) for name, times in costs.items()}


def book(frontier: MeasuredFrontier | PlainFrontier) -> float:
    """Start and end every root of a frontier, without a network; return the nanoseconds per fetch."""
    fetches = frontier.roots()
    start, end = frontier.start, frontier.end
    begin_ns = time.perf_counter_ns()
    for fetch in fetches:
        start(fetch)
    for fetch in fetches:
        end(fetch)
    return (time.perf_counter_ns() - begin_ns) / len(fetches)


def drive(port: int) -> float:
    """Return the responses per second over SECONDS. Raises OSError when the server cannot be reached or hangs up."""
    length = response_length(port)
    selector = selectors.DefaultSelector()
    socks = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    try:
        missing = dict.fromkeys(socks, length)
        for sock in socks:
            selector.register(sock, selectors.EVENT_READ, sock)
            sock.sendall(REQUEST)
        answered, begin_s = 0, time.perf_counter()
        while (elapsed_s := time.perf_counter() - begin_s) < SECONDS:
            for key, _ in selector.select(1):
                sock = key.data
                data = sock.recv(65536)
                if not data:
                    raise ConnectionResetError("the server hung up")
                missing[sock] -= len(data)
                if missing[sock] <= 0:
                    missing[sock] = length
                    answered += 1
                    sock.sendall(REQUEST)
        return answered / elapsed_s
    finally:
        selector.close()
        for sock in socks:
            sock.close()


def response_length(port: int) -> int:
    """Return the size of one response: all bytes until the server closes, minus the header field for that."""
    closing = b"Connection: close\r\n"
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(REQUEST.removesuffix(b"\r\n") + closing + b"\r\n")
        response = b"".join(iter(lambda: sock.recv(65536), b""))
    return len(response.replace(closing, b"", 1))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["unit"]:
            print(unit_ns())
        case ["fetch"]:
            print(json.dumps(fetch_ns()))
        case ["server", port]:
            try:
                print(json.dumps({"per_s": drive(int(port))}))
            except OSError as error:
                sys.exit(f"the server was gone: {error}")
