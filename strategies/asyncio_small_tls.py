"""Native coroutines on asyncio's streams, with a buffer of 16 KiB instead of 256 KiB for each connection over TLS."""

import asyncio.sslproto
from typing import Literal

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.native_asyncio import crawl as crawl_with_streams

STACK: Literal["shared", "own"] = "shared"
REQUIRES: tuple[str, ...] = ()
GROUP = "asyncio"
VARIANT_OF = "native_asyncio"

BUFFER_BYTES = 16 * 1024
"""A whole record (RFC 8446, section 5.1), so no read is cut in two. SSLProtocol allocates so much per connection, and
fills it with zeros. The name is private to CPython, which has it from 3.11 on."""


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl of ``native_asyncio`` with the smaller buffer."""
    usual = asyncio.sslproto.SSLProtocol.max_size
    asyncio.sslproto.SSLProtocol.max_size = BUFFER_BYTES
    try:
        crawl_with_streams(job, frontier)
    finally:
        asyncio.sslproto.SSLProtocol.max_size = usual
