"""The bytes of an answer, without a server: what any client must make of them."""

import http.client
import io
import socket
from typing import cast

import pytest

from inflight.fake_server.responses import DRIP_PIECES, opening, page_answer
from inflight.fake_server.site import PageSpec


class Wire(io.BytesIO):
    """Stands in for a socket from which an answer is read; stays readable behind it."""

    def makefile(self, _mode: str) -> "Wire":
        return self

    def close(self) -> None:
        pass


def read(data: bytes) -> tuple[int, bytes, bytes]:
    """Return status, body, and what is left of the bytes once the answer has ended."""
    wire = Wire(data)
    response = http.client.HTTPResponse(cast("socket.socket", wire))
    response.begin()
    return response.status, response.read(), wire.read()


def test_a_dripped_body_is_sent_in_even_pieces_with_equal_delays() -> None:
    body = bytes(range(25))
    page = PageSpec(1, "/1.html", "html", 200, "text/html", 25, None, (), "drip", 0)

    answer = page_answer(page, body, 900)

    pieces = [answer.tail[answer.head_bytes :], *(piece for _, piece in answer.later)]
    assert b"".join(pieces) == body
    assert {delay_ns for delay_ns, _ in answer.later} == {900 // (DRIP_PIECES - 1)}
    assert len(pieces) == DRIP_PIECES
    assert {len(piece) for piece in pieces} == {25 // DRIP_PIECES, 25 // DRIP_PIECES + 1}


@pytest.mark.parametrize("fault", [None, "chunked"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 15, 16, 17, 4097])
def test_a_body_of_any_size_is_sent_whole_and_the_answer_ends_with_it(fault: str | None, size: int) -> None:
    body = bytes(n % 251 for n in range(size))
    page = PageSpec(1, "/1.html", "html", 200, "text/html", size, None, (), fault, 0)

    answer = page_answer(page, body, 0)

    assert read(opening(200, "now") + answer.tail + b"next") == (200, body, b"next")
    assert answer.tail[: answer.head_bytes].endswith(b"\r\n\r\n")
    assert (answer.later, answer.ending) == ((), "keep")
