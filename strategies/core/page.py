"""A fetch while it is in progress, and the page that it becomes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The address of one ``scheme://host:port``, and the bytes that its requests share.

    A frontier makes one of each, so they are compared by identity. A class with slots, because attributes of a named
    tuple take several times as long to read.
    """

    host: str
    port: int
    prefix: str
    """``http://host[:port]``, or with https: every URL of this origin begins with it, and the rest is the target."""
    prefix_length: int
    tail: str
    """The part of a request after its target."""


class Fetch:
    """One URL on its way: one request and its response, and the tries it took.

    Strategies read ``origin``, ``request`` and ``deadline_ns``; all else belongs to the frontier. A plain class with
    slots, because one is made for every URL and a frozen one would cost more than parsing the response.
    """

    __slots__ = (
        "admitted_ns",
        "content_type",
        "deadline_ns",
        "encoding",
        "error",
        "finished_ns",
        "next_url",
        "num_new_urls",
        "num_urls",
        "origin",
        "redirects_left",
        "size",
        "started_ns",
        "status",
        "tries",
        "url",
    )

    def __init__(self, url: str, origin: Origin, redirects_left: int, admitted_ns: int) -> None:
        """Admit ``url`` at ``admitted_ns``; nothing is sent yet."""
        self.url = url
        self.origin = origin
        self.redirects_left = redirects_left
        self.admitted_ns = admitted_ns
        self.finished_ns = 0
        self.tries = 0
        self.error: str | None = None
        self.next_url: str | None = None
        self.num_urls = 0
        self.num_new_urls = 0

    # Set when a try starts:
    started_ns: int
    deadline_ns: int
    # Set when the fetch is finished, whichever way:
    status: int | None
    content_type: str | None
    encoding: str | None
    size: int

    @property
    def request(self) -> bytes:
        """The whole request, ready to be sent."""
        url, origin = self.url, self.origin
        return f"GET {url[origin.prefix_length :]}{origin.tail}".encode("ascii")


@dataclass(frozen=True, slots=True)
class Page:
    """The result of one URL: one record for each URL that was fetched, whether it succeeded or failed.

    ``status`` is None when no try got a whole response; then ``error`` says why the last one did not. ``size`` is
    the length of the body in bytes. ``num_urls`` counts the different followable URLs that the page links to,
    ``num_new_urls`` those among them that nothing had linked to before. ``next_url`` is the target of a redirect: a
    normalised URL, or one of the other scheme (http or https) as it was sent, which is not followed.
    """

    url: str
    status: int | None
    next_url: str | None
    error: str | None
    size: int
    content_type: str | None
    encoding: str | None
    num_urls: int
    num_new_urls: int
    tries: int

    @classmethod
    def of(cls, fetch: Fetch) -> "Page":
        """Make the page of a finished fetch."""
        return cls(
            fetch.url,
            fetch.status,
            fetch.next_url,
            fetch.error,
            fetch.size,
            fetch.content_type,
            fetch.encoding,
            fetch.num_urls,
            fetch.num_new_urls,
            fetch.tries,
        )
