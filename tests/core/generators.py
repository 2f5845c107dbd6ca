"""What hypothesis makes for the tests of the core: whole responses with what must be read from them."""

from typing import Any, NamedTuple, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from inflight.strategies.core.http1 import Response

T = TypeVar("T")

thorough = settings(
    max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
"""The same examples on every run: a red test is red for everybody."""

TOKENS = st.text("abcXYZ019!#$%&'*+-.^_`|~", min_size=1, max_size=8)
VALUES = st.text("abc XYZ\t;,=\"'/:\\(){}[]<>?@\x80\xff", max_size=20).map(lambda text: text.strip(" \t"))
REASONS = st.sampled_from(["", " ", " OK", " Not  Found", " \xe9t\xe9", " 200 HTTP/1.1"])
SPACES = st.sampled_from(["", " ", "\t", "  ", " \t "])
CONTENT_TYPES = {
    None: (None, "utf-8"),
    "text/html": ("text/html", "utf-8"),
    "Text/HTML; charset=UTF-8": ("text/html", "utf-8"),
    'text/html ;a=b; CharSet = "Latin-1"': ("text/html", "latin-1"),
    "application/xml;charset=cp1252;x=y": ("application/xml", "cp1252"),
    "text/plain": ("text/plain", "utf-8"),
    "charset=x": ("charset=x", "utf-8"),
    ";charset=x": (None, "x"),
}
CONNECTIONS = [None, "close", "keep-alive", "Close", "Keep-Alive", "x, close", "keep-alive ,y", "x"]
LINKED = {"text/html", "application/xml"}
BODIES = st.one_of(
    st.binary(max_size=40).filter(lambda body: b"href" not in body.lower()),
    st.sampled_from([b"", b'<a href="/x">', b"<A HREF='../y?a&amp;b'>", b"\r\n\r\n"]),
)
LINKS = {b'<a href="/x">': [b"/x"], b"<A HREF='../y?a&amp;b'>": [b"../y?a&amp;b"]}


class Made(NamedTuple):
    """A response on the wire, and what a parser must read from it."""

    data: bytes
    expected: Response
    minor: int
    framing: str


def odd_case(draw: Any, text: str) -> str:
    flips = draw(st.integers(0, 2 ** len(text) - 1))
    return "".join(char.swapcase() if flips >> n & 1 else char for n, char in enumerate(text))


def field(draw: Any, name: str, value: str) -> str:
    behind = draw(SPACES)
    if name in {"transfer-encoding", "content-length", "connection"}:
        behind = behind.replace("\t", " ")  # httptools knows no tab there; see LAX_AS_H11
    return f"{odd_case(draw, name)}:{draw(SPACES)}{value}{behind}\r\n"


def chunked(draw: Any, body: bytes) -> bytes:
    """Encode a body in chunks, with extensions, odd sizes and trailers."""
    extensions = st.sampled_from([b"", b";a", b";a=b", b';a="b";c'])
    data = b""
    while body:
        length = draw(st.integers(1, len(body)))
        size = f"{length:x}" if draw(st.booleans()) else f"{length:04X}"
        data += b"%s%s\r\n%s\r\n" % (size.encode(), draw(extensions), body[:length])
        body = body[length:]
    last = draw(st.sampled_from([b"0", b"000", b"0;a=b"]))
    trailers = draw(st.sampled_from([b"", b"A: b\r\n", b"X-Sum: 7\r\nx:\r\n"]))
    return b"%s%s\r\n%s\r\n" % (data, last, trailers)


def interim(draw: Any) -> str:
    status = draw(st.sampled_from([100, 102, 103, 199]))
    fields = draw(st.sampled_from(["", "Link: </a>; rel=preload\r\n", "Date: now\r\nX: y\r\n"]))
    return f"HTTP/1.1 {status}{draw(REASONS)}\r\n{fields}\r\n"


@st.composite
def responses(draw: Any, framings: tuple[str, ...] = ("length", "chunked", "close", "none")) -> Made:
    """Make one whole response, any interim ones before it included."""
    framing = draw(st.sampled_from(framings))
    minor = 1 if framing == "chunked" else draw(st.sampled_from([1, 1, 1, 0]))
    status = draw(
        st.sampled_from([204, 304]) if framing == "none" else st.sampled_from([200, 200, 200, 206, 301, 404, 500, 599])
    )
    content_type = draw(st.sampled_from(list(CONTENT_TYPES)))
    connection = draw(st.sampled_from(CONNECTIONS))
    location = draw(st.sampled_from([None, "/Else?A=b", "http://H:81/"]))
    body = b"" if framing == "none" else draw(BODIES)
    fields = [field(draw, f"x-{name}", value) for name, value in draw(st.lists(st.tuples(TOKENS, VALUES), max_size=3))]
    for name, value in (("content-type", content_type), ("connection", connection), ("location", location)):
        if value is not None:
            fields.append(field(draw, name, value))
    if framing == "length" or (framing == "none" and draw(st.booleans())):
        fields.append(
            field(
                draw,
                "content-length",
                draw(st.sampled_from(["", "0", "000"])) + str(len(body)),
            )
        )
    if framing == "chunked":
        fields.append(field(draw, "transfer-encoding", odd_case(draw, "chunked")))
    before = "".join(interim(draw) for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))))
    head = f"{before}HTTP/1.{minor} {status}{draw(REASONS)}\r\n{''.join(draw(st.permutations(fields)))}\r\n"
    wire = chunked(draw, body) if framing == "chunked" else body

    kind, encoding = CONTENT_TYPES[content_type]
    options = {option.strip().lower() for option in (connection or "").split(",")}
    keep_alive = framing != "close" and "close" not in options and (minor == 1 or "keep-alive" in options)
    links = LINKS.get(body, []) if status == 200 and kind in LINKED else []
    expected = Response(status, kind, encoding, location, len(body), links, keep_alive)
    return Made(head.encode("latin-1") + wire, expected, minor, framing)
