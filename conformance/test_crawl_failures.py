"""How a crawl handles servers that are absent, and sockets and answers that break."""

import socket
from typing import Any

import pytest

from inflight.conformance.servers import page
from inflight.conformance.sites import BREAKS
from inflight.conformance.subject import Subject

pytestmark = pytest.mark.rule("errors")


def test_a_refused_connection_is_a_failed_page(subject: Subject) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server = subject.serve({"/": page(nobody, f"{nobody}x", "/y")})

    crawled = subject.crawl(f"{server.url}/", max_tries=3)

    assert {url: (page.status, page.error, page.tries) for url, page in crawled.pages.items()} == {
        f"{server.url}/": (200, None, 1),
        f"{server.url}/y": (404, None, 1),
        **dict.fromkeys((nobody, f"{nobody}x"), (None, "connection refused", 3)),
    }


@pytest.mark.usefixtures("local_names")
def test_all_addresses_of_a_host_are_tried(subject: Subject) -> None:
    server = subject.serve({"/": page("/x"), "/x": page()})
    hosts = [f"http://{host}:{server.port}" for host in ("refusing-first.test", "unreachable-first.test")]

    crawled = subject.crawl(*(f"{host}/" for host in hosts), max_tries=1)

    outcomes = {url: page.error or page.status for url, page in crawled.pages.items()}
    assert outcomes == {f"{host}{path}": 200 for host in hosts for path in ("/", "/x")}


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
def test_hosts_that_cannot_be_looked_up_are_failed_pages(subject: Subject) -> None:
    limited = subject.limited(HOSTS)
    urls = {f"http://{host}:{port}/": host for host in HOSTS if host not in limited for port in (0, 1, 65535)}
    server = subject.serve({"/": page(*urls, *NO_NAMES, "/next")})

    crawled = subject.crawl(f"{server.url}/", "http://x.invalid/", strict=False, max_tries=2)

    assert {url: (page.error or page.status, page.tries) for url, page in crawled.pages.items()} == {
        f"{server.url}/": (200, 1),
        f"{server.url}/next": (404, 1),
        **dict.fromkeys([*urls, "http://x.invalid/"], ("unknown host", 2)),
    }
    alone = {host: subject.crawl_alone(f"http://{host}:1/") for host in limited}
    subject.compare(alone, dict.fromkeys(limited, "unknown host"))


def test_a_broken_answer_on_a_kept_connection_costs_a_try(subject: Subject) -> None:
    subject.needs_shared_parser("send a request again that does not count")
    tries = {}
    for name, (script, _) in BREAKS.items():
        server = subject.serve({"/": page("/broken"), "/broken": ("by_try", script, page())})
        crawled = subject.crawl(f"{server.url}/", max_in_flight=1)
        tries[name] = (crawled.tries()["/broken"], server.observed().targets["/broken"])

    # Without a byte of an answer, it is a stale connection.
    assert tries == {name: (1 if name in {"closed", "reset"} else 2, 2) for name in BREAKS}


class NotReadyYet(socket.socket):
    """A socket that is reported ready once more than it is, as select(2) says may happen."""

    premature = 1

    def recv(self, *args: Any) -> bytes:
        self.wait_in_vain()
        return super().recv(*args)

    def send(self, *args: Any) -> int:
        self.wait_in_vain()
        return super().send(*args)

    def wait_in_vain(self) -> None:
        self.premature, again = not self.premature, self.premature
        # A blocking socket that has nothing is out of time; asyncio wakes its loop over a pair of sockets, which works.
        if again and self.gettimeout() == 0 and self.family == socket.AF_INET:
            raise BlockingIOError


def test_a_socket_that_is_not_ready_after_all_is_waited_for(
    subject: Subject, connection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = subject.serve({"/": page("/a", "/b", "/c")})
    monkeypatch.setattr(socket, "socket", NotReadyYet)

    crawled = subject.crawl(f"{server.url}/", max_tries=1, connection=connection)

    assert crawled.outcomes() == {"/": 200, "/a": 404, "/b": 404, "/c": 404}
