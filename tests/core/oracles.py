"""Two HTTP parsers by other authors and ours, asked the same question: what is the first whole response here.

Each is given the bytes of one response and then the end of the connection, and answers with what it read, or None when
it refuses the bytes or waits for more.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import h11
import httptools

from inflight.strategies.core.http1 import ProtocolError, Response, ResponseParser


class Reading(NamedTuple):
    """What a parser makes of one response."""

    status: int
    size: int
    keep_alive: bool


def read_with_ours(*pieces: bytes, max_header_bytes: int = 65536, max_body_bytes: int = 2**24) -> Response | None:
    """Feed the pieces and then the end of the connection. Raises ProtocolError."""
    parser = ResponseParser(max_header_bytes, max_body_bytes)
    for piece in (*filter(None, pieces), b""):
        response = parser.feed(piece)
        if response is not None:
            return response
    return None


def ask_ours(data: bytes) -> Reading | None:
    try:
        response = read_with_ours(data)
    except ProtocolError:
        return None
    return None if response is None else Reading(response.status, response.size, response.keep_alive)


def ask_h11(data: bytes) -> Reading | None:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=len(data) + 1)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    status = size = 0
    ended = False
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError:
            return None
        if isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            size += len(event.data)
        elif isinstance(event, h11.EndOfMessage):
            extra, _ = connection.trailing_data
            return Reading(
                status,
                size,
                connection.their_state is h11.DONE and not extra and not ended,
            )
        elif event is h11.NEED_DATA and not ended:
            connection.receive_data(b"")
            ended = True
        elif not isinstance(event, h11.InformationalResponse):
            return None


def ask_httptools(data: bytes) -> Reading | None:
    reader = _Reader()
    try:
        reader.parser.feed_data(data)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return reader.reading
    return reader.reading or reader.reading_at_end()


class _Reader:
    """The callbacks of httptools; ``reading`` is the first final response that is whole."""

    def __init__(self) -> None:
        self.reading: Reading | None = None
        self.parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.size = 0
        self.told_length = False

    def on_header(self, name: bytes, _value: bytes) -> None:
        self.told_length |= name.lower() in {b"content-length", b"transfer-encoding"}

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        self.size += len(body)

    def on_message_complete(self) -> None:
        if self.reading is None and self.status >= 200:
            self.reading = Reading(self.status, self.size, self.parser.should_keep_alive())
        self.told_length = False

    def reading_at_end(self) -> Reading | None:
        """Return what the end of the connection makes whole (httptools has no way to be told of it)."""
        return (
            Reading(self.status, self.size, keep_alive=False) if self.status >= 200 and not self.told_length else None
        )


def pieces_of(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """Cut ``data`` at the given places (taken modulo its length)."""
    places = sorted({cut % (len(data) or 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(places)]
