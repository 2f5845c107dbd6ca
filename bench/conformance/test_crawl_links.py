"""Which pages a crawl visits: roots, links, hosts, and what it sends and records."""

from collections.abc import Callable, Sequence

import psutil
import pytest

from inflight import strategies
from inflight.bench.conformance.crawling import crawl, path_of
from inflight.bench.conformance.servers import Exchange, Handler, Server, moved, page, response, site
from inflight.strategies.base import Strategy
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import Response
from inflight.strategies.core.kept import MAX_KEPT
from inflight.strategies.core.page import Fetch

pytestmark = pytest.mark.rule("links")

Serve = Callable[[Handler], Server]


@pytest.mark.rule("ends")
def test_a_page_without_links_is_the_whole_crawl(strategy: Strategy, connection: str, serve: Serve) -> None:
    server = serve(site({"/": page()}))

    assert crawl(strategy, f"{server.url}/", connection=connection).outcomes() == {"/": 200}
    assert [request.target for request in server.observed().requests] == ["/"]


def test_all_that_is_linked_is_fetched_once(strategy: Strategy, connection: str, serve: Serve) -> None:
    server = serve(
        site(
            {
                "/": page("/a", "/b", "/", "a", "#top", "/missing"),
                "/a": page("b", "/c/d", "/"),
                "/b": page("/a", "/b#x", "./b"),
                "/c/d": page("../a", "e", "?f=g&amp;h"),
                "/c/e": page(),
                "/c/d?f=g&h": page("/"),
            }
        )
    )

    crawled = crawl(strategy, f"{server.url}/", connection=connection)

    everything = {"/": 200, "/a": 200, "/b": 200, "/c/d": 200, "/c/e": 200, "/c/d?f=g&h": 200, "/missing": 404}
    assert crawled.outcomes() == everything
    assert sorted(request.target for request in server.observed().requests) == sorted(everything)
    assert all(found.tries == 1 for found in crawled.pages.values())
    assert sum(found.num_new_urls for found in crawled.pages.values()) == len(everything) - 1


def test_several_roots_are_crawled_together(strategy: Strategy, serve: Serve) -> None:
    server = serve(site({"/a": page("/c"), "/b": page("/c", "/a"), "/c": page("/d"), "/d": page()}))

    crawled = crawl(strategy, f"{server.url}/a", f"{server.url}/b", f"{server.url}/a#again")

    assert crawled.outcomes() == dict.fromkeys(("/a", "/b", "/c", "/d"), 200)
    assert len(server.observed().requests) == 4


def test_roots_on_several_servers_are_crawled_together(strategy: Strategy, connection: str, serve: Serve) -> None:
    other = serve(site({"/": page("/other"), "/other": page()}))
    server = serve(site({"/": page("/x", f"{other.url}/"), "/x": page(f"{other.url}/y")}))

    crawled = crawl(strategy, f"{server.url}/", f"{other.url}/", connection=connection, max_in_flight=1)

    expected = {f"{server.url}/": 200, f"{server.url}/x": 200, f"{other.url}/": 200, f"{other.url}/other": 200}
    assert {url: found.status for url, found in crawled.pages.items()} == {**expected, f"{other.url}/y": 404}


@pytest.mark.rule("connections")
@pytest.mark.parametrize("cap", [1, 4])
def test_a_crawl_of_two_origins_keeps_its_connections(strategy: Strategy, cap: int, serve: Serve) -> None:
    servers = [serve(lambda exchange: exchange.send(page())) for _ in range(2)]
    roots = [f"{server.url}/{n}" for n in range(20) for server in servers]

    crawled = crawl(strategy, *roots, max_in_flight=cap, max_tries=1)

    assert {found.status for found in crawled.pages.values()} == {200}
    for server in servers:
        assert len(server.observed().requests) == 20
        assert server.observed().connections <= cap


class Watched(Frontier):
    """Notes how many descriptors are open at most."""

    peak_descriptors = 0

    def finish(self, fetch: Fetch, response: Response) -> Sequence[Fetch]:
        Watched.peak_descriptors = max(Watched.peak_descriptors, psutil.Process().num_fds())
        return super().finish(fetch, response)


@pytest.mark.rule("connections")
@pytest.mark.usefixtures("local_names")
def test_a_crawl_of_many_origins_does_not_keep_a_connection_to_each(
    strategy: Strategy, name: str, serve: Serve
) -> None:
    if strategies.describe(name).stack == "own":
        pytest.skip("a client with an HTTP stack of its own may keep a connection to each origin")
    server = serve(lambda exchange: exchange.send(page()))
    roots = [f"http://{n}.test:{server.port}/" for n in range(3 * MAX_KEPT)]
    Watched.peak_descriptors, before = 0, psutil.Process().num_fds()

    crawled = crawl(strategy, *roots, frontier=Watched, max_in_flight=2, max_tries=1)

    assert {found.status for found in crawled.pages.values()} == {200}
    assert Watched.peak_descriptors <= before + MAX_KEPT + 2 + 8, "the event loop has some too"


@pytest.mark.rule("ends")
def test_a_crawl_without_roots_ends(strategy: Strategy) -> None:
    assert crawl(strategy).pages == {}


@pytest.mark.rule("ends")
@pytest.mark.parametrize("cap", [1, 100])
def test_a_long_chain_of_pages_is_followed_to_its_end(
    strategy: Strategy, connection: str, cap: int, serve: Serve
) -> None:
    server = serve(site({f"/{n}": page(f"/{n + 1}") for n in range(20)}))

    crawled = crawl(strategy, f"{server.url}/0", max_in_flight=cap, connection=connection)

    assert crawled.outcomes() == {f"/{n}": 200 for n in range(20)} | {"/20": 404}
    assert crawled.peak_in_flight == 1


def test_links_are_followed_from_two_types(strategy: Strategy, serve: Serve) -> None:
    kinds = ("text/html", "Text/HTML; charset=utf-8", "application/xml", "application/xml;a=b")
    server = serve(site({f"/{n}": page(f"/from{n}", Content_Type=kind) for n, kind in enumerate(kinds)}))

    crawled = crawl(strategy, *(f"{server.url}/{n}" for n in range(len(kinds))))

    assert {path for path, outcome in crawled.outcomes().items() if outcome == 404} == {
        "/from0",
        "/from1",
        "/from2",
        "/from3",
    }


def test_links_are_followed_from_nothing_else(strategy: Strategy, serve: Serve) -> None:
    link = b'<a href="/trap">'
    answers = {
        "/text": response(200, link, "text/plain"),
        "/xhtml": response(200, link, "application/xhtml+xml"),
        "/bytes": response(200, link, "application/octet-stream"),
        "/untyped": response(200, link, None),
        **{f"/{status}": response(status, link) for status in (201, 206, 302, 404, 500)},
        **{f"/{status}": b"HTTP/1.1 %d Bare\r\nContent-Type: text/html\r\n\r\n" % status for status in (204, 304)},
    }
    server = serve(site(answers))

    crawled = crawl(strategy, *(server.url + path for path in answers))

    assert crawled.paths == set(answers)
    assert all((found.num_urls, found.num_new_urls) == (0, 0) for found in crawled.pages.values())


def test_links_are_read_as_they_may_be_written(strategy: Strategy, serve: Serve) -> None:
    body = """
        <a href='/single'> <A HREF="/upper"> <a href = "/spaces"> <a href="/amp?a&amp;b"> <a href="/fragment#x">
        <a data-href="/trap"> <a href=/trap> <a href="https://127.0.0.1/trap"> <a href="mailto:trap@localhost">
        <a href="javascript:trap()"> <a href="ftp://127.0.0.1/trap"> <a href="/percent/%41%7e"> <a href="/é x">
        <a href="http://127.0.0.1:trap/"> <a href="http://[trap/"> <a href="http://me@127.0.0.1/trap">
        <a href="/quote?a='b'&amp;c=%22;d|e"> <a href="/semi;colon"> <a href="/a//b/../c">
    """
    server = serve(site({"/": response(200, body.encode(), "text/html; charset=utf-8")}))

    crawled = crawl(strategy, f"{server.url}/")

    expected = {
        "/single", "/upper", "/spaces", "/amp?a&b", "/fragment", "/percent/%41%7e", "/%C3%A9%20x",
        "/quote?a='b'&c=%22;d%7Ce", "/semi;colon", "/a//c",
    }  # fmt: skip
    assert crawled.paths == {"/", *expected}
    assert {request.target for request in server.observed().requests} == {"/", *expected}, "sent as recorded"


def test_a_pages_encoding_is_no_danger(strategy: Strategy, serve: Serve) -> None:
    encodings = ("latin-1", "utf-8", "no-such-encoding", "idna", "undefined", "punycode")
    bodies = {name: f'<a href="/é/{name}">'.encode("latin-1" if name == "latin-1" else "utf-8") for name in encodings}
    server = serve(
        site({f"/{name}": response(200, body, f"text/html; charset={name}") for name, body in bodies.items()})
    )

    crawled = crawl(strategy, *(f"{server.url}/{name}" for name in encodings))

    for name in encodings:
        assert crawled.outcomes()[f"/%C3%A9/{name}"] == 404
        assert crawled.pages[f"{server.url}/{name}"].encoding == name


HOSTILE = [
    *(
        "&#" + 5000 * "9" + ";",
        "/&#" + 4301 * "0" + ";",
        "&#xd800;",
        "&#0;",
        "//[",
        "//[v1.a]/",
        "//[::1]x/",
        "//h:0x1/",
    ),
    *(
        "http://h:" + 5000 * "9",
        "http://h:65536/",
        "http://h:-1/",
        "http://" + 64 * "a",
        "http://a..b/",
        "http:///[",
        "//@",
    ),
]


@pytest.mark.parametrize("link", HOSTILE)
def test_a_link_that_no_url_can_be_made_of_does_not_end_the_crawl(strategy: Strategy, link: str, serve: Serve) -> None:
    server = serve(site({"/": page(link, "/next"), "/next": moved(link)}))

    crawled = crawl(strategy, f"{server.url}/")

    outcomes = crawled.outcomes()
    assert (outcomes.pop("/"), outcomes.pop("/next")) == (200, 302)
    assert set(outcomes.values()) <= {404}


@pytest.mark.rule("errors")
@pytest.mark.usefixtures("local_names")
def test_hosts_that_can_hardly_be_looked_up_do_not_end_the_crawl(strategy: Strategy, serve: Serve) -> None:
    hosts = (
        "xn--a.x.invalid",
        "xn--.x.invalid",
        "%00.x.invalid",
        "%.x.invalid",
        "-.x.invalid",
        200 * "a." + "x.invalid",
    )
    urls = [f"http://{host}:{port}/" for host in hosts for port in (0, 1, 65535)]
    server = serve(site({"/": page(*urls, "/next")}))

    crawled = crawl(strategy, f"{server.url}/", "http://x.invalid/", strict=False, max_tries=1)

    assert {url: found.error or found.status for url, found in crawled.pages.items()} == {
        f"{server.url}/": 200,
        f"{server.url}/next": 404,
        "http://x.invalid/": "unknown host",
        **dict.fromkeys(urls, "unknown host"),
    }


@pytest.mark.rule("responses")
def test_every_page_leaves_its_record(strategy: Strategy, serve: Serve) -> None:
    server = serve(
        site(
            {
                "/": page("/plain", "/moved", "/", Content_Type='Text/HTML; Charset="Latin-1"'),
                "/plain": response(200, b"0123456789", "text/plain"),
                "/moved": response(301, b"", None, Location="gone"),
                "/gone": response(410, b"gone", "text/html"),
            }
        )
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
    other = serve(site({}))
    hosts = ("localhost", "127.0.0.2", "[::1]", "www.127.0.0.1")
    server = serve(site({"/": page(*(f"http://{host}:{other.port}/trap" for host in hosts))}))

    for strict in (True, False):
        assert crawl(strategy, f"{server.url}/", strict=strict).outcomes() == {"/": 200}
    assert other.observed().requests == []


@pytest.mark.usefixtures("local_names")
@pytest.mark.parametrize(
    ("root", "strict", "followed"),
    [
        ("site.test", True, {"site.test", "www.site.test"}),
        ("www.site.test", True, {"site.test", "www.site.test"}),
        ("site.test", False, {"site.test", "www.site.test", "sub.site.test"}),
        ("sub.site.test", True, {"sub.site.test"}),
        ("SUB.site.test", False, {"site.test", "www.site.test", "sub.site.test"}),
    ],
)
def test_hosts_of_the_same_site_are_followed(
    strategy: Strategy, root: str, strict: bool, followed: set[str], serve: Serve
) -> None:
    hosts = ("site.test", "www.site.test", "sub.site.test", "other.test", "127.0.0.1")

    def answer(exchange: Exchange) -> None:
        port = exchange.request.head.lower().partition("\r\nhost: ")[2].partition("\r\n")[0].rpartition(":")[2]
        exchange.send(page(*(f"http://{host}:{port}/x" for host in hosts)))

    server = serve(answer)

    crawled = crawl(strategy, f"http://{root}:{server.port}/x", strict=strict)

    assert set(crawled.pages) == {f"http://{host}:{server.port}/x" for host in followed}
    assert all(found.status == 200 for found in crawled.pages.values())


@pytest.mark.rule("requests")
@pytest.mark.usefixtures("local_names")
def test_the_host_field_names_the_host_of_the_url(strategy: Strategy, serve: Serve) -> None:
    server = serve(site({"/": page()}))

    crawl(strategy, f"http://a.test:{server.port}/", f"http://bücher.test:{server.port}/", f"{server.url}/")

    fields = {
        line.partition(": ")[2]
        for request in server.observed().requests
        for line in request.head.split("\r\n")
        if line.lower().startswith("host: ")
    }
    assert fields == {f"{host}:{server.port}" for host in ("a.test", "xn--bcher-kva.test", "127.0.0.1")}


@pytest.mark.rule("errors")
@pytest.mark.usefixtures("local_names")
def test_hosts_that_cannot_be_looked_up_are_failed_pages(strategy: Strategy, serve: Serve) -> None:
    server = serve(
        site(
            {
                "/": page(
                    "http://no-such-host.site.invalid/",
                    "http://a..site.invalid/",
                    f"http://{'x' * 64}.site.invalid/",
                    "/x",
                )
            }
        )
    )

    crawled = crawl(strategy, f"{server.url}/", "http://site.invalid/", strict=False, max_tries=2)

    found = {url: (page.status, page.error, page.tries) for url, page in crawled.pages.items()}
    assert found == {
        f"{server.url}/": (200, None, 1),
        f"{server.url}/x": (404, None, 1),
        "http://site.invalid/": (None, "unknown host", 2),
        "http://no-such-host.site.invalid/": (None, "unknown host", 2),
    }


def test_an_exclude_pattern_skips_urls(strategy: Strategy, serve: Serve) -> None:
    server = serve(
        site({"/": page("/yes", "/no", "/no/more", "/x?no", "/moved"), "/moved": response(302, Location="/no/way")})
    )

    crawled = crawl(strategy, f"{server.url}/", exclude=r"/no|\?")

    assert crawled.outcomes() == {"/": 200, "/yes": 404, "/moved": 302}
    assert {request.target for request in server.observed().requests} == {"/", "/yes", "/moved"}


@pytest.mark.rule("requests")
def test_a_request_says_the_same_in_every_model(strategy: Strategy, connection: str, serve: Serve) -> None:
    server = serve(site({"/x?y": page()}))

    crawl(strategy, f"{server.url}/x?y", connection=connection)

    (request,) = server.observed().requests
    line, *fields = request.head.removesuffix("\r\n\r\n").split("\r\n")
    expected = {f"host: 127.0.0.1:{server.port}", "user-agent: inflight", "accept: */*"}
    assert line == "GET /x?y HTTP/1.1"
    assert {field.lower() for field in fields} == expected | (
        {"connection: close"} if connection == "per-fetch" else set()
    )
