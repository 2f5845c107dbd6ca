"""What our parser accepts, compared with four clients, and where it refuses the rest."""

import re

import pytest

from inflight.strategies.core.http1 import ClosedEarlyError, ProtocolError, Response, ResponseParser
from tests.core.responses import ABC, CHUNKED, HEAD, NOT_PERMITTED, USAGE, is_usual


def feed(data: bytes, step: int) -> Response | str:
    """Return the response, or why it is refused, or that the parser waits for more."""
    parser = ResponseParser(65536, 65536)
    for at in range(0, len(data), step):
        try:
            response = parser.feed(data[at : at + step])
        except ClosedEarlyError as error:
            raise AssertionError("the connection is open") from error
        except ProtocolError as error:
            return f"{type(error).__name__}: {error}"
        if response is not None:
            return response
    return "waits"


def size_of(data: bytes) -> int:
    """Return the length of the body: of all cases that are accepted, it is 3 or 0."""
    return 0 if data.startswith((b"HTTP/1.1 101", b"HTTP/1.1 204", b"HTTP/1.1 304", b"HTTP/1.1 205")) else 3


@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_what_is_permitted_and_three_of_four_clients_accept_is_accepted_and_nothing_else(step: int) -> None:
    answers = {data: feed(data, step) for data in USAGE}

    accepted = {data: answer.size for data, answer in answers.items() if isinstance(answer, Response)}
    assert accepted == {data: size_of(data) for data in USAGE if is_usual(data)}
    assert "waits" not in answers.values()
    too_large = {data for data, answer in answers.items() if str(answer).startswith("TooLargeError")}
    assert too_large == {data for data in USAGE if data.startswith(CHUNKED) and 20 * b"0" in data}


CLOSES = re.compile(rb"HTTP/1.0|\r\nConnection: .*close|(204|304) N\r\n.*\r\n\r\n.", re.DOTALL)
"""Responses after which a connection is not kept: these say so, or more bytes follow than belong to them."""


def test_the_connection_is_kept_after_odd_responses_too() -> None:
    answers = {data: feed(data, 100_000) for data in USAGE}

    kept = {data for data, answer in answers.items() if isinstance(answer, Response) and answer.keep_alive}
    assert kept == {data for data in USAGE if is_usual(data) and not CLOSES.search(data)}


def test_what_three_clients_accept_and_the_rfcs_forbid_is_listed() -> None:
    assert {data for data in NOT_PERMITTED if USAGE[data].count("-") < 2} == set(NOT_PERMITTED)


WRONG = {  # what is right so far, and the first wrong byte
    "a minor version that few know": (b"HTTP/1.", b"2"),
    "another major version": (b"HTTP/", b"2"),
    "another protocol": (b"", b"S"),
    "another protocol with the same beginning": (b"HTT", b"Q"),
    "lower case": (b"", b"h"),
    "an empty line first": (b"", b"\r"),
    "two spaces": (b"HTTP/1.1 ", b" "),
    "a status below 100": (b"HTTP/1.1 ", b"0"),
    "a status of four digits": (b"HTTP/1.1 200", b"0"),
    "CR alone": (b"HTTP/1.1 200 OK\r", b"X"),
    "NUL in a reason": (b"HTTP/1.1 200 ", b"\0"),
    "NUL in a value": (HEAD + b"X: ", b"\0"),
    "a space in a name": (HEAD + b"X", b" "),
    "no colon": (HEAD + b"nothing", b"\r"),
    "no name": (HEAD, b":"),
    "CR CR": (HEAD + b"\r", b"\r"),
    "no chunk size": (CHUNKED, b"\r"),
    "a letter in a chunk size": (CHUNKED + b"3", b"x"),
    "LF behind a chunk size": (CHUNKED + b"3", b"\n"),
    "LF behind a chunk extension": (CHUNKED + b"3;a", b"\n"),
    "a long chunk": (CHUNKED + b"3\r\nabc", b"d"),
    "LF behind a chunk": (CHUNKED + b"3\r\nabc", b"\n"),
    "a trailer that begins with a space": (CHUNKED + b"0\r\n", b" "),
    "a trailer without colon": (CHUNKED + b"0\r\nx", b"\n"),
    "a nonsense behind an interim response": (b"HTTP/1.1 100 C\n\n", b"x"),
}


@pytest.mark.parametrize("step", [1, 100_000])
@pytest.mark.parametrize("what", WRONG)
def test_a_refusal_comes_with_the_first_wrong_byte_and_names_it(what: str, step: int) -> None:
    right, wrong = WRONG[what]

    answer = feed(right + wrong, step)

    assert feed(right, step) == "waits"
    assert isinstance(answer, str)
    assert answer.startswith("ProtocolError: ")
    assert repr(wrong)[2:-1] in answer


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n charset=latin-1\r\n" + ABC, ("text/html", "latin-1", None)),
        (b"HTTP/1.1 200 OK\nContent-Type: text/xml\n" + ABC, ("text/xml", "utf-8", None)),
        (b"HTTP/1.1 302 F\nLocation:\n\t/A\n" + ABC, (None, "utf-8", "/A")),
        (b"HTTP/1.1 302 F\r\n Location: /no\r\n" + ABC, (None, "utf-8", None)),
    ],
)
def test_fields_in_odd_syntax_are_read(data: bytes, fields: tuple[str | None, ...]) -> None:
    response = feed(data, 1)

    assert isinstance(response, Response)
    assert (response.content_type, response.encoding, response.location) == fields
