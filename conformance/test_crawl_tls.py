"""Crawls of https: whom a client trusts, and what only TLS can do to a handshake, a response and a kept connection.

Each path of a test has a server of its own, because much of this happens before there is a path.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from inflight.conformance.servers import (
    CA,
    CHUNKED,
    CLOSE,
    DRIP_S,
    HANG,
    HEAD,
    LINK,
    MOMENT,
    NEW_TICKET,
    NOTIFY,
    READ_HELLO,
    RESET,
    SEND_TICKET,
    SHAKE_HANDS,
    Script,
    page,
    response,
)
from inflight.conformance.sites import CUT, EARLY, KEPT, LATE, RETRIED, SHORT_NS, WHOLE, Outcome, Row
from inflight.conformance.subject import Subject

pytestmark = pytest.mark.rule("tls")

REFUSED, UNENCRYPTED = "certificate refused", "TLS error"
TRIES = 2


@pytest.fixture(autouse=True)
def _can_do_tls(subject: Subject) -> None:
    subject.needs_tls()


class Case(NamedTuple):
    """A page, and the server that serves it."""

    row: Row
    hello: Script = SHAKE_HANDS
    certificate: str = "right"


def check(subject: Subject, cases: Mapping[str, Case], ca: str | None = CA, **options: int) -> None:
    """Crawl the pages at once, those at which the library has a limit alone; compare outcomes and numbers of tries."""
    servers = {
        path: subject.serve_tls({path: case.row.script, "/linked": page()}, case.certificate, case.hello)
        for path, case in cases.items()
    }
    urls = {path: server.url + path for path, server in servers.items()}
    limited = subject.limited(urls)

    crawled = subject.crawl(
        *(url for path, url in urls.items() if path not in limited), ca=ca, **{"max_tries": TRIES, **options}
    )

    outcomes = {path: outcome for path, outcome in crawled.outcomes().items() if path in urls}
    alone = {path: subject.crawl_alone(urls[path], ca=ca) for path in limited}
    subject.compare(outcomes | alone, {path: case.row for path, case in cases.items()})
    most = options.get("max_tries", TRIES)
    tries = {path: number for path, number in crawled.tries().items() if path in urls}
    assert tries == {path: most if has_all_tries(cases[path], outcomes[path]) else 1 for path in tries}


def has_all_tries(case: Case, outcome: Outcome) -> bool:
    """Return whether a page has had all of its tries: it failed in a way that may be cured, or was cured."""
    return outcome in RETRIED or case.hello[0] == "by_connection"


def test_pages_are_fetched_over_tls_and_links_to_http_are_not(subject: Subject, connection: str) -> None:
    paths = [f"/{n}" for n in range(20)]
    server = subject.serve_tls({"/": page(*paths, "http://127.0.0.1/trap"), "*": page()})

    crawled = subject.crawl(f"{server.url}/", ca=CA, connection=connection, max_in_flight=2)

    observed = server.observed()
    assert crawled.outcomes() == dict.fromkeys(("/", *paths), 200)
    assert crawled.not_followed == {"http link": 1}
    assert len(observed.requests) == 21
    assert observed.connections <= 2 if connection == KEPT else observed.connections == 21


# Handshakes


UNTRUSTED = {
    "/tls/expired": Case(Row(page(), REFUSED), certificate="expired"),
    "/tls/wrong-host": Case(Row(page(), REFUSED), certificate="wrong_host"),
}


def test_a_certificate_that_is_refused_is_not_tried_again(subject: Subject) -> None:
    check(subject, UNTRUSTED)


def test_the_certificate_of_an_unknown_ca_is_refused(subject: Subject) -> None:
    check(subject, {"/tls/unknown-ca": Case(Row(page(), REFUSED))}, ca=None)


def cured(*steps: tuple[str, ...]) -> Case:
    """Return a page at whose server only the first handshake fails."""
    return Case(Row(page()), ("by_connection", (READ_HELLO, *steps), SHAKE_HANDS))


def test_a_handshake_that_is_cut_is_tried_again(subject: Subject) -> None:
    check(subject, {"/tls/cured-close": cured(CLOSE), "/tls/cured-reset": cured(RESET)})


@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_a_handshake_that_is_always_cut_is_a_broken_connection(subject: Subject, end: tuple[str]) -> None:
    server = subject.serve_tls({}, hello=(READ_HELLO, end))

    crawled = subject.crawl(f"{server.url}/", ca=CA, max_tries=TRIES)

    assert crawled.outcomes()["/"] in CUT
    assert crawled.tries() == {"/": TRIES}


def test_a_server_without_tls_is_not_tried_again(subject: Subject) -> None:
    check(subject, {"/tls/plain": Case(Row(page(), UNENCRYPTED), (READ_HELLO, response(400), CLOSE))})


SLOW = {
    "/tls/silent-hello": Case(Row(page(), LATE), HANG),
    "/tls/no-answer": Case(Row((HANG,), LATE)),
    "/tls/drip": Case(Row((HEAD, ("repeat", b"x", DRIP_S)), LATE)),
}


@pytest.mark.parametrize("path", SLOW)
def test_a_deadline_holds_within_handshake_and_response(subject: Subject, path: str) -> None:
    if path in subject.limits:
        pytest.skip(subject.limits[path])  # it is in time, but leaves something open
    check(subject, {path: SLOW[path]}, timeout_ns=SHORT_NS, max_tries=1)


# Responses


HALF = HEAD + WHOLE[:-5]
LARGE_BODY = 8 * LINK + bytes(1_000_000)
BODIES = {
    "/tls/whole-and-cut": Case(Row((HEAD + WHOLE, CLOSE))),
    "/tls/whole-and-notified": Case(Row((HEAD + WHOLE, NOTIFY, CLOSE))),
    "/tls/until-notified": Case(Row((HEAD + b"\r\n" + LINK, NOTIFY, CLOSE))),
    "/tls/until-cut": Case(Row((HEAD + b"\r\n" + LINK, CLOSE), EARLY, CUT)),
    "/tls/half-and-cut": Case(Row((HALF, CLOSE), EARLY, CUT)),
    "/tls/half-and-notified": Case(Row((HALF, NOTIFY, CLOSE), EARLY, CUT)),
    "/tls/half-chunk": Case(Row((CHUNKED + b"12\r\n<a", CLOSE), EARLY, CUT)),
    "/tls/tiny-records": Case(Row(("records", page("/linked"), 1))),
    "/tls/full-records": Case(Row(("records", response(200, LARGE_BODY), 16_384))),
    "/tls/tickets-first": Case(Row((MOMENT, page()))),
}
"""What lasts until the connection closes is whole only after a close_notify (RFC 9112, section 9.8)."""


def test_what_tls_does_to_a_response_changes_none(subject: Subject) -> None:
    check(subject, BODIES, max_in_flight=4)


# Kept connections


PAGES = [f"/{n}" for n in range(20)]
FIRST = page(*PAGES)
STALE: dict[str, Script] = {
    "cut after an answer": (FIRST, CLOSE),
    "notified after an answer": (FIRST, NOTIFY, CLOSE),
    "cut on the second request": ("by_use", FIRST, (CLOSE,)),
    "notified on the second request": ("by_use", FIRST, (NOTIFY, CLOSE)),
}


@pytest.mark.parametrize("cap", [1, 5])
def test_a_kept_connection_that_is_gone_costs_no_try_over_tls(subject: Subject, cap: int) -> None:
    tries = 1 if subject.is_shared else 10  # a foreign pool may hand out one after another
    failed = {}
    for how, script in STALE.items():
        server = subject.serve_tls({"*": script})
        crawled = subject.crawl(f"{server.url}/", ca=CA, max_tries=tries, max_in_flight=cap)
        failed[how] = {path for path in ("/", *PAGES) if crawled.outcomes().get(path) != 200}

    assert failed == {how: set() for how in STALE}


IDLE: dict[str, tuple[tuple[str, ...], ...]] = {
    "cut": (CLOSE,),
    "notified": (NOTIFY, CLOSE),
    "sent a ticket": (SEND_TICKET,),
}
"""What happens to a connection while it is idle."""


@pytest.mark.parametrize("how", IDLE)
def test_a_connection_that_was_idle_costs_no_try(subject: Subject, how: str) -> None:
    if subject.max_in_flight == 1:
        pytest.skip("its connection is never idle")
    if how == "sent a ticket" and NEW_TICKET is None:
        pytest.skip("OpenSSL's function for it is out of reach in this Python")
    server = subject.serve_tls(
        {
            "/first": (("seen", 2), page(), MOMENT, *IDLE[how], ("say", "done")),
            "/slow": (("hear", "done"), MOMENT, page("/a", "/b")),
            "*": (("seen", 4), page()),  # so that no connection is used for both
        }
    )

    crawled = subject.crawl(f"{server.url}/first", f"{server.url}/slow", ca=CA, max_in_flight=2, max_tries=1)

    assert crawled.outcomes() == dict.fromkeys(("/first", "/slow", "/a", "/b"), 200)
    if subject.is_shared:  # a ticket is no data, and no reason to drop the connection
        assert server.observed().connections == (2 if how == "sent a ticket" else 3)
