"""httpx, as we use it."""

from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from inflight.strategies import client as driver

STACK = "own"
REQUIRES = ("httpx",)


def cut_or_malformed(error):
    is_cut = "disconnected" in str(error) or "closed connection" in str(error)
    return driver.ClosedEarlyError(str(error)) if is_cut else driver.ProtocolError(str(error))


ERRORS = {
    httpx.RemoteProtocolError: cut_or_malformed,
    httpx.NetworkError: driver.ClosedEarlyError,
    httpx.HTTPError: driver.ProtocolError,
    httpx.InvalidURL: driver.ProtocolError,
    ValueError: driver.ProtocolError,
}


def crawl(job, frontier):
    driver.crawl_in_tasks(job, frontier, open_client, get, ERRORS)


@asynccontextmanager
async def open_client(job):
    is_kept = job.connection == "keep-alive"
    limits = httpx.Limits(
        max_connections=None,
        max_keepalive_connections=None if is_kept else 0,
        keepalive_expiry=None,
    )
    async with httpx.AsyncClient(
        limits=limits,
        timeout=None,
        trust_env=False,
        verify=job.tls_context() or False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers=driver.request_headers(job),
    ) as client:
        del client.headers["Accept-Encoding"]
        if is_kept:
            del client.headers["Connection"]
        yield client


async def get(client, url, job):
    async with client.stream("GET", url) as response:
        headers = response.headers
        driver.check_header(response.reason_phrase, headers.raw, job)
        body = await driver.read_async(response.aiter_raw(), job)
        location = headers.get("Location", "").encode(headers.encoding) or None
        return driver.Answer(response.status_code, headers.get("Content-Type"), location, body)
