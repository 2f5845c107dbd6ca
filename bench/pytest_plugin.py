"""A pytest plug-in: a synthetic site for the tests of a crawler, and the strategies of this project as a yardstick.

It has two fixtures and a marker; docs/pytest.md has the recipe::

    @pytest.mark.synthetic_site(pages=200, links=5, delay="10ms", faults={"reset-mid": 0.01})
    def test_my_crawler(synthetic_site, crawl_with):
        synthetic_site.check(my_crawler(synthetic_site.url))

pytest loads this module in every run of an environment in which it is installed, so it imports only pytest until a
fixture or the marker is used.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from inflight.bench.measure.expected import Found
    from inflight.bench.measure.host import Cpus
    from inflight.bench.measure.server import Server
    from inflight.bench.rows.kinds import Connection
    from inflight.fake_server.config import SiteConfig

MARKER = "synthetic_site"
"""The name of the marker, and of the fixture that it configures."""
MODEST = {"pages": 100, "links": 5}
"""Values of a site that a test does not give: small, so that a test is fast."""
IDLE_S = 1.0
"""Maximum time for a test's connections to close. After it the next test gets a new server."""

Pages = dict[str, tuple[int | None, int]]
"""Path -> (status, body bytes); (None, 0) for a page that cannot be fetched."""


@dataclass(frozen=True, slots=True)
class SyntheticSite:
    """The site of a test."""

    url: str
    """Without a final slash: ``url + path`` is a page, and ``url`` the first one, from which all can be reached."""
    config: "SiteConfig"
    _server: "Server"

    @property
    def pages(self) -> int:
        """Return the number of pages, including those that redirect, fail or are missing."""
        return self.config.pages

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of all pages, the first page first."""
        from inflight.bench.measure.expected import root_paths

        return tuple(root_paths(self.config, self.config.pages))

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the URLs from which a crawl starts: the first page, or all pages of a site without links."""
        return tuple(self.url + path for path in self.paths[: _roots(self.config)])

    @property
    def expected(self) -> Pages:
        """Return the pages that a crawl from ``roots`` must find, computed without a socket.

        A redirect is a page with a status and a body of its own; its target is another page.
        """
        from inflight.bench.measure.expected import expected_answer
        from inflight.strategies.base import Job

        return dict(expected_answer(self.config, _roots(self.config), Job(roots=()).max_redirects))

    def check(self, pages: "Iterable[str] | Mapping[str, Found]") -> None:
        """Raise AssertionError with one sentence if a crawler did not find the expected pages.

        ``pages`` has URLs or paths. A mapping also says of each page what the crawler got: its status, its body, both
        as (status, body bytes), or None for a failure. Pages that cannot be fetched may be left out.
        """
        __tracebackhide__ = True
        from inflight.bench.measure.expected import answer_of, difference

        expected = self.expected
        if (sentence := difference(expected, answer_of(pages, self.url, expected))) is not None:
            raise AssertionError(f"the crawl of {self.url} is wrong: {sentence}")

    def requests(self) -> int:
        """Return the number of requests that the server received in this test, including those of ``crawl_with``."""
        return int(self._server.stats()["requests"])


@dataclass(frozen=True, slots=True)
class Crawled:
    """The result of a crawl by one of inflight's strategies."""

    strategy: str
    pages: Pages
    difference: str | None
    """Sentence on how ``pages`` differ from the expected ones; None if they are right."""
    cpu_per_page_ns: int
    pages_per_s: float
    """Complete pages over the time of the crawl; failed pages do not count."""
    makespan_ns: int
    peak_in_flight: int
    _count: Callable[[], Any] = field(repr=False, compare=False)

    @property
    def calls_per_page(self) -> float:
        """Return the calls of Python functions per page, with one fetch in flight.

        They are counted at the first access, in another crawl of a site of its own: once in a session for each strategy
        and use of connections. The test fails with one sentence if they cannot be counted.
        """
        __tracebackhide__ = True
        return float(self._count()["python_calls_per_page"])

    @property
    def calls(self) -> dict[str, float]:
        """Return the same by function (``file:function``), the most frequent first."""
        __tracebackhide__ = True
        return dict(self._count()["python_calls"])


class CrawlWith(Protocol):
    """The type of the fixture ``crawl_with``."""

    def __call__(
        self,
        strategy: str,
        *,
        in_flight: int = 100,
        connection: "Connection" = "keep-alive",
        deadline_s: float = 60,
    ) -> Crawled:
        """Crawl the site with a strategy of inflight, in a fresh process that is killed after ``deadline_s``."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(pages=100, links=5, delay='10ms', faults={{'reset-mid': 0.01}}, ...): "
        "the site that the fixture synthetic_site serves; values of the nearest marker win",
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse invalid sites before any test runs."""
    if hasattr(session.config, "workerinput"):
        return  # a worker of pytest-xdist cannot print; there each affected test fails
    for item in session.items:
        if item.get_closest_marker(MARKER):
            try:
                _config_of(item)
            except ValueError as error:
                raise pytest.UsageError(str(error)) from error


@pytest.fixture(scope="session")
def _synthetic_cpus() -> "Cpus":
    """Choose cores for the server and for ``crawl_with``; none if tests run in several processes."""
    from inflight.bench.measure.host import choose_cpus

    return choose_cpus(pin="PYTEST_XDIST_WORKER" not in os.environ)


@pytest.fixture(scope="session")
def _synthetic_servers(_synthetic_cpus: "Cpus") -> Iterator["_Servers"]:
    """Keep the server of the session; each test gets a site on it."""
    with ExitStack() as stack:
        yield _Servers(_synthetic_cpus.server, stack)


@pytest.fixture(scope="session")
def _counts_of(_synthetic_cpus: "Cpus") -> Callable[[str, str], Any]:
    """Return the function that counts the calls of a strategy; it counts once a session for each pair of arguments."""
    return cache(partial(_count, _synthetic_cpus))


@pytest.fixture
def synthetic_site(request: pytest.FixtureRequest, _synthetic_servers: "_Servers") -> SyntheticSite:
    """Serve a synthetic site to this test, from a process of its own; the marker of the same name configures it."""
    try:
        config = _config_of(request.node)
    except ValueError as error:
        raise _failure(str(error)) from None
    server = _synthetic_servers.serve(config)
    return SyntheticSite(server.base, config, server)


@pytest.fixture
def crawl_with(
    synthetic_site: SyntheticSite, _synthetic_cpus: "Cpus", _counts_of: Callable[[str, str], Any]
) -> CrawlWith:
    """Return a function that crawls the test's synthetic site with one of inflight's strategies."""

    def crawl(
        strategy: str,
        *,
        in_flight: int = 100,
        connection: "Connection" = "keep-alive",
        deadline_s: float = 60,
    ) -> Crawled:
        """Crawl the site of this test once, as ``CrawlWith`` says; an unknown strategy or option fails the test."""
        from inflight.bench.plan import judge
        from inflight.bench.plan.experiment import available
        from inflight.bench.plan.grid import CONNECTIONS, MAX_IN_FLIGHT
        from inflight.strategies.base import Job

        try:
            strategy = available(strategy)
            judge.whole(in_flight, 1, MAX_IN_FLIGHT, "crawl_with: in_flight")
            judge.check_known(connection, CONNECTIONS, "connection use", "crawl_with")
        except judge.ExperimentError as error:
            raise _failure(str(error)) from None
        job = Job(roots=synthetic_site.roots, max_in_flight=in_flight, connection=connection)
        count = partial(_counts_of, strategy, connection)
        return _crawl(strategy, job, synthetic_site.expected, _synthetic_cpus.client, deadline_s, count)

    return crawl


class _Servers:
    """One server for all tests; a new one if a test does not leave it idle."""

    def __init__(self, cpus: set[int] | None, stack: ExitStack) -> None:
        self._cpus = cpus
        self._stack = stack
        self._server: Server | None = None

    def serve(self, config: "SiteConfig") -> "Server":
        """Return a server that serves this site at a new port, with its counters at zero."""
        from inflight.bench.measure.server import running

        if self._server is None or not _is_idle(self._server, time.monotonic() + IDLE_S):
            self._stack.close()
            self._server = self._stack.enter_context(running(self._cpus))
        self._server.configure(config)
        self._server.tell("reset")
        return self._server


def _is_idle(server: "Server", give_up_s: float) -> bool:
    """Tell whether a server runs and all its connections close before a time of time.monotonic()."""
    from inflight.bench.measure.server import ServerError

    try:
        while (stats := server.stats())["in_flight"] + stats["connections"]:
            if time.monotonic() > give_up_s:  # a client outlives its test, such as the fixture of a session
                return False
            time.sleep(0.01)
    except ServerError:
        return False
    return True


def _config_of(item: pytest.Item) -> "SiteConfig":
    """Return the site of an item's markers. Raises ValueError with one sentence that names the item."""
    from inflight.fake_server.config import SiteConfig

    markers = list(item.iter_markers(MARKER))
    values = dict(MODEST)
    for marker in reversed(markers):  # the nearest comes first; it must win
        if marker.args:
            raise ValueError(f"{item.nodeid}: @pytest.mark.{MARKER} takes names and values only, such as pages=200")
        values |= marker.kwargs
    try:
        return SiteConfig.from_dict(values)
    except ValueError as error:
        raise ValueError(f"{item.nodeid}: @pytest.mark.{MARKER}: {error}") from None


def _failure(sentence: str) -> BaseException:
    """Return the exception that fails a test with one sentence; raise it ``from None`` to show no traceback."""
    return pytest.fail.Exception(sentence, pytrace=False)


def _roots(config: "SiteConfig") -> int:
    """Return with how many pages a crawl starts: the first one, from which links lead to all, or all without links."""
    return 1 if config.links else config.pages


def _crawl(
    strategy: str,
    job: Any,
    expected: Pages,
    cpus: set[int] | None,
    deadline_s: float,
    count: Callable[[], Any],
) -> Crawled:
    """Run the job once in a fresh process. Fails the test with one sentence if the process fails."""
    from inflight.bench.measure import process
    from inflight.bench.measure.crawl import PROGRAM, derive_figures
    from inflight.bench.measure.expected import difference

    try:
        with process.running([PROGRAM], {"strategy": strategy, "job": job.to_dict()}, cpus, deadline_s) as worker:
            worker.expect("ready", "knobs")
            worker.send({"do": "crawl"})
            worker.crawled()
            worker.send({"do": "report"})
            outcome = worker.expect("outcome", "answer")
    except process.WorkerError as error:
        raise _failure(f"crawl_with: {strategy}: {error}") from None
    pages = {path: (status, size) for path, status, size, _ in outcome["answer"]}
    figures = derive_figures(outcome, len(pages), sum(status is None for status, _ in pages.values()))
    return Crawled(
        strategy,
        pages,
        difference(expected, pages),
        cpu_per_page_ns=figures["cpu_per_page_ns"],
        pages_per_s=figures["pages_per_s"],
        makespan_ns=outcome["makespan_ns"],
        peak_in_flight=outcome["peak_in_flight"],
        _count=count,
    )


def _count(cpus: "Cpus", strategy: str, connection: Any) -> Mapping[str, Any]:
    """Count the calls of a crawl on a server of its own; return them with the names of rows (``Counted``).

    Fails the test with one sentence if they cannot be counted.
    """
    from inflight.bench.measure import counts, server
    from inflight.bench.measure.process import TrialError
    from inflight.bench.measure.trial import Observation, Setting
    from inflight.bench.plan import grid
    from inflight.bench.plan.trial import Trial
    from inflight.bench.rows.kinds import Arm

    (workload,) = grid.CountsTable(connection=(connection,), repeats=1).workloads("pytest")
    arm, seen = Arm(strategy, strategy, "compared"), Observation()
    trial = Trial(workload.id, 1, "counts", workload, 0, (arm,))
    try:
        with server.running(cpus.server) as fresh:
            measured = counts.measured(counts.crawl(trial, fresh, Setting("pytest", cpus), seen, ["calls"]))
    except TrialError as error:
        raise _failure(f"calls_per_page: {strategy}: {error}") from None
    lack = seen.wrong or measured.get("lacks", {}).get("calls")
    if lack is not None:
        raise _failure(f"calls_per_page: {strategy}: {lack}")
    return measured
