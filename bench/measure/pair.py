"""Run one pair: a fresh process for each side, which take turns at the same work, and perhaps memory at the gate."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from bench.comparison import Comparison, PairTrial, SideName
from bench.grid import Workload
from bench.measure import host, pair_checks, process
from bench.measure.controller import Begin, Observation, Setting, ending, row_of, run_trial
from bench.measure.expected import expected_answer
from bench.measure.server import Server
from bench.measure.sides import Prepared
from bench.measure.turns import Crawler, crawler
from bench.plan import AnyTrial, Trial, reachable, trial_of
from bench.rows import Check, Row
from fake_server.delays import parse_delay
from fake_server.site import SiteConfig
from strategies.base import Job

Sides = dict[SideName, Prepared]
TURN_NS = 150_000_000
"""A turn lasts about so long: long beside a clock, short beside what disturbs a machine."""
FEWEST_PAGES, MOST_PAGES, FIRST_PAGES = 20, 20_000, 400
CONTROLS_S, MEMORY_S = 0.5, 2.0
"""About how long the controls of a pair and its readings at rest take; nothing but an estimate rests on it."""
LIFETIME_S = 90
MEMORY_DEADLINE_S = 60.0
MEMORY_SIZES = tuple((200 + 20 * k, 2000 + 100 * k) for k in range(5))
"""Fetches in flight between which a pair's memory slope is taken; the pairs go through these in turn."""


@dataclass(slots=True)
class Seen(Observation):
    """What is gathered while a pair goes on."""

    turns: list[dict[str, Any]] = field(default_factory=list)
    counts: list[dict[str, Any]] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    side: SideName | None = None
    """Whose turn it is: the one to blame when something breaks."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How much work a turn is, and about how long pairs of such turns take."""

    pages: int
    turns_s: float
    """The part of a pair that takes turns."""
    memory_s: float
    """The part that measures memory, in the pairs that do."""


def calibrate(
    comparison: Comparison, sides: Sides, server: Server, setting: Setting, pages: int | None = None
) -> Calibration:
    """Find how many pages make a turn last about TURN_NS on the faster side, unless the number is given.

    Raises WorkerError, which names the side, when one cannot do the work.
    """
    most_in_flight = max(comparison.a.in_flight, comparison.b.in_flight)
    first = max(_enough_pages(comparison), 2 * most_in_flight)
    small = replace(comparison, site=replace(comparison.site, pages=first))
    server.configure(small.site)
    each_ns, starts_s = [], 0.0
    for name, side in sides.items():
        begin_s = time.monotonic()
        try:
            with _crawler(name, small, side, server, setting) as one:
                one.turn()
                starts_s += time.monotonic() - begin_s
                each_ns.append(one.turn().makespan_ns / first)
                if (difference := one.check()) is not None:
                    raise process.WorkerError(f"a wrong answer: {difference}")
        except process.WorkerError as error:
            raise process.WorkerError(f"side {name}, {side.side.label}: {error}") from error
    if pages is None:
        wanted = round(TURN_NS / min(each_ns) / 100) * 100
        pages = min(MOST_PAGES, max(FEWEST_PAGES, 2 * most_in_flight, wanted))
    turns_s = starts_s + pages * sum(each_ns) / 1e9 * (1 + len(PairTrial(comparison, 1, memory=False).order) / 2)
    return Calibration(pages, turns_s + CONTROLS_S, 2 * starts_s + MEMORY_S)


def _enough_pages(comparison: Comparison) -> int:
    """Return how many pages the first look takes: few where each waits long."""
    wait_ns = parse_delay(comparison.site.delay).mean_ns / min(comparison.a.in_flight, comparison.b.in_flight)
    return min(FIRST_PAGES, max(FEWEST_PAGES, round(TURN_NS / wait_ns))) if wait_ns else FIRST_PAGES


def _lifetime_s(comparison: Comparison) -> float:
    """Return when a worker of a pair is killed: long after it should have been done, also where pages wait."""
    least = min(comparison.a.in_flight, comparison.b.in_flight)
    turn_s = comparison.site.pages * parse_delay(comparison.site.delay).mean_ns / least / 1e9
    return LIFETIME_S + 40 * turn_s


def run_pair(pair: PairTrial, sides: Sides, server: Server, setting: Setting) -> Row:
    """Run a pair to its end and return its row; whatever happens, a row comes back.

    ``measured["failed_side"]`` is whose answer was wrong, or whose turn it was when the pair broke off; A where that is
    so of both, because B cannot be held against an A that fails.
    """
    begin, seen = Begin.now(), Seen()
    status, reason = ending(lambda: _observe(pair, sides, server, setting, seen), server)
    checks: tuple[Check, ...] = ()
    if status == "ok":
        evidence = _evidence(pair, sides, setting, seen)
        checks = pair_checks.check(evidence)
        if (blame := pair_checks.blamed(evidence)) is not None:
            status, reason = "wrong", f"side {blame[0]}: {blame[1].removeprefix(f'side {blame[0]}: ')}"
            seen.measured["failed_side"] = blame[0]
    elif server.alive and seen.side is not None:
        wrong_before = any(text.startswith("side A") for text in seen.differences)
        seen.measured["failed_side"] = "A" if wrong_before else seen.side
    seen.measured["turns"] = seen.turns
    return row_of(pair, setting.run, begin, status, reason, seen, checks)


def _observe(pair: PairTrial, sides: Sides, server: Server, setting: Setting, seen: Seen) -> None:
    comparison, begin_ns = pair.comparison, time.monotonic_ns()
    server.configure(comparison.site)
    with ExitStack() as stack:
        controls = stack.enter_context(_controls(comparison, server, setting))
        crawlers: dict[SideName, Crawler] = {}
        for name in _names(pair.order[:2]):
            seen.side = name
            crawlers[name] = stack.enter_context(_crawler(name, comparison, sides[name], server, setting))
            seen.knobs[name] = crawlers[name].knobs
            seen.turns.append(crawlers[name].turn().to_dict() | {"side": name, "warm_up": True})
        _control(controls)  # not counted: a fresh interpreter takes another time for its first loop
        seen.measured["controls"] = []
        before = host.disturbances(setting.cpus)
        for name in _names(pair.order):
            seen.side = name
            server.tell("reset")
            counts_before, delay_before_ns = server.stats(), host.run_delay_ns(crawlers[name].pid)
            turn = crawlers[name].turn()
            delay_ns = host.since(delay_before_ns, host.run_delay_ns(crawlers[name].pid))
            seen.counts.append(_difference(counts_before, server.stats()))
            seen.turns.append(turn.to_dict() | {"side": name, "warm_up": False, "run_delay_ns": delay_ns})
            if (difference := crawlers[name].check()) is not None:
                seen.differences.append(f"side {name}: {difference}")
            seen.side = None
            seen.measured["controls"].append(_control(controls) | {"side": name})
        seen.host = host.disturbances(setting.cpus).since(before)
    seen.measured |= {"steal_share": seen.host["steal_share"], "listen_drops": seen.host["listen_drops"]}
    seen.server = {
        "ceiling_per_s": server.ceiling_per_s,
        "cpu_share": sum(count["cpu_share"] for count in seen.counts) / len(seen.counts),
    }
    seen.measured["turns_ns"] = time.monotonic_ns() - begin_ns
    if pair.memory:
        seen.measured["memory"] = _memory(pair, sides, server, setting, seen)


def _names(order: str) -> list[SideName]:
    return ["A" if letter == "A" else "B" for letter in order]


def _crawler(
    name: SideName, comparison: Comparison, side: Prepared, server: Server, setting: Setting
) -> AbstractContextManager[Crawler]:
    return crawler(
        side.side.strategy,
        server,
        comparison.workload(name),
        setting.cpus.client,
        _lifetime_s(comparison),
        side.runtime,
        side.side.planted_loops,
    )


@contextmanager
def _controls(comparison: Comparison, server: Server, setting: Setting) -> Iterator[process.Worker]:
    """Start the process of the negative controls, on the core of the sides."""
    waits = comparison.site.delay != "0"
    with process.running(setting.cpus.client, _lifetime_s(comparison), ["bench.measure.control_worker"]) as worker:
        size = {"connections": 200, "requests": 400} if waits else {"connections": 20, "requests": 600}
        worker.send({"port": server.port, "lifetime_s": _lifetime_s(comparison) + 5} | size)
        worker.expect("ready", "knobs")
        yield worker


def _control(worker: process.Worker) -> dict[str, Any]:
    worker.send({"do": "control"})
    said = worker.expect("controlled", "null_ns")
    return {key: said[key] for key in ("spin_ns", "null_ns")}


def spin_ns_per_loop(comparison: Comparison, server: Server, setting: Setting, times: int = 20) -> float:
    """Return what one round of the empty loop costs: by it, planted slowdowns are cut to size."""
    server.configure(comparison.site)
    with _controls(comparison, server, setting) as worker:
        found = []
        for _ in range(times):
            worker.send({"do": "control"})
            said = worker.expect("controlled", "spin_ns")
            found.append(said["spin_ns"] / said["loops"])
    return float(sorted(found)[len(found) // 2])


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    share = (after["cpu_ns"] - before["cpu_ns"]) / max(1, after["clock_ns"] - before["clock_ns"])
    return {"requests": after["requests"], "peak_in_flight": after["peak_in_flight"], "cpu_share": share}


def _evidence(pair: PairTrial, sides: Sides, setting: Setting, seen: Seen) -> pair_checks.PairEvidence:
    comparison = pair.comparison
    turns = [turn for turn in seen.turns if not turn["warm_up"]]
    alone = setting.cpus.client is not None and len(setting.cpus.client) == 1
    threaded = any(side.described.threads_each for side in sides.values())
    delays_ns = [] if threaded else [turn["run_delay_ns"] for turn in turns if turn["run_delay_ns"] is not None]
    names: list[SideName] = ["A", "B"]
    expected = expected_answer(comparison.site, comparison.workload("A").roots, Job(roots=()).max_redirects)
    return pair_checks.PairEvidence(
        turns=turns,
        caps={name: reachable(comparison.workload(name), sides[name].described) for name in names},
        waits=comparison.site.delay != "0",
        differences=seen.differences,
        expected_failures=sum(status is None for status, _ in expected.values()),
        client_shares=[turn["cpu_ns"] / max(1, turn["makespan_ns"]) for turn in turns] if alone else None,
        server=seen.counts,
        ceiling_per_s=seen.server["ceiling_per_s"],
        run_delay_share=sum(delays_ns) / sum(turn["makespan_ns"] for turn in turns) if delays_ns else None,
        steal_share=seen.host["steal_share"],
        listen_drops=seen.host["listen_drops"],
        knobs=seen.knobs,
        wanted_knobs={name: _wanted_knobs(sides[name], setting) for name in names},
    )


def _wanted_knobs(side: Prepared, setting: Setting) -> dict[str, Any]:
    cpus = {} if setting.cpus.client is None else {"cpus": sorted(setting.cpus.client)}
    python = {} if side.runtime.python is None else {"executable": side.runtime.python}
    return {"strategy": side.side.strategy, "variables": dict(side.runtime.variables)} | cpus | python


def _memory(pair: PairTrial, sides: Sides, server: Server, setting: Setting, seen: Seen) -> dict[str, Any]:
    """Hold two numbers of fetches at the gate with each side, each in a fresh process; return USS of all four.

    A red reading is no reading. Raises WorkerError, and blames the side, when it did not hold them at all.
    """
    sizes = MEMORY_SIZES[pair.round % len(MEMORY_SIZES)]
    found: dict[str, Any] = {"sizes": list(sizes), "A": [], "B": [], "reason": None}
    for name in _names(pair.order[:2]):
        side = sides[name]
        for size in sizes:
            row = run_trial(
                _held(pair, name, side, size),
                server,
                replace(setting, runtime=side.runtime, deadline_s=_memory_deadline),
            )
            if not row.valid:
                reason = row.reason or "; ".join(f"{check.name}: {check.detail}" for check in row.failed_checks)
                told = f"side {name} with {size} in flight held for memory: {reason}"
                if row.status != "ok":
                    seen.side = name
                    raise process.WorkerError(told)
                return found | {"reason": told}
            found[name].append(row.measured["held_uss_bytes"])
    return found


def _memory_deadline(_trial: AnyTrial) -> float:
    return MEMORY_DEADLINE_S


def _held(pair: PairTrial, name: SideName, side: Prepared, size: int) -> Trial:
    connection = pair.comparison.side(name).connection
    workload = Workload(f"pair/memory/{size}", "memory", SiteConfig(pages=size, links=0), size, connection)
    return trial_of(f"{pair.id}/memory/{name}/{size}", pair.round, workload, side.described)
