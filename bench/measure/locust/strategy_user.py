"""A Locust user that runs one strategy process.

A Locust user is a greenlet in a process patched by gevent. The strategy is not affected: it runs in a fresh process of
its own, and reports its fetches to the user in bulk.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gevent
from locust import User, task

from inflight.bench.measure import process
from inflight.bench.measure.locust import bulk
from inflight.bench.measure.worker.share import service_times_ns
from inflight.strategies.base import Job

PROGRAM = "inflight.bench.measure.worker.share"
METHOD = "CRAWL"
"""The method of the fetches in Locust's statistics."""
AGAIN_S = 1.0
"""Delay before a strategy process that ended is replaced."""
LIFETIME_S = 86_400.0
_LOOK_S = 1.0
"""Interval between two looks at the pipe. With 100 looks per second, fifty greenlets would use half a core."""


class ProcessUser(User):
    """A Locust user with a strategy process. Subclasses define its tasks."""

    abstract = True
    host = "http://127.0.0.1:8080"
    """Default address of ``inflight serve``."""

    def crawl_once(self, worker: process.Worker, strategy: str) -> dict[str, Any]:
        """Crawl with the strategy process, add its reports to the statistics, and return the outcome."""
        worker.send({"do": "crawl"})
        while (message := worker.hear("event"))["event"] == "pages":
            fetched = bulk.bulk_of(service_times_ns(message), message["bytes"], message["failed"])
            bulk.add(self.environment, METHOD, strategy, fetched)
            self.note_failed(sum(message["failed"].values()))
        return message

    def note_failed(self, fetches: int) -> None:
        """Note failed fetches, which the statistics already have."""

    def note_failure(self, strategy: str, reason: str) -> None:
        """Count a strategy process that ended as a failure in the statistics."""
        self.environment.events.request.fire(
            request_type=METHOD,
            name=f"{strategy}: strategy process",
            response_time=0,
            response_length=0,
            exception=process.WorkerError(reason),
            context={},
            start_time=time.time(),
            url=None,
        )


class StrategyUser(ProcessUser):
    """Crawl the host from its root repeatedly, with ``--strategy`` and at most ``--in-flight`` fetches."""

    @task
    def crawl(self) -> None:
        """Crawl until stopped. A strategy process that ends counts as a failure and is replaced."""
        options = self.environment.parsed_options
        assert options is not None
        job = Job(roots=(), max_in_flight=options.in_flight)
        roots = {"bases": [str(self.environment.host or self.host).rstrip("/")], "first": 0, "count": 1}
        try:
            with strategy_process(options.strategy, job, roots, None, LIFETIME_S) as worker:
                worker.expect("ready", "knobs")
                while True:
                    crawled = self.crawl_once(worker, options.strategy)
                    if crawled["error"] is not None:
                        raise process.WorkerError(f"the strategy raised {crawled['error']}")
        except process.WorkerError as error:
            self.note_failure(options.strategy, str(error))
            gevent.sleep(AGAIN_S)


@contextmanager
def strategy_process(
    strategy: str, job: Job, roots: dict[str, Any], cpus: set[int] | None, lifetime_s: float
) -> Iterator[process.Worker]:
    """Start a strategy process; end it on exit, also when Locust stops its user."""
    order = {"strategy": strategy, "job": job.to_dict(), "roots": roots}
    with process.running([PROGRAM], order, cpus, lifetime_s) as worker:
        worker.look_s = _LOOK_S
        yield worker
