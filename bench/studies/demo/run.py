"""The two crawls of the demo: each strategy alone, in a worker of its own, on the same site."""

import time
from collections.abc import Callable, Iterator

from inflight import strategies
from inflight.bench.measure import host
from inflight.bench.measure.crawl import run_trial
from inflight.bench.measure.run import beside_the_server
from inflight.bench.measure.server import Server, running
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.grid import Workload
from inflight.bench.plan.trials import Trial, trial_of
from inflight.bench.rows.files import Row
from inflight.fake_server.site import SiteConfig

SITE = SiteConfig(pages=400, links=10, delay="20ms")
CRAWLS = {"sequential": 1, "callbacks": 100}
"""The strategies in their order, and how many fetches each has in flight."""
LOOK_NS = 100_000_000
"""Interval at which the server is asked how far a crawl is: it shares a core with this process."""

Watch = Callable[[str, int, int], None]
"""Receives a strategy, the pages that it has, and the nanoseconds since its first page was asked for."""


def trials(site: SiteConfig = SITE) -> list[Trial]:
    """Return the trials in their order."""
    return [
        trial_of(f"demo/{name}", 1, Workload("demo", "crawl", site, in_flight, "keep-alive"), strategies.describe(name))
        for name, in_flight in CRAWLS.items()
    ]


def crawls(planned: list[Trial], watch: Watch) -> Iterator[Row]:
    """Run the trials one after another, and yield their rows; ``watch`` sees each crawl go on.

    Raises ServerError if the server cannot be started.
    """
    cpus = host.choose_cpus(pin=True)
    with running(cpus.server) as server, beside_the_server(cpus):
        for trial in planned:
            yield run_trial(trial, server, Setting("demo", cpus), _looks(trial, server, watch))


def _looks(trial: Trial, server: Server, watch: Watch) -> Callable[[], None]:
    """Return a function that asks the server how far a crawl is, and not too often."""
    begin_ns = next_ns = 0

    def look() -> None:
        nonlocal begin_ns, next_ns
        now_ns = time.monotonic_ns()
        begin_ns = begin_ns or now_ns
        if now_ns >= next_ns:
            next_ns = now_ns + LOOK_NS
            stats = server.stats()
            watch(trial.strategy, stats["requests"] - stats["in_flight"], now_ns - begin_ns)

    return look
