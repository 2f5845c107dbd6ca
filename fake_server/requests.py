"""Parsing of requests: bytes in, jobs out, in order, including refusals.

Each part of a request has a maximum size. Target and body have their own limits; the header limit holds for the sum of
all other parts: request line, headers, chunk sizes with their extensions, and trailers.
"""

from dataclasses import dataclass, field
from typing import Protocol

import httptools

from inflight.fake_server.gate import Jobs
from inflight.fake_server.responses import NOT_ALLOWED, Answer, error_answer

MAX_TARGET_BYTES = 8 * 1024
MAX_HEADER_BYTES = 64 * 1024
MAX_BODY_BYTES = 1024 * 1024
SHARED_BYTES = 64 * 1024  # minimum size of a response that is not copied: all connections share its bytes
_GET = b"GET "
_MAX_KNOWN_BYTES, _MOST_KNOWN = 1024, 64  # bytes after a target: maximum size, and maximum number per gate
_MAX_LENGTH = str(MAX_BODY_BYTES).encode()
_REFUSALS = {status: error_answer(status) for status in (400, 413, 414, 431)}


@dataclass(slots=True)  # not frozen: that takes four times as long to make, and an endless site makes one a request
class Job:
    """A request and its answer. `connection`: the header to send; `refused`: the last job of its client."""

    answer: Answer
    head_only: bool = False
    connection: str = ""
    refused: bool = False
    plain: bool = field(init=False)  # a GET that keeps the connection, of a short answer that is plain itself

    def __post_init__(self) -> None:
        """Compute what the hot path would otherwise compute each time."""
        answer = self.answer
        self.plain = answer.plain and len(answer.tail) < SHARED_BYTES and not self.head_only and not self.connection


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request for a page that is not cached. It is rendered in its turn, so that a backlog holds no pages."""

    target: bytes
    version: str
    head_only: bool
    connection: str


class Pages(Protocol):
    """The interface of the gate that a reader needs."""

    jobs: Jobs
    known: set[bytes]


class RequestReader:
    """The parser of one connection. After a refusal it discards all input.

    `begun`: a request began in the bytes of the last feed.

    The requests of a client differ only in their target. So each gate remembers the bytes after the target of plain
    GET requests. A request with the same bytes, and the target of a page, is not parsed again.
    """

    __slots__ = (
        "_between",
        "_body_bytes",
        "_fed_bytes",
        "_has_connection",
        "_header_bytes",
        "_hosts",
        "_in_message",
        "_jobs",
        "_pages",
        "_parser",
        "_plain",
        "_url",
        "begun",
        "refused",
    )

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._parser = httptools.HttpRequestParser(self)
        self._jobs: list[Job | Wanted] = []
        self._in_message = False
        self._between = True  # the parser waits for the first byte of a request
        self._plain = False  # the last request was a GET of a page that keeps the connection
        self._fed_bytes = 0
        self.refused = False
        self.begun = False

    def feed(self, data: bytes | memoryview) -> list[Job | Wanted]:
        """Return a job for each request that these bytes complete."""
        if self.refused:
            return []
        raw = bytes(data) if self._between and len(data) <= _MAX_KNOWN_BYTES else b""
        target_end = raw.find(b" ", len(_GET))
        if raw[target_end:] in self._pages.known and raw.startswith(_GET):
            job = self._pages.jobs.get(raw[len(_GET) : target_end])
            if job is not None:
                self.begun = True
                return [job]
        jobs: list[Job | Wanted] = []
        self._jobs, self.begun = jobs, False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.refused = True  # what follows is not HTTP; the request itself has been queued
        except httptools.HttpParserCallbackError:
            raise  # a bug in the server, not in the client
        except httptools.HttpParserError:
            self._refuse(400)
        if self._in_message:
            self._count(len(data))
        elif self._plain and self._between and len(jobs) == 1 and raw.startswith(_GET):
            self._remember(raw[target_end:])
        return jobs

    def _remember(self, rest: bytes) -> None:
        """Remember what followed the target of a request which was whole, alone, and of a page."""
        known = self._pages.known
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known.add(rest)

    def forget(self) -> None:
        """Drop the parser, which refers back to this object."""
        del self._parser

    def _count(self, size_bytes: int) -> None:
        """Refuse a request that is not whole yet, and of which neither target nor body, but the rest is too long.

        No callback says so: the parser collects a header until it is whole, and skips chunk extensions. The bytes of
        the feed in which the request began are not counted: they may belong to the one before.
        """
        self._fed_bytes = 0 if self.begun else self._fed_bytes + size_bytes
        if self._fed_bytes - len(self._url) - self._body_bytes > MAX_HEADER_BYTES:
            self._refuse(431)

    # What httptools calls, in this order.

    def on_message_begin(self) -> None:
        """Start a request."""
        self._url = b""
        self._hosts = self._header_bytes = self._body_bytes = 0
        self._in_message = self.begun = True
        self._has_connection = self._between = self._plain = False

    def on_url(self, part: bytes) -> None:
        """Collect the request target, which may arrive in parts."""
        self._url += part
        if len(self._url) > MAX_TARGET_BYTES:
            self._refuse(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count headers and look at those that matter. Trailers come here too, after `on_headers_complete`."""
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > MAX_HEADER_BYTES:
            self._refuse(431)
        lowered = name.lower()
        if lowered == b"host":
            self._hosts += 1
        elif lowered == b"connection":
            self._has_connection = True
        elif lowered == b"content-length" and _is_too_long(value):
            self._refuse(413)

    def on_headers_complete(self) -> None:
        """Reject what HTTP/1.1 forbids."""
        if self._hosts != 1 and (self._hosts or self._parser.get_http_version() != "1.0"):
            self._refuse(400)

    def on_body(self, part: bytes) -> None:
        """Discard the body, up to a maximum."""
        self._body_bytes += len(part)
        if self._body_bytes > MAX_BODY_BYTES:
            self._refuse(413)

    def on_message_complete(self) -> None:
        """Queue the job."""
        self._in_message = False
        if self.refused:
            return
        parser = self._parser
        method = parser.get_method()
        # Nothing else is spoken here, so a request to upgrade is answered, and is the last one.
        keep = self._between = parser.should_keep_alive() and not parser.should_upgrade()
        # Without a Connection header, only HTTP/1.1 keeps the connection. To ask the parser is slow.
        version = "1.1" if keep and not self._has_connection else parser.get_http_version()
        if method == b"GET" and keep and version != "1.0":
            job = self._pages.jobs.get(self._url)
            if job is not None:
                self._plain = True
                self._jobs.append(job)
                return
        connection = "close" if not keep else "keep-alive" if version == "1.0" else ""
        if method in {b"GET", b"HEAD"}:
            self._jobs.append(Wanted(self._url, version, method == b"HEAD", connection))
        else:
            self._jobs.append(Job(NOT_ALLOWED, connection=connection))

    def _refuse(self, status: int) -> None:
        if not self.refused:
            self._jobs.append(Job(_REFUSALS[status], connection="close", refused=True))
        self.refused = True


def _is_too_long(length: bytes) -> bool:
    """Compare a Content-Length with the bound, without int(), which refuses thousands of digits, zeros included."""
    digits = length.strip().lstrip(b"0")
    return (len(digits), digits) > (len(_MAX_LENGTH), _MAX_LENGTH)
