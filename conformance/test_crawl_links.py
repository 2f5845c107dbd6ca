"""Which URLs a crawl visits: roots, links and hosts; and what it sends."""

import pytest

from inflight.conformance.servers import moved, page
from inflight.conformance.subject import Subject

pytestmark = pytest.mark.rule("links")


def test_several_roots_are_crawled_together(subject: Subject, connection: str) -> None:
    other = subject.serve({"/": page("/other"), "/other": page()})
    server = subject.serve({"/": page("/x", f"{other.url}/"), "/x": page(f"{other.url}/y")})
    roots = (f"{server.url}/", f"{other.url}/", f"{server.url}/x", f"{server.url}/#again")

    crawled = subject.crawl(*roots, connection=connection, max_in_flight=1)

    expected = {f"{server.url}/": 200, f"{server.url}/x": 200, f"{other.url}/": 200, f"{other.url}/other": 200}
    assert {url: page.status for url, page in crawled.pages.items()} == {**expected, f"{other.url}/y": 404}
    assert len(server.observed().requests) == 2, "requests"


@pytest.mark.parametrize("strict", [True, False])
def test_foreign_hosts_are_left_alone(subject: Subject, strict: bool) -> None:
    other = subject.serve()
    hosts = ("localhost", "127.0.0.2", "[::1]", "www.127.0.0.1")
    links = [f"http://{host}:{other.port}/trap" for host in hosts]
    server = subject.serve({"/": page("/moved", *links), "/moved": moved(links[0])})

    crawled = subject.crawl(f"{server.url}/", strict=strict)

    assert crawled.outcomes() == {"/": 200, "/moved": 302}
    assert crawled.by_path()["/moved"].next_url == links[0], "next_url of /moved"
    assert other.observed().requests == []


FOLLOWED = {  # root and strictness -> hosts
    ("site.test", True): {"site.test", "www.site.test"},
    ("www.site.test", True): {"site.test", "www.site.test"},
    ("site.test", False): {"site.test", "www.site.test", "sub.site.test"},
    ("sub.site.test", True): {"sub.site.test"},
    ("SUB.site.test", False): {"site.test", "www.site.test", "sub.site.test"},
}


@pytest.mark.usefixtures("local_names")
def test_hosts_of_the_same_site_are_followed(subject: Subject) -> None:
    hosts = ("site.test", "www.site.test", "sub.site.test", "other.test", "127.0.0.1")
    server = subject.serve()
    server.play({"/x": page(*(f"http://{host}:{server.port}/x" for host in hosts))})

    followed = {}
    for root, strict in FOLLOWED:
        crawled = subject.crawl(f"http://{root}:{server.port}/x", strict=strict)
        followed[root, strict] = {url for url, page in crawled.pages.items() if page.status == 200}

    assert followed == {case: {f"http://{host}:{server.port}/x" for host in hosts} for case, hosts in FOLLOWED.items()}


@pytest.mark.rule("requests")
@pytest.mark.usefixtures("local_names")
def test_the_host_field_names_the_host_of_the_url(subject: Subject) -> None:
    server = subject.serve({"/": page()})

    subject.crawl(f"http://a.test:{server.port}/", f"http://bücher.test:{server.port}/", f"{server.url}/")

    fields = {
        line.partition(": ")[2]
        for request in server.observed().requests
        for line in request.head.split("\r\n")
        if line.lower().startswith("host: ")
    }
    assert fields == {f"{host}:{server.port}" for host in ("a.test", "xn--bcher-kva.test", "127.0.0.1")}


@pytest.mark.rule("requests")
def test_a_request_says_the_same_in_every_model(subject: Subject, connection: str) -> None:
    server = subject.serve({"/x?y": page()})

    subject.crawl(f"{server.url}/x?y", connection=connection)

    (request,) = server.observed().requests
    fields = request.head.lower().removesuffix("\r\n\r\n").split("\r\n")[1:]
    expected = {f"host: 127.0.0.1:{server.port}", "user-agent: inflight", "accept: */*"}
    assert request.head.partition("\r\n")[0] == "GET /x?y HTTP/1.1", "request line"
    assert set(fields) == expected | ({"connection: close"} if connection == "per-fetch" else set()), "header fields"
