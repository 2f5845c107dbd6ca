"""The aiohttp client on asyncio: what most people deploy; its own HTTP stack, the same rules of the crawl."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import aiohttp
from yarl import URL

from inflight.strategies.client import (
    Answer,
    ClosedEarlyError,
    Errors,
    Frontier,
    Job,
    ProtocolError,
    check_header,
    crawl_in_tasks,
    read_async,
    request_headers,
)

STACK: Literal["shared", "own"] = "own"
REQUIRES: tuple[str, ...] = ("aiohttp",)
TLS_BYTES_EACH = 310_000

CLOSING_S = 0.25
"""How long the servers have for their part of the close over TLS, which the session does not wait for. It is the time
that the documentation of aiohttp recommends (Graceful Shutdown)."""

ERRORS: Errors = {
    aiohttp.ServerDisconnectedError: ClosedEarlyError,
    aiohttp.ClientPayloadError: ClosedEarlyError,
    aiohttp.ClientError: ProtocolError,
}


def crawl(job: Job, frontier: Frontier) -> None:
    """Crawl in worker tasks that share one session."""
    crawl_in_tasks(job, frontier, open_client, get, ERRORS)


@asynccontextmanager
async def open_client(job: Job) -> AsyncIterator[aiohttp.ClientSession]:
    """Open a session; over TLS, wait at the end."""
    async with make_session(job) as session:
        yield session
    if job.is_https:
        await asyncio.sleep(CLOSING_S)


def make_session(job: Job) -> aiohttp.ClientSession:
    """Return a session that does no more than the job says: no cookies, no decoding, no limit but the workers."""
    connector = aiohttp.TCPConnector(
        limit=0,
        force_close=job.connection == "per-fetch",
        happy_eyeballs_delay=None,
        ssl=job.tls_context() or True,
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),  # the driver has one for the whole fetch
        headers=request_headers(job),
        skip_auto_headers=("Accept-Encoding",),
        auto_decompress=False,
        max_line_size=job.max_header_bytes,
        max_field_size=job.max_header_bytes,
    )


async def get(session: aiohttp.ClientSession, url: str, job: Job) -> Answer:
    """Fetch one URL, which is in its normal form already (``encoded``)."""
    async with session.get(URL(url, encoded=True), allow_redirects=False) as response:
        headers = response.headers
        check_header(response.reason, response.raw_headers, job)
        return Answer(
            response.status, headers.get("Content-Type"), headers.get("Location"), await read_body(response, job)
        )


async def read_body(response: aiohttp.ClientResponse, job: Job) -> bytes:
    """Read to the end of the body: at once when its length is known and allowed. Raises ProtocolError."""
    try:
        length = response.content_length
    except ValueError as error:  # more digits than int() takes
        raise ProtocolError("bad Content-Length") from error
    if length is not None and length <= job.max_body_bytes:
        return await response.content.read()
    return await read_async(response.content.iter_any(), job)
