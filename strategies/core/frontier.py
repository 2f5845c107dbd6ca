"""The rules of the crawl, the same for every model: URLs seen, in flight, and to fetch next.

The frontier does no I/O, takes no lock and never waits. A strategy that calls it from several threads guards it
itself; that is part of what the model costs.

Every fetch that is admitted ends in one of four ways: a result (any status), a redirect (its target is admitted when
unseen), a retry (the same fetch is handed out again), or a failure (its tries are used up, or no try can help).

- A crawl follows the ``href`` values of ``text/html`` and ``application/xml`` bodies with status 200 (see ``links``).
- A URL is followed if its host is the host of a root. A strict comparison ignores only a leading ``www.``; a lenient
  one compares the last two labels. IP addresses must match exactly. URLs that match ``exclude`` are left out.
- A redirect is followed if its target is unseen, up to ``max_redirects`` in a chain.
- Network errors are retried up to ``max_tries``. A response that is malformed or beyond its bound is not, nor is a
  certificate that was refused or an answer that is not TLS: another try would get the same. HTTP errors are results.
- What is not followed is counted with its reason (``not_followed``).
"""

import errno
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from inflight.strategies.core.http1 import (
    LINKED_TYPES,
    ClosedEarlyError,
    ProtocolError,
    Response,
    request_tail,
)
from inflight.strategies.core.links import (
    DEFAULT_PORTS,
    PLAIN_PATH,
    HostRule,
    host_of,
    join,
    normalise,
    resolve,
    why_no_url,
)
from inflight.strategies.core.page import Fetch, Origin, Page

if TYPE_CHECKING:
    from inflight.strategies.base import Job
    from inflight.strategies.core.lag import Timer

REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})

MAX_ERROR_LENGTH = 200
"""Maximum number of characters in a record's error: messages quote what the peer sent, which may be long."""

_ERROR_KINDS = {
    "gaierror": "unknown host",
    "TimeoutError": "timeout",
    "ConnectionRefusedError": "connection refused",
    "ConnectionResetError": "connection reset",
    "BrokenPipeError": "connection reset",
    "ClosedEarlyError": "closed early",
    "TooLargeError": "too large",
    "ProtocolError": "malformed response",
    "SSLCertVerificationError": "certificate refused",
    "SSLEOFError": "closed early",
    "SSLError": "TLS error",
}
_LASTING = frozenset({"certificate refused", "TLS error"})
"""Kinds of errors of the system's class OSError that another try would get again."""
_CONTEXT_FREE = re.compile(rb"/(?!/)[!-~]*")


class Frontier:
    """Hand out each URL once, and collect its result.

    ``in_flight`` counts the fetches started and not yet finished, ``peak_in_flight`` the most there ever were;
    ``finished`` holds them with their timestamps (nanoseconds of ``clock``), in the order in which they ended.
    """

    timer: "Timer | None" = None
    """The timer by which the lag of an event loop is measured; None: it is not measured."""

    def __init__(self, job: "Job", clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self.in_flight = 0
        self.peak_in_flight = 0
        self.finished: list[Fetch] = []
        self._clock = clock
        self._timeout_ns = job.timeout_ns
        self._max_redirects = job.max_redirects
        self._max_tries = job.max_tries
        self._keep_alive = job.connection == "keep-alive"
        self._exclude = re.compile(job.exclude) if job.exclude else None
        self._roots = tuple(_root(url) for url in job.roots)
        if len({url[: url.index("/")] for url in self._roots}) > 1:
            raise ValueError("the roots of a crawl must be all http or all https")
        self._hosts = HostRule(self._roots, strict=job.strict)
        self._seen: set[str] = set()
        self._origins: dict[str, Origin] = {}
        self._known_links: dict[str, KnownLinks] = {}
        self._left_links: dict[str, str] = {}
        self._left_redirects: dict[str, str] = {}

    @property
    def done(self) -> bool:
        """Whether all admitted URLs are finished."""
        return len(self.finished) == len(self._seen)

    def roots(self) -> list[Fetch]:
        """Admit the root URLs; call once, before anything else."""
        self._seen.update(self._roots)
        return self._admit(dict.fromkeys(self._roots), self._max_redirects, self._clock())

    def start(self, fetch: Fetch) -> None:
        """Record that a try starts now; its deadline is ``fetch.deadline_ns``."""
        now = self._clock()
        fetch.started_ns = now
        fetch.deadline_ns = now + self._timeout_ns
        fetch.tries += 1
        self.in_flight += 1
        if self.in_flight > self.peak_in_flight:  # noqa: PLR1730  (max() would be a third of what measuring costs)
            self.peak_in_flight = self.in_flight

    def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
        """Record a complete response; return the new fetches that follow from it."""
        now = self._clock()
        fetch.status, fetch.content_type, fetch.encoding, location, fetch.size, links, _ = response
        self._end(fetch, now)
        if links:
            return self._follow_links(fetch, links, now)
        if location is not None and fetch.status in REDIRECTS:
            return self._follow_redirect(fetch, location, now)
        return ()

    def fail(self, fetch: Fetch, error: OSError | ProtocolError) -> Sequence[Fetch]:
        """Record a failed try; return the same fetch if it is to be tried again."""
        is_curable = isinstance(error, OSError | ClosedEarlyError) and _kind(error) not in _LASTING
        if is_curable and fetch.tries < self._max_tries and not fetch.finished_ns:
            self.in_flight -= 1
            return (fetch,)
        fetch.error = describe(error)
        fetch.status = fetch.content_type = fetch.encoding = None
        fetch.size = 0
        self._end(fetch, self._clock())
        return ()

    def pages(self) -> list[Page]:
        """Return the record of every finished URL."""
        return [Page.of(fetch) for fetch in self.finished]

    def not_followed(self) -> dict[str, int]:
        """Count what the crawl came to and did not follow: ``{"https link": 3, "image/png page": 1}``.

        Links are counted once for each target. Pages are those that were not searched for links because of their type.
        """
        counts = Counter(f"{why} link" for why in self._left_links.values())
        counts.update(f"{why} redirect" for why in self._left_redirects.values())
        for fetch in self.finished:
            if fetch.status == 200 and fetch.content_type not in LINKED_TYPES:
                counts[f"{fetch.content_type or 'untyped'} page"] += 1
            elif fetch.status in REDIRECTS and fetch.next_url is None and fetch.url not in self._left_redirects:
                counts["targetless redirect"] += 1
        return dict(counts.most_common())

    def _end(self, fetch: Fetch, now: int) -> None:
        if fetch.finished_ns:
            raise RuntimeError(f"{fetch.url} was finished twice")
        fetch.finished_ns = now
        self.in_flight -= 1
        self.finished.append(fetch)

    def _follow_links(self, page: Fetch, links: list[bytes], now: int) -> Sequence[Fetch]:
        """Return a fetch for each new URL that the page links to, in the order of its links.

        Pages repeat their links. Two operations on sets find the few that are not known, and the loop is for those.
        """
        prefix, seen, exclude = page.origin.prefix, self._seen, self._exclude
        known = self._known_links.get(prefix)
        if known is None:
            known = self._known_links[prefix] = KnownLinks(set(), {})
        hrefs = set(links)
        unknown = hrefs - known.paths
        page.num_urls = len(hrefs)
        if not unknown:
            return ()
        new: list[Fetch] = []
        others: set[str] = set()
        plain = True
        for href in unknown if len(unknown) == 1 else filter(unknown.__contains__, dict.fromkeys(links)):
            if PLAIN_PATH.fullmatch(href) and not (exclude and exclude.search(prefix + href.decode("ascii"))):
                known.paths.add(href)
                url, origin = prefix + href.decode("ascii"), page.origin
            else:
                plain = False
                other = self._other_url(page, href, known.others)
                if other is None:
                    continue
                others.add(other)
                url, origin = other, self._origin(other)
            if url not in seen:
                seen.add(url)
                new.append(Fetch(url, origin, self._max_redirects, now))
        if not plain:
            page.num_urls = len(others.union(prefix + path.decode("ascii") for path in hrefs & known.paths))
        page.num_new_urls = len(new)
        return new

    def _other_url(self, page: Fetch, href: bytes, known: dict[bytes, str | None]) -> str | None:
        """Return the URL of a link that is no plain path, or that the exclude pattern matches; None: not followed."""
        if href in known:
            return known[href]
        url = resolve(page.url, href, page.encoding)
        if url is None:
            text = href.decode("latin-1")
            self._left_links[text] = why_no_url(page.url, text)
        elif why := self._obstacle(url):
            self._left_links[url] = why
            url = None
        if _CONTEXT_FREE.fullmatch(href):
            known[href] = url
        return url

    def _follow_redirect(self, fetch: Fetch, location: str, now: int) -> Sequence[Fetch]:
        target = join(fetch.url, location)
        fetch.next_url = target
        why = why_no_url(fetch.url, location) if target is None else self._obstacle(target)
        if why in DEFAULT_PORTS:
            fetch.next_url = location
        if why:
            self._left_redirects[fetch.url] = why
        if target is None or why or target in self._seen:
            return ()
        if fetch.redirects_left == 0:
            fetch.error = "redirect limit reached"
            return ()
        self._seen.add(target)
        return self._admit((target,), fetch.redirects_left - 1, now)

    def _admit(self, urls: Iterable[str], redirects_left: int, now: int) -> list[Fetch]:
        return [Fetch(url, self._origin(url), redirects_left, now) for url in urls]

    def _obstacle(self, url: str) -> str:
        """Return in a word why a URL is not followed; empty if it is."""
        if self._exclude is not None and self._exclude.search(url):
            return "excluded"
        return "" if self._hosts.allows(self._origin(url).host) else "other-host"

    def _origin(self, url: str) -> Origin:
        prefix = url[: url.index("/", len("https://"))]
        origin = self._origins.get(prefix)
        if origin is None:
            scheme, _, authority = prefix.partition("://")
            port = urlsplit(prefix).port
            if port is None:
                port = DEFAULT_PORTS[scheme]
            tail = request_tail(authority, keep_alive=self._keep_alive)
            origin = self._origins[prefix] = Origin(host_of(url), port, prefix, len(prefix), tail)
        return origin


class KnownLinks(NamedTuple):
    """The ``href`` values on the pages of one origin that mean the same on each of them."""

    paths: set[bytes]
    """Plain paths that are followed. Each is the path of another URL, so their number is the number of URLs."""
    others: dict[bytes, str | None]
    """Other absolute paths in ASCII, with their URLs; None: not followed."""


def describe(error: OSError | ProtocolError) -> str:
    """Return the kind of error and its details after a colon; the kinds are the same for every model.

    Why a certificate was refused is known only from libraries that raise the error of ``ssl``.
    """
    kind = _kind(error)
    if isinstance(error, OSError):
        details = getattr(error, "verify_message", "")
        if kind == "network error":
            details = errno.errorcode.get(error.errno or 0, "")
        return f"{kind}: {details}"[:MAX_ERROR_LENGTH] if details else kind
    return kind if isinstance(error, ClosedEarlyError) else f"{kind}: {error}"[:MAX_ERROR_LENGTH]


def _kind(error: OSError | ProtocolError) -> str:
    """Return the kind of an error by the names of its classes: ``ssl`` is imported in crawls of https only."""
    for cls in type(error).__mro__:
        if kind := _ERROR_KINDS.get(cls.__name__):
            return kind
    return "network error"


def _root(url: str) -> str:
    normal = normalise(url)
    if normal is None:
        raise ValueError(f"{url!r} is not an http or https URL")
    return normal
