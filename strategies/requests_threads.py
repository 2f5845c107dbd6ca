"""requests in threads: blocking calls, each thread with a session of its own."""

from http.client import IncompleteRead
from http.cookiejar import DefaultCookiePolicy
from typing import Literal

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, InvalidChunkLength
from urllib3.util import SKIP_HEADER

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
REQUIRES: tuple[str, ...] = ("requests", "urllib3")
CONFLICTS: tuple[str, ...] = ("urllib3-future",)
GROUP = "clients"
THREADS_EACH = 1

PIECE_BYTES = 64 * 1024


def cut_or_malformed(error: Exception) -> ProtocolError:
    """Return what an HTTPError means: for chunks that are cut off, only the words differ."""
    is_cut = "ended prematurely" in str(error)
    return ClosedEarlyError(str(error)) if is_cut else ProtocolError(str(error))


ERRORS: Errors = {
    InvalidChunkLength: ProtocolError,
    IncompleteRead: ClosedEarlyError,
    HTTPError: cut_or_malformed,
    requests.RequestException: ProtocolError,
}


def crawl(job: Job, frontier: Frontier) -> None:
    """Crawl in threads with a session each: a session is not said to be safe to share."""
    crawl_in_threads(job, frontier, open_client, get, ERRORS)


class Session(requests.Session):
    """A session that does not prepare the next request of a redirect that it does not follow."""

    def get_redirect_target(self, _response: requests.Response) -> None:
        """Say that no response is a redirect."""
        return


def open_client(job: Job) -> requests.Session:
    """Return a session for one thread: one connection to each host (pool_maxsize), to at most 10 hosts."""
    session = Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=1, max_retries=0))
    session.verify = job.ca or True  # those of certifi if the job names none
    session.trust_env = False  # no proxies, no .netrc
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.headers.clear()
    session.headers.update(request_headers(job))
    session.headers["Accept-Encoding"] = SKIP_HEADER  # or http.client would add one
    return session


def get(session: requests.Session, url: str, job: Job) -> Answer:
    """Fetch one URL; the body is read from urllib3's response (``raw``), because requests decodes it."""
    with session.get(url, stream=True, allow_redirects=False, timeout=job.timeout_ns / 1e9) as response:
        headers = response.headers
        check_header(response.reason, response.raw.headers.items(), job)
        if response.status_code in NO_BODY:  # http.client would wait for chunks, if a field speaks of them
            body = b""
            response.raw.release_conn()
        else:
            body = read(response.raw.stream(PIECE_BYTES, decode_content=False), job)
        answer = Answer(response.status_code, headers.get("Content-Type"), in_latin_1(headers.get("Location")), body)
    if job.connection == "per-fetch":
        session.close()  # urllib3 would keep it until the server's end of it has been seen
    return answer
