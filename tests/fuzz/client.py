"""Fuzz the client core: whatever a server sends, a crawl goes on.

Each case is one crawl. Its responses are made of hostile pieces, are cut at random places, and go through the parser
and the frontier as a strategy would send them. The only
errors allowed are the declared ones, ``OSError`` and ``ProtocolError``, and each URL found must be one that every
strategy can request.

    python tests/fuzz/client.py --seconds 600 [--cases N] [--seed N] [--first NUMBER_OF_THE_FIRST_CASE]
"""

import asyncio
import contextlib
import json
import re
import socket
import sys
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import aiohttp

sys.path.insert(0, str(Path(__file__).parents[2]))

from inflight.strategies.aiohttp_client import ERRORS as AIOHTTP_ERRORS
from inflight.strategies.aiohttp_client import get, make_session
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ProtocolError, Response, ResponseParser
from inflight.strategies.core.links import normalise
from inflight.strategies.core.page import Fetch
from tests.fuzz._options import read_options
from tests.patience import search

FETCHES = 12
"""Maximum number of fetches in one case."""
REQUEST = re.compile(rb"GET /[!-~]* HTTP/1\.1\r\nHost: [0-9A-Za-z_%.:\[\]-]+\r\n(?:[A-Za-z-]+: [ -~]+\r\n)+\r\n")

HREF_PIECES = (
    *("/", "/", "/", "//", "///", "..", "./", "?", "#", ":", "@", "[", "]", "\\", " ", "\t", "\n", "\r", "\0", "\x7f"),
    *("%", "%41", "%zz", "%00", "%2f", "&", "&amp;", "&#47;", "&#x2f;", "&#0;", "&#xd800;", "&#x110000;", "&notin"),
    *("&#" + 5000 * "9" + ";", "&#x" + 5000 * "f" + ";", "&#" + 4301 * "0" + ";", "&" + 100 * "x" + ";"),
    *("http:", "http://", "http://", "http://", "HTTP://", "https://", "ftp://", "javascript:", "mailto:", "://"),
    *(300 * "../", 2000 * "x", "+2AA-", "\udcff", "\udc80\udcff", "x", "y", "?a=b", "&b=c", ";p", "href="),
)
HOST_PIECES = (
    *("site.test", "www.", "sub.", "127.0.0.1", "127.1", "0x7f.1", "1", "localhost", "h", ".", "..", "-", "_", "%41"),
    *("[::1]", "[::]", "[::1%25lo]", "[fe80::1%]", "[v1.a]", "[::ffff:1.2.3.4]", "[1:2]", "[]", "[::1", "::1]"),
    *("user@", "user:secret@", "@@", "xn--", "xn--a", "xn--zzzzzz", "xn--bcher-kva", 63 * "a", 64 * "a", 64 * "ü"),
    *("é", "ß", "ü", "İ", "\u0589", "\u2100", "\u3002", "\u00ad", "\u200d", "\uff05", "①"),
    *("\uff0f", "日本", "\U0001f600"),
    *(150 * "a.", 20 * "ü.", "1.2.3.4.5", "\udcff", " ", "\t", "\0", "\x7f", "\\", "&#46;", "&#58;", "A.B", "a.", ".a"),
)
PORT_PIECES = (
    *(":0", ":1", ":80", ":080", ":65535", ":65536", ":-1", ":+1", ":", ":1_0", ":x", ":" + 5000 * "9", ":٣", ":²"),
)
ENCODINGS = (
    *("utf-8", "UTF-8", "latin-1", "cp1252", "ascii", "shift_jis", "gb18030", "iso-2022-jp", "big5", "euc-kr", "utf-7"),
    *("utf-16", "utf-16-le", "utf-32", "utf_8_sig", "cp037", "idna", "punycode", "undefined", "unicode_escape", "mbcs"),
    *("raw_unicode_escape", "charmap", "hex", "zlib", "bz2", "base64", "rot13", "oem", "aliases"),
    *("__init__", "..", "x"),
    *("", "-", "_", "é", "\xff", "'", "utf-8'", "windows-31j", 5000 * "x", "encodings.utf_8", "strict"),
    *("%s", "\\", "="),
)
TYPES = (
    *(3 * ("text/html", "application/xml", "Text/HTML", "text/html ", "\ttext/html")),
    *("text/plain", "", ";", "=", "\xff", "text/html,text/plain", 3000 * "x", '"', "charset=utf-8"),
)
LENGTHS = (
    *("-1", "+1", "", " ", "0x1", "1_0", "1e3", "\xb2", 18 * "9", 19 * "9", 5000 * "9", 5000 * "0", "1, 1", "1,2", ","),
    *("1 1", "1\t", ",1", 400 * "1,"),
)
FIELDS = (
    *("X: y", "x:", "X:y", ":", "x", "x y: z", " x: y", "\tx", "x\0: y", "x: \0"),
    *("é: x", "x: \xff", "x: " + 5000 * "y"),
    *("Connection: close", "Connection: keep-alive", "connection:,", "Connection: upgrade", "Connection: \xff, close"),
    *("Transfer-Encoding: gzip", "Transfer-Encoding: chunked, chunked", "transfer-encoding:", "Upgrade: h2c"),
    *("Content-Encoding: gzip", "Content-Encoding: br", "Content-Encoding: zstd", "Content-Encoding: \xff"),
    *("Set-Cookie: a=b", "Set-Cookie: \xff=;;=", "Set-Cookie: " + 200 * "a=b;", "Set-Cookie: a=b; expires=x"),
    *("Keep-Alive: timeout=" + 5000 * "9", "Trailer: x", "Link: <x>; rel=", "Retry-After: x", "Age: -1", "Date: x"),
    *("WWW-Authenticate: Basic", "Content-Range: x", "Content-Disposition: attachment; filename*=x'y'%zz"),
)
STATUS_LINES = (
    *(40 * ("HTTP/1.1 200 OK",)),
    *("HTTP/1.0 200 OK", "HTTP/1.1 200", "HTTP/1.1 200 \xff", "HTTP/1.1 204 x", "HTTP/1.1 304 x", "HTTP/1.1 404 x"),
    *(4 * ("HTTP/1.1 301 x", "HTTP/1.1 302 x", "HTTP/1.0 308 x", "HTTP/1.1 300 x")),
    *("HTTP/1.1 101 x", "HTTP/1.1 099 x", "HTTP/1.1 600 x", "HTTP/1.1 1000 x", "HTTP/2 200 x"),
    *("HTTP/1.1  200", "x", ""),
    *("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", 50 * "HTTP/1.1 103 x\r\nLink: <x>\r\n\r\n" + "HTTP/1.1 200 OK"),
)
CHUNK_SIZES = (
    *("0", "00", "-1", "+1", "0x1", "", " ", "f" * 16, "f" * 17, "0" * 5000, "1;", ";", "1 ;\xff"),
    *("1_0", "\xb2", "g"),
)
ERRORS = (TimeoutError, ConnectionRefusedError, ConnectionResetError, BrokenPipeError, OSError, socket.gaierror)
ROOTS = ("http://site.test/", "http://127.0.0.1:81/a/b?c=d", "http://[::1]/", "http://xn--a/", "http://bücher.test/x/")


# What is sent


def href(random: Random) -> str:
    """Return a reference: with a host and a port, or of any pieces at all."""
    text = "".join(random.choices(HREF_PIECES, k=random.choice((1, 2, 3, 3, 4, 5, 8))))
    if random.random() < 0.5:
        return text
    host = "".join(random.choices(HOST_PIECES, k=random.choice((1, 1, 2, 3))))
    port = random.choice(PORT_PIECES) if random.random() < 0.3 else ""
    return f"{random.choice(('http://', 'http://', '//', 'HTTP://'))}{host}{port}/{text}"


def encoded(random: Random, text: str, encoding: str) -> bytes:
    """Encode as the page says, or as it should not."""
    try:
        return text.encode(encoding, "surrogateescape")
    except (LookupError, ValueError):
        return text.encode(random.choice(("utf-8", "utf-7", "utf-16-le")), "surrogatepass")


def page(random: Random, encoding: str) -> bytes:
    """Return a body that links to hostile references in hostile ways."""
    ways = ('<a href="%s">', "<a href='%s'>", '<A HREF\n=\t"%s">', "<a href=%s>", '<a href="%s', '<a data-href="%s">')
    texts = (random.choice(ways).replace("%s", href(random)) for _ in range(random.randrange(12)))
    return b"\n".join(encoded(random, text, encoding) for text in texts)


def chunked(random: Random, body: bytes) -> bytes:
    data = b""
    while body:
        size = random.randint(1, len(body))
        stated = f"{size:x}" if random.random() < 0.97 else random.choice(CHUNK_SIZES)
        data += stated.encode("latin-1") + b"\r\n" + body[:size] + b"\r\n"
        body = body[size:]
    trailers = (b"", b"", b"x: y\r\n", b"x\r\n", b"\xff: \0\r\n", 300 * b"x: y\r\n")
    return data + b"0\r\n" + random.choice(trailers) + b"\r\n"


def response(random: Random) -> bytes:
    """Return what a server sends for one request: often a valid response, seldom a decent one."""
    encoding = random.choice(ENCODINGS)
    body = page(random, encoding)
    fields = random.choices(FIELDS, k=random.choice((0, 0, 0, 0, 0, 0, 1, 3)))
    if random.random() < 0.9:
        ways = ("", "", f"; charset={encoding}", f'; charset="{encoding}"', f";charset={encoding};x=y")
        fields.append(f"Content-Type: {random.choice(TYPES)}{random.choice(ways)}")
    if random.random() < 0.4:
        fields.append("Location: " + encoded(random, href(random), "utf-8").decode("latin-1"))
    framing = random.random()
    if framing < 0.6:
        stated = str(len(body)) if random.random() < 0.9 else random.choice(LENGTHS)
        fields.append(f"Content-Length: {stated}")
    elif framing < 0.8:
        fields.append("Transfer-Encoding: chunked")
        body = chunked(random, body)
    random.shuffle(fields)
    head = "\r\n".join((random.choice(STATUS_LINES), *fields, "", ""))
    data = head.encode("latin-1", "replace") + body
    return mutated(random, data) if random.random() < 0.2 else data


def mutated(random: Random, data: bytes) -> bytes:
    """Return the bytes with a few of them lost, changed, repeated, or others put between."""
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice((0, 1, 1, 4, 40)))
        others = (b"", b"\0", b"\r\n", b"\r", b"\n", b"\xff", b'"', random.randbytes(3), data[at:end] * 2)
        data = data[:at] + random.choice(others) + data[end:]
    return data


def pieces(random: Random, data: bytes) -> Iterator[bytes]:
    """Cut the bytes as a network might, and end with the end of the connection."""
    while data:
        size = random.choice((1, 2, 7, 50, 500, len(data), len(data)))
        yield data[:size]
        data = data[size:]
    yield b""


# What is done with it


class AnyHost:
    """Instead of a ``HostRule``: a page may name every host."""

    def allows(self, host: str) -> bool:
        return bool(host)


class Unconnected(aiohttp.TCPConnector):
    """Instead of aiohttp's connector: what is left is how aiohttp reads a URL and makes its request."""

    async def connect(self, *_: Any, **__: Any) -> NoReturn:
        raise ConnectionRefusedError


class Core:
    """Cases that go through the parser and the frontier, without a connection."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.session = self.loop.run_until_complete(self.open())

    async def open(self) -> aiohttp.ClientSession:
        session = make_session(Job(()))
        await session.connector.close()  # type: ignore[union-attr]
        session._connector = Unconnected()
        return session

    def close(self) -> None:
        self.loop.run_until_complete(self.session.close())
        self.loop.close()

    def run(self, random: Random, sent: list[tuple[str, bytes]]) -> None:
        """Crawl from one root; note in ``sent`` what each URL was answered with."""
        connection: Any = random.choice(("keep-alive", "per-fetch"))
        job = Job(
            (random.choice(ROOTS),),
            connection=connection,
            max_redirects=3,
            max_tries=2,
            strict=random.random() < 0.5,
            max_header_bytes=random.choice((200, 65_536, 65_536, 65_536)),
            max_body_bytes=random.choice((300, 100_000, 100_000, 100_000)),
        )
        frontier = Frontier(job)
        if random.random() < 0.5:
            frontier._hosts = AnyHost()  # type: ignore[assignment]
        waiting = frontier.roots()
        for _ in range(FETCHES):
            if not waiting:
                break
            fetch = waiting.pop(random.randrange(len(waiting)))
            frontier.start(fetch)
            self.check_request(fetch)
            data = response(random)
            sent.append((fetch.url, data))
            try:
                if random.random() < 0.1:
                    raise random.choice(ERRORS)
                found = frontier.finish(fetch, parsed(random, job, data))
            except (OSError, ProtocolError) as error:
                found = frontier.fail(fetch, error)
            waiting += found
        json.dumps([asdict(record) for record in frontier.pages()]).encode()

    def check_request(self, fetch: Fetch) -> None:
        """Check that every strategy can make the request, and can ask for the addresses of the host."""
        origin = fetch.origin
        assert normalise(fetch.url) == fetch.url
        assert REQUEST.fullmatch(fetch.request), fetch.request
        with contextlib.suppress(OSError):
            socket.getaddrinfo(
                origin.host,
                origin.port,
                type=socket.SOCK_STREAM,
                flags=socket.AI_NUMERICHOST,
            )
        with contextlib.suppress(OSError, ProtocolError, *AIOHTTP_ERRORS):
            self.loop.run_until_complete(get(self.session, fetch.url, Job(())))


def parsed(random: Random, job: Job, data: bytes) -> Response:
    """Return the first response in ``data``. Raises ProtocolError."""
    parser = ResponseParser(job.max_header_bytes, job.max_body_bytes)
    for piece in pieces(random, data):
        found = parser.feed(piece)
        if found is not None:
            assert parser.untouched
            return found
    raise AssertionError("the parser ignored the end of the connection")


# The command


def main() -> int:
    options = read_options("Fuzz the client core until the time is up, or something is found.", first=0)
    core, tried = Core(), 0
    try:
        for number in search(options.first, options.cases, options.seconds):
            sent: list[tuple[str, bytes]] = []
            try:
                core.run(Random(f"{options.seed}/{number}"), sent)
            except Exception:  # noqa: BLE001  (what is looked for)
                report(options.seed, number, sent)
                return 1
            tried += 1
    finally:
        core.close()
    print(f"client: {tried:,} cases with seed {options.seed}, nothing found")
    return 0


def report(seed: int, number: int, sent: list[tuple[str, bytes]]) -> None:
    """Print what went wrong, what had been sent until then, and how to see it again."""
    traceback.print_exc(file=sys.stdout)
    for url, data in sent:
        print(f"{url[:200]} was answered with {data!r}")
    print(f"Case {number} of seed {seed}. To repeat it:")
    print(f"    python tests/fuzz/client.py --seed {seed} --first {number} --cases 1")


if __name__ == "__main__":
    sys.exit(main())
