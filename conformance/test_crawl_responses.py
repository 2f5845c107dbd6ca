"""Connections that the server has closed, and bytes that nobody asked for."""

import pytest

from inflight.conformance.crawling import code_of
from inflight.conformance.servers import CLOSE, MOMENT, RESET, Script, Step, page, response
from inflight.conformance.sites import LONG_NS, SHORT_NS
from inflight.conformance.subject import Subject

pytestmark = pytest.mark.rule("stale")

PAGES = [f"/{n}" for n in range(20)]
FIRST = page(*PAGES)
STALE: dict[str, Script] = {
    "closed after an answer": (FIRST, CLOSE),
    "reset after an answer": (FIRST, RESET),
    "closed on the second request": ("by_use", FIRST, (CLOSE,)),
    "reset on the second request": ("by_use", FIRST, (RESET,)),
}


@pytest.mark.parametrize("cap", [1, 5])
def test_a_kept_connection_that_is_gone_costs_no_try(subject: Subject, cap: int) -> None:
    tries = 1 if subject.is_shared else 10  # a foreign pool may hand out one after another
    failed = {}
    # A foreign pool may leak the socket of a reset that comes right behind an answer (urllib3-future does).
    scripts = {how: script for how, script in STALE.items() if subject.is_shared or how != "reset after an answer"}
    for how, script in scripts.items():
        crawled = subject.crawl(f"{subject.serve({'*': script}).url}/", max_tries=tries, max_in_flight=cap)
        failed[how] = {path for path in ("/", *PAGES) if crawled.outcomes().get(path) != 200}

    assert failed == {how: set() for how in scripts}


def test_connections_that_broke_while_parked_cost_no_try(subject: Subject) -> None:
    cap = min(4, subject.max_in_flight)
    first, last = [f"/first{n}" for n in range(cap - 1)], [f"/last{n}" for n in range(cap)]
    server = subject.serve(
        {
            **dict.fromkeys(first, (("seen", cap), page(), CLOSE)),
            "/slow": (("seen", cap), MOMENT, page(*last)),  # the other connections are parked, and closed, meanwhile
            "*": page(),
        }
    )

    crawled = subject.crawl(*(server.url + path for path in (*first, "/slow")), max_tries=1, max_in_flight=cap)

    assert crawled.outcomes() == dict.fromkeys([*first, "/slow", *last], 200)
    assert set(crawled.tries().values()) == {1}


# What nobody asked for


UNASKED = (response(408, b"", None, Connection="close"), response(200, b'<a href="/trap">'))
WAYS: list[tuple[Step, ...]] = [(data, *end) for data in UNASKED for end in ((CLOSE,), ())]
"""The connection is then closed, or stays open."""
OWN_STACK = "use an unrequested response as the answer (docs/method.md)"


@pytest.mark.rule("responses")
def test_what_comes_unasked_while_another_origin_is_crawled_answers_nothing(subject: Subject) -> None:
    subject.needs_shared_parser(OWN_STACK)
    for way in WAYS:
        server = subject.serve({"/first": (page(), ("seen", 2), *way, ("say", "said")), "*": page()})
        other = subject.serve({"/other": (("hear", "said"), page(f"{server.url}/last"))})

        crawled = subject.crawl(f"{server.url}/first", f"{other.url}/other", max_in_flight=1, max_tries=1)

        assert crawled.outcomes() == {"/first": 200, "/other": 200, "/last": 200}
        subject.servers.end()


def check_that_nothing_is_answered(subject: Subject, first: tuple[Step, ...], *pause: Step) -> None:
    """Crawl with two connections, of which one gets something unasked for while it is idle."""
    server = subject.serve(
        {
            "/first": (("seen", 2), *first, ("say", "said")),
            "/slow": (("hear", "said"), *pause, page("/a", "/b")),
            "*": (("seen", 4), page()),  # so that no connection is used for both
        }
    )

    crawled = subject.crawl(f"{server.url}/first", f"{server.url}/slow", max_in_flight=2, max_tries=1)

    assert crawled.outcomes() == dict.fromkeys(("/first", "/slow", "/a", "/b"), 200)
    subject.servers.end()


@pytest.mark.rule("responses")
def test_what_comes_unasked_while_nothing_waits_answers_nothing(subject: Subject) -> None:
    subject.needs_shared_parser(OWN_STACK)
    if subject.max_in_flight == 1:
        pytest.skip("its connection is never idle")
    for way in WAYS:
        # The moment lets the client read this answer, so that what follows is not a part of it.
        check_that_nothing_is_answered(subject, (page(), MOMENT, *way))


@pytest.mark.rule("responses")
def test_what_comes_unasked_in_one_piece_with_an_answer_answers_nothing(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject.needs_shared_parser(OWN_STACK)
    if subject.max_in_flight == 1:
        pytest.skip("its connection is never idle")
    if not hasattr(code_of(subject.strategy), "CHUNK_BYTES"):
        pytest.skip("asyncio's transport reads for it, all that has come")
    # It reads the answer, and the rest is left.
    monkeypatch.setattr(code_of(subject.strategy), "CHUNK_BYTES", len(page()))
    for unasked in UNASKED:
        check_that_nothing_is_answered(subject, (page() + unasked,), MOMENT)


BEHIND = {
    "/behind/garbage": b"garbage",
    "/behind/empty-lines": b"\r\n\r\n",
    "/behind/response": response(200, b'<a href="/trap">'),
}


@pytest.mark.rule("responses")
def test_bytes_behind_a_response_answer_nothing(subject: Subject) -> None:
    for start, extra in BEHIND.items():
        paths = [start + n * "x" for n in range(5)]
        server = subject.serve({path: page(f"{path}x") + extra for path in paths})

        # A client with an HTTP stack of its own may hold what follows against the response itself, or wait for more.
        timeout_ns = LONG_NS if subject.is_shared else SHORT_NS
        crawled = subject.crawl(server.url + start, exclude="x{5}", max_tries=1, timeout_ns=timeout_ns)

        outcomes = crawled.outcomes()
        subject.compare({start: not set(outcomes) - set(paths)}, {start: True})
        if subject.is_shared:
            assert outcomes == dict.fromkeys(paths, 200)
