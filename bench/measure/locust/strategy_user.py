"""A Locust user that is one strategy process: Locust decides how many there are, the strategy how each of them waits.

Locust's own user is a greenlet, and gevent has patched the process that it lives in. None of that reaches the strategy:
it runs in a process of its own, started afresh, and tells this user in bulk what it has fetched.
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
"""What Locust's statistics say where a request's method stands."""
AGAIN_S = 1.0
"""After this time a strategy process that ended is replaced."""
LIFETIME_S = 86_400.0
_LOOK_S = 1.0
"""A greenlet that looks at its pipe a hundred times a second costs little; fifty of them cost half a core."""


class ProcessUser(User):
    """A Locust user with a strategy process. What it does with it is the task of those that are made from it."""

    abstract = True
    host = "http://127.0.0.1:8080"
    """Where ``inflight serve`` listens unless told otherwise; ``--host`` is for others."""

    def crawl_once(self, worker: process.Worker, strategy: str) -> dict[str, Any]:
        """Let the strategy process crawl, put what it reports into the statistics, and return the outcome."""
        worker.send({"do": "crawl"})
        while (message := worker.hear("event"))["event"] == "pages":
            fetched = bulk.bulk_of(service_times_ns(message), message["bytes"], message["failed"])
            bulk.add(self.environment, METHOD, strategy, fetched)
            self.note_failed(sum(message["failed"].values()))
        return message

    def note_failed(self, fetches: int) -> None:
        """Note that so many fetches failed, which the statistics know already."""

    def note_failure(self, strategy: str, reason: str) -> None:
        """Count a strategy process that ended among the failures of the statistics."""
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
    """Crawl the host from its root again and again, with ``--strategy``, and ``--in-flight`` fetches at most."""

    @task
    def crawl(self) -> None:
        """Crawl until stopped. A strategy process that ends is a failure in the statistics, and is replaced."""
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
    """Start a strategy process with its order; end it when the context ends, as it does when Locust stops its user."""
    order = {"strategy": strategy, "job": job.to_dict(), "roots": roots}
    with process.running([PROGRAM], order, cpus, lifetime_s) as worker:
        worker.look_s = _LOOK_S
        yield worker
