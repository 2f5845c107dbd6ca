"""urllib3 in threads: blocking calls on http.client, each thread with a pool of its own."""

from contextlib import AbstractContextManager
from http.client import IncompleteRead
from typing import Literal

import urllib3
from urllib3.exceptions import HTTPError, InvalidChunkLength

from inflight.strategies.client import (
    NO_BODY,
    Answer,
    ClosedEarlyError,
    Errors,
    Frontier,
    Job,
    ProtocolError,
    check_header,
    crawl_in_threads,
    in_latin_1,
    read,
    request_headers,
)

STACK: Literal["shared", "own"] = "own"
REQUIRES: tuple[str, ...] = ("urllib3",)
CONFLICTS: tuple[str, ...] = ("urllib3-future",)
GROUP = "clients"
THREADS_EACH = 1

PIECE_BYTES = 64 * 1024


def cut_or_malformed(error: Exception) -> ProtocolError:
    """Return what an HTTPError means: for chunks that are cut off, only the words differ."""
    is_cut = "ended prematurely" in str(error)
    return ClosedEarlyError(str(error)) if is_cut else ProtocolError(str(error))


ERRORS: Errors = {InvalidChunkLength: ProtocolError, IncompleteRead: ClosedEarlyError, HTTPError: cut_or_malformed}


def crawl(job: Job, frontier: Frontier) -> None:
    """Crawl in threads with a pool manager each."""
    crawl_in_threads(job, frontier, open_client, get, ERRORS)


def open_client(job: Job) -> AbstractContextManager[urllib3.PoolManager]:
    """Return a pool manager for one thread: one connection to each host (maxsize), to at most 10 hosts."""
    headers = request_headers(job) | {"Accept-Encoding": urllib3.util.SKIP_HEADER}
    return urllib3.PoolManager(
        maxsize=1, headers=headers, retries=False, timeout=job.timeout_ns / 1e9, ssl_context=job.tls_context()
    )


def get(client: urllib3.PoolManager, url: str, job: Job) -> Answer:
    """Fetch one URL; the body is read as it was sent (``decode_content``)."""
    with client.request("GET", url, redirect=False, preload_content=False, decode_content=False) as response:
        headers = response.headers
        check_header(response.reason, headers.items(), job)
        if response.status in NO_BODY:  # http.client would wait for chunks, if a field speaks of them
            body = b""
            response.release_conn()
        else:
            body = read(response.stream(PIECE_BYTES, decode_content=False), job)
        answer = Answer(response.status, headers.get("Content-Type"), in_latin_1(headers.get("Location")), body)
    if job.connection == "per-fetch":
        client.clear()  # urllib3 would keep it until the server's end of it has been seen
    return answer
