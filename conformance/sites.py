"""Sites as data: what a server does for each path, how it is crawled, and what the crawl must find."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inflight.conformance.servers import (
    CHUNKED,
    CLOSE,
    DRIP_S,
    HANG,
    HEAD,
    LINK,
    RESET,
    Script,
    moved,
    page,
    response,
)

MS = 1_000_000
LONG_NS = 3_600_000 * MS
"""A deadline that no fetch reaches, even on a machine that is stopped for a while."""
SHORT_NS = 300 * MS
"""A deadline for fetches that are never answered."""

CONNECTION_USES = KEPT, PER_FETCH = ("keep-alive", "per-fetch")
Outcome = int | str | None
"""The status of a page, or the kind of its error."""
RESETTING, EARLY, BAD = "connection reset", "closed early", "malformed response"
LARGE, LATE = "too large", "timeout"
RETRIED = (RESETTING, EARLY, LATE)
"""Errors after which another try may succeed."""
CUT = (RESETTING, EARLY)
"""A client with an HTTP stack of its own may take one for the other."""


class Row(NamedTuple):
    """What the server does with a path, and what a crawl must find there."""

    script: Script
    expected: Outcome = 200
    own: tuple[Outcome, ...] = ()
    """What else is right for a client with an HTTP stack of its own."""


@dataclass(frozen=True)
class Site:
    """A site and its crawl. Each page is tried once, but ``max_tries`` times if it fails and may be tried again."""

    rule: str
    pages: Mapping[str, bytes | Row | None]
    """Path -> row, or a response, whose status is expected; None for a missing page. ``PORT`` is the server's."""
    roots: tuple[str, ...] | None = None
    """All but missing pages if not given; where a library has limits, they are crawled alone, with a short deadline."""
    options: Mapping[str, Any] = field(default_factory=dict)
    own_options: Mapping[str, Any] = field(default_factory=dict)
    """Other options for a client with an HTTP stack of its own."""
    uses: tuple[str, ...] = (KEPT,)
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Path -> fields of its record; ``next_url`` is given as a path."""
    max_connections: int | None = None
    recovers: bool = False
    """Whether the last try of each page succeeds."""

    def rows(self) -> dict[str, Row]:
        """Return the row of each path."""
        return {
            path: Row(b"", 404) if row is None else Row(row, int(row[9:12])) if isinstance(row, bytes) else row
            for path, row in self.pages.items()
        }


def bare(status: int, fields: bytes = b"") -> bytes:
    """Return a response of a kind that never has a body, and so no length."""
    return b"HTTP/1.1 %d Bare\r\nContent-Type: text/html\r\n%s\r\n" % (status, fields)


def record(*values: Any) -> dict[str, Any]:
    """Return fields of a record."""
    return dict(zip(("next_url", "size", "content_type", "encoding", "num_urls", "num_new_urls"), values, strict=True))


def redirects_of(length: int) -> dict[str, bytes]:
    """Return a loop of redirects."""
    return {f"/{length}/{n}": moved(f"/{length}/{(n + 1) % length}") for n in range(length)}


def endless_redirects(limit: int) -> Site:
    """Return a site with more redirects than the limit."""
    return Site(
        "redirects",
        {f"/{n}": Row(moved(f"/{n + 1}"), 302 if n < limit else "redirect limit reached") for n in range(limit + 1)},
        ("/0",),
        {"max_redirects": limit},
        fields={f"/{limit}": {"status": 302, "next_url": f"/{limit + 1}"}},
    )


TRAP = b'<a href="/trap">'
UNLINKED = {
    "/text": response(200, TRAP, "text/plain"),
    "/xhtml": response(200, TRAP, "application/xhtml+xml"),
    "/bytes": response(200, TRAP, "application/octet-stream"),
    "/untyped": response(200, TRAP, None),
    "/utf-16": response(200, TRAP.decode().encode("utf-16"), "text/html; charset=utf-16"),
    **{f"/{status}": response(status, TRAP) for status in (201, 206, 302, 404, 500)},
    **{f"/{status}": bare(status) for status in (204, 304)},
}
LINKED = ("text/html", "Text/HTML; charset=utf-8", "application/xml", "application/xml;a=b")
ENCODINGS = ("latin-1", "utf-8", "no-such-encoding", "idna", "undefined", "punycode")

WRITTEN = """
    <a href='/single'> <A HREF="/upper"> <a href = "/spaces"> <a href="/amp?a&amp;b"> <a href="/fragment#x">
    <a data-href="/trap"> <a href=/bare> <a class=c HREF = /slash/ id=d> <script>location.href=/trap</script>
    href=/trap <a href="https://127.0.0.1/trap"> <a href="mailto:trap@localhost">
    <a href="javascript:trap()"> <a href="ftp://127.0.0.1/trap"> <a href="/percent/%41%7e"> <a href="/é x">
    <a href="http://127.0.0.1:trap/"> <a href="http://[trap/"> <a href="http://me@127.0.0.1/trap">
    <img src="/trap" srcset="/trap 2x"> <meta http-equiv=refresh content="0; url=/trap">
    <a href="/quote?a='b'&amp;c=%22;d|e"> <a href="/semi;colon"> <a href="/a//b/../c">
"""
READ = (
    "/single", "/upper", "/spaces", "/bare", "/slash/", "/amp?a&b", "/fragment", "/percent/%41%7e", "/%C3%A9%20x",
    "/quote?a='b'&c=%22;d%7Ce", "/semi;colon", "/a//c",
)  # fmt: skip
ELSEWHERE = {"Link": "</trap>; rel=next", "Refresh": "0; url=/trap"}
"""Header fields with links that are not followed."""
HOSTILE = {
    "/nines": "&#" + 5000 * "9" + ";",
    "/zeros": "/&#" + 4301 * "0" + ";",
    "/surrogate": "&#xd800;",
    "/nul": "&#0;",
    "/half-address": "//[",
    "/future-address": "//[v1.a]/",
    "/text-behind-address": "//[::1]x/",
    "/hex-port": "//h:0x1/",
    "/not-punycode": "//xn--/",
    "/port-alone": "//:80/",
    "/nines-as-port": "http://h:" + 5000 * "9",
    "/high-port": "http://h:65536/",
    "/negative-port": "http://h:-1/",
    "/long-name": "http://" + 64 * "a",
    "/two-dots": "http://a..b/",
    "/half-address-as-path": "http:///[",
    "/user": "//@",
}
"""Links and locations of which no URL can be made, and some odd ones that are URLs."""

FOLLOWED = (300, 301, 302, 303, 307, 308)
LOCATIONS = {  # of page /a/b?n, for n = 0, 1, ...
    "/x": "/x",
    "y": "/a/y",
    "../z": "/z",
    "?q": "/a/b?q",
    "f#y": "/a/f",
    "x y": "/a/x%20y",
    "/percent/%41%7e": "/percent/%41%7e",
    "/é": "/%C3%A9",
    "http://127.0.0.1:PORT/http": "/http",
    "//127.0.0.1:PORT/slashes": "/slashes",
}
STARTS = {f"/a/b?{n}": location for n, location in enumerate(LOCATIONS)}
NOWHERE = {
    "/without-location": moved(None),
    "/empty": moved(""),
    "/https": moved("https://127.0.0.1/trap"),
    "/mailto": moved("mailto:trap@localhost"),
    "/half-address": moved("http://["),
    "/user": moved("//user@h/"),
    "/two-dots": moved("http://a..b/"),
    "/no-encoding": b"HTTP/1.1 302 Found\r\nLocation: /\xe9\r\nContent-Length: 0\r\n\r\n",
}
MANY = {f"/{n}": moved("/target") for n in range(30)}

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n"
WHOLE = b"content-LENGTH:\t18 \r\n\r\n" + LINK
HEAD_10 = HEAD.replace(b"1.1", b"1.0")
BYTES = [bytes([byte]) for byte in HEAD[:20]]
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
INTERIM = CONTINUE + b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
FRAMED = (b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n")
"""Header fields that speak of a body, also where there is none (RFC 9112, section 6.3)."""
ODD = {
    "/odd/byte-by-byte": Row((("pieces", *BYTES, HEAD[20:], WHOLE[:1], WHOLE[1:]),)),
    "/odd/chunks": Row(
        (("pieces", CHUNKED, b"1;a=b\r", b"\n<", b"\r\n11\r\n", LINK[1:] + b"\r", b"\n000;x\r\nA: b\r\n", b"\r\n"),)
    ),
    "/odd/until-close": Row((HEAD + b"\r\n" + LINK, CLOSE)),
    "/odd/http10": Row((HEAD_10 + WHOLE, CLOSE)),
    "/odd/http10-kept": Row(HEAD_10 + b"Connection: Keep-Alive\r\n" + WHOLE),
    "/odd/http10-until-close": Row((HEAD_10 + b"\r\n" + LINK, CLOSE)),
    "/odd/close": Row((HEAD + b"Connection: Close\r\n" + WHOLE, CLOSE)),
    "/odd/interim": Row((("pieces", INTERIM, HEAD + WHOLE),)),
    "/odd/interim-with-framing": Row(b"".join(CONTINUE[:-2] + field + b"\r\n" for field in FRAMED) + HEAD + WHOLE),
    "/odd/no-reason": Row(b"HTTP/1.1 200\r\nContent-Type: text/html\r\n" + WHOLE),
    "/odd/cookie": Row(HEAD + b"Set-Cookie: a=b; Path=/\r\n" + WHOLE),
    "/odd/big-header": Row(HEAD + b"x: " + b"y" * 60_000 + b"\r\n" + WHOLE),
    "/odd/many-header-lines": Row(HEAD + b"x: y\r\n" * 90 + WHOLE),
    **{
        f"/odd/{status}": Row(response(status, LINK.replace(b"linked", b"a-trap"), Retry_After="0"), status)
        for status in (400, 401, 403, 404, 410, 429, 500, 502, 503, 599)
    },
}
LF = HEAD.replace(b"\r", b"")
USUAL: dict[str, Script] = {
    "/usual/lf": LF + WHOLE.replace(b"\r", b""),
    "/usual/lf-in-pieces": ("pieces", LF[:15], LF[15:], b"Content-Length: 18\n", b"\n", LINK),
    "/usual/lf-and-crlf": LF + WHOLE,
    "/usual/lf-before-chunks": LF + b"Transfer-Encoding: chunked\n\n" + b"12\r\n" + LINK + b"\r\n0\r\n\r\n",
    "/usual/lf-in-trailers": CHUNKED + b"12\r\n" + LINK + b"\r\n0\r\nA: b\n\n",
    "/usual/folded": HEAD.replace(b"text", b"\r\n text") + WHOLE,
    "/usual/folded-at-once": HEAD.replace(b"Content", b" x\r\nContent") + WHOLE,
    "/usual/folded-length": HEAD + WHOLE.replace(b":", b":\r\n"),
    "/usual/control-characters": HEAD.replace(b"OK", b"\x01") + b"x: \x1b[1m\x7f\r\n" + WHOLE,
    "/usual/zeros": HEAD + WHOLE.replace(b"18", 30 * b"0" + b"18"),
    "/usual/empty-coding": CHUNKED.replace(b"chunked", b", chunked") + b"12\r\n" + LINK + b"\r\n0\r\n\r\n",
}
"""In syntax that a client may accept and most do."""
BEYOND = {status: page("/trap").replace(b"200", status) for status in (b"600", b"999")}
UNUSUAL = {
    "minor-version": b"HTTP/1.2",
    "lower-case": b"http/1.1 200 OK\r\n",
    "empty-line-first": b"\r\n",
    "cr": b"HTTP/1.1 200 OK\rContent-Length: 0\r\r",
    "nul": HEAD + b"x: \0",
    "space-before-colon": HEAD + b"x : y\r\n",
    "length-list": LENGTH % b"3, 3" + b"abc",
    "coding-list": CHUNKED.replace(b"chunked", b"gzip, chunked") + b"0\r\n\r\n",
    "lf-behind-chunk-size": CHUNKED + b"3\n",
    "lf-behind-chunk": CHUNKED + b"3\r\nabc\n",
    "trailer": CHUNKED + b"0\r\nx\r\n",
    "other-protocol": b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
}
"""Up to the first wrong byte, or not much farther; some clients accept it, or wait for more."""

BODILESS = {
    f"/{status}/{n}": bare(status, fields) for status in (204, 304) for n, fields in enumerate((b"", b"", b"", *FRAMED))
}

BREAKS: dict[str, tuple[Script, Outcome]] = {
    "closed": ((CLOSE,), EARLY),
    "reset": ((RESET,), RESETTING),
    "half-header": ((HEAD, CLOSE), EARLY),
    "half-body": ((HEAD + b"Content-Length: 10\r\n\r\nhello", CLOSE), EARLY),
    "half-chunk": ((CHUNKED + b"a\r\nhello", CLOSE), EARLY),
    "no-last-chunk": ((CHUNKED + b"5\r\nhello\r\n", CLOSE), EARLY),
    "no-end-of-trailers": ((CHUNKED + b"0\r\n", CLOSE), EARLY),
    "interim-only": ((b"HTTP/1.1 100 Continue\r\n\r\n", CLOSE), EARLY),
}
RECOVERED = response(201)
"""Unlike that of a response that was cut off, this status comes with a whole one."""
NONSENSE = {
    "text": b"hello, this is no http\r\n\r\n",
    "text-without-end": b"hello",
    "bytes": bytes(range(256)),
    "tls": b"\x15\x03\x01\x00\x02\x02\x46",
    "version": b"HTTP/3.0 200 OK\r\n\r\n",
    "status": b"HTTP/1.1 OK\r\n\r\n",
    "no-colon": HEAD + b"no colon\r\nContent-Length: 0\r\n\r\n",
    "length": HEAD + b"Content-Length: -5\r\n\r\n",
    "lengths": HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "chunk": CHUNKED + b"xyz\r\n",
    "long-chunk": CHUNKED + b"3\r\nhello\r\n0\r\n\r\n",
}
DRIPS = {
    "header": (HEAD + b"x: ", b"y"),
    "body": (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
    "until-close": (HEAD + b"\r\n", b"x"),
    "chunks": (CHUNKED, b"1\r\nx\r\n"),
    "interim": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
}
OVER = (LATE, BAD, EARLY)
"""What may come of a response without end in a client that reads on, or has limits of its own."""
FLOODS = {
    "status-line": (HEAD[:15], b"x" * 5000),
    "interim": (b"", CONTINUE * 100),
    "header-line": (HEAD + b"x: ", b"y" * 5000),
    "header-lines": (HEAD, b"x: y\r\n" * 1000),
    "folded-lines": (HEAD + b"x: y\r\n", b" y\r\n" * 1000),
    "body": (HEAD + b"Content-Length: 1000000000000\r\n\r\n", b"x" * 5000),
    "until-close": (HEAD + b"\r\n", b"x" * 5000),
    "chunks": (CHUNKED, b"5\r\nhello\r\n" * 1000),
    "chunk": (CHUNKED + b"fffffffff\r\n", b"x" * 5000),
    "chunk-size": (CHUNKED, b"0" * 5000),
    "chunk-extension": (CHUNKED + b"5;", b"x" * 5000),
    "trailers": (CHUNKED + b"0\r\n", b"x: y\r\n" * 1000),
    "trailer-line": (CHUNKED + b"0\r\nx: ", b"y" * 5000),
    "length-and-chunks": (CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n", b"5\r\nhello\r\n" * 1000),
}


def framings(size: int, limit: int) -> dict[str, Row]:
    """Return rows with a body of this size in each framing."""
    body, expected = b"x" * size, 200 if size <= limit else LARGE
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[: size // 2], body[size // 2 :]))
    return {
        f"/length/{size}": Row(HEAD + b"Content-Length: %d\r\n\r\n" % size + body, expected),
        f"/chunked/{size}": Row(CHUNKED + chunks + b"0\r\n\r\n", expected),
        f"/close/{size}": Row((HEAD + b"Connection: close\r\n\r\n" + body, CLOSE), expected),
    }


def sections(size: int, limit: int) -> dict[str, Row]:
    """Return rows with a header section of this size, without its last empty line."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 0"
    lines, rest = divmod(size - len(head), 1000)
    layouts = {
        "one-line": head + b"\r\nx: " + b"y" * (size - len(head) - 5),
        "lines": head + lines * (b"\r\nx: " + b"y" * 995) + b"y" * rest,
        "reason": head.replace(b"OK", b"x" * (size - len(head) + 2)),
    }
    expected = 200 if size <= limit else LARGE
    return {
        f"/section/{size}/{name}": Row(section + b"\r\n\r\n", expected, (BAD,) if size > limit else ())
        for name, section in layouts.items()
    }


def around(size: int, expected: Outcome) -> dict[str, Row]:
    """Return rows with this number of bytes, and some more, that are neither header section nor body."""
    field = b"x: " + b"y" * size + b"\r\n\r\n"
    scripts = {
        "interim": CONTINUE[:-2] + field + HEAD + WHOLE,
        "interims": CONTINUE * (size // len(CONTINUE) + 1) + HEAD + WHOLE,
        "chunk-extension": CHUNKED + b"12;" + b"x" * size + b"\r\n" + LINK + b"\r\n0\r\n\r\n",
        "trailers": CHUNKED + b"12\r\n" + LINK + b"\r\n0\r\n" + field,
    }
    own = (BAD,) if expected == LARGE else ()
    return {f"/around/{size}/{name}": Row(script, expected, own) for name, script in scripts.items()}


SITES = {
    "a page without links is the whole crawl": Site("ends", {"/": page()}),
    "a crawl without roots ends": Site("ends", {}),
    "a long chain of pages is followed to its end": Site(
        "ends",
        {**{f"/{n}": page(f"/{n + 1}") for n in range(20)}, "/20": None},
        ("/0",),
        uses=CONNECTION_USES,
    ),
    "a cap far beyond the work does no harm": Site(
        "ends", {"/": page("/x"), "/x": page()}, ("/",), {"max_in_flight": 2000}, max_connections=2
    ),
    "all that is linked is fetched once": Site(
        "links",
        {
            "/": page("/a", "/b", "/", "a", "#top", "/missing"),
            "/a": page("b", "/c/d", "/"),
            "/b": page("/a", "/b#x", "./b"),
            "/c/d": page("../a", "e", "?f=g&amp;h"),
            "/c/e": page(),
            "/c/d?f=g&h": page("/"),
            "/missing": None,
        },
        ("/",),
    ),
    "links are followed from two types and nothing else": Site(
        "links",
        {
            **{f"/page{n}": page(f"/from-page{n}", Content_Type=kind) for n, kind in enumerate(LINKED)},
            **{f"/from-page{n}": None for n in range(len(LINKED))},
            **UNLINKED,
        },
        (*(f"/page{n}" for n in range(len(LINKED))), *UNLINKED),
        fields={path: {"num_urls": 0, "num_new_urls": 0} for path in UNLINKED},
    ),
    "the encoding of a page does no harm": Site(
        "links",
        {
            **{
                f"/{name}": response(
                    200,
                    f'<a href="/é/{name}">'.encode("latin-1" if name == "latin-1" else "utf-8"),
                    f"text/html; charset={name}",
                )
                for name in ENCODINGS
            },
            **{f"/%C3%A9/{name}": None for name in ENCODINGS},
        },
        tuple(f"/{name}" for name in ENCODINGS),
        fields={f"/{name}": {"encoding": name} for name in ENCODINGS},
    ),
    "a link that no url can be made of does not end the crawl": Site(
        "links",
        {
            **{path: page(link, f"{path}/redirect") for path, link in HOSTILE.items()},
            **{f"{path}/redirect": moved(link) for path, link in HOSTILE.items()},
            **dict.fromkeys(("/%5B", "/&", "/nines/&", "/nul/&", "/surrogate/&", "/%EF%BF%BD")),
        },
        tuple(HOSTILE),
    ),
    "links are read as they may be written": Site(
        "links",
        {"/": response(200, WRITTEN.encode(), "text/html; charset=utf-8", **ELSEWHERE), **dict.fromkeys(READ, page())},
        ("/",),
    ),
    "an exclude pattern skips urls": Site(
        "links",
        {"/": page("/yes", "/no", "/no/more", "/x?no", "/moved"), "/moved": moved("/no/way"), "/yes": None},
        ("/",),
        {"exclude": r"/no|\?"},
    ),
    "a kept connection is used again": Site(
        "connections",
        {
            **{f"/{n}": page(f"/{n + 1}", f"/{n + 50}") for n in range(100)},
            **{f"/{n}": None for n in range(100, 150)},
        },
        ("/0",),
        {"max_in_flight": 3},
        max_connections=3,
    ),
    "each fetch gets a connection": Site(
        "connections",
        {**{f"/{n}": page(f"/{n + 1}", f"/{n + 10}") for n in range(30)}, **{f"/{n}": None for n in range(30, 40)}},
        ("/0",),
        {"max_in_flight": 3},
        uses=(PER_FETCH,),
    ),
    "six statuses are followed and no others": Site(
        "redirects",
        {
            **{f"/{status}": moved(f"/target{status}", status) for status in FOLLOWED},
            **{f"/{status}": response(status, Location="/trap") for status in (200, 201, 305, 306, 399, 404, 500)},
            "/304": bare(304, b"Location: /trap\r\n"),
            **{f"/target{status}": None for status in FOLLOWED},
        },
        fields={
            **{f"/{status}": {"next_url": f"/target{status}"} for status in FOLLOWED},
            **{f"/{status}": {"next_url": None} for status in (200, 201, 304, 305, 306, 399, 404, 500)},
        },
    ),
    "a location may be relative": Site(
        "redirects",
        {
            **{start: moved(location) for start, location in STARTS.items()},
            **dict.fromkeys(LOCATIONS.values(), page()),
        },
        tuple(STARTS),
        fields={start: {"next_url": LOCATIONS[location]} for start, location in STARTS.items()},
    ),
    "a redirect to nowhere is a result": Site(
        "redirects", NOWHERE, tuple(NOWHERE), fields={"/no-encoding": {"next_url": None}}
    ),
    "a target of many is fetched once": Site(
        "redirects",
        {"/": page(*MANY), **MANY, "/target": page()},
        ("/",),
        {"max_in_flight": 10},
        uses=CONNECTION_USES,
        fields={path: {"next_url": "/target"} for path in MANY},
    ),
    "a loop of redirects is walked once": Site(
        "redirects",
        {
            "/": page("/moved", "/1/0", "/2/0", "/5/0", "/5/2"),
            "/moved": moved("/"),
            **redirects_of(1),
            **redirects_of(2),
            **redirects_of(5),
        },
        ("/",),
    ),
    "no redirect is followed at a limit of 0": endless_redirects(0),
    "redirects for ever end at the limit": endless_redirects(3),
    "a redirect may come in any framing": Site(
        "redirects",
        {
            "/1": Row((b"HTTP/1.1 302 x\r\nLocation: /2\r\n\r\nmoved", CLOSE), 302),
            "/2": Row(
                (("pieces", b"HTTP/1.1 302 x\r\nLocation: /3\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n"),),
                302,
            ),
            "/3": Row((b"HTTP/1.0 302 x\r\nLocation: /4\r\nContent-Length: 0\r\n\r\n", CLOSE), 302),
            "/4": moved("/1"),
        },
        ("/1",),
        uses=CONNECTION_USES,
    ),
    "odd responses are pages like others": Site(
        "responses",
        {**ODD, "/linked": page()},
        options={"max_in_flight": 2},
        uses=CONNECTION_USES,
        fields={path: {"size": len(LINK)} for path in ODD},
    ),
    "what most clients accept is accepted": Site(
        "responses",
        {
            **{path: Row(script, own=(BAD, LATE)) for path, script in USUAL.items()},
            **{f"/status/{status.decode()}": Row(script, int(status)) for status, script in BEYOND.items()},
            "/linked": page(),
        },
        own_options={"max_tries": 1, "timeout_ns": SHORT_NS},
        uses=CONNECTION_USES,
    ),
    "what most clients refuse is refused at once and not tried again": Site(
        "errors",
        {f"/unusual/{name}": Row((data, HANG), BAD, (200, 101, *CUT, LATE)) for name, data in UNUSUAL.items()},
        options={"max_tries": 3},
        own_options={"max_tries": 1, "timeout_ns": SHORT_NS},
        uses=CONNECTION_USES,
    ),
    "a coded body is counted as it was sent": Site(
        "responses",
        {"/": response(200, coded := gzip.compress(LINK * 100), Content_Encoding="gzip")},
        fields={"/": {"size": len(coded)}},
    ),
    "a response without a body leaves the connection for the next": Site(
        "responses",
        {"/": page(*BODILESS), **BODILESS},
        ("/",),
        {"max_in_flight": 1},
        uses=CONNECTION_USES,
        max_connections=1,
    ),
    "every page leaves its record": Site(
        "responses",
        {
            "/": page("/plain", "/moved", "/", Content_Type='Text/HTML; Charset="Latin-1"'),
            "/plain": response(200, b"0123456789", "text/plain"),
            "/moved": response(301, b"", None, Location="gone"),
            "/gone": response(410, b"gone", "text/html"),
        },
        ("/",),
        fields={
            "/": record(None, 48, "text/html", "latin-1", 3, 2),
            "/plain": record(None, 10, "text/plain", "utf-8", 0, 0),
            "/moved": record("/gone", 0, None, "utf-8", 0, 0),
            "/gone": record(None, 4, "text/html", "utf-8", 0, 0),
        },
    ),
    "a broken answer is tried again and then a failed page": Site(
        "errors",
        {f"/broken/{name}": Row(script, error, CUT) for name, (script, error) in BREAKS.items()},
        options={"max_tries": 3},
        uses=CONNECTION_USES,
    ),
    "a server that recovers causes no failure": Site(
        "errors",
        {f"/recovers/{name}": Row(("by_try", script, script, RECOVERED), 201) for name, (script, _) in BREAKS.items()},
        options={"max_tries": 3},
        uses=CONNECTION_USES,
        recovers=True,
    ),
    "nonsense is a malformed response": Site(
        "errors",
        {
            **{f"/nonsense/{name}": Row((data, HANG), BAD, CUT) for name, data in NONSENSE.items()},
            "/nonsense/many-nines": Row((LENGTH % (5000 * b"9"), CLOSE), BAD),
            "/nonsense/many-zeros": Row((LENGTH % (5000 * b"0"), CLOSE), BAD, (200,)),
        },
        options={"max_tries": 2},
    ),
    "nothing is left when every fetch fails": Site(
        "cleanup",
        {f"/{n}": Row((RESET,) if n % 2 else (CLOSE,), RESETTING if n % 2 else EARLY, CUT) for n in range(25)},
        options={"max_in_flight": 10, "max_tries": 2},
        uses=CONNECTION_USES,
    ),
    "a fetch that takes too long is a timeout": Site(
        "deadline",
        {
            "/slow/never": Row((HANG,), LATE),
            **{
                f"/slow/{name}": Row((first, ("repeat", piece, DRIP_S)), LATE) for name, (first, piece) in DRIPS.items()
            },
        },
        options={"timeout_ns": SHORT_NS, "max_tries": 1, "max_in_flight": 10},
        uses=CONNECTION_USES,
    ),
    "a response without end is too large": Site(
        "size",
        {
            f"/endless/{name}": Row((first, ("repeat", piece, 0)), LARGE, OVER)
            for name, (first, piece) in FLOODS.items()
        },
        options={"max_body_bytes": 100_000, "max_header_bytes": 20_000, "max_tries": 2, "max_in_flight": len(FLOODS)},
        own_options={"timeout_ns": SHORT_NS, "max_tries": 1},
    ),
    "a body may be as large as the limit and not a byte larger": Site(
        "size", framings(1000, 1000) | framings(1001, 1000), options={"max_body_bytes": 1000}
    ),
    "a large body may be as large as the limit and not a byte larger": Site(
        "size", framings(200_000, 200_000) | framings(200_001, 200_000), options={"max_body_bytes": 200_000}
    ),
    "a header section over the limit is too large": Site(
        "size",
        {
            "/header/just": page("/x", X="y" * 1500),
            "/header/over": Row(page("/trap", X="y" * 2500), LARGE, (BAD,)),
            "/x": None,
        },
        options={"max_header_bytes": 2000},
    ),
    "a header section may be as large as the limit and not a byte larger": Site(
        "size", sections(65_536, 65_536) | sections(65_537, 65_536), options={"max_header_bytes": 65_536}
    ),
    "what comes around header section and body is bounded too": Site(
        "size",
        {**around(1500, 200), **around(2000, LARGE), "/linked": None},
        options={"max_header_bytes": 2000},
    ),
    "the work is done once for each response": Site(
        "work",
        {"/": page(*MANY, "/gone"), **MANY, "/target": None, "/gone": Row((CLOSE,), EARLY, CUT)},
        ("/",),
        {"max_tries": 2, "work_units": 2},
        uses=CONNECTION_USES,
    ),
}
"""Each with a sentence that the crawl makes true."""
