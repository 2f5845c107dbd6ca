"""A Locust user that browses the synthetic site: a client that shares no code with the strategies.

``locustfile`` offers it to users of plain Locust (PageUser), and ``arrivals`` sends its requests with it (SiteUser). It
sends requests with geventhttpclient, finds links with its own pattern, and judges answers by HTTP's rules, without
``inflight.strategies.core``. Its counts can therefore be compared with those of the server and of the strategies.

Importing this module imports Locust, which patches the process: only for processes of their own.
"""

import re
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any
from urllib.parse import urljoin, urlsplit

from gevent import Timeout
from geventhttpclient.client import HTTPClient, HTTPClientPool
from geventhttpclient.url import URL
from locust import FastHttpUser, constant, constant_throughput, task

PAGES_A_VISIT = 10
"""Maximum number of pages until a user begins at the root again."""
SEED = 1
"""Seed of the choice of links."""
NO_ENCODING = {"Accept-Encoding": "identity"}
"""Header that makes the body as long as its Content-Length."""
LINK = re.compile(rb"""<a\s[^>]*?href\s*=\s*["']([^"'#]*)""", re.IGNORECASE)
"""Matches a link in HTML."""
PAGE = re.compile(r"/p/\d+")
"""Matches the path of a page of the synthetic site."""
REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
"""Statuses whose response names another page."""
TIMED_OUT = "timed out"
"""The fault of a request without an answer in time."""
ANY_STATUS = frozenset(range(100, 600))
"""All statuses of HTTP."""


@dataclass(frozen=True, slots=True)
class PageResponse:
    """The outcome of one request."""

    status: int
    """0: no answer."""
    fault: str | None
    """Why this is a failure; None: it is a result."""
    body: bytes = b""
    location: str | None = None
    """The header Location, of a redirect."""

    def links(self, url: str) -> list[str]:
        """Return the linked paths on the same host: the target of a redirect, or the links of a page."""
        if self.fault is not None:
            return []
        links = [link.decode("utf-8", "replace") for link in LINK.findall(self.body)] if self.status == 200 else []
        if self.status in REDIRECTS:
            links = [] if self.location is None else [self.location]
        return [path for link in links if (path := path_on_host(url, link)) is not None]


def path_on_host(url: str, link: str) -> str | None:
    """Return the path of a link on this page; None where it is invalid or leads to another host."""
    try:
        here, there = urlsplit(url), urlsplit(urljoin(url, link))
    except ValueError:
        return None
    if (there.scheme, there.netloc) != (here.scheme, here.netloc):
        return None
    return (there.path or "/") + (f"?{there.query}" if there.query else "")


def name_of(path: str) -> str:
    """Return the entry of Locust's statistics for a path. There are only three, whatever the size of the site."""
    if path == "/":
        return path
    return "/p/[n]" if PAGE.fullmatch(path) else "other"


def fault_of(path: str, status: int, content_length: str | None, body_bytes: int) -> str | None:
    """Say what is wrong with an answer by the rules of HTTP; None where nothing is.

    A 404 is a result for ``/p/...``, where the site has missing pages on purpose, and a failure anywhere else. The
    texts do not contain the path, because each text is a line of Locust's table of failures.
    """
    if content_length is not None and content_length != str(body_bytes):
        return "the body is not as long as its Content-Length says"
    if 200 <= status < 400 or (status == 404 and name_of(path) == "/p/[n]"):
        return None
    return f"status {status}"


class OneTryPool(HTTPClientPool):
    """A pool of clients that never repeat a request.

    geventhttpclient repeats a request without an answer, up to the size of its pool plus one, and has no setting
    against it. A pool size of -1 prevents that; the queue and the semaphore of the pool keep their size.

    A kept connection that the server has closed is replaced before a request is sent on it: the pool checks whether it
    is readable. A connection that is closed after that check is a failure, as the server may have begun its work.
    """

    def get_client(self, url: str | URL) -> HTTPClient:
        """Return the client of a URL's host."""
        client = super().get_client(url)
        client._connection_pool.size = -1  # noqa: SLF001
        return client


class SiteUser(FastHttpUser):
    """A user that requests one page at a time on one connection. Subclasses choose the pages.

    Redirects are not followed: each answer is one request in the statistics, as in those of the server.
    """

    abstract = True
    host = "http://127.0.0.1:8080"
    concurrency = 1
    """Number of connections per user. It also bounds how often geventhttpclient repeats a request."""
    max_redirects = 0

    def __init__(self, environment: Any) -> None:
        self.host = (self.host or "").rstrip("/")
        super().__init__(environment)
        # At any other status, the client would drop the connection before the rest of the body has arrived.
        self.client.client.valid_response_codes = ANY_STATUS  # type: ignore[misc]

    def fetch(self, path: str) -> PageResponse:
        """Request a path, check the answer, and have Locust count it."""
        with self.client.get(path, name=name_of(path), headers=NO_ENCODING, catch_response=True) as response:
            broken = response.request_meta["exception"]
            if broken is not None:  # the body is not available, and some errors contain the URL
                cause = getattr(broken, "original", broken)
                late = isinstance(cause, TimeoutError | Timeout)
                fault = TIMED_OUT if late else f"{type(cause).__name__}: {cause}".removesuffix(": ")
                answer = PageResponse(response.status_code, fault)
            else:
                head, body = response.headers, response.content
                failure = fault_of(path, response.status_code, head.get("content-length"), len(body))
                answer = PageResponse(response.status_code, failure, body, head.get("location"))
            if answer.fault is not None:
                response.failure(answer.fault)
        return answer


class PageUser(SiteUser):
    """A user that reads the root, then unseen links at random, a few pages per visit, without pauses.

    After a redirect, its target is the next page. With ``--page-rate R``, a user starts at most R pages per second.
    """

    _numbers = count()
    """Number of each user of this process, so that each chooses other links."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        place = getattr(environment.runner, "worker_index", 0)
        self._draw = Random(f"{SEED}/{place}/{next(self._numbers)}")
        rate = getattr(environment.parsed_options, "page_rate", None) or 0
        self._pause = constant_throughput(rate) if rate > 0 else constant(0)
        self._seen: set[str] = set()
        self._next = "/"

    def wait_time(self) -> float:
        """Return how many seconds to wait before the next page."""
        return self._pause(self)

    @task
    def read_page(self) -> None:
        """Read one page, and choose the next."""
        path = self._next
        self._seen.add(path)
        answer = self.fetch(path)
        self._next = next_path(answer.links(f"{self.host}{path}"), self._seen, self._draw)
        if self._next == "/":
            self._seen.clear()


def next_path(links: list[str], seen: set[str], draw: Random) -> str:
    """Return an unseen link; the root when there is none, or after PAGES_A_VISIT pages."""
    unseen = sorted({link for link in links if link not in seen})
    return draw.choice(unseen) if unseen and len(seen) < PAGES_A_VISIT else "/"
