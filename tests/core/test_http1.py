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
    make_response,
    request_tail,
)
from tests.core.generators import Made, responses, thorough
from tests.core.oracles import Reading, ask_h11, ask_httptools, ask_ours, pieces_of, read_with_ours

CUTS = st.lists(st.integers(0, 10_000), max_size=8)
ODD_BYTES = [
    b"",
    b"\r",
    b"\n",
    b"\r\n",
    b"\0",
    b" ",
    b"\t",
    b":",
    b";",
    b",",
    b"0",
    b"9",
    b"f",
    b"\xff",
    b"-",
    b"HTTP/1.1 ",
]
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


# Responses as they should be


@thorough
@given(responses())
def test_everything_in_a_response_is_read(made: Made) -> None:
    assert read_with_ours(made.data) == made.expected


@thorough
@given(responses())
def test_status_size_and_keep_alive_are_those_of_h11(made: Made) -> None:
    reading = ask_h11(made.data)

    assert reading is not None
    if made.minor == 0:  # h11 closes after every HTTP/1.0 response, also one that says keep-alive
        reading = reading._replace(keep_alive=made.expected.keep_alive)
    assert ask_ours(made.data) == reading


@thorough
@given(responses())
def test_status_size_and_keep_alive_are_those_of_httptools(made: Made) -> None:
    assert ask_ours(made.data) == ask_httptools(made.data)


@thorough
@given(responses())
def test_a_response_cut_in_two_at_any_byte_is_the_same(made: Made) -> None:
    for cut in range(1, len(made.data)):
        assert read_with_ours(made.data[:cut], made.data[cut:]) == made.expected, cut


@thorough
@given(responses(), CUTS)
def test_a_response_in_pieces_is_the_same(made: Made, cuts: list[int]) -> None:
    assert read_with_ours(*pieces_of(made.data, cuts)) == made.expected


@thorough
@given(responses())
def test_a_response_byte_by_byte_is_the_same(made: Made) -> None:
    assert read_with_ours(*pieces_of(made.data, range(len(made.data)))) == made.expected


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


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("kind", ["text/html", "application/xml", "text/plain", "application/xhtml+xml", None])
def test_links_are_looked_for_in_good_pages_of_two_types(status: int, kind: str | None) -> None:
    response = make_response(status, kind, None, b'<a href="/x">', keep_alive=True)

    assert response.links == ([b"/x"] if status == 200 and kind in {"text/html", "application/xml"} else [])


# Responses as they should not be


REFUSED_BY_ALL = {
    "nothing of http": b"hello\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "status of two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "status of letters": b"HTTP/1.1 abc OK\r\n\r\n",
    "field without colon": HEAD + b"this line has no colon\r\n\r\n",
    "field without name": HEAD + b": x\r\n\r\n",
    "space in a name": HEAD + b"a b: x\r\n\r\n",
    "space before the colon": HEAD + b"Content-Length : 3\r\n\r\nabc",
    "NUL in a value": HEAD + b"a: \0\r\n\r\n",
    "negative length": HEAD + b"Content-Length: -1\r\n\r\n",
    "signed length": HEAD + b"Content-Length: +3\r\n\r\nabc",
    "length of letters": HEAD + b"Content-Length: abc\r\n\r\n",
    "hexadecimal length": HEAD + b"Content-Length: 0x3\r\n\r\nabc",
    "underscore in the length": HEAD + b"Content-Length: 1_0\r\n\r\n0123456789",
    "two lengths": HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "two lengths in one": HEAD + b"Content-Length: 3, 4\r\n\r\nabcd",
    "chunk size of no digits": CHUNKED + b"\r\nabc\r\n0\r\n\r\n",
    "chunk size of letters": CHUNKED + b"xyz\r\nabc\r\n0\r\n\r\n",
    "negative chunk size": CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n",
    "prefixed chunk size": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "chunk longer than its size": CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n",
    "chunk size beyond 64 bits": CHUNKED + b"f" * 30 + b"\r\n",
    "trailer without colon": CHUNKED + b"0\r\nnothing\r\n\r\n",
}

STRICTER_THAN_SOME: dict[str, tuple[bytes, set[str]]] = {  # what, and which of the others take it; see also usage.py
    "a version to come": (b"HTTP/3.0 200 OK\r\nContent-Length: 0\r\n\r\n", {"h11"}),
    "a version long gone": (b"HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n", {"h11", "httptools"}),
    "chunked twice": (HEAD + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n", {"httptools"}),
    "an empty line first": (b"\r\n" + HEAD + b"Content-Length: 0\r\n\r\n", {"httptools"}),
    "a coding beside chunked": (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", {"httptools"}),
    "the same length twice in one": (HEAD + b"Content-Length: 3, 3\r\n\r\nabc", {"h11"}),
    "a chunk size of 21 digits": (CHUNKED + 20 * b"0" + b"3\r\nabc\r\n0\r\n\r\n", {"httptools"}),
    "a coding that is not chunked": (HEAD + b"Transfer-Encoding: gzip\r\n\r\nabc", set()),
    "a protocol switched to": (b"HTTP/1.1 101 Switching\r\n\r\n" + HEAD + b"Content-Length: 0\r\n\r\n", set()),
}


@pytest.mark.parametrize("what", REFUSED_BY_ALL)
def test_what_no_parser_takes_is_refused(what: str) -> None:
    data = REFUSED_BY_ALL[what]

    assert ask_h11(data) is None
    assert ask_httptools(data) is None
    assert ask_ours(data) is None


@pytest.mark.parametrize("what", REFUSED_BY_ALL)
def test_what_is_refused_is_no_http_and_neither_too_large_nor_closed_early(what: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        read_with_ours(REFUSED_BY_ALL[what])

    assert caught.type in {ProtocolError, TooLargeError if "64 bits" in what else ProtocolError}


@pytest.mark.parametrize("what", STRICTER_THAN_SOME)
def test_where_the_parsers_disagree_ours_is_the_stricter(what: str) -> None:
    data, takers = STRICTER_THAN_SOME[what]

    asked = {"h11": ask_h11(data), "httptools": ask_httptools(data)}
    assert {name for name, reading in asked.items() if reading is not None} == takers
    assert ask_ours(data) is None


LAX_AS_H11 = {  # httptools refuses these; RFC 9112 lets a client take them
    "the same length twice": HEAD + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "a length beside chunked": HEAD + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "a tab behind a coding": HEAD + b"Transfer-Encoding: chunked\t\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "a space behind a chunk size": CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n",
    "a length in the trailer section": CHUNKED + b"3\r\nabc\r\n0\r\nContent-Length: 7\r\n\r\n",
    "a control character in an extension": CHUNKED + b"3;\x01\r\nabc\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("what", LAX_AS_H11)
def test_what_only_httptools_refuses_is_read_as_h11_reads_it(what: str) -> None:
    data = LAX_AS_H11[what]

    assert ask_httptools(data) is None
    assert ask_ours(data) == ask_h11(data) == Reading(200, 3, keep_alive=True)


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
"""What may be taken although h11 refuses it: see usage.py, and the test of the space before an extension."""


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


def test_only_ours_takes_the_space_before_an_extension_that_rfc_9112_allows() -> None:
    data = CHUNKED + b"3 ;a=b\r\nabc\r\n0\r\n\r\n"

    assert (ask_h11(data), ask_httptools(data)) == (None, None)
    assert ask_ours(data) == Reading(200, 3, keep_alive=True)


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


@pytest.mark.parametrize("size", ["3e9", "fffffff", "ffffffffffffffff"])
def test_a_chunk_too_large_is_refused_by_its_size_alone(size: str) -> None:
    with pytest.raises(TooLargeError):
        ResponseParser(1000, 1000).feed(CHUNKED + size.encode() + b"\r\n")


@pytest.mark.parametrize("length", [1001, 10**17])
def test_a_body_too_large_is_refused_by_its_length_alone(length: int) -> None:
    with pytest.raises(TooLargeError):
        ResponseParser(1000, 1000).feed(HEAD + b"Content-Length: %d\r\n\r\n" % length)


def framed(framing: str, body: bytes) -> bytes:
    if framing == "length":
        return HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    if framing == "chunked":
        return CHUNKED + b"a\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (body[:10], len(body) - 10, body[10:])
    return HEAD + b"\r\n" + body


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("step", [1, 13, 100_000])
def test_a_body_may_be_as_large_as_the_limit_and_not_a_byte_larger(framing: str, step: int) -> None:
    just, over = framed(framing, b"x" * 1000), framed(framing, b"x" * 1001)

    response = read_with_ours(*pieces_of(just, range(0, len(just), step)), max_body_bytes=1000)

    assert response is not None
    assert response.size == 1000
    with pytest.raises(TooLargeError):
        read_with_ours(*pieces_of(over, range(0, len(over), step)), max_body_bytes=1000)


@pytest.mark.parametrize("step", [1, 13, 100_000])
def test_a_header_section_may_be_as_large_as_the_limit_and_not_a_byte_larger(step: int) -> None:
    start = HEAD + b"Content-Length: 0\r\nx: "
    just, over = (start + b"y" * (1000 - len(start) + more) + b"\r\n\r\n" for more in (0, 1))

    assert read_with_ours(*pieces_of(just, range(0, len(just), step)), max_header_bytes=1000) is not None
    with pytest.raises(TooLargeError):
        read_with_ours(*pieces_of(over, range(0, len(over), step)), max_header_bytes=1000)


@pytest.mark.parametrize("step", [1, 13, 100_000])
def test_a_chunk_size_line_may_be_as_large_as_the_limit_and_not_a_byte_larger(step: int) -> None:
    just, over = (CHUNKED + b"2;" + b"x" * (996 + more) + b"\r\nok\r\n0\r\n\r\n" for more in (0, 1))

    assert read_with_ours(*pieces_of(just, range(0, len(just), step)), max_header_bytes=1000) is not None
    with pytest.raises(TooLargeError):
        read_with_ours(*pieces_of(over, range(0, len(over), step)), max_header_bytes=1000)


def test_a_response_without_a_body_may_name_any_length() -> None:
    response = read_with_ours(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5000\r\n\r\n", max_body_bytes=1000)

    assert response is not None
    assert (response.size, response.keep_alive) == (0, True)


def test_another_protocol_is_refused_by_its_first_bytes() -> None:
    with pytest.raises(ProtocolError):
        ResponseParser(65536, 65536).feed(b"HTTQ")


# Garbage


FRAGMENTS = st.one_of(
    st.binary(max_size=20),
    st.sampled_from(
        [
            HEAD,
            CHUNKED,
            b"HTTP/1.1 100\r\n\r\n",
            b"HTTP/1.0 302 x\r\nLocation: /\r\n",
            b"Content-Length: 5\r\n",
            b"Content-Type: text/html; charset=undefined\r\n",
            b"Connection: close\r\n",
            b"\r\n",
            b"\r\n\r\n",
            b"5\r\nhello\r\n",
            b"0\r\n",
            b"<a href='x'>",
        ]
    ),
)


@thorough
@given(st.lists(FRAGMENTS, max_size=12), CUTS)
def test_garbage_is_read_or_refused_and_nothing_else(fragments: list[bytes], cuts: list[int]) -> None:
    parser = ResponseParser(200, 50)

    try:
        for piece in (*pieces_of(b"".join(fragments), cuts), b""):
            response = parser.feed(piece)
            assert response is None or isinstance(response, Response)
    except ProtocolError as error:
        assert str(error)  # noqa: PT017  (every refusal says why)


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


@pytest.mark.parametrize("error", [ConnectionResetError(), BrokenPipeError(), ClosedEarlyError()])
def test_a_connection_is_stale_when_it_broke_before_the_answer_began(error: OSError | ProtocolError) -> None:
    fresh, begun = ResponseParser(100, 100), ResponseParser(100, 100)
    begun.feed(b"H")

    assert is_stale(error, fresh)
    assert not is_stale(error, begun)


@pytest.mark.parametrize("error", [TimeoutError(), OSError(), ProtocolError(), TooLargeError()])
def test_other_errors_are_no_sign_of_a_stale_connection(error: OSError | ProtocolError) -> None:
    assert not is_stale(error, ResponseParser(100, 100))
