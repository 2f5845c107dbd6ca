"""Count what a strategy does per page: a crawl for each counter and repeat, all at the same time.

::

    one server, its Date fixed --> a worker per counter and repeat --> pages 201 to 500 of each --> one row

They share the cores, and need no quiet machine: with one fetch in flight, no count depends on time. ``run_counts`` is
the function of the kind counts (``measure.run``). The site is endless: it repeats its pages in *laps*. A *counter* is a
way to count (``worker.counts``); a *repeat* is one more crawl with the same counter.
"""

import platform
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from inflight.bench.measure import checks, host, interpreters
from inflight.bench.measure.expected import described, lap_answer, root_paths
from inflight.bench.measure.held import Guard
from inflight.bench.measure.process import Worker, WorkerError, running
from inflight.bench.measure.server import Server, job_of
from inflight.bench.measure.trial import Observation, Setting, on_server
from inflight.bench.measure.worker.finished import LAP_AT, PAGE_AT
from inflight.bench.plan.trial import Trial
from inflight.fake_server.site import FIRST_LAP, SiteConfig

PROGRAM = "inflight.bench.measure.worker.counts"
"""The program of a worker."""
FIRST, LAST = 200, 500
"""The pages after which counting begins and ends: two laps in which caches fill, and three that are alike."""
COUNTERS = {"calls": ("python_calls", "c_calls"), "system calls": ("system_calls",), "bytecodes": ("bytecodes",)}
"""What each counter of the worker counts."""
MAX_REQUESTS = 2
"""Multiple of the pages, as requests, at which a strategy that has not handed any over is given up."""
FUTEX = "futex"
"""The system call by which threads wait for each other; how often they do depends on time."""
OF_MEMORY = frozenset({"brk", "mmap", "munmap", "mremap", "madvise"})
"""System calls by which allocators get and return memory: when they do depends on all that was allocated before, and
of mimalloc, in free-threaded builds, on time. They are listed by name, and are in no total."""
TIMED = ("page_faults", "switches")
"""Counts that depend on time or on the state of the memory."""


def observe(trial: Trial, server: Server, setting: Setting, seen: Observation) -> None:
    """Run all crawls of a trial, and record their counts in ``seen``; ``run_counts`` makes the row of it."""
    counters = [name for name in COUNTERS if name != "bytecodes" or trial.workload.bytecodes]
    seen.measured = measured(crawl(trial, server, setting, seen, counters * trial.workload.repeats))
    seen.wanted = interpreters.wanted_knobs(trial.arms[0].strategy, setting.runtime, cpus=None)
    seen.checks = checks.judge(CHECKS, trial, seen)


CHECKS: dict[str, checks.Judge] = {
    "answer correct": lambda _, seen: checks.answer(seen, LAST),
    "settings applied": checks.settings,
}
"""The checks of a trial that counts."""
run_counts = on_server(observe)
"""Runs a trial that counts."""


def crawl(
    trial: Trial, server: Server, setting: Setting, seen: Observation, counters: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """Crawl once for each of these counters, all at the same time; return the messages of the workers by counter.

    ``seen`` gets the settings of the workers, and the first wrong page. Raises TrialError.
    """
    site = trial.site
    server.configure(site, tls=trial.workload.tls)
    server.tell("fix_date")  # else responses differ from second to second, and so may the work on them
    server.tell("reset")
    guard = Guard(setting.budget_bytes)
    messages: dict[str, list[dict[str, Any]]] = {name: [] for name in counters}

    def check_worker() -> None:
        """Raise WorkerError when memory is used up, or a strategy requests more and more but hands nothing over."""
        guard.check()
        if server.stats()["requests"] > MAX_REQUESTS * LAST * len(counters):
            raise WorkerError("the strategy does not hand its pages over as they finish, so they cannot be counted")

    with ExitStack() as stack:
        workers = [stack.enter_context(_started(trial, server, setting, site, counter)) for counter in counters]
        for worker in workers:
            seen.knobs = worker.expect("ready", "knobs")["knobs"]
            worker.send({"do": "count"})
        for counter, worker in zip(counters, workers, strict=True):
            answer = worker.crawled(check_worker)["answer"]
            seen.wrong = seen.wrong or answer_difference(site, answer)
            messages[counter].append(worker.expect("counted", "lack", check_worker))
    return messages


def _started(
    trial: Trial, server: Server, setting: Setting, site: SiteConfig, counter: str
) -> AbstractContextManager[Worker]:
    """Start a worker, and give it its order."""
    paths = root_paths(site, site.pages)
    order = {
        "strategy": trial.arms[0].strategy,
        "job": job_of(server.port, paths, trial.workload).to_dict(),
        "counter": counter,
        "pages": [FIRST, LAST],
        "planted_loops": trial.arms[0].planted_loops,
        "variables": sorted(setting.runtime.variables),
    }
    cpus = host.with_harness(setting.cpus.client)
    return running([PROGRAM], order, cpus, setting.deadline_s(trial), setting.runtime)


def answer_difference(site: SiteConfig, pages: Sequence[Sequence[Any]]) -> str | None:
    """Describe the first page that is not as the endless site has it, or came twice; None if there is none."""
    expected = lap_answer(site)
    paths = set()
    for path, status, size in pages:
        of_first_lap = f"{path[:LAP_AT]}{FIRST_LAP}{path[PAGE_AT:]}"
        if path in paths or of_first_lap not in expected:
            return f"{path} came twice, or is not a page of the site"
        paths.add(path)
        if (status, size) != expected[of_first_lap]:
            return f"{path}: expected {described(expected[of_first_lap])}, got {described((status, size))}"
    return None if len(pages) == LAST else f"{len(pages)} of {LAST} pages"


def measured(messages: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return what a row has of the messages of all repeats, by counter."""
    values: dict[str, Any] = {"pages": LAST - FIRST}
    totals: dict[str, list[int]] = {}
    lacks = {}
    for counter, repeats in messages.items():
        lack = next((message["lack"] for message in repeats if message["lack"] is not None), None)
        if lack is not None:
            lacks[counter] = lack
            continue
        for name in COUNTERS[counter]:
            counts = [message[name] for message in repeats]
            if name == "system_calls":
                counts = [named(each) for each in counts]
                values["futex_calls"] = [each.pop(FUTEX, 0) for each in counts]
            if name == "bytecodes":
                totals[name] = counts
            else:
                totals[name] = [sum(n for key, n in each.items() if key not in OF_MEMORY) for each in counts]
                values[name] = per_page(counts)
            values[f"{name}_per_page"] = sum(totals[name]) / len(repeats) / values["pages"]
        if counter == "calls":
            values |= {name: [message[name] for message in repeats] for name in TIMED}
    if any(len(each) > 1 for each in totals.values()):
        values["repeats_equal"] = all(len(set(each)) == 1 for each in totals.values())
    return values | {"totals": totals} | ({"lacks": lacks} if lacks else {})


def per_page(counts: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Return the mean of several counts, per page, the most frequent first."""
    together = sum(map(Counter, counts), Counter[str]())
    return {name: round(total / len(counts) / (LAST - FIRST), 4) for name, total in together.most_common()}


def named(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts of system calls by name; one without a name here has its number."""
    names = system_calls(platform.machine())
    return {names.get(int(number), f"system call {number}"): count for number, count in counts.items()}


@cache
def system_calls(machine: str) -> dict[int, str]:
    """Return the names of the system calls of a machine, by number."""
    tables = tomllib.loads(Path(__file__).with_name("system_calls.toml").read_text(encoding="utf-8"))
    return {number: name for name, number in tables.get(machine, {}).items()}
