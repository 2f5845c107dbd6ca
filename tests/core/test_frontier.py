"""The rules of the crawl: once each, redirects, retries, records."""

import dataclasses
import itertools
import re
import socket
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from inflight.strategies.base import Job
from inflight.strategies.core.frontier import REDIRECTS, Frontier, describe
from inflight.strategies.core.http1 import ClosedEarlyError, ProtocolError, Response, TooLargeError, make_response
from inflight.strategies.core.links import host_of, resolve
from tests.core.generators import thorough

ROOT = "http://h/"


def ticking() -> Callable[[], int]:
    """Return a clock that says 1, 2, 3, ..."""
    return itertools.count(1).__next__


def frontier_of(*roots: str, **options: Any) -> Frontier:
    return Frontier(Job(roots or (ROOT,), **options), ticking())


def html(*hrefs: str, charset: str = "utf-8") -> Response:
    body = "".join(f'<a href="{href}">' for href in hrefs).encode(charset)
    return make_response(200, f"text/html; charset={charset}", None, body, keep_alive=True)


def redirect(location: str | None, status: int = 302) -> Response:
    return make_response(status, None, location, b"", keep_alive=True)


def urls(fetches: Sequence[Any]) -> list[str]:
    return [fetch.url for fetch in fetches]


def finish(frontier: Frontier, fetch: Any, response: Response) -> Sequence[Any]:
    frontier.start(fetch)
    return frontier.finish(fetch, response)


def fail(frontier: Frontier, fetch: Any, error: OSError | ProtocolError) -> Sequence[Any]:
    frontier.start(fetch)
    return frontier.fail(fetch, error)


# What is fetched


def test_roots_are_normalised_and_handed_out_once() -> None:
    frontier = frontier_of("HTTP://H:80", "http://h/#x", "http://h/y")

    assert urls(frontier.roots()) == ["http://h/", "http://h/y"]


@pytest.mark.parametrize("root", ["h/x", "", "http://", "ftp://h/", "http://a b/", "http://h:x/", "https://h:x/"])
def test_a_root_that_is_no_url_of_http_or_https_is_refused(root: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        frontier_of(root)


def test_a_crawl_has_one_scheme() -> None:
    with pytest.raises(ValueError, match="all http or all https"):
        frontier_of("http://h/", "https://h/")


def test_a_crawl_of_https_follows_https_alone() -> None:
    frontier = frontier_of("HTTPS://H:443")
    (root,) = frontier.roots()
    found = finish(frontier, root, html("/a", "//h/b", "https://h:443/c", "http://h/d"))

    assert (root.url, root.origin.port, root.request[:6]) == ("https://h/", 443, b"GET / ")
    assert urls(found) == ["https://h/a", "https://h/b", "https://h/c"]
    assert frontier.not_followed() == {"http link": 1}


def test_links_are_read_in_the_encoding_of_their_page() -> None:
    frontier = frontier_of("http://h/1", "http://h/2")
    first, second = frontier.roots()

    assert urls(finish(frontier, first, html("/é", charset="latin-1"))) == ["http://h/%C3%A9"]
    assert not finish(frontier, second, html("/é", charset="utf-8"))


def test_a_root_is_fetched_whatever_the_exclude_pattern_says() -> None:
    assert urls(frontier_of(exclude="h").roots()) == [ROOT]


@pytest.mark.parametrize(
    ("url", "host", "port", "field"),
    [
        ("http://h/x", "h", 80, "h"),
        ("http://h:80/x", "h", 80, "h"),
        ("http://h:81/x", "h", 81, "h:81"),
        ("http://12345/x", "12345", 80, "12345"),
        ("http://127.0.0.1:81/x", "127.0.0.1", 81, "127.0.0.1:81"),
        ("http://[::1]/x", "::1", 80, "[::1]"),
        ("http://[::1]:81/x", "::1", 81, "[::1]:81"),
    ],
)
def test_a_fetch_knows_where_to_connect_and_what_to_send(url: str, host: str, port: int, field: str) -> None:
    (fetch,) = frontier_of(url).roots()

    assert (fetch.origin.host, fetch.origin.port) == (host, port)
    assert fetch.request.startswith(f"GET /x HTTP/1.1\r\nHost: {field}\r\n".encode())
    assert fetch.request.endswith(b"\r\n\r\n")


# Redirects


@pytest.mark.parametrize("status", range(200, 600))
def test_six_statuses_are_redirects(status: int) -> None:
    frontier = frontier_of()
    (root,) = frontier.roots()

    found = finish(frontier, root, redirect("/x", status))

    assert urls(found) == (["http://h/x"] if status in {300, 301, 302, 303, 307, 308} else [])
    assert (status in REDIRECTS) is bool(found)
    assert root.next_url == ("http://h/x" if found else None)
    assert root.status == status


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/x#y", "http://h/x"),
        ("x", "http://h/a/x"),
        ("?x", "http://h/a/b?x"),
        ("http://H:80/x", "http://h/x"),
        ("/x&amp;y", "http://h/x&amp;y"),
    ],
)
def test_a_location_is_joined_to_the_url_it_was_found_at(location: str, target: str) -> None:
    frontier = frontier_of("http://h/a/b")
    (root,) = frontier.roots()

    assert urls(finish(frontier, root, redirect(location))) == [target]
    assert root.next_url == target


@pytest.mark.parametrize(
    ("location", "next_url"),
    [
        *((nowhere, None) for nowhere in (None, "mailto:a@h", "http://a b/", "http://[", "http://h:x/")),
        *((https, https) for https in ("https://h/", "HTTPS://other/x")),
        ("/", ROOT),
    ],
)
def test_a_redirect_to_nowhere_to_https_or_to_itself_is_a_result(location: str | None, next_url: str | None) -> None:
    frontier = frontier_of()
    (root,) = frontier.roots()

    assert not finish(frontier, root, redirect(location))
    assert (root.status, root.next_url, root.error) == (302, next_url, None)
    assert frontier.done


@pytest.mark.parametrize("limit", [0, 1, 3, 10])
def test_a_chain_of_redirects_ends_at_the_limit(limit: int) -> None:
    frontier = frontier_of(max_redirects=limit)
    waiting = list(frontier.roots())

    for n in range(100):
        for fetch in waiting:
            waiting = list(finish(frontier, fetch, redirect(f"/{n}")))

    pages = frontier.pages()
    assert len(pages) == limit + 1
    assert [page.error for page in pages] == [None] * limit + ["redirect limit reached"]
    assert pages[-1].next_url == f"http://h/{limit}"
    assert pages[-1].status == 302


def test_the_limit_does_not_count_where_nothing_would_be_followed() -> None:
    frontier = frontier_of("http://h/1", "http://h/2", "http://h/3", max_redirects=0)
    seen, foreign, nowhere = frontier.roots()

    finish(frontier, seen, redirect("/2"))
    finish(frontier, foreign, redirect("http://other/"))
    finish(frontier, nowhere, redirect(None))

    assert [page.error for page in frontier.pages()] == [None, None, None]


def test_links_behind_a_redirect_have_all_redirects_again() -> None:
    frontier = frontier_of(max_redirects=1)
    (root,) = frontier.roots()
    (target,) = finish(frontier, root, redirect("/target"))
    (link,) = finish(frontier, target, html("/link"))
    (second,) = finish(frontier, link, redirect("/second"))

    assert [fetch.redirects_left for fetch in (root, target, link, second)] == [1, 0, 1, 0]


HREFS = st.lists(
    st.sampled_from(
        [
            *("/", "/a", "/b", "/c", "/no", "/a#x", "/a?q", "/a?q&amp;r", "/a?q&r", "/a/./b", "/a/b", "//h/a", "//x/a"),
            *("a", "b", "./a", "../a", "?q", "", "#x", "http://h/a", "http://www.h/a", "mailto:a", " /a", "/\xe9"),
        ]
    ),
    max_size=8,
)


@thorough
@given(st.lists(HREFS, min_size=1, max_size=8), st.sampled_from([None, "no", "a/b"]))
def test_links_mean_what_each_of_them_means_alone(pages: list[list[str]], exclude: str | None) -> None:
    roots = tuple(f"http://{host}/{folder}" for folder in ("", "a/", "b/c") for host in ("h", "www.h", "h:81"))
    frontier = frontier_of(*roots, exclude=exclude)
    seen = set(roots)

    for root, hrefs in zip(frontier.roots(), pages, strict=False):
        alone = [resolve(root.url, href.encode("latin-1"), "latin-1") for href in hrefs]
        followed = [
            url for url in alone if url and host_of(url) in {"h", "www.h"} and not (exclude and re.search(exclude, url))
        ]
        new = [url for url in dict.fromkeys(followed) if url not in seen]
        seen.update(new)

        assert urls(finish(frontier, root, html(*hrefs, charset="latin-1"))) == new
        assert (root.num_urls, root.num_new_urls) == (len(set(followed)), len(new))


# Failures


def test_what_is_not_followed_is_counted_once_with_its_reason() -> None:
    left = (
        "https://h/",
        "https://h/x",
        "mailto:a@h",
        "new:x",
        "http://other/",
        "/no/1",
        "/no/2",
        "//user@h/",
        "/no/1#y",
    )
    targets = ("https://h/", "http://other/", "/no/3", "//[", None, "", ROOT, "/new")
    frontier = frontier_of(exclude="/no/")
    (root,) = frontier.roots()

    pages = finish(frontier, root, html(*left, *left, *(f"/{n}" for n in range(len(targets) + 2))))
    for page, target in zip(pages, targets, strict=False):
        finish(frontier, page, redirect(target))
    finish(frontier, pages[-2], html(*left))
    finish(frontier, pages[-1], make_response(200, "image/png", None, b"x", keep_alive=True))

    assert frontier.not_followed() == {
        "https link": 2, "excluded link": 2, "mailto link": 1, "other-scheme link": 1, "other-host link": 1,
        "invalid link": 1, "https redirect": 1, "other-host redirect": 1, "excluded redirect": 1,
        "invalid redirect": 1, "targetless redirect": 1, "image/png page": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "timeout"),
        (OSError(110, "x"), "timeout"),
        (ConnectionRefusedError(), "connection refused"),
        (OSError(111, "x"), "connection refused"),
        (ConnectionResetError(), "connection reset"),
        (BrokenPipeError(), "connection reset"),
        (ConnectionAbortedError(), "network error"),
        (OSError(113, "x"), "network error: EHOSTUNREACH"),
        (OSError("odd"), "network error"),
        (socket.gaierror(-2, "x"), "unknown host"),
        (ClosedEarlyError("x"), "closed early"),
        (TooLargeError("x"), "too large: x"),
        (ProtocolError("x"), "malformed response: x"),
    ],
)
def test_an_error_has_a_kind(error: OSError | ProtocolError, kind: str) -> None:
    assert describe(error) == kind


@pytest.mark.parametrize("is_failure", [False, True])
def test_a_fetch_that_succeeded_or_failed_has_ended(is_failure: bool) -> None:
    frontier = frontier_of(max_tries=1)
    (root,) = frontier.roots()
    if is_failure:
        fail(frontier, root, OSError())
    else:
        finish(frontier, root, html())

    with pytest.raises(RuntimeError, match="finished twice"):
        frontier.finish(root, html())
    with pytest.raises(RuntimeError, match="finished twice"):
        frontier.fail(root, OSError())


# Counts and times


def test_times_are_those_of_the_clock() -> None:
    frontier = frontier_of(timeout_ns=100)
    (root,) = frontier.roots()
    fail(frontier, root, OSError())
    (found,) = finish(frontier, root, html("/x"))

    assert (root.admitted_ns, root.started_ns, root.deadline_ns, root.finished_ns) == (1, 3, 103, 4)
    assert found.admitted_ns == 4


def test_a_record_holds_what_became_of_a_url() -> None:
    frontier = frontier_of()
    (root,) = frontier.roots()

    finish(frontier, root, html("/a", "/b", "/", charset="latin-1"))

    assert [dataclasses.asdict(page) for page in frontier.pages()] == [
        {
            "url": ROOT,
            "status": 200,
            "next_url": None,
            "error": None,
            "size": 38,
            "content_type": "text/html",
            "encoding": "latin-1",
            "num_urls": 3,
            "num_new_urls": 2,
            "tries": 1,
        }
    ]


# Any order of events


ERRORS = (OSError(), TimeoutError(), ClosedEarlyError(), ProtocolError(), TooLargeError())


class AnyCrawl(RuleBasedStateMachine):
    """Fetches of a small site start and end in any order and any way; the rules hold after each event."""

    PATHS = tuple("abcdefgh")

    @initialize(
        roots=st.lists(st.sampled_from(PATHS), min_size=1, max_size=3),
        tries=st.integers(1, 3),
        redirects=st.integers(0, 2),
    )
    def begin(self, roots: list[str], tries: int, redirects: int) -> None:
        self.job = Job(
            tuple(f"http://h/{path}" for path in roots),
            max_tries=tries,
            max_redirects=redirects,
        )
        self.frontier = Frontier(self.job, ticking())
        self.waiting = list(self.frontier.roots())
        self.started: list[Any] = []
        self.handed_out = urls(self.waiting)
        self.finished = 0
        self.peak = 0

    @rule(data=st.data())
    @precondition(lambda self: self.waiting)
    def start(self, data: Any) -> None:
        fetch = self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1)))
        self.frontier.start(fetch)
        self.started.append(fetch)
        self.peak = max(self.peak, len(self.started))
        assert fetch.tries <= self.job.max_tries

    @rule(data=st.data(), links=st.lists(st.sampled_from(PATHS), max_size=4), relative=st.booleans())
    @precondition(lambda self: self.started)
    def succeed(self, data: Any, links: list[str], relative: bool) -> None:
        fetch, _ = self.end(data, html(*(link if relative else f"/{link}" for link in links)))
        assert (fetch.status, fetch.error) == (200, None), "also after tries that failed"

    @rule(data=st.data(), location=st.sampled_from(PATHS))
    @precondition(lambda self: self.started)
    def move(self, data: Any, location: str) -> None:
        fetch, found = self.end(data, redirect(location))
        if fetch.error is not None:
            assert (fetch.error, fetch.redirects_left) == ("redirect limit reached", 0)
        for new in found:
            assert new.redirects_left == fetch.redirects_left - 1

    @rule(data=st.data(), error=st.sampled_from(ERRORS))
    @precondition(lambda self: self.started)
    def break_off(self, data: Any, error: OSError | ProtocolError) -> None:
        fetch = self.pick(data)
        found = self.frontier.fail(fetch, error)
        if type(error) in {ProtocolError, TooLargeError} or fetch.tries == self.job.max_tries:
            assert not found
            assert fetch.error == describe(error)
            self.finished += 1
        else:
            assert list(found) == [fetch]
            self.waiting.append(fetch)

    def pick(self, data: Any) -> Any:
        return self.started.pop(data.draw(st.integers(0, len(self.started) - 1)))

    def end(self, data: Any, response: Response) -> tuple[Any, Sequence[Any]]:
        fetch = self.pick(data)
        found = self.frontier.finish(fetch, response)
        self.finished += 1
        self.waiting.extend(found)
        self.handed_out.extend(urls(found))
        return fetch, found

    @invariant()
    def each_url_was_handed_out_once(self) -> None:
        assert len(set(self.handed_out)) == len(self.handed_out)

    @invariant()
    def the_counts_are_right(self) -> None:
        if self.handed_out:
            assert self.frontier.in_flight == len(self.started)
            assert self.frontier.peak_in_flight == self.peak
            assert len(self.frontier.finished) == self.finished

    @invariant()
    def the_crawl_is_done_when_nothing_waits_and_nothing_is_in_flight(self) -> None:
        assert self.frontier.done is not bool(self.waiting or self.started)

    @rule()
    @precondition(lambda self: self.frontier.done)
    def rest(self) -> None:
        """Nothing is left to be done."""

    def teardown(self) -> None:
        assert all(re.fullmatch(r"http://h/[a-h]", page.url) for page in self.frontier.pages())
        assert all(1 <= page.tries <= self.job.max_tries for page in self.frontier.pages())


AnyCrawl.TestCase.settings = thorough
TestAnyCrawl = AnyCrawl.TestCase
