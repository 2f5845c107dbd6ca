"""Every strategy on three workloads, a warm-up and seven rounds each: under two minutes together."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from inflight import strategies
from inflight.bench.measure.host import Cpus
from inflight.bench.measure.server import Server
from inflight.bench.plan.grid import served
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.fake_server.site import SiteConfig
from tests.suite.measuring import measure

ROUNDS = 7


def workload_of(name: str, site: SiteConfig, in_flight: int = 100) -> CrawlWorkload:
    return CrawlWorkload(id=name, in_flight=in_flight, connection="keep-alive", **served(site))


CRAWL = workload_of("crawl", SiteConfig(pages=3000))
"""Pages full of links, no added latency: what parsing, joining and remembering links adds."""
PAGES = workload_of("pages", SiteConfig(pages=3000, links=0))
"""Pages without links, no added latency: what a fetch costs."""
SLEEPY = workload_of("sleepy", SiteConfig(pages=1000, links=0, delay="50ms"))
"""Pages that take 50 ms: mostly waiting."""
ONE_BY_ONE = workload_of("sleepy, one by one", SiteConfig(pages=20, links=0, delay="50ms"), 1)
"""The same, with as many pages as a model gets in a second that has one in flight."""

pytestmark = pytest.mark.filterwarnings("default::tests.suite.measuring.RedBenchmarkWarning")


def test_crawl(benchmark: BenchmarkFixture, strategy: str, site_server: Server, cpus: Cpus) -> None:
    """Crawl pages with links at no added latency."""
    assert measure(benchmark, strategy, CRAWL, site_server, cpus, ROUNDS) is None


def test_pages(benchmark: BenchmarkFixture, strategy: str, site_server: Server, cpus: Cpus) -> None:
    """Fetch pages without links at no added latency."""
    assert measure(benchmark, strategy, PAGES, site_server, cpus, ROUNDS) is None


def test_sleepy(benchmark: BenchmarkFixture, strategy: str, site_server: Server, cpus: Cpus) -> None:
    """Fetch pages that take 50 ms each."""
    workload = ONE_BY_ONE if strategies.describe(strategy).most_in_flight == 1 else SLEEPY

    assert measure(benchmark, strategy, workload, site_server, cpus, ROUNDS) is None
