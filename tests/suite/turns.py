"""One worker that crawls the same site again and again: a turn is one crawl of the fixed work."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from inflight import strategies
from inflight.bench.measure import process
from inflight.bench.measure.expected import Answer, root_paths
from inflight.bench.measure.server import Server
from inflight.bench.plan.trial import Trial
from inflight.bench.plan.trials import trial_of
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.strategies.base import Job


@dataclass(frozen=True, slots=True)
class Turn:
    """What one crawl of the fixed work took."""

    cpu_ns: int
    makespan_ns: int
    pages: int
    failed_pages: int
    tries: int
    peak_in_flight: int

    @property
    def cpu_per_page_ns(self) -> float:
        """CPU time per verified page, user and system."""
        return self.cpu_ns / max(1, self.pages - self.failed_pages)

    @property
    def pages_per_s(self) -> float:
        """Verified pages per second of makespan."""
        return (self.pages - self.failed_pages) / max(1, self.makespan_ns) * 1e9

    def to_dict(self) -> dict[str, int]:
        """Return the figures of a row."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Crawler:
    """A running worker that takes turns. Use ``crawler()`` to get one."""

    worker: process.Worker
    trial: Trial
    knobs: dict[str, Any]

    @property
    def workload(self) -> CrawlWorkload:
        """The workload."""
        made: CrawlWorkload = self.trial.workload
        return made

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self.worker.pid

    def turn(self) -> Turn:
        """Let the worker crawl once. Raises WorkerError when it dies, raises, or exceeds its deadline."""
        self.worker.send({"do": "crawl"})
        said = self.worker.crawled()
        return Turn(**{key: said[key] for key in Turn.__dataclass_fields__})

    def answer(self) -> Answer:
        """Return the answer of the last turn."""
        self.worker.send({"do": "answer"})
        said = self.worker.expect("answer", "answer")["answer"]
        return {path: (status, size) for path, status, size in said}


@contextmanager
def crawler(
    strategy: str,
    server: Server,
    workload: CrawlWorkload,
    cpus: set[int] | None,
    lifetime_s: float,
) -> Iterator[Crawler]:
    """Start a fresh worker for a strategy on the site that the server has; end it in the end, come what may.

    Raises WorkerError when the worker does not come to be ready.
    """
    trial = trial_of("crawl", 1, workload, strategies.describe(strategy))
    job = Job(
        roots=tuple(server.base + path for path in root_paths(trial.site, workload.roots)),
        max_in_flight=workload.in_flight,
        connection=workload.connection,
    )
    order = {"strategy": strategy, "job": job.to_dict()}
    with process.running(["tests.suite.turn_worker"], order, cpus, lifetime_s) as worker:
        yield Crawler(worker, trial, worker.expect("ready", "knobs")["knobs"])
