"""A Locust user that browses the synthetic site: the client that shares no code with the strategies.

Its requests are made by geventhttpclient, its links found by a pattern of its own, and what it believes of an answer is
what HTTP says: nothing of ``inflight.strategies.core``. So its counts can be held against those of server and
strategies.

Importing this imports Locust, which patches the whole process: for processes of their own only.
"""

import re
from collections.abc import Callable
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
SEED = 1
NO_ENCODING = {"Accept-Encoding": "identity"}
"""So that the length of a body is the length that its header says."""
LINK = re.compile(rb"""<a\s[^>]*?href\s*=\s*["']([^"'#]*)""", re.IGNORECASE)
PAGE = re.compile(r"/p/\d+")
REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
TIMED_OUT = "timed out"
ANY_STATUS = frozenset(range(100, 600))


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request."""

    status: int
    """0: no answer came."""
    fault: str | None
    """Why this is a failure; None: it is a result."""
    body: bytes = b""
    location: str | None = None

    def links(self, url: str) -> list[str]:
        """Return the paths on the same host that it leads to: of a redirect its target, of a page its links."""
        if self.fault is not None:
            return []
        if self.status in REDIRECTS:
            found = [] if self.location is None else [self.location]
        else:
            found = [link.decode("utf-8", "replace") for link in LINK.findall(self.body)] if self.status == 200 else []
        return [path for link in found if (path := path_on_host(url, link)) is not None]


def path_on_host(url: str, link: str) -> str | None:
    """Return the path that a link on this page means; None where it means nothing, or another host."""
    try:
        here, there = urlsplit(url), urlsplit(urljoin(url, link))
    except ValueError:
        return None
    if (there.scheme, there.netloc) != (here.scheme, here.netloc):
        return None
    return (there.path or "/") + (f"?{there.query}" if there.query else "")


def name_of(path: str) -> str:
    """Return the entry of Locust's statistics that a path belongs to: a handful for a site of any size."""
    if path == "/":
        return path
    return "/p/[n]" if PAGE.fullmatch(path) else "other"


def fault_of(path: str, status: int, content_length: str | None, body_bytes: int) -> str | None:
    """Say what is wrong with an answer by what HTTP says of it; None where nothing is.

    A 404 is a result where a site has pages that are missing on purpose, and a failure anywhere else. The sentences
    are few and the same for all pages: each becomes a line of Locust's table of failures.
    """
    if content_length is not None and content_length != str(body_bytes):
        return "the body is not as long as its Content-Length says"
    if 200 <= status < 400 or (status == 404 and name_of(path) == "/p/[n]"):
        return None
    return f"status {status}"


class OneTryClient(HTTPClient):
    """Sends a request once, whatever becomes of it.

    geventhttpclient sends what was not answered again, as often as its pool has room for connections and once more,
    and no setting forbids it. Here it finds that there is room for -1; queue and semaphore of the pool keep their size.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._connection_pool.size = -1


class OneTryPool(HTTPClientPool):
    """Has such a client for each host.

    A kept connection that the server has closed is replaced before anything is sent on it: the pool looks whether it is
    readable. One that is closed just then is a failure, because nobody knows whether the server began its work.
    """

    def get_client(self, url: str | URL) -> HTTPClient:
        """Return the client of a URL's host."""
        parts = url if isinstance(url, URL) else URL(url)
        key = parts.host, parts.port
        if key not in self.clients:
            self.clients[key] = OneTryClient.from_url(parts, **self.client_args)
        return self.clients[key]


class SiteUser(FastHttpUser):
    """Asks one page at a time, on one connection, and believes what HTTP says. What to ask for is a subclass's to say.

    Redirects are not followed: each answer is a request of its own in the statistics, as it is in the server's.
    """

    abstract = True
    host = "http://127.0.0.1:8080"
    concurrency = 1
    """One connection a user. It also bounds how often geventhttpclient repeats what a kept connection has lost."""
    max_redirects = 0

    def __init__(self, environment: Any) -> None:
        self.host = (self.host or "").rstrip("/")
        super().__init__(environment)
        # At a status that is not among these the client drops the connection before the rest of the body has come.
        self.client.client.valid_response_codes = ANY_STATUS  # type: ignore[misc]

    def fetch(self, path: str) -> Answer:
        """Request a path, see whether the answer is one, and have Locust count it."""
        with self.client.get(path, name=name_of(path), headers=NO_ENCODING, catch_response=True) as response:
            answer = _answer(path, response)
            if answer.fault is not None:
                response.failure(answer.fault)
        return answer


class PageUser(SiteUser):
    """Reads the root, then unseen links at random, a few pages a visit, one after the other without a pause.

    Where a page redirects, its target is the next page. With ``--page-rate R`` a user begins R pages a second at most.
    """

    _numbers = count()

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        place = getattr(environment.runner, "worker_index", 0)
        self._draw = Random(f"{SEED}/{place}/{next(self._numbers)}")
        self._pause = pause(environment.parsed_options)
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


def pause(options: Any) -> Callable[[Any], float]:
    """Return what says how long to wait between pages: not at all, or by the rate that the command line gives."""
    rate = getattr(options, "page_rate", None) or 0
    return constant_throughput(rate) if rate > 0 else constant(0)


def next_path(links: list[str], seen: set[str], draw: Random) -> str:
    """Return an unseen link, or the root when there is none, and after a few pages."""
    unseen = sorted({link for link in links if link not in seen})
    return draw.choice(unseen) if unseen and len(seen) < PAGES_A_VISIT else "/"


def _answer(path: str, response: Any) -> Answer:
    broken = response.request_meta["exception"]
    if broken is not None:  # whatever has come of the body has gone
        return Answer(response.status_code, _in_words(broken))
    length, location, body = response.headers.get("content-length"), response.headers.get("location"), response.content
    return Answer(response.status_code, fault_of(path, response.status_code, length, len(body)), body, location)


def _in_words(broken: Exception) -> str:
    """Name an error without the URL, which some of geventhttpclient's have in their text."""
    cause = getattr(broken, "original", broken)
    if isinstance(cause, TimeoutError | Timeout):
        return TIMED_OUT
    return f"{type(cause).__name__}: {cause}".removesuffix(": ")
