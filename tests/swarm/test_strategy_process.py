"""The strategy process of a swarm, run as a process: its messages, and how it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from inflight.bench.measure import process, server
from inflight.bench.measure.server import Server
from inflight.bench.measure.swarm.checks import expected_digest
from inflight.bench.measure.swarm.layout import Share
from inflight.bench.measure.worker.share import digest, fetch_figures, service_times_ns
from inflight.fake_server.site import Site, SiteConfig
from inflight.strategies.base import Job
from inflight.strategies.core.page import Fetch, Origin
from tests.patience import FOREVER_S, until

SITE = SiteConfig.from_dict({"pages": 60, "links": 0, "body_bytes": 300})


@pytest.fixture(scope="module")
def fake() -> Iterator[Server]:
    with server.running(None, ports=3) as started:
        started.tell("configure", site=SITE.to_dict())
        yield started


def order(fake: Server, strategy: str = "callbacks", first: int = 0, count: int = 60) -> dict[str, Any]:
    job = Job((), max_in_flight=20).to_dict()
    roots = {"bases": fake.bases, "first": first, "count": count}
    return {"strategy": strategy, "job": job, "roots": roots}


@contextmanager
def started(what: dict[str, Any]) -> Iterator[process.Worker]:
    with process.running(["inflight.bench.measure.worker.share"], what, None, FOREVER_S) as worker:
        yield worker


def knobs_of(worker: process.Worker) -> dict[str, Any]:
    knobs: dict[str, Any] = worker.expect("ready", "knobs")["knobs"]
    return knobs


def crawled(worker: process.Worker) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    worker.send({"do": "crawl"})
    reports = []
    while (message := worker.hear("event"))["event"] == "pages":
        reports.append(message)
    return reports, message


@pytest.mark.parametrize("strategy", ["callbacks", "generators", "native_asyncio", "thread_pool"])
def test_it_fetches_its_share_of_the_site_and_reports_every_page_once(fake: Server, strategy: str) -> None:
    with started(order(fake, strategy, first=10, count=40)) as worker:
        knobs_of(worker)
        reports, outcome = crawled(worker)

    assert outcome["error"] is None
    assert outcome["pages"] == 40
    assert outcome["digest"] == expected_digest(Site(SITE), Share(0, 10, 40))
    assert sum(len(service_times_ns(report)) for report in reports) == 40
    assert sum(report["bytes"] for report in reports) == 40 * 300
    assert 0 < outcome["reporting_cpu_ns"] < outcome["cpu_ns"]


def test_it_ends_with_its_input_although_the_gate_is_shut(fake: Server) -> None:
    fake.tell("hold")
    try:
        with started(order(fake)) as worker:
            knobs_of(worker)
            worker.send({"do": "crawl"})
            until(lambda: fake.stats()["in_flight"] == 20)
            assert worker.process.stdin is not None
            worker.process.stdin.close()

            assert worker.process.wait() == 0
    finally:
        fake.tell("release")


def test_a_fetch_that_fails_is_reported_with_its_reason() -> None:
    origin = Origin("h", 1, "http://h", 8, "")
    good, bad = Fetch("http://h/a", origin, 0, 0), Fetch("http://h/b", origin, 0, 0)
    good.started_ns, good.finished_ns, good.status, good.size = 5, 12, 200, 70
    bad.started_ns, bad.finished_ns, bad.status, bad.size, bad.error = 6, 16, None, 0, "timeout"

    report = fetch_figures([good, bad])

    assert list(service_times_ns(report)) == [7, 10]
    assert report["bytes"] == 70
    assert report["failed"] == {"timeout": 1}


def test_the_digest_does_not_depend_on_the_order_but_on_all_else() -> None:
    pages = [("/", 200, 3), ("/p/1", 200, 4)]

    assert digest(pages) == digest(reversed(pages))
    for other in ([("/", 200, 3)], [("/", 404, 3), ("/p/1", 200, 4)], [("/", 200, 3), ("/p/1", 200, 5)], []):
        assert digest(other) != digest(pages)
