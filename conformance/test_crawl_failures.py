"""How a crawl handles servers that are broken or absent."""

import socket
from collections.abc import Callable

import pytest

from inflight.conformance.crawling import Row, crawl
from inflight.conformance.expecting import Expect
from inflight.conformance.servers import (
    CHUNKED,
    CLOSE,
    HANG,
    HEAD,
    RESET,
    Script,
    Server,
    Servers,
    by_try,
    page,
    response,
)
from inflight.strategies.base import Strategy

pytestmark = pytest.mark.rule("errors")

Serve = Callable[..., Server]


# Nobody there


def test_a_refused_connection_is_a_failed_page(strategy: Strategy, serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server = serve({"/": page(nobody, f"{nobody}x", "/y")})

    crawled = crawl(strategy, f"{server.url}/", max_tries=3)

    refused = (None, "connection refused", 3)
    assert {url: (page.status, page.error, page.tries) for url, page in crawled.pages.items()} == {
        f"{server.url}/": (200, None, 1),
        f"{server.url}/y": (404, None, 1),
        nobody: refused,
        f"{nobody}x": refused,
    }


@pytest.mark.usefixtures("local_names")
def test_all_addresses_of_a_host_are_tried(strategy: Strategy, serve: Serve) -> None:
    server = serve({"/": page("/x"), "/x": page()})
    hosts = [f"http://{host}:{server.port}" for host in ("refusing-first.test", "unreachable-first.test")]

    crawled = crawl(strategy, *(f"{host}/" for host in hosts), max_tries=1)

    found = {url: page.error or page.status for url, page in crawled.pages.items()}
    assert found == {f"{host}{path}": 200 for host in hosts for path in ("/", "/x")}


HOSTS = (
    "no-such-host.x.invalid",
    "xn--a.x.invalid",
    "xn--.x.invalid",
    "%00.x.invalid",
    "%.x.invalid",
    "-.x.invalid",
    200 * "a." + "x.invalid",
)
NO_NAMES = ("http://a..x.invalid/", f"http://{'x' * 64}.x.invalid/")
"""No URLs, so these links are not followed."""


@pytest.mark.usefixtures("local_names")
def test_hosts_that_cannot_be_looked_up_are_failed_pages(strategy: Strategy, expect: Expect, serve: Serve) -> None:
    limited = expect.limited(HOSTS)
    urls = {f"http://{host}:{port}/": host for host in HOSTS if host not in limited for port in (0, 1, 65535)}
    server = serve({"/": page(*urls, *NO_NAMES, "/next")})

    crawled = crawl(strategy, f"{server.url}/", "http://x.invalid/", strict=False, max_tries=2)

    assert {url: (page.error or page.status, page.tries) for url, page in crawled.pages.items()} == {
        f"{server.url}/": (200, 1),
        f"{server.url}/next": (404, 1),
        **dict.fromkeys([*urls, "http://x.invalid/"], ("unknown host", 2)),
    }
    expect({host: expect.alone(f"http://{host}:1/") for host in limited}, dict.fromkeys(limited, "unknown host"))


# Broken connections


RESETTING, EARLY, BAD = "connection reset", "closed early", "malformed response"
CUT = (RESETTING, EARLY)
"""A client with an HTTP stack of its own may take one for the other."""
BREAKS: dict[str, Script] = {
    "/broken/closed": (CLOSE,),
    "/broken/reset": (RESET,),
    "/broken/half-header": (HEAD, CLOSE),
    "/broken/half-body": (HEAD + b"Content-Length: 10\r\n\r\nhello", CLOSE),
    "/broken/half-chunk": (CHUNKED + b"a\r\nhello", CLOSE),
    "/broken/no-last-chunk": (CHUNKED + b"5\r\nhello\r\n", CLOSE),
    "/broken/no-end-of-trailers": (CHUNKED + b"0\r\n", CLOSE),
    "/broken/interim-only": (b"HTTP/1.1 100 Continue\r\n\r\n", CLOSE),
}


def test_a_broken_answer_is_tried_again_and_then_a_failed_page(expect: Expect, connection: str) -> None:
    rows = {path: Row(script, RESETTING if path == "/broken/reset" else EARLY, CUT) for path, script in BREAKS.items()}

    crawled = expect.crawl(rows, max_tries=3, connection=connection)

    assert set(crawled.tries().values()) == {3}


RECOVERED = response(201)
"""Unlike that of a response that was cut off, this status comes with a whole one."""


def test_a_server_that_recovers_causes_no_failure(expect: Expect, connection: str) -> None:
    rows = {
        path.replace("broken", "recovers"): Row(by_try(script, script, RECOVERED), 201)
        for path, script in BREAKS.items()
    }

    expect.crawl(rows, max_tries=3, connection=connection)


def test_a_broken_answer_costs_a_try(strategy: Strategy, is_shared: bool, servers: Servers) -> None:
    if not is_shared:
        pytest.skip("a client with an HTTP stack of its own may send a request again that does not count")
    server = servers.serve({path: by_try(script, script, page()) for path, script in BREAKS.items()})

    crawled = crawl(strategy, *(server.url + path for path in BREAKS), max_tries=4, connection="per-fetch")

    assert crawled.tries() == dict(server.observed().targets) == dict.fromkeys(BREAKS, 3)

    begun = {path: script for path, script in BREAKS.items() if len(script) > 1}  # others are as on a stale connection
    found = {}
    for path, script in begun.items():
        server = servers.serve({"/": page(path), path: by_try(script, page())})
        crawled = crawl(strategy, f"{server.url}/", max_tries=4, max_in_flight=1)
        found[path] = (crawled.tries()[path], server.observed().targets[path])
    assert found == dict.fromkeys(begun, (2, 2))


# Nonsense


LONG = b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n"
BYTES = {
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
NONSENSE = {
    **{f"/nonsense/{name}": Row((data, HANG), BAD, CUT) for name, data in BYTES.items()},
    "/nonsense/many-nines": Row((LONG % (5000 * b"9"), CLOSE), BAD),
    "/nonsense/many-zeros": Row((LONG % (5000 * b"0"), CLOSE), BAD, (200,)),
}


def test_nonsense_is_a_malformed_response(expect: Expect) -> None:
    crawled = expect.crawl(NONSENSE, max_tries=2)

    assert {path for path, tries in crawled.tries().items() if tries != 2} <= {"/nonsense/many-zeros"}
    assert all(len(found.error or "") <= 200 for found in crawled.pages.values()), "messages quote only the beginning"
