"""A trial of one strategy on one workload: a fresh worker, observed from outside, whose answer is checked.

``run_trial`` is the function of the kinds crawl and memory: ``measure.run`` calls it for each trial, with a server that
runs and that the trials of a run share, while the harness is on the core of that server. The worker (``worker.crawl``)
counts and times its fetches; here are read the counts of the server and of the kernel before and after, samples of the
worker during the crawl, and its memory after it. In a memory trial the server holds all responses meanwhile (``held``).
``race.demo`` runs its crawls the same way, and the pytest plug-in derives the same figures from its own.
"""

import time
from typing import Any

import psutil

from inflight.bench.measure import held, host, interpreters, memory, validity
from inflight.bench.measure.checks import judge
from inflight.bench.measure.expected import Answer, difference, root_paths
from inflight.bench.measure.server import Server, counted_between, job_of
from inflight.bench.measure.trial import Observation, Setting, on_server, working
from inflight.bench.plan.trial import Trial
from inflight.strategies.base import Job

PROGRAM = "inflight.bench.measure.worker.crawl"
"""The program of the worker."""
MIN_NS = 20_000_000
"""Initial time between two samples. Each sample costs about 40 µs of the harness's core."""
MAX_SAMPLES = 200
"""Number of samples at which every other one is dropped and the interval doubles."""


def observe(trial: Trial, server: Server, setting: Setting, seen: Observation) -> None:
    """Drive worker and server through one trial; record their counts and the kernel's in ``seen``.

    The order of events: start the worker, read all counts, crawl, read them again, read the memory of the worker at
    rest, ask it for its report. Then its answer is compared and the checks are judged.

    ``conduct`` calls it and makes the row of what is in ``seen`` when it returns, or when it raises: so each reading is
    recorded as soon as it is there. ``released_ns`` is when the gate of a memory trial was opened, on the clock of the
    harness; it is in no row.
    """
    workload = trial.workload
    server.configure(trial.site, tls=workload.tls)
    order = {"strategy": trial.arms[0].strategy, "job": _job(trial, server, setting).to_dict()}
    with working(trial, setting, PROGRAM, order, seen) as worker:
        sampler = Sampler(psutil.Process(worker.pid))
        delay_before_ns = host.run_delay_ns(worker.pid)
        server.tell("reset")
        before = counts(server, setting.cpus)
        if trial.record.IS_HELD:
            held.observe(trial, server, worker, seen.measured, setting.budget_bytes)
        else:
            worker.send({"do": "crawl"})
            sampler.begin()
        worker.crawled(sampler.sample)
        crawled_ns = time.monotonic_ns()
        after = counts(server, setting.cpus)
        seen.measured["run_delay_ns"] = host.since(delay_before_ns, host.run_delay_ns(worker.pid))
        sizes = memory.process_layers(worker.pid)  # at rest
        seen.measured |= {key: sizes[key] for key in ("uss_bytes", "rss_bytes", "pss_bytes")}
        seen.measured["peak_threads"] = sampler.peak_threads
        if not trial.record.IS_HELD:
            seen.measured["samples"] = sampler.samples()
        if "released_ns" in seen.measured:
            seen.measured["drain_ns"] = crawled_ns - seen.measured.pop("released_ns")
        worker.send({"do": "report"})
        outcome = worker.expect("outcome", "answer")
    del outcome["event"]
    seen.knobs["gil"] = outcome.pop("gil")  # a library that the crawl imported may have turned the lock on
    records, seen.outcome = outcome.pop("answer"), {"steady": outcome.pop("steady")}
    answer: Answer = {path: (status, size) for path, status, size, _ in records}
    failed = sum(status is None for status, _ in answer.values())
    seen.measured["port_refusals"] = sum("EADDRNOTAVAIL" in (error or "") for *_, error in records)
    seen.measured |= outcome | derive_figures(outcome, len(answer), failed)
    seen.server, disturbed = differences(before, after)
    seen.server["ceiling_per_s"] = None if workload.tls else server.ceiling_per_s  # it was measured without TLS
    opened = seen.server["peak_connections"]
    if workload.connection == "keep-alive" and not workload.site.faults and 0 < opened < outcome["peak_in_flight"]:
        # Each fetch needs a connection, and these stay open: the others waited within the client.
        seen.measured["reached_in_flight"] = opened
    seen.measured |= disturbed
    if (busy_ns := host.since(before["busy_ns"], after["busy_ns"])) is not None:
        seen.measured["others_ns"] = max(0, busy_ns - outcome["cpu_user_ns"] - outcome["cpu_system_ns"])
    seen.wanted = interpreters.wanted_knobs(trial.arms[0].strategy, setting.runtime, setting.cpus.client)
    seen.wrong = difference(validity.expected(trial), answer)
    seen.checks = judge(validity.CHECKS, trial, seen)


run_trial = on_server(observe)
"""Runs a crawl, timed or held for its memory."""


def _job(trial: Trial, server: Server, setting: Setting) -> Job:
    """Return the job of the worker. A fetch may take as long as the trial: ten thousand threads may need over 30 s."""
    workload = trial.workload
    return job_of(
        server.port,
        root_paths(trial.site, workload.roots),
        workload,
        timeout_ns=round(setting.deadline_s(trial) * 1e9),
        work_units=setting.work_units(trial),
    )


def counts(server: Server, cpus: host.Cpus) -> dict[str, Any]:
    """Return the current counts of server and kernel; read before and after the crawl."""
    return {
        "server": server.stats(),
        "run_delay_ns": host.run_delay_ns(server.process.pid),
        "disturbances": host.disturbances(cpus),
        "busy_ns": host.busy_ns(cpus.client),
    }


def differences(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what server and kernel counted between two such readings: what the row has of each."""
    old, new = before["server"], after["server"]
    delay_ns = host.since(before["run_delay_ns"], after["run_delay_ns"])
    delay_share = None if delay_ns is None else delay_ns / max(1, new["clock_ns"] - old["clock_ns"])
    server = counted_between(old, new) | {"run_delay_share": delay_share}
    disturbed = after["disturbances"].since(before["disturbances"])
    return server, disturbed | {"ephemeral_ports": host.ephemeral_ports()}


def derive_figures(outcome: dict[str, Any], pages: int, failed: int) -> dict[str, Any]:
    """Return the headline figures. ``pages`` were fetched, ``failed`` of them without success: no throughput."""
    verified = pages - failed
    cpu_ns = outcome["cpu_user_ns"] + outcome["cpu_system_ns"]
    return {
        "pages": pages,
        "failed_pages": failed,
        "pages_per_s": verified / outcome["makespan_ns"] * 1e9,
        "cpu_per_page_ns": round(cpu_ns / max(1, verified)),
    }


class Sampler:
    """Sample the threads, resident memory and CPU time of a process from outside.

    This costs the worker nothing. Samples are rare, because the harness shares the server's core.
    """

    def __init__(self, observed: psutil.Process) -> None:
        self.peak_threads = 1
        self._observed = observed
        self._every_ns = MIN_NS
        self._taken: list[tuple[int, int, int, int | None]] = []
        self.begin()

    def begin(self) -> None:
        """Restart time and CPU time from zero."""
        self._begin_ns = self._next_ns = time.monotonic_ns()
        self._begin_cpu_ns = host.cpu_ns(self._observed.pid)

    def sample(self) -> None:
        """Take a sample if one is due."""
        now_ns = time.monotonic_ns()
        if now_ns < self._next_ns:
            return
        with self._observed.oneshot():
            threads, rss_bytes = self._observed.num_threads(), self._observed.memory_info().rss
        spent_ns = host.cpu_ns(self._observed.pid)
        self.peak_threads = max(self.peak_threads, threads)
        self._taken.append((now_ns - self._begin_ns, threads, rss_bytes, host.since(self._begin_cpu_ns, spent_ns)))
        if len(self._taken) >= MAX_SAMPLES:
            self._taken = self._taken[::2]
            self._every_ns *= 2
        self._next_ns = now_ns + self._every_ns

    def samples(self) -> dict[str, list[Any]]:
        """Return the samples as a row keeps them: lists of equal length."""
        names = ("at_ns", "threads", "rss_bytes", "cpu_ns")
        return {name: [sample[n] for sample in self._taken] for n, name in enumerate(names)}
