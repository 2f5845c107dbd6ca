"""The reader of requests: what it remembers saves work and changes nothing."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from inflight.fake_server.gate import Jobs
from inflight.fake_server.requests import Job, RequestReader, Wanted
from inflight.fake_server.responses import Answer

PAGE = Job(Answer(200, b"page", 0, plain=True))
HEADS = (
    "Host: h\r\n\r\n",
    "Host: h\r\nConnection: close\r\n\r\n",
    "Host: h\r\nConnection: keep-alive\r\n\r\n",
    "Host: h\r\nContent-Length: 3\r\n\r\nabc",
    "Host: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Host: h\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    "Host: h\r\n\r\n\r\n",
    "\r\n",
    "Host: h\r\nHost: h\r\n\r\n",
)


class Forgetful(set[bytes]):
    """Remembers nothing."""

    def add(self, element: bytes, /) -> None:
        """Do nothing."""


class Behind:
    """A gate, as far as a reader knows it."""

    def __init__(self, known: set[bytes]) -> None:
        self.jobs: Jobs = {b"/": PAGE, b"/p/1": PAGE}
        self.known = known


class Counting(RequestReader):
    """Counts how often the parser was asked."""

    __slots__ = ("parsed",)

    def __init__(self, behind: Behind) -> None:
        super().__init__(behind)
        self.parsed = 0

    def on_message_begin(self) -> None:
        self.parsed += 1
        super().on_message_begin()


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    method, version = (
        draw(st.sampled_from(("GET", "GET", "HEAD", "POST"))),
        draw(st.sampled_from(("1.1", "1.1", "1.0"))),
    )
    target = draw(st.sampled_from(("/", "/p/1", "/p/2", "http://h/", "/p/1 ")))
    return f"{method} {target} HTTP/{version}\r\n{draw(st.sampled_from(HEADS))}".encode()


@st.composite
def feeds(draw: st.DrawFn) -> list[bytes]:
    """Return requests as they are read: one at a time, several at once, or in two parts."""
    parts = []
    for request in draw(st.lists(requests(), min_size=1, max_size=8)):
        cut = draw(st.sampled_from((0, 0, 0, 3, 10, len(request) - 1)))
        parts += [request[:cut], request[cut:]] if cut else [request]
    joined = draw(st.booleans())
    return [b"".join(parts[:2]), *parts[2:]] if joined else parts


def heard(reader: RequestReader, fed: list[bytes]) -> list[Any]:
    """Return all that a connection learns from its reader."""
    found = []
    for data in fed:
        jobs = reader.feed(memoryview(data))
        found.append((jobs, reader.refused, reader.begun and not jobs))
    return found


@given(st.lists(feeds(), min_size=1, max_size=3))
@example([[b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"] * 2, [b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"] * 2])
@example(
    [
        [
            b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n",
            b"GET / 123",
        ]
    ]
)
def test_what_is_remembered_changes_no_answer(connections: list[list[bytes]]) -> None:
    remembering, forgetful = Behind(set()), Behind(Forgetful())
    for fed in connections:
        assert heard(RequestReader(remembering), fed) == heard(RequestReader(forgetful), fed)


def test_a_request_like_one_before_it_is_not_parsed_again_unless_it_is_for_no_page() -> None:
    reader = Counting(Behind(set()))

    answers = [reader.feed(b"GET " + path + b" HTTP/1.1\r\nHost: h\r\n\r\n") for path in (b"/", b"/p/1", b"/", b"/p/2")]

    assert answers == [*[[PAGE]] * 3, [Wanted(b"/p/2", "1.1", head_only=False, connection="")]]
    assert reader.parsed == 2


def test_a_client_that_never_repeats_itself_is_not_remembered_for_ever() -> None:
    behind = Behind(set())
    reader = RequestReader(behind)
    for number in range(1000):
        assert reader.feed(b"GET / HTTP/1.1\r\nHost: h\r\nX: %d\r\n\r\n" % number) == [PAGE]
    assert len(behind.known) < 100
