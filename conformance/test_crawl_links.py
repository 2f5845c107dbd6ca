"""Which pages a crawl visits: roots, links, hosts, and what it sends and records."""

from collections.abc import Callable

import pytest

from inflight.conformance.crawling import crawl, path_of
from inflight.conformance.expecting import Expect
from inflight.conformance.servers import Server, moved, page, response
from inflight.strategies.base import Strategy

pytestmark = pytest.mark.rule("links")

Serve = Callable[..., Server]


@pytest.mark.rule("ends")
def test_a_page_without_links_is_the_whole_crawl(strategy: Strategy, serve: Serve) -> None:
    server = serve({"/": page()})

    assert crawl(strategy, f"{server.url}/").outcomes() == {"/": 200}
    assert [request.target for request in server.observed().requests] == ["/"]


def test_all_that_is_linked_is_fetched_once(strategy: Strategy, serve: Serve) -> None:
    server = serve(
        {
            "/": page("/a", "/b", "/", "a", "#top", "/missing"),
            "/a": page("b", "/c/d", "/"),
            "/b": page("/a", "/b#x", "./b"),
            "/c/d": page("../a", "e", "?f=g&amp;h"),
            "/c/e": page(),
            "/c/d?f=g&h": page("/"),
        }
    )

    crawled = crawl(strategy, f"{server.url}/")

    everything = {"/": 200, "/a": 200, "/b": 200, "/c/d": 200, "/c/e": 200, "/c/d?f=g&h": 200, "/missing": 404}
    assert crawled.outcomes() == everything
    assert sorted(request.target for request in server.observed().requests) == sorted(everything)
    assert all(found.tries == 1 for found in crawled.pages.values())
    assert sum(found.num_new_urls for found in crawled.pages.values()) == len(everything) - 1


def test_several_roots_are_crawled_together(strategy: Strategy, connection: str, serve: Serve) -> None:
    other = serve({"/": page("/other"), "/other": page()})
    server = serve({"/": page("/x", f"{other.url}/"), "/x": page(f"{other.url}/y")})
    roots = (f"{server.url}/", f"{other.url}/", f"{server.url}/x", f"{server.url}/#again")

    crawled = crawl(strategy, *roots, connection=connection, max_in_flight=1)

    expected = {f"{server.url}/": 200, f"{server.url}/x": 200, f"{other.url}/": 200, f"{other.url}/other": 200}
    assert {url: found.status for url, found in crawled.pages.items()} == {**expected, f"{other.url}/y": 404}
    assert len(server.observed().requests) == 2


@pytest.mark.rule("ends")
def test_a_crawl_without_roots_ends(strategy: Strategy) -> None:
    assert crawl(strategy).pages == {}


@pytest.mark.rule("ends")
@pytest.mark.parametrize(("cap", "use"), [(1, "keep-alive"), (100, "per-fetch")])
def test_a_long_chain_of_pages_is_followed_to_its_end(strategy: Strategy, cap: int, use: str, serve: Serve) -> None:
    server = serve({f"/{n}": page(f"/{n + 1}") for n in range(20)})

    crawled = crawl(strategy, f"{server.url}/0", max_in_flight=cap, connection=use)

    assert crawled.outcomes() == {f"/{n}": 200 for n in range(20)} | {"/20": 404}
    assert crawled.peak_in_flight == 1


LINK = b'<a href="/trap">'
LINKED = ("text/html", "Text/HTML; charset=utf-8", "application/xml", "application/xml;a=b")
UNLINKED = {
    "/text": response(200, LINK, "text/plain"),
    "/xhtml": response(200, LINK, "application/xhtml+xml"),
    "/bytes": response(200, LINK, "application/octet-stream"),
    "/untyped": response(200, LINK, None),
    **{f"/{status}": response(status, LINK) for status in (201, 206, 302, 404, 500)},
    **{f"/{status}": b"HTTP/1.1 %d Bare\r\nContent-Type: text/html\r\n\r\n" % status for status in (204, 304)},
}


def test_links_are_followed_from_two_types_and_nothing_else(strategy: Strategy, serve: Serve) -> None:
    linked = {f"/page{n}": page(f"/from-page{n}", Content_Type=kind) for n, kind in enumerate(LINKED)}
    server = serve({**linked, **UNLINKED})

    crawled = crawl(strategy, *(server.url + path for path in (*linked, *UNLINKED)))

    assert crawled.paths == {*linked, *UNLINKED, *(f"/from-{path[1:]}" for path in linked)}
    found = {path: crawled.pages[server.url + path] for path in UNLINKED}
    assert {path: (page.num_urls, page.num_new_urls) for path, page in found.items()} == dict.fromkeys(found, (0, 0))


def test_links_are_read_as_they_may_be_written(strategy: Strategy, expect: Expect, serve: Serve) -> None:
    body = """
        <a href='/single'> <A HREF="/upper"> <a href = "/spaces"> <a href="/amp?a&amp;b"> <a href="/fragment#x">
        <a data-href="/trap"> <a href=/trap> <a href="https://127.0.0.1/trap"> <a href="mailto:trap@localhost">
        <a href="javascript:trap()"> <a href="ftp://127.0.0.1/trap"> <a href="/percent/%41%7e"> <a href="/é x">
        <a href="http://127.0.0.1:trap/"> <a href="http://[trap/"> <a href="http://me@127.0.0.1/trap">
        <a href="/quote?a='b'&amp;c=%22;d|e"> <a href="/semi;colon"> <a href="/a//b/../c">
    """
    server = serve({"/": response(200, body.encode(), "text/html; charset=utf-8")})

    crawled = crawl(strategy, f"{server.url}/")

    expected = {
        "/single", "/upper", "/spaces", "/amp?a&b", "/fragment", "/percent/%41%7e", "/%C3%A9%20x",
        "/quote?a='b'&c=%22;d%7Ce", "/semi;colon", "/a//c",
    }  # fmt: skip
    assert crawled.paths == {"/", *expected}
    requested = server.observed().targets
    expect({path: requested[path] for path in expected}, dict.fromkeys(expected, 1))  # sent as recorded


def test_a_pages_encoding_is_no_danger(strategy: Strategy, serve: Serve) -> None:
    encodings = ("latin-1", "utf-8", "no-such-encoding", "idna", "undefined", "punycode")
    bodies = {name: f'<a href="/é/{name}">'.encode("latin-1" if name == "latin-1" else "utf-8") for name in encodings}
    server = serve({f"/{name}": response(200, body, f"text/html; charset={name}") for name, body in bodies.items()})

    crawled = crawl(strategy, *(f"{server.url}/{name}" for name in encodings))

    for name in encodings:
        assert crawled.outcomes()[f"/%C3%A9/{name}"] == 404
        assert crawled.pages[f"{server.url}/{name}"].encoding == name


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


def test_a_link_that_no_url_can_be_made_of_does_not_end_the_crawl(
    strategy: Strategy, expect: Expect, serve: Serve
) -> None:
    redirects = {f"{path}/redirect": moved(link) for path, link in HOSTILE.items()}
    server = serve({**{path: page(link, f"{path}/redirect") for path, link in HOSTILE.items()}, **redirects})

    crawled = crawl(strategy, *(server.url + path for path in HOSTILE))

    expected = {**dict.fromkeys(HOSTILE, 200), **dict.fromkeys(redirects, 302)}
    expect({path: found for path, found in crawled.outcomes().items() if path in expected}, expected)
    assert {found for path, found in crawled.outcomes().items() if path not in expected} <= {404}


@pytest.mark.rule("responses")
def test_every_page_leaves_its_record(strategy: Strategy, serve: Serve) -> None:
    server = serve(
        {
            "/": page("/plain", "/moved", "/", Content_Type='Text/HTML; Charset="Latin-1"'),
            "/plain": response(200, b"0123456789", "text/plain"),
            "/moved": response(301, b"", None, Location="gone"),
            "/gone": response(410, b"gone", "text/html"),
        }
    )

    crawled = crawl(strategy, f"{server.url}/")

    assert {
        path_of(url): (p.status, p.next_url, p.error, p.size, p.content_type, p.encoding)
        for url, p in crawled.pages.items()
    } == {
        "/": (200, None, None, 48, "text/html", "latin-1"),
        "/plain": (200, None, None, 10, "text/plain", "utf-8"),
        "/moved": (301, f"{server.url}/gone", None, 0, None, "utf-8"),
        "/gone": (410, None, None, 4, "text/html", "utf-8"),
    }
    assert {path_of(url): (p.num_urls, p.num_new_urls, p.tries) for url, p in crawled.pages.items()} == {
        "/": (3, 2, 1),
        "/plain": (0, 0, 1),
        "/moved": (0, 0, 1),
        "/gone": (0, 0, 1),
    }


# Hosts


def test_foreign_hosts_are_left_alone(strategy: Strategy, serve: Serve) -> None:
    other = serve({})
    hosts = ("localhost", "127.0.0.2", "[::1]", "www.127.0.0.1")
    server = serve({"/": page(*(f"http://{host}:{other.port}/trap" for host in hosts))})

    for strict in (True, False):
        assert crawl(strategy, f"{server.url}/", strict=strict).outcomes() == {"/": 200}
    assert other.observed().requests == []


FOLLOWED = {  # root and strictness -> hosts
    ("site.test", True): {"site.test", "www.site.test"},
    ("www.site.test", True): {"site.test", "www.site.test"},
    ("site.test", False): {"site.test", "www.site.test", "sub.site.test"},
    ("sub.site.test", True): {"sub.site.test"},
    ("SUB.site.test", False): {"site.test", "www.site.test", "sub.site.test"},
}


@pytest.mark.usefixtures("local_names")
def test_hosts_of_the_same_site_are_followed(strategy: Strategy, serve: Serve) -> None:
    hosts = ("site.test", "www.site.test", "sub.site.test", "other.test", "127.0.0.1")
    server = serve()
    server.play({"/x": page(*(f"http://{host}:{server.port}/x" for host in hosts))})

    found = {}
    for root, strict in FOLLOWED:
        crawled = crawl(strategy, f"http://{root}:{server.port}/x", strict=strict)
        found[root, strict] = {url for url, page in crawled.pages.items() if page.status == 200}

    assert found == {
        case: {f"http://{host}:{server.port}/x" for host in followed} for case, followed in FOLLOWED.items()
    }


@pytest.mark.rule("requests")
@pytest.mark.usefixtures("local_names")
def test_the_host_field_names_the_host_of_the_url(strategy: Strategy, serve: Serve) -> None:
    server = serve({"/": page()})

    crawl(strategy, f"http://a.test:{server.port}/", f"http://bücher.test:{server.port}/", f"{server.url}/")

    fields = {
        line.partition(": ")[2]
        for request in server.observed().requests
        for line in request.head.split("\r\n")
        if line.lower().startswith("host: ")
    }
    assert fields == {f"{host}:{server.port}" for host in ("a.test", "xn--bcher-kva.test", "127.0.0.1")}


def test_an_exclude_pattern_skips_urls(strategy: Strategy, serve: Serve) -> None:
    server = serve(
        {"/": page("/yes", "/no", "/no/more", "/x?no", "/moved"), "/moved": response(302, Location="/no/way")}
    )

    crawled = crawl(strategy, f"{server.url}/", exclude=r"/no|\?")

    assert crawled.outcomes() == {"/": 200, "/yes": 404, "/moved": 302}
    assert {request.target for request in server.observed().requests} == {"/", "/yes", "/moved"}


@pytest.mark.rule("requests")
def test_a_request_says_the_same_in_every_model(strategy: Strategy, connection: str, serve: Serve) -> None:
    server = serve({"/x?y": page()})

    crawl(strategy, f"{server.url}/x?y", connection=connection)

    (request,) = server.observed().requests
    line, *fields = request.head.removesuffix("\r\n\r\n").split("\r\n")
    expected = {f"host: 127.0.0.1:{server.port}", "user-agent: inflight", "accept: */*"}
    assert line == "GET /x?y HTTP/1.1"
    assert {field.lower() for field in fields} == expected | (
        {"connection: close"} if connection == "per-fetch" else set()
    )
