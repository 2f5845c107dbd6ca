"""HTTP/1.1 as a client needs it, without I/O: bytes in, responses out.

A ``ResponseParser`` is fed whatever the socket gave, in pieces of any size; it answers with the response once that is
whole. It accepts what RFC 9110 and 9112 permit a client to accept and three of aiohttp, httpx, requests and pycurl do.
It refuses all else, as soon as the first wrong byte has come (tests/core/usage.py has each case, and who accepts it).

A header section is looked at up to three times: in one pass, if it is like nearly all; by a pattern, if it is whole and
in the syntax that a server must send; by a table of bytes, if it is neither.
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
_HEAD = re.compile(rf"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: {_TEXT})?({_FIELD_LINES})")
_ODD_HEAD = re.compile(r"HTTP/1\.([01]) ([1-9][0-9][0-9])[^\r]*(.*)", re.DOTALL)
_FOLD = re.compile(r"\r?\n[ \t]+")
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
_USED_FIELD = re.compile(r"\r\n(connection|content-length|content-type|transfer-encoding):[ \t]*([^\r]*)")
_LOCATION = re.compile(r"\r\nlocation:[ \t]*([^\r]*)", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\s;\"]+)", re.IGNORECASE)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,20})[ \t]*(?:;[^\n]*)?\r\n")
_CHUNK_SIZE_BEGUN = re.compile(rb"(?:[0-9A-Fa-f]{1,20}(?:[ \t]+|[ \t]*\r|[ \t]*;[^\n]*)?)?")
_LONG_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{21}")
_NUMBER = re.compile(r"(?!.{4301})0*([0-9]{1,18})[ \t]*")
NO_BODY = frozenset({204, 304})
"""Statuses of responses that end with their header section, whatever its fields say (RFC 9112, section 6.3)."""
LINKED_TYPES = frozenset({"text/html", "application/xml"})


_State = int | str
_STATUS_LINE = (b"H", b"T", b"T", b"P", b"/", b"1", b".", b"01", b" ", b"123456789", b"0123456789", b"0123456789")
_NAME_BYTES = b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NEXT: dict[_State, dict[int, _State]] = {
    **{at: dict.fromkeys(right, at + 1) for at, right in enumerate(_STATUS_LINE)},
    len(_STATUS_LINE): {0x20: "text", 0x0D: "line end", 0x0A: "line"},
    "first trailer": {**dict.fromkeys(_NAME_BYTES, "name"), 0x0D: "end", 0x0A: "over"},
    "line": {**dict.fromkeys(_NAME_BYTES, "name"), 0x20: "text", 0x09: "text", 0x0D: "end", 0x0A: "over"},
    "name": {0x3A: "text"},
    "text": {0x0D: "line end", 0x0A: "line"},
    "line end": {0x0A: "line"},
    "end": {0x0A: "over"},
}
"""State of a header or trailer section -> byte -> next state. A header section begins in state 0.

Beyond the syntax that a server must send, a line may end in LF alone, and begin with white space: then it is folded
(RFC 9112, sections 2.2 and 5.2). Values may have control characters, except NUL and CR (RFC 9110, section 5.5).
"""
_RUNS: dict[_State, re.Pattern[bytes]] = {
    "name": re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]*"),
    "text": re.compile(rb"[^\0\r\n]*"),
}
"""Bytes that change nothing in a state."""


class ProtocolError(Exception):
    """The peer sent something that is not an HTTP response.

    The connection cannot be used any more, and another try would get the same.
    """


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
    links = find_links(body) if status == 200 and kind in LINKED_TYPES else []
    return Response(status, kind or None, encoding, location, len(body), links, keep_alive)


def is_stale(error: OSError | ProtocolError, parser: "ResponseParser") -> bool:
    """Return whether a request on a kept connection failed only because the server had closed that connection.

    True when the connection broke before one byte of the answer came: the request may then be sent again on a new
    connection, and the try does not count (RFC 9112, section 9.3.1).
    """
    is_cut = isinstance(error, ConnectionError | ClosedEarlyError) or type(error).__name__ == "SSLEOFError"
    return parser.untouched and is_cut


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

    __slots__ = ("_body", "_buffer", "_head", "_interim_bytes", "_max_body_bytes", "_max_header_bytes", "_scanned")

    def __init__(self, max_header_bytes: int, max_body_bytes: int) -> None:
        self._max_header_bytes = max_header_bytes
        self._max_body_bytes = max_body_bytes
        self._head: _Head | None = None
        self._buffer: bytearray | None = None
        self._body: bytearray | None = None
        self._scanned: tuple[_State, int] | None = None  # within a section that is read by the table
        self._interim_bytes = 0  # of interim responses before the one to come

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
            end = data.find(b"\r\n\r\n")
            if 0 <= end <= self._max_header_bytes:
                head = _read_head(data[:end])
                if head is not None and head.status >= 200:
                    return self._begin_body(head, data[end + 4 :])
            self._buffer, self._scanned, self._interim_bytes = bytearray(), (0, 0), 0
        self._buffer += data
        return self._read_odd_head(self._buffer)

    def _read_odd_head(self, buffer: bytearray) -> Response | None:
        """Read a header section that is not whole, or in odd syntax, and any interim responses before it."""
        while True:
            end = self._scan(buffer, "header")
            if end is None:
                return None
            head = _read_odd_head(bytes(buffer[:end]))
            del buffer[:end]
            if head.status >= 200:
                self._scanned = None
                return self._begin_body(head, bytes(buffer))
            self._scanned = (0, 0)
            self._interim_bytes += end
            if self._interim_bytes > self._max_header_bytes:
                raise TooLargeError(f"interim responses over {self._max_header_bytes} bytes")

    def _scan(self, buffer: bytearray, what: str) -> int | None:
        """Go on in a section; return where it ends, or None if it is not whole yet."""
        assert self._scanned is not None
        self._scanned = state, at = _scan(buffer, *self._scanned, what)
        size = at - 4 if state == "over" else len(buffer) - 3  # 3 bytes may belong to the empty line that ends it
        if size > self._max_header_bytes:
            raise TooLargeError(f"{what} section over {self._max_header_bytes} bytes")
        return at if state == "over" else None

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
        if self._scanned is not None:
            return self._read_trailer(buffer, body)
        at = 0
        while line_end := buffer.find(b"\n", at) + 1:
            size = _CHUNK_SIZE.fullmatch(buffer, at, line_end)
            if line_end - at > self._max_header_bytes:
                raise self._long_chunk_size_line()
            if size is None:
                raise _no_chunk_size(buffer, at)
            length = int(size[1], 16)
            if length == 0:
                if buffer[line_end : line_end + 2] == b"\r\n":  # no trailers, as nearly always
                    return self._finish(body, extra=len(buffer) > line_end + 2)
                del buffer[:line_end]
                self._scanned = ("first trailer", 0)
                return self._read_trailer(buffer, body)
            if len(body) + length > self._max_body_bytes:
                raise self._too_large()
            end = line_end + length
            behind = buffer[end : end + 2]
            if not b"\r\n".startswith(behind):
                raise ProtocolError(f"a chunk is longer than its size says: {bytes(behind)!r} behind it")
            if len(behind) < 2:
                break
            body += buffer[line_end:end]
            at = end + 2
        del buffer[:at]
        if not line_end:
            if len(buffer) >= self._max_header_bytes:  # at least its LF is to come
                raise self._long_chunk_size_line()
            if not _CHUNK_SIZE_BEGUN.fullmatch(buffer):
                raise _no_chunk_size(buffer, 0)
        return None

    def _read_trailer(self, buffer: bytearray, body: bytearray) -> Response | None:
        """Skip the trailer section, with which ``buffer`` begins."""
        end = self._scan(buffer, "trailer")
        return None if end is None else self._finish(body, extra=len(buffer) > end)

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
        self._head = self._buffer = self._body = self._scanned = None
        return make_response(
            head.status,
            head.content_type,
            head.location,
            bytes(body),
            keep_alive=head.keep_alive and not extra,
        )

    def _too_large(self) -> TooLargeError:
        return TooLargeError(f"body over {self._max_body_bytes} bytes")

    def _long_chunk_size_line(self) -> TooLargeError:
        return TooLargeError(f"chunk size line over {self._max_header_bytes} bytes")


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
    has_links = status == b"200" and kind in LINKED_TYPES
    keep_alive = connection is None or connection.lower() != b"close"
    common = _Common(
        len(data), match[0], match.end(), int(status), kind or None, encoding, int(length), has_links, keep_alive
    )
    _last_common[0] = common  # one step, so that threads may share it
    return common


def _scan(buffer: bytearray, state: _State, at: int, what: str) -> tuple[_State, int]:
    """Read a section from a place in it on; return the state and the place behind it. Raises ProtocolError."""
    while state != "over":
        if run := _RUNS.get(state):
            match = run.match(buffer, at)
            assert match is not None
            at = match.end()
        if at == len(buffer):
            break
        following = _NEXT[state].get(buffer[at])
        if following is None:
            byte, before = bytes(buffer[at : at + 1]), bytes(buffer[max(0, at - 30) : at])
            place = f"after {before!r}" if before else "at the beginning"
            raise ProtocolError(f"{what} section has {byte!r} {place}")
        state, at = following, at + 1
    return state, at


def _no_chunk_size(buffer: bytearray, at: int) -> ProtocolError:
    if _LONG_CHUNK_SIZE.match(buffer, at):
        return TooLargeError("chunk size of more than 20 digits")
    return ProtocolError(f"not a chunk size: {bytes(buffer[at : at + 20])!r}")


def _read_head(data: bytes) -> _Head | None:
    """Parse a header section without its last empty line; return None if it is in odd syntax, or none."""
    match = _HEAD.fullmatch(data.decode("latin-1"))
    return None if match is None else _head_of(*match.groups())


def _read_odd_head(data: bytes) -> _Head:
    """Parse a header section that the table of bytes accepts."""
    match = _ODD_HEAD.fullmatch(_FOLD.sub(" ", data.decode("latin-1")).replace("\r\n", "\n").replace("\n", "\r\n"))
    assert match is not None
    return _head_of(*match.groups())


def _head_of(minor: str, status_text: str, lines: str) -> _Head:
    """Return what counts in the field lines, of which each begins with CRLF; names in any case."""
    lowered = lines.lower()  # one pass instead of a search in any case; only a location keeps its case
    found = _USED_FIELD.findall(lowered)
    fields = dict(found)
    if len(fields) < len(found):
        first = dict(reversed(found))
        fields = {name: ",".join(value for other, value in found if other == name) for name in fields}
        fields["content-type"] = first.get("content-type", "")  # is no list: the first one counts
        lengths = {value.rstrip(" \t") for name, value in found if name == "content-length"}
        if len(lengths) == 1:  # repeats are allowed when they agree
            fields["content-length"] = lengths.pop()
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
    value = fields.get("content-length")
    length = _UNTIL_CLOSE
    if value is not None:
        number = _NUMBER.fullmatch(value)
        if number is None:
            raise ProtocolError(f"bad Content-Length: {value[:60]!r}")
        length = int(number[1])
    if status < 200 or status in NO_BODY:
        return 0
    coding = fields.get("transfer-encoding")
    if coding is None:
        return length
    if coding.lstrip(", \t").rstrip(" \t") != "chunked":  # a list may begin with empty elements
        raise ProtocolError(f"unknown transfer coding: {coding[:60]!r}")
    return _CHUNKED


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
