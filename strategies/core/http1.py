"""HTTP/1.1 as a client needs it, without I/O: bytes in, responses out.

A ``ResponseParser`` is fed whatever the socket gave, in pieces of any size; it answers with the response once that is
whole. It accepts what RFC 9112 allows for responses to GET and refuses the rest, with two simplifications: line ends
are CRLF only, and folded header lines are errors (both as RFC 9112 section 2.2 and 5.2 permit).
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from inflight.strategies.core.links import find_links

USER_AGENT = "inflight"
CHUNK_BYTES = 64 * 1024
"""Maximum bytes per read, the same for all strategies, so that none makes fewer system calls."""

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105  (of RFC 9110: no secret)
_TEXT = r"[\t\x20-\x7e\x80-\xff]*"
_FIELD_LINES = rf"(?:\r\n{_TOKEN}:{_TEXT})*"
_HEAD = re.compile(rf"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: {_TEXT})?({_FIELD_LINES})")
# The header section that nearly every response has, in one pass: a length given once, no other framing, no location,
# and no more about the connection than whether it stays. What does not match is not wrong, but goes the longer way.
_COMMON_HEAD = re.compile(
    rf"HTTP/1\.1 (?!204|304)([2-5][0-9][0-9])(?: {_TEXT})?(?:\r\n(?:"
    rf"(?i:content-length):[ \t]*(?(2)(?!)|([0-9]{{1,18}}))[ \t]*"
    rf"|(?i:content-type):(?(3)(?!)|({_TEXT}))"
    rf"|(?i:connection):[ \t]*(?(4)(?!)|((?i:close|keep-alive)))[ \t]*"
    rf"|(?!(?i:connection|content-length|content-type|location|transfer-encoding):){_TOKEN}:{_TEXT}"
    r"))*\r\n\r\n".encode("latin-1")
)
_TRAILER = re.compile(_FIELD_LINES.encode("latin-1"))
_USED_FIELD = re.compile(r"\r\n(connection|content-length|content-type|transfer-encoding):[ \t]*([^\r]*)")
_LOCATION = re.compile(r"\r\nlocation:[ \t]*([^\r]*)", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\s;\"]+)", re.IGNORECASE)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?")
_NUMBER = re.compile(r"[0-9]{1,18}[ \t]*")
_NO_BODY = frozenset({204, 304})
_LINKED_TYPES = frozenset({"text/html", "application/xml"})


class ProtocolError(Exception):
    """The peer sent something that is not an HTTP response; the connection cannot be used any more."""


class ClosedEarlyError(ProtocolError):
    """The peer closed the connection before the response was complete; another try may succeed."""


class TooLargeError(ProtocolError):
    """The response is larger than the job allows; another try would be as large."""


class Response(NamedTuple):
    """One whole response, reduced to what a crawl needs. ``size`` is the length of the body in bytes."""

    status: int
    content_type: str | None
    encoding: str | None
    location: str | None
    size: int
    links: list[bytes]
    """The ``href`` values as written in the page, in order; empty unless status and type allow links."""
    keep_alive: bool
    """Whether the connection may carry another request."""


_new = tuple.__new__
"""Makes a named tuple in half the time that its class takes."""


def make_response(
    status: int, content_type: bytes | str | None, location: str | None, body: bytes, *, keep_alive: bool
) -> Response:
    """Reduce a response to what a crawl needs; strategies with their own stack make theirs with this function, too."""
    kind, encoding = _split_content_type(content_type or b"")
    links = find_links(body) if status == 200 and kind in _LINKED_TYPES else []
    return Response(status, kind or None, encoding, location, len(body), links, keep_alive)


def is_stale(error: OSError | ProtocolError, parser: "ResponseParser") -> bool:
    """Return whether a request on a kept connection failed only because the server had closed that connection.

    True when the connection broke before one byte of the answer came: the request may then be sent again on a new
    connection, and the try does not count (RFC 9112, section 9.3.1).
    """
    return parser.untouched and isinstance(error, ConnectionError | ClosedEarlyError)


def request_tail(host: str, *, keep_alive: bool) -> str:
    """Return the part of a GET request after its target; ``host`` is the value of the Host field."""
    connection = "" if keep_alive else "Connection: close\r\n"
    return f" HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {USER_AGENT}\r\nAccept: */*\r\n{connection}\r\n"


class _Head(NamedTuple):
    """The header section, reduced to framing and what ``make_response`` asks for."""

    status: int
    content_type: str | None
    location: str | None
    length: int
    """Body bytes to come, or one of _CHUNKED and _UNTIL_CLOSE."""
    keep_alive: bool


_CHUNKED = -1
_UNTIL_CLOSE = -2


class ResponseParser:
    """Parse the responses of one connection, one after another, from pieces of any size.

    Between two responses it is as new. After an exception it is of no more use, and neither is the connection.
    """

    __slots__ = ("_body", "_buffer", "_head", "_max_body_bytes", "_max_header_bytes")

    def __init__(self, max_header_bytes: int, max_body_bytes: int) -> None:
        self._max_header_bytes = max_header_bytes
        self._max_body_bytes = max_body_bytes
        self._head: _Head | None = None
        self._buffer: bytearray | None = None
        self._body: bytearray | None = None

    @property
    def untouched(self) -> bool:
        """Whether no byte of the next response has arrived yet."""
        return self._head is None and self._buffer is None

    def feed(self, data: bytes) -> Response | None:
        """Take received bytes (``b""``: the peer closed); return the response when it is complete, else None.

        Raises ClosedEarlyError, TooLargeError, or ProtocolError for anything that is not HTTP.
        """
        if not data:
            return self._end()
        if self._head is not None:
            return self._read_body(data)
        if self._buffer is None:
            common = _last_common[0]  # the same bytes mean the same: nearly always, one comparison is all
            if len(data) != common.total or not data.startswith(common.section):
                common = _read_common(data)
            begin = common.begin
            if begin and common.size <= self._max_body_bytes and begin - 4 <= self._max_header_bytes:
                links = find_links(data, begin) if common.has_links else []
                return _new(
                    Response,
                    (common.status, common.kind, common.encoding, None, common.size, links, common.keep_alive),
                )
        else:
            self._buffer += data
            data = bytes(self._buffer)
        while True:
            end = data.find(b"\r\n\r\n")
            if end < 0 or end > self._max_header_bytes:
                self._wait_for_head(data)
                return None
            head = _read_head(data[:end])
            body = data[end + 4 :]
            if head.status >= 200:
                break
            data = body  # behind an interim response; the final one follows it
        return self._begin_body(head, body)

    def _wait_for_head(self, data: bytes) -> None:
        if len(data) - 3 > self._max_header_bytes:  # 3 bytes may belong to the empty line that ends it
            raise TooLargeError(f"header section over {self._max_header_bytes} bytes")
        if not data.startswith(b"HTTP/1."[: len(data)]):
            raise ProtocolError(f"not an HTTP/1 response: {data[:20]!r}")
        self._buffer = bytearray(data)

    def _begin_body(self, head: _Head, body: bytes) -> Response | None:
        if head.length > self._max_body_bytes:
            raise self._too_large()
        self._head = head
        self._buffer = bytearray()
        if head.length == _CHUNKED:
            self._body = bytearray()
        return self._read_body(body)

    def _read_body(self, data: bytes) -> Response | None:
        head, buffer = self._head, self._buffer
        assert head is not None
        assert buffer is not None
        buffer += data
        if head.length == _CHUNKED:
            return self._read_chunks(buffer)
        if head.length == _UNTIL_CLOSE:
            if len(buffer) > self._max_body_bytes:
                raise self._too_large()
            return None
        if len(buffer) < head.length:
            return None
        return self._finish(buffer[: head.length], extra=len(buffer) > head.length)

    def _read_chunks(self, buffer: bytearray) -> Response | None:
        """Move whole chunks from the buffer to the body (RFC 9112, section 7.1)."""
        body = self._body
        assert body is not None
        at = 0
        while (line_end := buffer.find(b"\r\n", at)) >= 0:
            size = _CHUNK_SIZE.fullmatch(buffer, at, line_end)
            if size is None:
                raise ProtocolError(f"not a chunk size: {bytes(buffer[at : min(line_end, at + 20)])!r}")
            length = int(size[1], 16)
            if length == 0:
                del buffer[:line_end]
                return self._read_trailer(buffer, body)
            if len(body) + length > self._max_body_bytes:
                raise self._too_large()
            end = line_end + 2 + length
            if len(buffer) < end + 2:
                break
            if buffer[end : end + 2] != b"\r\n":
                raise ProtocolError("a chunk is longer than its size says")
            body += buffer[line_end + 2 : end]
            at = end + 2
        del buffer[:at]
        if line_end < 0 and len(buffer) > self._max_header_bytes:
            raise TooLargeError(f"chunk size line over {self._max_header_bytes} bytes")
        return None

    def _read_trailer(self, buffer: bytearray, body: bytearray) -> Response | None:
        """Skip the trailer section; ``buffer`` begins with the line end of the last chunk's size."""
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(buffer) > self._max_header_bytes:
                raise TooLargeError(f"trailer section over {self._max_header_bytes} bytes")
            buffer[:0] = b"0"  # so that the next piece finds the last chunk again
            return None
        if not _TRAILER.fullmatch(buffer, 0, end):
            raise ProtocolError(f"not a trailer section: {bytes(buffer[:20])!r}")
        return self._finish(body, extra=len(buffer) > end + 4)

    def _end(self) -> Response | None:
        if self._head is not None and self._head.length == _UNTIL_CLOSE:
            assert self._buffer is not None
            return self._finish(self._buffer, extra=False)
        raise ClosedEarlyError(
            "closed before the response began" if self.untouched else "closed before the response was whole"
        )

    def _finish(self, body: bytearray, *, extra: bool) -> Response:
        """Return the response. If unrequested bytes follow it, the connection is not kept."""
        head = self._head
        assert head is not None
        self._head = self._buffer = self._body = None
        return make_response(
            head.status,
            head.content_type,
            head.location,
            bytes(body),
            keep_alive=head.keep_alive and not extra,
        )

    def _too_large(self) -> TooLargeError:
        return TooLargeError(f"body over {self._max_body_bytes} bytes")


@dataclass(slots=True)  # not frozen: one is made for each header section that differs from the last one
class _Common:
    """A whole response whose header section has the common layout, without its body."""

    total: int
    """Bytes of header section and body."""
    section: bytes
    """The header section with its last empty line."""
    begin: int
    """Where the body begins: the length of the section."""
    status: int
    kind: str | None
    encoding: str | None
    size: int
    has_links: bool
    """Whether its body is to be searched for links."""
    keep_alive: bool


_UNCOMMON = _Common(-1, b"", 0, 0, None, None, 0, has_links=False, keep_alive=False)
"""Not a whole response, or one with another layout."""
_last_common = [_UNCOMMON]
"""The last one read, on any connection. Servers repeat a header section until the second of its date is over. Only
one is remembered: with more, crawls of equal pages would measure this memory."""


def _read_common(data: bytes) -> _Common:
    """Read a response in one pass, and remember it for the next one. What is uncommon goes the longer way."""
    match = _COMMON_HEAD.match(data)
    if match is None:
        return _UNCOMMON
    status, length, content_type, connection = match.groups()
    if length is None or len(data) - match.end() != int(length):
        return _UNCOMMON
    kind, encoding = _split_content_type(content_type or b"")
    has_links = status == b"200" and kind in _LINKED_TYPES
    keep_alive = connection is None or connection.lower() != b"close"
    common = _Common(
        len(data), match[0], match.end(), int(status), kind or None, encoding, int(length), has_links, keep_alive
    )
    _last_common[0] = common  # one step, so that threads may share it
    return common


def _read_head(data: bytes) -> _Head:
    """Parse a header section without its last empty line; names in any case, the line syntax of RFC 9112."""
    match = _HEAD.fullmatch(data.decode("latin-1"))
    if match is None:
        raise ProtocolError(f"malformed header section: {data[:60]!r}")
    minor, status_text, lines = match.groups()
    lowered = lines.lower()  # one pass instead of a search in any case; only a location keeps its case
    found = _USED_FIELD.findall(lowered)
    fields = dict(found)
    if len(fields) < len(found):
        first = dict(reversed(found))
        fields = {name: ",".join(value for other, value in found if other == name) for name in fields}
        fields["content-type"] = first.get("content-type", "")  # is no list: the first one counts
    location = _LOCATION.search(lines) if "\r\nlocation:" in lowered else None
    status = int(status_text)
    length = _body_length(status, fields)
    return _Head(
        status,
        fields.get("content-type"),
        _in_utf8(location[1].rstrip(" \t")) if location else None,
        length,
        length != _UNTIL_CLOSE and _keeps_alive(minor, fields.get("connection")),
    )


def _body_length(status: int, fields: dict[str, str]) -> int:
    """Return the length of the body, or how its end is marked (RFC 9112, section 6.3)."""
    if status == 101:
        raise ProtocolError("the server switched protocols unasked")
    if status < 200 or status in _NO_BODY:
        return 0
    coding = fields.get("transfer-encoding")
    if coding is not None:
        if coding.rstrip(" \t") != "chunked":
            raise ProtocolError(f"unknown transfer coding: {coding!r}")
        return _CHUNKED
    value = fields.get("content-length")
    if value is None:
        return _UNTIL_CLOSE
    if not _NUMBER.fullmatch(value):  # repeats are allowed when they agree
        numbers = {text.strip(" \t") for text in value.split(",")}
        value = numbers.pop()
        if numbers or not _NUMBER.fullmatch(value):
            raise ProtocolError(f"bad Content-Length: {fields['content-length']!r}")
    return int(value)


def _keeps_alive(minor: str, connection: str | None) -> bool:
    """Return whether the connection stays open (RFC 9112, section 9.3)."""
    if connection is None:
        return minor == "1"
    options = {option.strip(" \t") for option in connection.split(",")}
    return "close" not in options and (minor == "1" or "keep-alive" in options)


def _in_utf8(value: str) -> str:
    """Decode a field value as UTF-8, because servers send URLs that are not ASCII; other bytes are no valid URL."""
    return value if value.isascii() else value.encode("latin-1").decode("utf-8", "surrogateescape")


@lru_cache(maxsize=256)
def _split_content_type(value: bytes | str) -> tuple[str, str]:
    """Split ``text/html; charset=x`` into a lower-case type and the charset (default utf-8)."""
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    charset = _CHARSET.search(value)
    return value.partition(";")[0].strip().lower(), charset[1].lower() if charset else "utf-8"
