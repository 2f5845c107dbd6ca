"""A Locust user that runs one strategy process, and its fetches in Locust's statistics.

``node`` (a swarm) and ``locustfile`` (plain Locust) have users of this kind. A Locust user is a greenlet in a process
patched by gevent. The strategy is not affected: it runs in a fresh process of its own (``worker.share``), and reports
its fetches to the user in bulk.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import gevent
from locust import User, task
from locust.env import Environment
from locust.stats import StatsEntry, StatsError, bucket_response_time

from inflight.bench.measure import process
from inflight.bench.measure.worker.share import service_times_ns
from inflight.strategies.base import Job

PROGRAM = "inflight.bench.measure.worker.share"
"""The program of a strategy process."""
METHOD = "CRAWL"
"""The method of the fetches in Locust's statistics."""
AGAIN_S = 1.0
"""Delay before a strategy process that ended is replaced."""
LIFETIME_S = 86_400.0
"""Maximum time of a strategy process that crawls repeatedly: a day."""
_LOOK_S = 1.0
"""Interval between two looks at the pipe. With 100 looks per second, fifty greenlets would use half a core."""
NS_PER_MS = 1_000_000
"""Nanoseconds of a millisecond."""


class ProcessUser(User):
    """A Locust user with a strategy process. Subclasses define its tasks."""

    abstract = True  # Locust does not start users of this class itself
    host = "http://127.0.0.1:8080"
    """Default address of ``inflight serve``."""

    def crawl_once(self, worker: process.Worker, strategy: str) -> dict[str, Any]:
        """Crawl with the strategy process, add its reports to the statistics, and return the outcome."""
        worker.send({"do": "crawl"})
        while (message := worker.hear("event"))["event"] == "pages":
            add(self.environment, strategy, service_times_ns(message), message["bytes"], message["failed"])
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
        # The order to ``worker.share``: one server, and of its pages number 0, the root, from which links lead on.
        roots = {"bases": [str(self.environment.host or self.host).rstrip("/")], "first": 0, "count": 1}
        try:
            with strategy_process(options.strategy, job.to_dict(), roots, None, LIFETIME_S) as worker:
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
    strategy: str, job: dict[str, Any], roots: dict[str, Any], cpus: set[int] | None, lifetime_s: float
) -> Iterator[process.Worker]:
    """Start a strategy process; end it on exit, also when Locust stops its user.

    ``job`` is a ``Job`` as a dict; ``roots`` says where it begins (``worker.share.root_urls``); ``cpus`` are its cores,
    None: any. The kernel ends it after ``lifetime_s``.
    """
    order = {"strategy": strategy, "job": job, "roots": roots}
    with process.running([PROGRAM], order, cpus, lifetime_s) as worker:
        worker.look_s = _LOOK_S
        yield worker


def add(
    environment: Environment, name: str, service_ns: Sequence[int], size_bytes: int, failures: Mapping[str, int]
) -> None:
    """Add finished fetches to Locust's statistics: service times and bytes of all, number of failures by error.

    Locust's own way, an event and a log call per request, costs tens of microseconds each, too much for a hundred
    thousand fetches. The resulting entries are the same with one exception: requests per second are counted in the
    second in which they are added. On a Locust worker, the next report sends them to the master with all others.
    """
    now_s, stats = time.time(), environment.stats
    times_ms: Counter[int] = Counter()
    for time_ns, count in Counter(service_ns).items():
        times_ms[bucket_response_time(time_ns / NS_PER_MS)] += count
    # A new entry with these fetches is merged into each of the two that count them: that of all requests, and ours.
    for like in (stats.total, stats.entries[name, METHOD]):
        entry = StatsEntry(like.stats, like.name, like.method)
        entry.start_time = like.start_time  # so that merging does not move the start
        entry.num_requests, entry.num_failures = len(service_ns), sum(failures.values())
        entry.total_content_length = size_bytes
        if failures:
            entry.num_fail_per_sec = {int(now_s): entry.num_failures}
        if service_ns:
            entry.last_request_timestamp = now_s
            entry.response_times = dict(times_ms)
            entry.num_reqs_per_sec = {int(now_s): len(service_ns)}
            # Locust annotates these as int, and puts floats into them itself.
            entry.total_response_time = sum(service_ns) / NS_PER_MS  # type: ignore[assignment]
            entry.min_response_time = min(service_ns) / NS_PER_MS  # type: ignore[assignment]
            entry.max_response_time = max(service_ns) / NS_PER_MS  # type: ignore[assignment]
        like.extend(entry)
    for text, count in failures.items():
        error = stats.errors.setdefault(StatsError.create_key(METHOD, name, text), StatsError(METHOD, name, text))
        error.occurrences += count - 1
        error.occurred()  # one more, at this time
