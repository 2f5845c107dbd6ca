"""urllib3, as we use it."""

from http.client import IncompleteRead

import urllib3
from urllib3.exceptions import HTTPError, InvalidChunkLength

from inflight.strategies import client as driver

STACK = "own"
REQUIRES = ("urllib3",)
THREADS_EACH = 1


def cut_or_malformed(error):
    is_cut = "ended prematurely" in str(error)
    return driver.ClosedEarlyError(str(error)) if is_cut else driver.ProtocolError(str(error))


ERRORS = {
    InvalidChunkLength: driver.ProtocolError,
    IncompleteRead: driver.ClosedEarlyError,
    HTTPError: cut_or_malformed,
}


def crawl(job, frontier):
    driver.crawl_in_threads(job, frontier, open_client, get, ERRORS)


def open_client(job):
    headers = {**driver.request_headers(job), "Accept-Encoding": urllib3.util.SKIP_HEADER}
    return urllib3.PoolManager(
        headers=headers, retries=False, timeout=job.timeout_ns / 1e9, ssl_context=job.tls_context()
    )


def get(pool, url, job):
    with pool.request("GET", url, redirect=False, preload_content=False, decode_content=False) as response:
        driver.check_header(response.reason, response.headers.items(), job)
        if response.status in driver.NO_BODY:  # urllib3 would wait for chunks, if a field speaks of them
            body = b""
            response.release_conn()
        else:
            body = driver.read(response.stream(65536, decode_content=False), job)
        location = driver.in_latin_1(response.headers.get("Location"))
        answer = driver.Answer(response.status, response.headers.get("Content-Type"), location, body)
    if job.connection == "per-fetch":
        pool.clear()
    return answer
