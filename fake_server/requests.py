"""Bytes in, jobs out: what a client asked for, in order, and what is refused."""

from dataclasses import dataclass, field
from typing import Protocol

import httptools

from fake_server.responses import NOT_ALLOWED, Answer, error_answer

MAX_TARGET_BYTES = 8 * 1024
MAX_HEADER_BYTES = 64 * 1024
MAX_BODY_BYTES = 1024 * 1024
_REFUSALS = {status: error_answer(status) for status in (400, 413, 414, 431)}


@dataclass(frozen=True, slots=True)
class Job:
    """A request and its answer. `connection`: the header to send; `refused`: the last job of its client."""

    answer: Answer
    head_only: bool = False
    connection: str = ""
    refused: bool = False
    plain: bool = field(init=False)  # a GET that keeps the connection, of an answer that is plain itself

    def __post_init__(self) -> None:
        """Work out once what the hot path asks each time."""
        object.__setattr__(self, "plain", self.answer.plain and not self.head_only and not self.connection)


class Pages(Protocol):
    """What a reader needs of the server."""

    jobs: dict[bytes, Job]
    """By request target, for GETs that keep the connection."""

    def find(self, target: bytes, version: str) -> Answer:
        """Return the answer for a request target of a client that speaks this version."""


class RequestReader:
    """The parser of one connection. After a refusal it takes everything and returns nothing."""

    __slots__ = (
        "_begun",
        "_body_bytes",
        "_head_bytes",
        "_header_bytes",
        "_hosts",
        "_in_head",
        "_jobs",
        "_pages",
        "_parser",
        "_url",
        "refused",
    )

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._parser = httptools.HttpRequestParser(self)
        self._jobs: list[Job] = []
        self.refused = False
        self._begun = 0
        self._in_head = False
        self._head_bytes = 0  # fed while the head was incomplete

    def feed(self, data: bytes) -> list[Job]:
        """Return a job for each request that these bytes complete."""
        if self.refused:
            return []
        jobs: list[Job] = []
        self._jobs, self._begun = jobs, 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.refused = True  # what follows is not HTTP; the request itself has been queued
        except httptools.HttpParserCallbackError:
            raise  # a bug of ours, not the client's
        except httptools.HttpParserError:
            self._refuse(400)
        if self._in_head:
            # A head that began in these bytes began after the last blank line in them.
            self._head_bytes += len(data.rpartition(b"\r\n\r\n")[2]) if self._begun else len(data)
            if self._head_bytes > MAX_TARGET_BYTES + MAX_HEADER_BYTES:
                self._refuse(431)
        return jobs

    def forget(self) -> None:
        """Let go of the parser, which refers back to this object."""
        del self._parser

    # What httptools calls, in this order.

    def on_message_begin(self) -> None:
        """Start a request."""
        self._url = b""
        self._hosts = self._header_bytes = self._head_bytes = self._body_bytes = 0
        self._begun += 1
        self._in_head = True

    def on_url(self, part: bytes) -> None:
        """Collect the request target, which comes in parts when it was split."""
        self._url += part
        if len(self._url) > MAX_TARGET_BYTES:
            self._refuse(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count headers and look at those that matter."""
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > MAX_HEADER_BYTES:
            self._refuse(431)
        lowered = name.lower()
        if lowered == b"host":
            self._hosts += 1
        elif lowered == b"content-length" and value.isdigit() and int(value) > MAX_BODY_BYTES:
            self._refuse(413)

    def on_headers_complete(self) -> None:
        """Refuse what HTTP/1.1 refuses."""
        self._in_head = False
        if self._hosts != 1 and (self._hosts or self._parser.get_http_version() != "1.0"):
            self._refuse(400)

    def on_body(self, part: bytes) -> None:
        """Discard the body, up to a bound."""
        self._body_bytes += len(part)
        if self._body_bytes > MAX_BODY_BYTES:
            self._refuse(413)

    def on_message_complete(self) -> None:
        """Queue the job."""
        if self.refused:
            return
        parser = self._parser
        method = parser.get_method()
        # Nothing else is spoken here, so a request to upgrade is answered, and is the last one.
        keep = parser.should_keep_alive() and not parser.should_upgrade()
        version = parser.get_http_version()
        if method == b"GET" and keep and version != "1.0":
            job = self._pages.jobs.get(self._url)
            if job is not None:
                self._jobs.append(job)
                return
        connection = "close" if not keep else "keep-alive" if version == "1.0" else ""
        if method in {b"GET", b"HEAD"}:
            answer = self._pages.find(self._url, version)
            self._jobs.append(Job(answer, method == b"HEAD", connection))
        else:
            self._jobs.append(Job(NOT_ALLOWED, connection=connection))

    def _refuse(self, status: int) -> None:
        if not self.refused:
            self._jobs.append(Job(_REFUSALS[status], connection="close", refused=True))
        self.refused = True
