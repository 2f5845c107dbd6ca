"""The site as a pure function: Site(config).page(n) is the expected result of fetching page n."""

from dataclasses import dataclass

from inflight.fake_server.config import SiteConfig
from inflight.fake_server.delays import parse_delay
from inflight.fake_server.draws import integer, stream, unit
from inflight.fake_server.faults import pick_fault
from inflight.fake_server.graph import Graph, Kind

__all__ = ["NOT_FOUND_BODY", "Kind", "PageSpec", "Site", "SiteConfig"]

FIRST_LAP, END_LAP = 100_000, 1_000_000
"""The laps of an endless site: their numbers all have six digits, so that all pages of a residue have one length."""
HTML = "text/html; charset=utf-8"
OTHER_TYPES = ("text/plain; charset=utf-8", "application/octet-stream")
REDIRECT_STATUSES = (301, 302, 303, 307, 308)
# Links under /trap lead nowhere: a crawler that asks for one has read what it must not read.
NOT_FOUND_BODY = b'<!doctype html>\n<title>Not found</title>\n<p>No <a href="/trap/404">such</a> page.\n'
ERROR_BODY = b'<!doctype html>\n<title>Server error</title>\n<p>Broken <a href="/trap/500">on purpose</a>.\n'
_WORDS = b"the quick brown fox jumps over the lazy dog while five boxing wizards wait for their turn "
_FILLER = _WORDS * 700


@dataclass(frozen=True, slots=True)
class PageSpec:
    """What the server answers for one page. `links` are those in the body sent: an error-500 page has none.

    `body_bytes` is the length of that body when no fault cuts it. `location` is a path, for redirects only.
    """

    number: int
    path: str
    kind: Kind
    status: int
    content_type: str
    body_bytes: int
    location: str | None
    links: tuple[int, ...]
    fault: str | None
    delay_ns: int


class Site:
    """All pages of one config, computed on demand: ten million pages need no memory."""

    def __init__(self, config: SiteConfig) -> None:
        self.config = config
        self.graph = Graph(config)
        self._delay = parse_delay(config.delay)
        self._draw_delay = stream(config.seed, "delay")
        self._draw_size = stream(config.seed, "size")
        self._draw_fault = stream(config.seed, "fault")
        self._draw_status = stream(config.seed, "status")

    @property
    def first(self) -> int:
        """Number of the first page: 0, except in an endless site, whose numbers all have the same length."""
        return FIRST_LAP * self.config.pages if self.config.endless else 0

    @property
    def end(self) -> int:
        """Number of the last page plus 1."""
        return END_LAP * self.config.pages if self.config.endless else self.config.pages

    def url_path(self, n: int) -> str:
        """Return the path of page n."""
        return f"/p/{n}" if n else "/"

    def number(self, path: str) -> int | None:
        """Return the number of the page at a path, or None: each page has exactly one path."""
        if path == "/":
            return None if self.config.endless else 0
        digits = path[3:]
        if not (path.startswith("/p/") and digits.isascii() and digits.isdigit() and len(digits) < 20):
            return None
        n = int(digits)
        return n if max(1, self.first) <= n < self.end and digits[0] != "0" else None

    def page(self, n: int) -> PageSpec:
        """Return the expected result of fetching page n. Raises IndexError if there is no page n."""
        return self._draw(n)[0]

    def body(self, n: int) -> bytes:
        """Return the body of page n, complete, whatever its fault."""
        return self.render(n)[1]

    def render(self, n: int) -> tuple[PageSpec, bytes]:
        """Return page and body, computed together."""
        page, start = self._draw(n)
        return page, start + _filler(page.body_bytes - len(start))

    def _draw(self, n: int) -> tuple[PageSpec, bytes]:
        """Return the page and its body without the filler."""
        if not self.first <= n < self.end:
            raise IndexError(f"the site has pages {self.first} to {self.end - 1}, not {n}")
        kind = self.graph.kind(n % self.config.pages)
        if kind == "missing":
            return self._spec(n, kind, 404, HTML, len(NOT_FOUND_BODY)), NOT_FOUND_BODY
        if kind == "redirect":
            return self._redirect(n)
        if self._fault(n) == "error-500":
            return self._spec(n, kind, 500, HTML, len(ERROR_BODY), fault="error-500"), ERROR_BODY
        return self._html(n) if kind == "html" else self._other(n)

    def _html(self, n: int) -> tuple[PageSpec, bytes]:
        links = self._links(n)
        items = [f'<li><a href="/p/{m}">{m}</a>\n' if m else '<li><a href="/">0</a>\n' for m in links]
        start = f"<!doctype html>\n<title>Page {n}</title>\n<ul>\n{''.join(items)}</ul>\n<p>".encode()
        size = max(self._size(n), len(start))
        return self._spec(n, "html", 200, HTML, size, links=links, fault=self._fault(n)), start

    def _links(self, n: int) -> tuple[int, ...]:
        """Return the links of html page n.

        In an endless site the first one leads to the same page of the next lap, and no other page does; the rest stay
        in the lap. So each page has one link that is new, and a crawl that begins with n pages always has n to fetch.
        """
        if not self.config.endless:
            return self.graph.links(n)
        residue = n % self.config.pages
        return (n + self.config.pages, *(n - residue + m for m in self.graph.links(residue)[1:]))

    def _other(self, n: int) -> tuple[PageSpec, bytes]:
        start = f'Page {n} is no html, so <a href="/trap/{n}">this</a> is no link. '.encode()
        size = max(self._size(n), len(start))
        return self._spec(n, "other", 200, OTHER_TYPES[n % 2], size, fault=self._fault(n)), start

    def _redirect(self, n: int) -> tuple[PageSpec, bytes]:
        location = self.url_path(self.graph.next_hop(n))
        body = f'<!doctype html>\n<title>Moved</title>\nSee <a href="{location}">{location}</a>.\n'.encode()
        status = REDIRECT_STATUSES[integer(self._draw_status, n) % len(REDIRECT_STATUSES)]
        return self._spec(n, "redirect", status, HTML, len(body), location=location), body

    def _spec(
        self,
        n: int,
        kind: Kind,
        status: int,
        content_type: str,
        body_bytes: int,
        location: str | None = None,
        links: tuple[int, ...] = (),
        fault: str | None = None,
    ) -> PageSpec:
        delay_ns = self._delay.delay_ns(unit(self._draw_delay, n % self.config.pages))
        path = self.url_path(n)
        return PageSpec(n, path, kind, status, content_type, body_bytes, location, links, fault, delay_ns)

    def _size(self, n: int) -> int:
        spread = self.config.body_spread
        if not spread:
            return self.config.body_bytes
        return round(self.config.body_bytes * (1 + spread * (2 * unit(self._draw_size, n % self.config.pages) - 1)))

    def _fault(self, n: int) -> str | None:
        faults = self.config.faults
        return pick_fault(unit(self._draw_fault, n), faults) if faults and n else None


def _filler(size: int) -> bytes:
    return _FILLER[:size] if size <= len(_FILLER) else (_FILLER * (size // len(_FILLER) + 1))[:size]
