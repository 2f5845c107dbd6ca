"""aiohttp, as we use it."""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
from yarl import URL

from inflight.strategies import client as driver

STACK = "own"
REQUIRES = ("aiohttp",)
ERRORS = {
    aiohttp.ServerDisconnectedError: driver.ClosedEarlyError,
    aiohttp.ClientPayloadError: driver.ClosedEarlyError,
    aiohttp.ClientError: driver.ProtocolError,
}


def crawl(job, frontier):
    driver.crawl_in_tasks(job, frontier, open_client, get, ERRORS)


@asynccontextmanager
async def open_client(job):
    # Happy eyeballs (RFC 8305) would try a second address after 0.25 s, while other clients still wait for the first.
    connector = aiohttp.TCPConnector(
        limit=0,
        force_close=job.connection == "per-fetch",
        happy_eyeballs_delay=None,
        ssl=job.tls_context() or True,
    )
    async with aiohttp.ClientSession(
        connector=connector,
        headers=driver.request_headers(job),
        skip_auto_headers=["Accept-Encoding"],
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        max_line_size=job.max_header_bytes,
        max_field_size=job.max_header_bytes,
    ) as session:
        yield session
    if job.is_https:
        await asyncio.sleep(0.25)  # for the servers' part of the close over TLS, as aiohttp recommends


async def get(session, url, job):
    async with session.get(URL(url, encoded=True), allow_redirects=False) as response:
        driver.check_header(response.reason, response.raw_headers, job)
        body = await driver.read_async(response.content.iter_any(), job)
        headers = response.headers
        return driver.Answer(response.status, headers.get("Content-Type"), headers.get("Location"), body)
