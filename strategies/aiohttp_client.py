"""The aiohttp client on asyncio: what most people deploy; its own HTTP stack, the same rules of the crawl."""

import asyncio
from typing import Literal

import aiohttp
from yarl import URL

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import (
    USER_AGENT,
    ClosedEarlyError,
    ProtocolError,
    Response,
    TooLargeError,
    make_response,
)
from inflight.strategies.core.page import Fetch
from inflight.strategies.core.work import consume

STACK: Literal["shared", "own"] = "own"
REQUIRES: tuple[str, ...] = ("aiohttp",)


def crawl(job: Job, frontier: Frontier) -> None:
    """Run the crawl in an event loop of its own."""
    asyncio.run(main(job, frontier))


async def main(job: Job, frontier: Frontier) -> None:
    """Start all workers at once, wait until the queue is finished, cancel the workers."""
    queue: asyncio.Queue[Fetch] = asyncio.Queue()
    for fetch in frontier.roots():
        queue.put_nowait(fetch)
    async with make_session(job) as session, asyncio.TaskGroup() as group:
        workers = [group.create_task(work(job, frontier, queue, session)) for _ in range(job.max_in_flight)]
        await queue.join()
        for worker in workers:
            worker.cancel()


def make_session(job: Job) -> aiohttp.ClientSession:
    """Return a session that does no more than the job says: no cookies, no decoding, no limit but the workers."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=job.connection == "per-fetch", happy_eyeballs_delay=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=job.timeout_ns / 1e9),
        headers={"User-Agent": USER_AGENT},
        skip_auto_headers=("Accept-Encoding",),
        auto_decompress=False,
        max_line_size=job.max_header_bytes,
        max_field_size=job.max_header_bytes,
    )


async def work(job: Job, frontier: Frontier, queue: "asyncio.Queue[Fetch]", session: aiohttp.ClientSession) -> None:
    """Fetch one URL after another until cancelled."""
    while True:
        fetch = await queue.get()
        frontier.start(fetch)
        try:
            response = await get(session, fetch, job.max_body_bytes)
        except (OSError, ProtocolError) as error:
            found = frontier.fail(fetch, error)
        else:
            consume(job)
            found = frontier.finish(fetch, response)
        for new in found:
            queue.put_nowait(new)
        queue.task_done()


async def get(session: aiohttp.ClientSession, fetch: Fetch, max_body_bytes: int) -> Response:
    """Make the request; map the library's errors to the crawl's. Raises OSError or ProtocolError."""
    try:
        async with session.get(URL(fetch.url, encoded=True), allow_redirects=False) as response:
            body = await read_body(response.content, length_of(response), max_body_bytes)
            headers = response.headers
            return make_response(
                response.status, headers.get("Content-Type"), headers.get("Location"), body, keep_alive=True
            )
    except aiohttp.ClientConnectorError as error:
        raise error.os_error from error
    except aiohttp.ClientOSError as error:  # made again from its number, it has the class that names its kind
        raise OSError(*error.args) from error
    except OSError:  # aiohttp's other connection errors and its timeouts are OSErrors too
        raise
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError) as error:
        raise ClosedEarlyError(str(error)) from error
    except aiohttp.ClientError as error:
        raise ProtocolError(str(error)) from error


def length_of(response: aiohttp.ClientResponse) -> int | None:
    """Return the body length that the response states. Raises ProtocolError when it has too many digits for int()."""
    try:
        return response.content_length
    except ValueError as error:
        raise ProtocolError("bad Content-Length") from error


async def read_body(content: aiohttp.StreamReader, length: int | None, limit_bytes: int) -> bytes:
    """Read to the end of the body, unless it is larger than the limit."""
    if length is not None and length <= limit_bytes:
        return await content.read()
    body = bytearray()
    async for data in content.iter_any():
        body += data
        if len(body) > limit_bytes:
            raise TooLargeError(f"body over {limit_bytes} bytes")
    return bytes(body)
