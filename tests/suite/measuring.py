"""One benchmark: a worker takes its turns while pytest-benchmark reads the clock; then the turns are checked."""

import warnings
from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins
from pytest_benchmark.fixture import BenchmarkFixture

from inflight.bench.measure import host, interpreters, memory, preflight, validity
from inflight.bench.measure.checks import judge
from inflight.bench.measure.crawl import counts, differences
from inflight.bench.measure.expected import difference
from inflight.bench.measure.process import DEFAULT
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Observation
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.fake_server.site import SiteConfig
from tests.suite.turns import Crawler, Turn, crawler

LIFETIME_S = 120
CHECKS = (
    "answer correct",
    "no unexpected failures",
    "cap reached, never exceeded",
    "requests counted alike",
    "no listen drops",
    "limits high enough",
    "settings applied",
)
"""Those of ``validity.CHECKS`` that can be made without the timestamps of each fetch, which turns do not report."""


class RedBenchmarkWarning(UserWarning):
    """A benchmark has figures that are not to be believed; the message names the checks that failed."""


def measure(
    benchmark: BenchmarkFixture, strategy: str, workload: CrawlWorkload, server: Server, cpus: host.Cpus, rounds: int
) -> str | None:
    """Benchmark a strategy on a workload, and say how its answer differs from the site's; None when it does not.

    Figures whose checks failed are recorded like all others; ``extra_info`` and a warning name the checks.
    """
    turns: list[Turn] = []
    benchmark.group = workload.id
    server.configure(SiteConfig.from_dict(to_builtins(workload.site)))
    with crawler(strategy, server, workload, cpus.client, LIFETIME_S) as worker:
        server.tell("reset")
        before = counts(server, cpus) | {"delay_ns": host.run_delay_ns(worker.pid)}
        benchmark.pedantic(  # type: ignore[no-untyped-call]
            lambda: turns.append(worker.turn()), rounds=rounds, warmup_rounds=1
        )
        after = counts(server, cpus) | {"delay_ns": host.run_delay_ns(worker.pid)}
        at_rest = memory.process_layers(worker.pid)
        answer = worker.answer()
    seen = _seen(worker, turns, before, after, server.ceiling_per_s)
    seen.wanted = interpreters.wanted_knobs(strategy, DEFAULT, cpus.client)
    seen.wrong = difference(validity.expected(worker.trial), answer)
    checks = judge({name: validity.CHECKS[name] for name in CHECKS}, worker.trial, seen)
    invalid = [check.name for check in checks if check.verdict == "failed"]
    benchmark.extra_info |= {
        "strategy": strategy,
        "workload": to_builtins(workload),
        "makespan_ns": [turn.makespan_ns for turn in turns[-rounds:]],
        "cpu_per_page_ns": [turn.cpu_per_page_ns for turn in turns[-rounds:]],
        "pages_per_s": [turn.pages_per_s for turn in turns[-rounds:]],
        "warm_up": [turn.to_dict() for turn in turns[:-rounds]],
        "uss_bytes": at_rest["uss_bytes"],
        "rss_bytes": at_rest["rss_bytes"],
        "server_share": seen.server["cpu_share"],
        "checks": {check.name: {"verdict": check.verdict, "detail": check.detail} for check in checks},
        "invalid": invalid,
        "knobs": worker.knobs,
    }
    if invalid:
        details = "; ".join(f"{check.name}: {check.detail}" for check in checks if check.verdict == "failed")
        warnings.warn(
            f"{workload.id}, {strategy}: invalid ({details})",
            RedBenchmarkWarning,
            stacklevel=2,
        )
    return seen.wrong


def _seen(
    worker: Crawler, turns: Sequence[Turn], before: dict[str, Any], after: dict[str, Any], ceiling_per_s: float | None
) -> Observation:
    """Combine the figures of all turns, including the warm-up, which the server counted too."""
    workload = worker.workload
    makespan_ns = sum(turn.makespan_ns for turn in turns)
    seen = Observation(knobs=worker.knobs)
    seen.server, disturbed = differences(before, after)
    seen.server |= {"cpu_share": _server_share(before, after, turns), "ceiling_per_s": ceiling_per_s}
    seen.measured = disturbed | {
        "pages": turns[-1].pages,
        "failed_pages": sum(turn.failed_pages for turn in turns),
        "pages_per_s": sum(turn.pages - turn.failed_pages for turn in turns) / makespan_ns * 1e9,
        "peak_in_flight": _worst_peak(turns, workload.in_flight),
        "peak_threads": 1 + preflight.threads_needed(worker.trial),
        "makespan_ns": makespan_ns,
        "cpu_user_ns": sum(turn.cpu_ns for turn in turns),
        "cpu_system_ns": 0,
        "tries": sum(turn.tries for turn in turns),
        "run_delay_ns": host.since(before["delay_ns"], after["delay_ns"]),
    }
    return seen


def _worst_peak(turns: Sequence[Turn], cap: int) -> int:
    """Return the peak of a turn above the cap, or else the lowest peak."""
    peaks = [turn.peak_in_flight for turn in turns]
    return max(peaks) if max(peaks) > cap else min(peaks)


def _server_share(before: dict[str, Any], after: dict[str, Any], turns: Sequence[Turn]) -> float:
    """Return the server's CPU time over the time of the crawls: between two turns it is idle."""
    cpu_ns: int = after["server"]["cpu_ns"] - before["server"]["cpu_ns"]
    return cpu_ns / sum(turn.makespan_ns for turn in turns)
