"""The async client of httpx, on asyncio: httpcore's pool and h11, which parses in Python."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Literal

import httpx

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
from inflight.strategies.core.kept import MAX_KEPT

STACK: Literal["shared", "own"] = "own"
REQUIRES: tuple[str, ...] = ("httpx",)
TLS_BYTES_EACH = 310_000
GROUP = "clients"


def broken_or_malformed(error: Exception) -> ProtocolError:
    """Return what a RemoteProtocolError means: httpx has one class for both, and only the words differ."""
    is_closed = "disconnected" in str(error) or "closed connection" in str(error)
    return ClosedEarlyError(str(error)) if is_closed else ProtocolError(str(error))


ERRORS: Errors = {
    httpx.RemoteProtocolError: broken_or_malformed,
    httpx.NetworkError: ClosedEarlyError,
    httpx.HTTPError: ProtocolError,
    httpx.InvalidURL: ProtocolError,
    ValueError: ProtocolError,  # httpx lets it through where it parses a Location that it does not follow
}


def crawl(job: Job, frontier: Frontier) -> None:
    """Crawl in worker tasks that share one client."""
    crawl_in_tasks(job, frontier, open_client, get, ERRORS)


@asynccontextmanager
async def open_client(job: Job) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client that does no more than the job says."""
    most = job.max_in_flight + MAX_KEPT  # at the limit, the pool closes connections to other origins
    limits = httpx.Limits(
        max_connections=most,
        max_keepalive_connections=most if job.connection == "keep-alive" else 0,  # instead of 20
        keepalive_expiry=None,  # instead of 5 s
    )
    async with httpx.AsyncClient(
        limits=limits,
        timeout=None,  # noqa: S113  (the driver has one for the whole fetch)
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        trust_env=False,  # no proxies, no .netrc
        verify=job.tls_context() or False,  # plain http: it need not load certificates
        headers=request_headers(job),
    ) as client:
        del client.headers["Accept-Encoding"]
        if job.connection == "keep-alive":
            del client.headers["Connection"]
        yield client


async def get(client: httpx.AsyncClient, url: str, job: Job) -> Answer:
    """Fetch one URL; the body is streamed, because it is decoded otherwise."""
    async with client.stream("GET", url) as response:
        headers = response.headers
        check_header(response.reason_phrase, headers.raw, job)
        body = await read_async(response.aiter_raw(), job)
        location = headers.get("Location", "").encode(headers.encoding) or None
        return Answer(response.status_code, headers.get("Content-Type"), location, body)
