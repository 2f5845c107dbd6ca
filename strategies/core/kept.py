"""Idle connections, put aside when the next fetch of their worker goes to another origin. No I/O.

A worker holds on to its connection from one fetch to the next. When the origin changes it puts the connection aside
here, and takes one that any worker has put aside for the new origin, if there is one. So at most as many connections to
one origin are open as there are workers, and at most ``MAX_KEPT`` more in all than there are workers.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from inflight.strategies.core.page import Origin

MAX_KEPT = 64
"""Maximum number of connections put aside; a crawl of many hosts would otherwise run out of descriptors."""

T = TypeVar("T")


class Kept(Generic[T]):
    """The connections put aside, the newest last; at most ``most``, where a model has several of these."""

    def __init__(self, most: int = MAX_KEPT) -> None:
        self._most = most
        self._connections: list[tuple[Origin, T]] = []

    def __iter__(self) -> Iterator[T]:
        """Iterate over all connections, to close them."""
        return (connection for _, connection in self._connections)

    def put(self, origin: Origin, connection: T) -> T | None:
        """Put a connection aside; return the one to close for it, if any."""
        self._connections.append((origin, connection))
        return self._connections.pop(0)[1] if len(self._connections) > self._most else None

    def take(self, origin: Origin) -> T | None:
        """Remove and return the newest connection to an origin, if any."""
        for place in reversed(range(len(self._connections))):
            if self._connections[place][0] is origin:
                return self._connections.pop(place)[1]
        return None
