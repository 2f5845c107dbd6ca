"""Deadlines: servers that are slow, or do not read, and clocks that a test moves.

A fetch that times out here is never answered, or only after its deadline by a clock that the test has moved. So it
does not matter how fast the machine is.
"""

from contextlib import AbstractContextManager

import pytest

from inflight.conformance.servers import CLOSE, HANG, HEAD, page, silent
from inflight.conformance.sites import LONG_NS, MS, SHORT_NS
from inflight.conformance.subject import Subject

pytestmark = pytest.mark.rule("deadline")

LONG_PATH = "/" + 6_000_000 * "x"
"""More than the kernel takes before the server reads."""
MOST, MORE = (("say", "late 1"), ("hear", "passed 1")), (("say", "late 2"), ("hear", "passed 2"))
"""Each is more than half of a deadline, by a clock that the test moves."""
UNREAD = "wait until all is sent before it closes a connection"


def test_a_timeout_is_tried_again(subject: Subject) -> None:
    server = subject.serve({"/": ("by_try", (HANG,), page())})

    # A machine that stalls costs tries, of which there are many.
    crawled = subject.crawl(f"{server.url}/", timeout_ns=1000 * MS, max_tries=100)

    assert crawled.outcomes() == {"/": 200}
    requests = server.observed().targets["/"]
    assert requests >= 2, "requests"
    assert crawled.tries()["/"] >= requests, "tries"


def test_a_second_connection_gets_no_second_deadline(
    subject: Subject, moved_clock: AbstractContextManager[None]
) -> None:
    late = "/late/second-connection"
    server = subject.serve({"/": page(late), late: ("by_use", page(), (*MOST, *MORE, CLOSE))})

    with moved_clock:
        crawled = subject.crawl(f"{server.url}/", max_tries=1, max_in_flight=1, timeout_ns=LONG_NS)

    subject.compare(crawled.outcomes(), {"/": 200, late: "timeout"})


def test_sending_and_waiting_share_one_deadline(subject: Subject, moved_clock: AbstractContextManager[None]) -> None:
    subject.needs_shared_parser(UNREAD)
    # A whole answer could come in time, by the real clock. After half of one, the strategy looks at the moved clock.
    server = subject.serve({LONG_PATH: (*MORE, HEAD, HANG)}, early=MOST)

    with moved_clock:
        crawled = subject.crawl(server.url + LONG_PATH, max_tries=1, max_in_flight=1, timeout_ns=LONG_NS)

    assert list(crawled.outcomes().values()) == ["timeout"]


def test_a_server_that_does_not_read_is_a_timeout(subject: Subject) -> None:
    subject.needs_shared_parser(UNREAD)
    server = subject.serve({LONG_PATH: page()}, early=(("hear", "the end of the test"),))

    crawled = subject.crawl(server.url + LONG_PATH, timeout_ns=SHORT_NS, max_tries=1)

    assert list(crawled.outcomes().values()) == ["timeout"]


@pytest.mark.usefixtures("local_names")
def test_all_addresses_of_a_host_share_one_deadline(subject: Subject) -> None:
    with silent() as port:
        subject.serve({"/": page()}, host="127.0.0.2", port=port)
        crawled = subject.crawl(f"http://silent-first.test:{port}/", timeout_ns=700 * MS, max_tries=1)

    subject.compare({"silent-first.test": crawled.outcomes()["/"]}, {"silent-first.test": "timeout"})
