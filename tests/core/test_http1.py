"""The response parser against two others, split everywhere, up to its limits and fed with garbage."""

import re
from collections.abc import Iterator
from typing import Any

import h11
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from inflight.strategies.core import http1
from inflight.strategies.core.http1 import (
    ClosedEarlyError,
    ProtocolError,
    Response,
    ResponseParser,
    TooLargeError,
    is_stale,
    request_tail,
)
from tests.core.generators import Made, responses, thorough
from tests.core.oracles import ask_h11, ask_httptools, ask_ours, pieces_of, read_with_ours

CUTS = st.lists(st.integers(0, 10_000), max_size=8)
ODD_BYTES = (
    *(b"", b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":"),
    *(b";", b",", b"0", b"9", b"f", b"\xff", b"-", b"HTTP/1.1 "),
)
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


# Responses as they should be


@thorough
@given(responses())
def test_status_size_and_keep_alive_are_those_of_h11_and_httptools(made: Made) -> None:
    reading = ask_h11(made.data)

    assert reading is not None
    if made.minor == 0:  # h11 closes after every HTTP/1.0 response, also one that says keep-alive
        reading = reading._replace(keep_alive=made.expected.keep_alive)
    assert ask_ours(made.data) == reading == ask_httptools(made.data)


@thorough
@given(responses(), CUTS)
def test_everything_in_a_response_is_read_whole_cut_in_two_at_any_byte_and_in_pieces(
    made: Made, cuts: list[int]
) -> None:
    for cut in range(len(made.data)):
        assert read_with_ours(made.data[:cut], made.data[cut:]) == made.expected, cut
    for places in (cuts, range(len(made.data))):
        assert read_with_ours(*pieces_of(made.data, places)) == made.expected


@thorough
@given(st.lists(st.tuples(responses(("length", "chunked", "none")), CUTS), max_size=4), responses())
def test_responses_follow_one_another_on_a_connection(kept: list[tuple[Made, list[int]]], last: Made) -> None:
    parser = ResponseParser(65536, 65536)

    for made, cuts in kept:
        assert parser.untouched
        *first, end = pieces_of(made.data, cuts)
        assert [parser.feed(piece) for piece in first] == [None] * len(first)
        assert parser.feed(end) == made.expected

    ending = (last.data, b"") if last.framing == "close" else (last.data,)
    assert [parser.feed(piece) for piece in ending][-1] == last.expected


@thorough
@given(responses(("length", "chunked", "none")), st.binary(min_size=1, max_size=30), CUTS)
def test_bytes_behind_a_response_end_the_connection(made: Made, extra: bytes, cuts: list[int]) -> None:
    response = read_with_ours(made.data + extra)

    assert response == made.expected._replace(keep_alive=False)


@thorough
@given(responses(), st.integers(0, 10_000))
def test_a_connection_that_ends_within_a_response_is_closed_early(made: Made, place: int) -> None:
    cut = place % len(made.data)
    is_whole = made.framing == "close" and len(made.data) - made.expected.size <= cut
    assume(not is_whole)

    with pytest.raises(ClosedEarlyError):
        read_with_ours(made.data[:cut])


@pytest.mark.parametrize("count", [1, 2, 4096])
def test_many_interim_responses_may_come_first(count: int) -> None:
    response = read_with_ours(b"HTTP/1.1 100\r\n\r\n" * count + HEAD + b"Content-Length: 2\r\n\r\nok")

    assert response is not None
    assert (response.status, response.size) == (200, 2)


def test_an_interim_response_is_an_answer_begun() -> None:
    parser = ResponseParser(65536, 65536)

    assert parser.feed(b"HTTP/1.1 103 Early Hints\r\n\r\n") is None
    assert not parser.untouched
    assert not is_stale(ConnectionResetError(), parser)


@pytest.mark.parametrize(
    ("fields", "content_type", "encoding"),
    [
        ("", None, "utf-8"),
        ("Content-Type:\r\n", None, "utf-8"),
        ("Content-Type: TEXT/Html\r\n", "text/html", "utf-8"),
        ("Content-Type: text/html;charset=\r\n", "text/html", "utf-8"),
        ("Content-Type: text/html; xcharset=a\r\n", "text/html", "utf-8"),
        ("Content-Type: text/html; charset=a; charset=b\r\n", "text/html", "a"),
        ("Content-Type: text/html\r\nContent-Type: text/plain\r\n", "text/html", "utf-8"),
        ("Content-Type: text/html; charset=a\r\nX: y\r\ncontent-type: text/html\r\n", "text/html", "a"),
    ],
)
def test_type_and_charset_come_from_the_first_content_type(
    fields: str, content_type: str | None, encoding: str
) -> None:
    response = read_with_ours(HEAD + fields.encode() + b"Content-Length: 0\r\n\r\n")

    assert response is not None
    assert (response.content_type, response.encoding) == (content_type, encoding)


@pytest.mark.parametrize(
    ("value", "location"),
    [
        (b"/A b", "/A b"),
        (b" \t/x \t", "/x"),
        (b"", ""),
        ("/é".encode(), "/é"),
        (b"/1\r\nLocation: /2", "/1"),
        (b"/x\r\nX-Location: /y", "/x"),
    ],
)
def test_the_first_location_is_read_as_it_stands(value: bytes, location: str) -> None:
    response = read_with_ours(b"HTTP/1.1 302 Found\r\nLOCATION:" + value + b"\r\nContent-Length: 0\r\n\r\n")

    assert response is not None
    assert response.location == location


# Responses as they should not be; tests/core/responses.toml has those that clients disagree about


def damaged(draw: Any, data: bytes) -> bytes:
    for _ in range(draw(st.integers(1, 3))):
        at, removed, put = (
            draw(st.integers(0, len(data) - 1)),
            draw(st.integers(0, 2)),
            draw(st.sampled_from(ODD_BYTES)),
        )
        data = data[:at] + put + data[at + removed :] or b"H"
    return data


BEYOND_H11 = re.compile(rb"[0-9A-F][ \t]+;|encoding:[ \t]*,|http/1.[01] [^\n]*\n[ \t]|;[^\n]*\r(?!\n)", re.IGNORECASE)
"""What may be taken although h11 refuses it: see responses.py."""


@thorough
@given(responses(("length", "chunked", "close")), st.data())  # what a 204 or 304 says of its length means nothing to us
def test_a_damaged_response_that_is_taken_is_taken_by_h11_too(made: Made, data: st.DataObject) -> None:
    broken = damaged(data.draw, made.data)
    assume(not BEYOND_H11.search(broken))

    ours, h11s = ask_ours(broken), ask_h11(broken)

    assert ours is None or (h11s is not None and ours[:2] == h11s[:2])


@thorough
@given(responses(), st.data(), CUTS)
def test_a_damaged_response_means_the_same_in_one_piece_and_in_many(
    made: Made, data: st.DataObject, cuts: list[int]
) -> None:
    broken = damaged(data.draw, made.data)

    assert outcome(broken) == outcome(*pieces_of(broken, cuts)) == outcome(*pieces_of(broken, range(len(broken))))


def outcome(*pieces: bytes) -> Response | type[ProtocolError] | None:
    """Return what was read, or how it was refused; bytes behind a response are for the tests above."""
    try:
        response = read_with_ours(*pieces)
    except ProtocolError as error:
        return type(error)
    return None if response is None else response._replace(keep_alive=True)


# Limits


def endless(first: bytes, piece: bytes) -> Iterator[bytes]:
    """Yield ``first`` and then ``piece`` again and again, but not for ever: no test hangs."""
    yield first
    for _ in range(10_000):
        yield piece


BOMBS = {  # a start and what follows it again and again; all with limits of 1,000 bytes
    "header section": (HEAD, b"x: y\r\n"),
    "header line": (HEAD + b"x: ", b"y"),
    "status line": (b"HTTP/1.1 200 ", b"O"),
    "interim responses": (b"HTTP/1.1 103\r\n\r\n", b"HTTP/1.1 100\r\n\r\n"),
    "empty chunk size line": (CHUNKED, b"0"),
    "chunk extension": (CHUNKED + b"1;a=", b"b"),
    "trailer section": (CHUNKED + b"0\r\n", b"x: y\r\n"),
    "trailer line": (CHUNKED + b"0\r\nx: ", b"y"),
    "body of many chunks": (CHUNKED, b"5\r\nhello\r\n"),
    "body until close": (HEAD + b"\r\n", b"hello"),
}


@pytest.mark.parametrize("what", BOMBS)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_what_never_ends_is_given_up_soon_after_the_limit(what: str, size: int) -> None:
    first, piece = BOMBS[what]
    parser = ResponseParser(1000, 1000)

    taken = taken_until_too_large(parser, endless(first, piece * size))

    overhead = 3 if what == "body of many chunks" else 1  # its frames are no body
    assert taken <= overhead * 1000 + len(first) + 2 * len(piece * size)


def taken_until_too_large(parser: ResponseParser, pieces: Iterator[bytes]) -> int:
    taken = 0
    for data in pieces:
        taken += len(data)
        try:
            parser.feed(data)
        except TooLargeError:
            return taken
    raise AssertionError("all of it was taken")


@pytest.mark.parametrize(
    "head",
    [
        *(CHUNKED + size + b"\r\n" for size in (b"3e9", b"f" * 7, b"f" * 16, b"f" * 30)),
        *(HEAD + b"Content-Length: %d\r\n\r\n" % length for length in (1001, 10**17)),
    ],
)
def test_a_body_or_chunk_too_large_is_refused_by_its_length_alone(head: bytes) -> None:
    with pytest.raises(TooLargeError):
        ResponseParser(1000, 1000).feed(head)


LARGE = {  # what has a limit of 1,000 bytes, and as many "x" in it as are allowed
    "body of a length": (HEAD + b"Content-Length: %d\r\n\r\n", 1000, b""),
    "body in chunks": (CHUNKED + b"a\r\n0123456789\r\n%x\r\n", 990, b"\r\n0\r\n\r\n"),
    "body until close": (HEAD + b"\r\n", 1000, b""),
    "header section": (HEAD + b"Content-Length: 0\r\ny: ", 1000 - len(HEAD) - 22, b"\r\n\r\n"),
    "chunk size line": (CHUNKED + b"2;", 996, b"\r\nok\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize("what", LARGE)
@pytest.mark.parametrize("step", [1, 13, 100_000])
def test_what_has_a_limit_may_be_as_large_and_not_a_byte_larger(what: str, step: int) -> None:
    begin, size, end = LARGE[what]
    just, over = ((begin % n if b"%" in begin else begin) + n * b"x" + end for n in (size, size + 1))

    def read(data: bytes) -> Response | None:
        return read_with_ours(
            *pieces_of(data, range(0, len(data), step)),
            max_header_bytes=1000,
            max_body_bytes=1000,
        )

    assert read(just) is not None
    with pytest.raises(TooLargeError):
        read(over)


def test_a_response_without_a_body_may_name_any_length() -> None:
    response = read_with_ours(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5000\r\n\r\n", max_body_bytes=1000)

    assert response is not None
    assert (response.size, response.keep_alive) == (0, True)


# What was read before


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
RESPONSES = st.builds(
    lambda head, body, wrong: head % (len(body) + wrong) + body,
    st.sampled_from(
        [
            PLAIN,
            PLAIN.replace(b"200 OK", b"404 No"),
            PLAIN.replace(b"html", b"plain"),
            PLAIN.replace(b"html", b"html;charset=latin-1"),
            PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
            PLAIN.replace(b"\r\n\r\n", b"\r\nX: %s\r\n\r\n" % (100 * b"x")),
        ]
    ),
    st.sampled_from([b"", b'<a href="/x">', b"<a href='/x'>", b"0123456789abc", 80 * b"x"]),
    st.sampled_from([0, 0, 0, 0, -1, 1]),
)


@thorough
@given(st.lists(RESPONSES, min_size=2, max_size=6), st.sampled_from([(65536, 65536), (100, 65536), (65536, 50)]))
def test_a_response_is_read_alike_whatever_was_read_before(responses: list[bytes], limits: tuple[int, int]) -> None:
    def read(response: bytes) -> Response | str | None:
        try:
            return ResponseParser(*limits).feed(response)
        except ProtocolError as error:
            return str(error)

    one_after_another = [(read(response), read(response)) for response in responses]

    for response, found in zip(responses, one_after_another, strict=True):
        http1._last_common[0] = http1._UNCOMMON
        assert found == (read(response),) * 2


# Requests


@pytest.mark.parametrize("keep_alive", [True, False])
def test_h11_reads_our_request_as_we_mean_it(keep_alive: bool) -> None:
    server = h11.Connection(h11.SERVER)
    server.receive_data(b"GET /x?y" + request_tail("h:81", keep_alive=keep_alive).encode())

    request = server.next_event()

    assert isinstance(request, h11.Request)
    assert (request.method, request.target, request.http_version) == (b"GET", b"/x?y", b"1.1")
    fields = dict(request.headers.raw_items())
    assert fields[b"Host"] == b"h:81"
    assert fields.get(b"Connection") == (None if keep_alive else b"close")
    assert isinstance(server.next_event(), h11.EndOfMessage)


# Stale connections


@pytest.mark.parametrize(
    ("error", "breaks"),
    [
        *((error, True) for error in (ConnectionResetError(), BrokenPipeError(), ClosedEarlyError())),
        *((error, False) for error in (TimeoutError(), OSError(), ProtocolError(), TooLargeError())),
    ],
)
def test_a_connection_is_stale_when_it_broke_before_the_answer_began(
    error: OSError | ProtocolError, breaks: bool
) -> None:
    fresh, begun = ResponseParser(100, 100), ResponseParser(100, 100)
    begun.feed(b"H")

    assert is_stale(error, fresh) is breaks
    assert not is_stale(error, begun)
