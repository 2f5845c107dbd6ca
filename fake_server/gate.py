"""A gate holds responses and counts requests."""

from itertools import islice
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    import ssl

    from inflight.fake_server.connection import Connection
    from inflight.fake_server.requests import Job
    from inflight.fake_server.timers import Timers

_RELEASED_AT_ONCE = 256


class Jobs(Protocol):
    """Jobs for plain GET requests on kept connections, by request target."""

    def get(self, target: bytes, /) -> "Job | None":
        """Return the job; None for a target that needs full parsing."""


class Gate:
    """State that the connections of one port, or of all ports, share. The hot path reads and writes its attributes.

    ``requests`` counts the requests received since the gate was made. A client with kept connections and a constant
    number in flight sends a request when it has finished a page, so the count follows its pages without delay.
    """

    def __init__(
        self, jobs: Jobs, loop: "asyncio.AbstractEventLoop", timers: "Timers", context: "ssl.SSLContext | None" = None
    ) -> None:
        self.jobs = jobs
        self.context = context  # of its ports, if they are of https
        self.known: set[bytes] = set()  # bytes after the target of parsed requests; see RequestReader
        self.holding = False
        self.releasing = False
        self.keep = 0
        self.held: dict[Connection, None] = {}  # in the order in which they will be answered
        self.requests = 0
        self._loop = loop
        self._timers = timers

    def hold(self) -> None:
        """Hold every response, after its own delay, until release."""
        self.holding, self.releasing = True, False

    def release(self, keep: int = 0) -> None:
        """Answer the held requests, a few hundred per turn of the loop, so that others are served meanwhile.

        With ``keep``, the gate stays shut and keeps that many of the last requests.
        """
        self.holding, self.releasing, self.keep = keep > 0, True, keep
        self._release_some()

    def release_over(self, duration_ns: int) -> None:
        """Open the gate; answer the held requests evenly over a time, so that they do not all wake up at once."""
        self.holding = self.releasing = False
        step_ns = duration_ns // max(1, len(self.held))
        for place, connection in enumerate(self.held):
            self._timers.after(place * step_ns, connection)
        self.held.clear()

    def reading(self) -> dict[str, int]:
        """Return the counts of received and held requests."""
        return {"requests": self.requests, "held": len(self.held)}

    def _release_some(self) -> None:
        if not self.releasing:
            return
        for connection in list(islice(self.held, min(_RELEASED_AT_ONCE, max(0, len(self.held) - self.keep)))):
            del self.held[connection]
            connection.released()
        if len(self.held) > self.keep:
            self._loop.call_soon(self._release_some)
        else:
            self.releasing = False
