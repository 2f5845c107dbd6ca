"""One benchmark: a worker takes its turns while pytest-benchmark reads the clock; then what they are worth is noted."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

import strategies
from bench.core.grid import Workload
from bench.core.plan import trial_of
from bench.measure import host, memory, preflight, validity
from bench.measure.checks import judge
from bench.measure.expected import expected_answer, mean_delay_ns
from bench.measure.server import Server
from strategies.base import Job
from tests.suite.turns import Crawler, Turn, crawler

LIFETIME_S = 120
CHECKS = (
    "answer correct",
    "no unexpected failures",
    "cap reached, never exceeded",
    "requests counted alike",
    "server had room",
    "client had its core",
    "added latency exact",
    "no listen drops",
    "limits allow it",
    "no CPU steal",
    "knobs reached the worker",
)
"""Those of ``validity.CHECKS`` that can be made without the timestamps of each fetch, which turns do not report."""


class RedBenchmarkWarning(UserWarning):
    """A benchmark has figures that are not to be believed; the message names the checks that failed."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What the server and the kernel have counted until now."""

    server: dict[str, Any]
    run_delay_ns: int | None
    disturbances: host.Disturbances

    @classmethod
    def now(cls, server: Server, worker: int, cpus: host.Cpus) -> "Counts":
        """Read them; ``worker`` is a process id."""
        return cls(server.stats(), host.run_delay_ns(worker), host.disturbances(cpus))


def measure(
    benchmark: BenchmarkFixture, strategy: str, workload: Workload, server: Server, cpus: host.Cpus, rounds: int
) -> str | None:
    """Benchmark a strategy on a workload, and say how its answer differs from the site's; None when it does not.

    Figures whose checks are red are recorded like all others; ``extra_info`` and a warning name the checks.
    """
    turns: list[Turn] = []
    benchmark.group = workload.id
    server.configure(workload.site)
    with crawler(strategy, server, workload, cpus.client, LIFETIME_S) as worker:
        server.tell("reset")
        before = Counts.now(server, worker.pid, cpus)
        benchmark.pedantic(  # type: ignore[no-untyped-call]
            lambda: turns.append(worker.turn()), rounds=rounds, warmup_rounds=1
        )
        after = Counts.now(server, worker.pid, cpus)
        at_rest = memory.of_process(worker.pid)
        wrong = worker.check()
    evidence = _evidence(strategy, worker, turns, (before, after), wrong, cpus, server.ceiling_per_s)
    checks = judge({name: validity.CHECKS[name] for name in CHECKS}, evidence)
    red = [check.name for check in checks if check.verdict == "failed"]
    benchmark.extra_info |= {
        "strategy": strategy,
        "workload": workload.to_dict(),
        "makespan_ns": [turn.makespan_ns for turn in turns[-rounds:]],
        "cpu_per_page_ns": [turn.cpu_per_page_ns for turn in turns[-rounds:]],
        "pages_per_s": [turn.pages_per_s for turn in turns[-rounds:]],
        "warm_up": [turn.to_dict() for turn in turns[:-rounds]],
        "uss_bytes": at_rest["uss_bytes"],
        "rss_bytes": at_rest["rss_bytes"],
        "server_share": _server_share(before, after, turns),
        "checks": {check.name: {"verdict": check.verdict, "detail": check.detail} for check in checks},
        "red": red,
        "knobs": worker.knobs,
    }
    if red:
        details = "; ".join(f"{check.name}: {check.detail}" for check in checks if check.verdict == "failed")
        warnings.warn(f"{workload.id}, {strategy}: red ({details})", RedBenchmarkWarning, stacklevel=2)
    return wrong


def _evidence(
    strategy: str,
    worker: Crawler,
    turns: Sequence[Turn],
    counts: tuple[Counts, Counts],
    wrong: str | None,
    cpus: host.Cpus,
    ceiling_per_s: float | None,
) -> validity.Evidence:
    """Put together what is known of all turns, the warm-up included: the server counted them all."""
    (before, after), workload = counts, worker.workload
    described = strategies.describe(strategy)
    trial = trial_of(workload.id, 1, workload, described)
    crawl = (workload.site, workload.roots, Job(roots=()).max_redirects)
    expected = expected_answer(*crawl)
    makespan_ns = sum(turn.makespan_ns for turn in turns)
    verified = sum(turn.pages - turn.failed_pages for turn in turns)
    return validity.Evidence(
        kind="crawl",
        planned_in_flight=trial.reachable,
        cap=workload.in_flight,
        mean_latency_ns=workload.mean_latency_ns,
        mean_delay_ns=mean_delay_ns(*crawl),
        cpu_ns=workload.cpu_ns,
        answer_difference=wrong,
        pages_answered=verified,
        failures=sum(turn.failed_pages for turn in turns),
        expected_failures=len(turns) * sum(status is None for status, _ in expected.values()),
        client_share=sum(turn.cpu_ns for turn in turns) / makespan_ns
        if cpus.client and len(cpus.client) == 1
        else None,
        measured={
            "pages": turns[-1].pages,
            "pages_per_s": verified / makespan_ns * 1e9,
            "peak_in_flight": _worst_peak(turns, workload.in_flight),
            "peak_threads": 1 + preflight.threads_needed(trial),
            "makespan_ns": makespan_ns,
            "tries": sum(turn.tries for turn in turns),
            "run_delay_ns": host.since(before.run_delay_ns, after.run_delay_ns),
        },
        server=after.server
        | {"cpu_share": _server_share(before, after, turns), "run_delay_share": None, "ceiling_per_s": ceiling_per_s},
        host=after.disturbances.since(before.disturbances),
        knobs=worker.knobs,
        wanted_knobs={"strategy": strategy} | ({} if cpus.client is None else {"cpus": sorted(cpus.client)}),
        descriptors_needed=preflight.descriptors_needed(trial),
        threads_needed=preflight.threads_needed(trial),
        threads_allowed=preflight.threads_allowed(),
    )


def _worst_peak(turns: Sequence[Turn], cap: int) -> int:
    """Return the peak of a turn that exceeded the cap, if one did; else of the one that stayed furthest below it."""
    peaks = [turn.peak_in_flight for turn in turns]
    return max(peaks) if max(peaks) > cap else min(peaks)


def _server_share(before: Counts, after: Counts, turns: Sequence[Turn]) -> float:
    """Return the server's CPU time over that of the crawls: between two turns it has nothing to do."""
    cpu_ns: int = after.server["cpu_ns"] - before.server["cpu_ns"]
    return cpu_ns / sum(turn.makespan_ns for turn in turns)
