"""A page as bytes for the wire. Pure: page in, Answer out; the rim adds the Date and Connection headers."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from itertools import pairwise
from typing import Literal

from inflight.fake_server.site import NOT_FOUND_BODY, PageSpec

RESET_PAUSE_NS = 1_000_000  # so that half of the body is sent before the reset, which may discard it
DRIP_PIECES = 10


@dataclass(slots=True)  # not frozen, as Job: an endless site makes one per request
class Answer:
    """One response: after `delay_ns`, the opening lines and `tail`; then each of `later` after its own wait.

    `tail` is all headers but Date and Connection, the blank line, and the body (or its first part).
    `head_bytes` of it are headers: all that a HEAD request is sent. `status` is 0 when nothing is sent.
    `plain`: no fault, one write, and the connection stays open, so that one look-up is enough to send it.
    """

    status: int
    tail: bytes
    head_bytes: int
    delay_ns: int = 0
    fault: str | None = None
    later: tuple[tuple[int, bytes], ...] = ()
    ending: Literal["keep", "close", "reset"] = "keep"
    plain: bool = False

    @property
    def size_bytes(self) -> int:
        """Return the approximate memory of this answer."""
        return 400 + len(self.tail) + sum(len(piece) for _, piece in self.later)


def opening(status: int, date: str, connection: str = "") -> bytes:
    """Return the status line and the headers that depend on the time and on the request."""
    lines = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nDate: {date}\r\n"
    return (f"{lines}Connection: {connection}\r\n" if connection else lines).encode()


def page_answer(page: PageSpec, body: bytes, drip_ns: int) -> Answer:
    """Return the answer for a page, with its fault if it has one."""
    if page.fault is not None and page.fault in _FAULTY:
        return _FAULTY[page.fault](page, body, drip_ns)
    head = _head(page, f"Content-Length: {len(body)}\r\n")
    return Answer(page.status, head + body, len(head), page.delay_ns, page.fault, plain=page.fault is None)


def for_http10(answer: Answer, page: PageSpec, body: bytes) -> Answer:
    """Return the answer for a client without chunked encoding: the end of the connection ends the body."""
    return _missing_length(page, body, 0) if answer.fault == "chunked" else answer


def error_answer(status: int, headers: str = "") -> Answer:
    """Return the answer for a refused request; the connection closes after it."""
    body = f"{HTTPStatus(status).phrase}\n".encode()
    return _fixed(status, f"Content-Type: text/plain\r\n{headers}", body, "close")


def _fixed(status: int, headers: str, body: bytes, ending: Literal["keep", "close"]) -> Answer:
    head = f"{headers}Content-Length: {len(body)}\r\n\r\n".encode()
    return Answer(status, head + body, len(head), ending=ending, plain=ending == "keep")


def _head(page: PageSpec, framing: str) -> bytes:
    location = "" if page.location is None else f"Location: {page.location}\r\n"
    return f"Content-Type: {page.content_type}\r\n{location}{framing}\r\n".encode()


def _half(page: PageSpec, body: bytes) -> tuple[bytes, int]:
    head = _head(page, f"Content-Length: {len(body)}\r\n")
    return head + body[: len(body) // 2], len(head)


def _reset_before(page: PageSpec, _body: bytes, _drip_ns: int) -> Answer:
    return Answer(0, b"", 0, page.delay_ns, page.fault, ending="reset")


def _reset_mid(page: PageSpec, body: bytes, _drip_ns: int) -> Answer:
    tail, head_bytes = _half(page, body)
    later = ((RESET_PAUSE_NS, b""),)
    return Answer(page.status, tail, head_bytes, page.delay_ns, page.fault, later, "reset")


def _truncated(page: PageSpec, body: bytes, _drip_ns: int) -> Answer:
    tail, head_bytes = _half(page, body)
    return Answer(page.status, tail, head_bytes, page.delay_ns, page.fault, ending="close")


def _drip(page: PageSpec, body: bytes, drip_ns: int) -> Answer:
    head = _head(page, f"Content-Length: {len(body)}\r\n")
    cuts = [len(body) * piece // DRIP_PIECES for piece in range(DRIP_PIECES + 1)]
    first, *rest = [body[start:end] for start, end in pairwise(cuts)]
    later = tuple((drip_ns // (DRIP_PIECES - 1), piece) for piece in rest)
    return Answer(page.status, head + first, len(head), page.delay_ns, page.fault, later)


def _malformed_header(page: PageSpec, body: bytes, _drip_ns: int) -> Answer:
    head = _head(page, f"Content-Length: {len(body)}\r\nthis line has no colon\r\n")
    return Answer(page.status, head + body, len(head), page.delay_ns, page.fault, ending="close")


def _missing_length(page: PageSpec, body: bytes, _drip_ns: int) -> Answer:
    head = _head(page, "")
    return Answer(page.status, head + body, len(head), page.delay_ns, page.fault, ending="close")


def _chunked(page: PageSpec, body: bytes, _drip_ns: int) -> Answer:
    head = _head(page, "Transfer-Encoding: chunked\r\n")
    middle = len(body) // 2
    chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:middle], body[middle:]) if part]
    tail = head + b"".join(chunks) + b"0\r\n\r\n"
    return Answer(page.status, tail, len(head), page.delay_ns, page.fault)


_FAULTY: dict[str, Callable[[PageSpec, bytes, int], Answer]] = {  # error-500 is a page like any other
    "reset-before": _reset_before,
    "reset-mid": _reset_mid,
    "truncated": _truncated,
    "drip": _drip,
    "malformed-header": _malformed_header,
    "missing-length": _missing_length,
    "chunked": _chunked,
}

# Answers to targets that are no page of the site. The connection stays open after them, as after any page.
NOT_FOUND = _fixed(404, "Content-Type: text/html; charset=utf-8\r\n", NOT_FOUND_BODY, "keep")
NOT_ALLOWED = _fixed(405, "Content-Type: text/plain\r\nAllow: GET, HEAD\r\n", b"Only GET and HEAD.\n", "keep")
