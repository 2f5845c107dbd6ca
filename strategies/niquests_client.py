"""The async session of niquests, on asyncio: urllib3-future's pool and its own HTTP/1.1, which parses in Python.

Installing niquests puts urllib3-future in the place of urllib3, for the whole environment. So it has an extra of its
own, and the strategies of urllib3 and requests refuse to run beside it.
"""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import niquests
from niquests.packages.urllib3.exceptions import HTTPError, IncompleteRead, InvalidChunkLength, NameResolutionError
from niquests.packages.urllib3.util import SKIP_HEADER

from inflight.strategies.client import (
    Answer,
    ClosedEarlyError,
    Errors,
    Frontier,
    Job,
    ProtocolError,
    TooLargeError,
    check_header,
    crawl_in_tasks,
    in_latin_1,
    read_async,
    request_headers,
)

STACK: Literal["shared", "own"] = "own"
REQUIRES: tuple[str, ...] = ("niquests",)
GROUP = "clients"

PIECE_BYTES = 64 * 1024
ERRORS: Errors = {
    NameResolutionError: socket.gaierror,
    InvalidChunkLength: ProtocolError,
    IncompleteRead: ClosedEarlyError,
    HTTPError: ProtocolError,
    niquests.RequestException: ProtocolError,
    RecursionError: TooLargeError,  # it calls itself once more for each interim response
}


class Session(niquests.AsyncSession):  # type: ignore[misc]  # it need not be installed
    """A session that does not prepare the next request of a redirect that it does not follow."""

    def get_redirect_target(self, _response: object) -> None:
        """Say that no response is a redirect."""
        return


def crawl(job: Job, frontier: Frontier) -> None:
    """Crawl in worker tasks that share one session."""
    crawl_in_tasks(job, frontier, open_client, get, ERRORS)


@asynccontextmanager
async def open_client(job: Job) -> AsyncIterator[niquests.AsyncSession]:
    """Open a session that does no more than the job says."""
    async with Session(
        pool_maxsize=job.max_in_flight,
        retries=False,
        disable_http2=True,
        disable_http3=True,
        keepalive_delay=None,  # no task that pings idle connections
        keepalive_idle_window=None,
        allow_incoming_cookies=False,
        # The driver has a timeout for the whole fetch; this one is instead of 30 s.
        timeout=job.timeout_ns / 1e9,
        headers=request_headers(job) | {"Accept-Encoding": SKIP_HEADER},
    ) as session:
        session.trust_env = False  # no proxies, no .netrc
        session.verify = job.ca or True
        yield session


async def get(session: niquests.AsyncSession, url: str, job: Job) -> Answer:
    """Fetch one URL; the body is streamed, because it is decoded otherwise."""
    response = await session.get(url, stream=True, allow_redirects=False)
    try:
        headers = response.headers
        check_header(response.reason, response.raw.headers.items(), job)
        body = await read_async(await response.iter_raw(PIECE_BYTES), job)
        return Answer(response.status_code, headers.get("Content-Type"), in_latin_1(headers.get("Location")), body)
    finally:
        await response.close()
