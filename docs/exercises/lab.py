"""What the checks of several exercises need: the local site, a fetch, and a fetch that counts."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from inflight.bench.measure.server import Server, running
from inflight.fake_server.site import SiteConfig

Fetch = Callable[[str], Awaitable[Any]]


class Wrong(Exception):  # noqa: N818
    """The answer is not right yet; the message says what it does."""


def need(condition: object, message: str) -> None:
    """Raise Wrong with the message unless the condition holds."""
    if not condition:
        raise Wrong(message)


@contextmanager
def local_site(config: SiteConfig) -> Iterator[Server]:
    """Serve a synthetic site on this machine."""
    with running(None) as server:
        server.configure(config)
        yield server


async def fetch(url: str) -> bytes:
    """Return the body of a page of the local site; the connection is closed in any case."""
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    reader, writer = await asyncio.open_connection(name, int(port))
    try:
        writer.write(f"GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        return (await reader.read()).partition(b"\r\n\r\n")[2]
    finally:
        writer.close()
        await turns(3)  # closing takes a moment, as it does with TLS


class Counted:
    """A fetch that counts: what was started, how many are open now, and how many were open at the most."""

    def __init__(self, fetch: Fetch) -> None:
        self.fetch = fetch
        self.started: list[str] = []
        self.open = 0
        self.peak = 0

    async def __call__(self, url: str) -> Any:
        """Fetch, and count."""
        self.started.append(url)
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            return await self.fetch(url)
        finally:
            self.open -= 1


async def turns(number: int) -> None:
    """Let the event loop run everything that is ready, a number of times."""
    for _ in range(number):
        await asyncio.sleep(0)


def descriptors() -> int:
    """Return how many files and sockets this process has open."""
    return len(os.listdir("/dev/fd"))  # noqa: PTH208  (only their number is wanted)
