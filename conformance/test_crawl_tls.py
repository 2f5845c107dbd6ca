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
    Step,
    page,
    response,
)
from inflight.conformance.sites import CUT, EARLY, KEPT, LATE, LONG_NS, SHORT_NS, WHOLE, Outcome, Row
from inflight.conformance.subject import Subject

pytestmark = pytest.mark.rule("tls")

REFUSED, UNENCRYPTED = "certificate refused", "TLS error"
TRIES = 2


@pytest.fixture(autouse=True)
def _can_do_tls(subject: Subject) -> None:
    subject.needs_tls()


class Case(NamedTuple):
    """A page, the server that serves it, and how often a crawl tries it."""

    row: Row
    hello: Script = SHAKE_HANDS
    certificate: str = "right"
    tries: int = 1


def check(
    subject: Subject,
    cases: Mapping[str, Case],
    ca: str | None = CA,
    timeout_ns: int = LONG_NS,
) -> None:
    """Crawl each page, and compare outcomes and numbers of tries, of which there are at most two."""
    outcomes: dict[str, Outcome] = {}
    for path, case in cases.items():
        scripts = {path: case.row.script, "/linked": page()}
        server = subject.serve_tls(scripts, case.certificate, case.hello)
        url = server.url + path
        if path in subject.limits:
            outcomes[path] = subject.crawl_alone(url, ca=ca)
            continue
        crawled = subject.crawl(url, ca=ca, timeout_ns=timeout_ns, max_tries=TRIES)
        outcomes[path] = crawled.outcomes()[path]
        tries = crawled.tries()[path]
        assert tries == case.tries, f"tries of {path}"

    rows = {path: case.row for path, case in cases.items()}
    subject.compare(outcomes, rows)


def test_pages_are_fetched_over_tls_and_links_to_http_are_not(subject: Subject, connection: str) -> None:
    paths = [f"/{n}" for n in range(20)]
    server = subject.serve_tls({"/": page(*paths, "http://127.0.0.1/trap"), "*": page()})

    crawled = subject.crawl(f"{server.url}/", ca=CA, connection=connection, max_in_flight=2)

    observed = server.observed()
    assert crawled.outcomes() == dict.fromkeys(("/", *paths), 200)
    assert crawled.not_followed == {"http link": 1}
    assert len(observed.requests) == 21, "requests"
    if connection == KEPT:
        assert observed.connections <= 2, "connections"
    else:
        assert observed.connections == 21, "connections"


# Handshakes


def refused(certificate: str) -> Case:
    """Return a page whose server has a certificate that is refused."""
    return Case(Row(page(), REFUSED), certificate=certificate)


UNTRUSTED = {
    "/tls/expired": refused("expired"),
    "/tls/wrong-host": refused("wrong_host"),
}


def test_a_certificate_that_is_refused_is_not_tried_again(subject: Subject) -> None:
    check(subject, UNTRUSTED)


def test_the_certificate_of_an_unknown_ca_is_refused(subject: Subject) -> None:
    check(subject, {"/tls/unknown-ca": refused("right")}, ca=None)


def cured(*steps: tuple[str, ...]) -> Case:
    """Return a page at whose server only the first handshake fails."""
    return Case(Row(page()), ("by_connection", (READ_HELLO, *steps), SHAKE_HANDS), tries=TRIES)


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
    "/tls/silent-hello": Case(Row(page(), LATE), HANG, tries=TRIES),
    "/tls/no-answer": Case(Row((HANG,), LATE), tries=TRIES),
    "/tls/drip": Case(Row((HEAD, ("repeat", b"x", DRIP_S)), LATE), tries=TRIES),
}


@pytest.mark.parametrize("path", SLOW)
def test_a_deadline_holds_within_handshake_and_response(subject: Subject, path: str) -> None:
    if path in subject.limits:
        pytest.skip(subject.limits[path])  # it is in time, but leaves something open
    check(subject, {path: SLOW[path]}, timeout_ns=SHORT_NS)


# Responses


def cut_short(*steps: Step) -> Case:
    """Return a page that ends too early, each time that it is fetched."""
    return Case(Row((*steps, CLOSE), EARLY, CUT), tries=TRIES)


HALF = HEAD + WHOLE[:-5]
LARGE_BODY = 8 * LINK + bytes(1_000_000)
BODIES = {
    "/tls/whole-and-cut": Case(Row((HEAD + WHOLE, CLOSE))),
    "/tls/whole-and-notified": Case(Row((HEAD + WHOLE, NOTIFY, CLOSE))),
    "/tls/until-notified": Case(Row((HEAD + b"\r\n" + LINK, NOTIFY, CLOSE))),
    "/tls/until-cut": cut_short(HEAD + b"\r\n" + LINK),
    "/tls/half-and-cut": cut_short(HALF),
    "/tls/half-and-notified": cut_short(HALF, NOTIFY),
    "/tls/half-chunk": cut_short(CHUNKED + b"12\r\n<a"),
    "/tls/tiny-records": Case(Row(("records", page("/linked"), 1))),
    "/tls/full-records": Case(Row(("records", response(200, LARGE_BODY), 16_384))),
    "/tls/tickets-first": Case(Row((MOMENT, page()))),
}
"""What lasts until the connection closes is whole only after a close_notify (RFC 9112, section 9.8)."""


def test_what_tls_does_to_a_response_changes_none(subject: Subject) -> None:
    check(subject, BODIES)


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
    scripts: dict[str, Script] = {
        "/first": (
            ("seen", 2),
            page(),
            MOMENT,
            *IDLE[how],
            ("say", "done"),
        ),
        "/slow": (
            ("hear", "done"),
            MOMENT,
            page("/a", "/b"),
        ),
        "*": (("seen", 4), page()),  # so that no connection is used for both
    }
    server = subject.serve_tls(scripts)
    roots = (f"{server.url}/first", f"{server.url}/slow")

    crawled = subject.crawl(*roots, ca=CA, max_in_flight=2, max_tries=1)

    assert crawled.outcomes() == dict.fromkeys(("/first", "/slow", "/a", "/b"), 200)
    if subject.is_shared and how == "sent a ticket":  # which is no data, and no reason to drop the connection
        assert server.observed().connections == 2
