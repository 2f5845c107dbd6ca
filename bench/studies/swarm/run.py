"""Run one swarm: bring N fetches into flight in many processes, read memory while the gates hold them, let them go.

Locust starts the processes and keeps the statistics (``crowd`` has them as the harness sees them); when what happens is
decided here. As in every trial, a row comes back whatever happens.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from threading import Thread
from typing import Any

from inflight import strategies
from inflight.bench.core import units
from inflight.bench.core.plan import BareTrial
from inflight.bench.core.rows import Row
from inflight.bench.measure import held, host, memory, process
from inflight.bench.measure.checks import judge
from inflight.bench.measure.server import ANSWER_SECONDS
from inflight.bench.measure.trial import Observation, Setting, conduct
from inflight.bench.studies.swarm import checks as swarm_checks
from inflight.bench.studies.swarm import layout as layouts
from inflight.bench.studies.swarm.crowd import PATIENCE_S, CrowdError, ShareState, gathered, node_process
from inflight.bench.studies.swarm.layout import Layout, LayoutError
from inflight.strategies.base import Job

LOOK_S = 0.1
MOST_LOOKS = 400
"""When the time line has so many, every other one is dropped, and from then on half as many are noted."""
AT_ONCE = 2
"""So many shares for each core of the clients are on their way at a time, where no rate is stated."""
COUNTED_S = 10.0
"""Locust's statistics are given up when they have not grown for this time: nodes report every second."""
HEARD_OUT_S = 30.0
"""A strategy process whose server is lost is given up when it has not ended after this time."""
MASTER_SILENCE_S = 300.0
"""A Locust worker that has joined from elsewhere ends itself when it has not heard of the master for this time."""


def run_swarm(trial: BareTrial, setting: Setting) -> Row:
    """Run a swarm to its end, or to its deadline, and return its row; a skipped one where it does not fit here."""
    return conduct(trial, setting.run, partial(_observe, trial, setting))


def _observe(trial: BareTrial, setting: Setting, seen: Observation) -> None:
    try:
        laid = planned(trial, setting)
    except LayoutError as error:
        raise process.SkipError(str(error), "limit") from error
    swarm = Swarm(trial, setting, laid, seen)
    swarm.run()
    evidence = swarm_checks.Evidence(
        trial.strategy, laid, swarm.shares, seen.measured, seen.server, seen.knobs, trial.values["site"]
    )
    seen.checks = judge(swarm_checks.CHECKS, evidence)
    seen.wrong = swarm_checks.wrong_answer(evidence, seen.checks)


def planned(trial: BareTrial, setting: Setting) -> Layout:
    """Return how the swarm of a trial is laid out. Raises LayoutError."""
    hosting, asked = setting.hosting, trial.values["in_flight"]
    described = strategies.describe(trial.strategy)
    allowed = layouts.allowances(described, setting.budget_bytes)
    who = {"workers": hosting.workers, "here": hosting.here}
    return layouts.among(asked, allowed, strategy=described, processes=trial.values.get("processes"), **who)


def join(master: str, port: int, nodes: int = 1, *, tell: Callable[[str], None], patience_s: float = PATIENCE_S) -> int:
    """Let Locust workers of this machine join a master, which may be about to start; return the exit code."""
    cpus = host.halves(pin=True)
    with ExitStack() as stack:
        started = [
            stack.enter_context(node_process(master, port, cpus, math.inf, patience_s, MASTER_SILENCE_S))
            for _ in range(nodes)
        ]
        threads = [Thread(target=_repeat, args=(node, tell), daemon=True) for node in started]
        for thread in threads:
            thread.start()
        failed = [node for node in started if node.process.wait() != 0]
        for node in failed:
            how = node.obituary().removeprefix("the worker ")
            tell(node.last_words().removeprefix(": ") or f"a Locust worker {how}")
    return 2 if any(node.process.returncode == 2 for node in failed) else 1 if failed else 0


def _repeat(node: process.Worker, tell: Callable[[str], None]) -> None:
    """Pass on what a node tells of what it does, until it ends."""
    assert node.process.stdout is not None
    for line in node.process.stdout:
        tell(json.loads(line)["told"])


@dataclass
class Swarm:
    """One swarm from its beginning to its end; ``seen`` is filled on the way, so that nothing is lost with it."""

    trial: BareTrial
    setting: Setting
    laid: Layout
    seen: Observation
    shares: list[ShareState] = field(default_factory=list)

    def run(self) -> None:
        """Gather, ramp, hold, release, count. Raises what keeps it from going on."""
        lifetime_s = self.setting.deadline_s(self.trial)
        self._deadline_s = time.monotonic() + lifetime_s
        self._guard = held.Guard(self.setting.budget_bytes)
        measured, halves, tell = self.seen.measured, self.setting.halves, self.setting.tell
        measured |= self._laid_out()
        before = host.disturbances(halves)
        with gathered(self.setting.hosting, halves, lifetime_s) as crowd:
            self._crowd, self.shares = crowd, crowd.shares
            measured |= {"lost": crowd.lost, "late": crowd.late, "hosts": len({node.host for node in crowd.present})}
            tell(f"starting {_pairs(len(self.laid.shares))}")
            self._start(lifetime_s)
            measured |= self._layers("base")
            tell(f"{self.laid.in_flight:,} fetches are let go")
            crowd.begin_ns = self._begin_ns = time.monotonic_ns()
            self._line = Line(self._begin_ns)
            measured["timeline"] = self._line.values
            self._ramp()
            reached = units.duration(measured.get("reach_ns", 0), 2)
            tell(f"{crowd.held:,} in flight, confirmed by the gates, after {reached}")
            measured |= self._layers_since(measured)
            self._hold()
            tell("the gates are opened")
            self._release()
            measured |= self._outcome() | self._counted_by_locust()
        measured |= host.disturbances(halves).since(before)

    def _laid_out(self) -> dict[str, Any]:
        bound, processes = self.laid.bound_by, len(self.laid.shares)
        return {
            "planned_in_flight": self.laid.in_flight,
            "bound_by": None if bound is None else asdict(bound),
            "client_processes": processes,
            "server_processes": processes,
            "nodes": self.setting.hosting.workers,
            "ephemeral_ports": host.ephemeral_ports(),
        }

    def _start(self, lifetime_s: float) -> None:
        """Start all processes: the gates shut, the strategies ready to go."""
        values = self.trial.values
        job = Job(
            roots=(),
            max_in_flight=self.laid.shares[0].count,  # the largest; a smaller one has no more pages than it has
            connection=values["connection"],
            timeout_ns=round(lifetime_s * 1e9),  # the gate is no fault of a fetch
        )
        order = {
            "strategy": self.trial.strategy,
            "job": job.to_dict(),
            "site": values["site"],
            "ports_each": self.laid.ports_each,
            "lifetime_s": lifetime_s,
            "answer_s": max(ANSWER_SECONDS, self.setting.hosting.patience_s(lifetime_s)),
        }
        self._crowd.spawn(self.laid.shares, order)
        self._wait(lambda: not self._crowd.alive("waiting", "starting"), "the processes were not all started in time")
        ready = self._crowd.alive("ready")
        if not ready:
            raise CrowdError(f"no share could be started: {swarm_checks.told_loss(self._crowd.lost[0])}")
        self.seen.knobs = swarm_checks.common_knobs([state.knobs for state in ready])

    def _ramp(self) -> None:
        """Let the shares go, at the stated rate or as fast as they fill, until the gates hold all that is left."""
        crowd = self._crowd
        while waiting := [state for state in crowd.alive("ready", "going") if not state.full]:
            for state in waiting:
                if state.stage == "ready" and self._is_due(state):
                    crowd.go(state)
            self._look("only {held:,} of {planned:,} fetches came to be in flight")
            for early in crowd.alive("crawled"):
                raise process.WorkerError(_early(early))
        if crowd.held:
            self.seen.measured |= {"held_in_flight": crowd.held, "reach_ns": time.monotonic_ns() - self._begin_ns}

    def _is_due(self, state: ShareState) -> bool:
        """Tell whether a share may go: all of it is due by the rate, or else few others are on their way.

        A share fills as fast as its strategy can; by going late, it is never ahead of the rate.
        """
        rate: int | None = self.trial.values.get("ramp_per_s")
        if rate is not None:
            return state.share.first + state.share.count <= rate * (time.monotonic_ns() - self._begin_ns) / 1e9
        underway = [other for other in self._crowd.alive("going") if not other.full]
        return len(underway) < AT_ONCE * len(self.setting.halves.client or {0})

    def _hold(self) -> None:
        """Keep all that is in flight waiting for as long as was asked for, counted from the moment when it was."""
        full_ns = self._begin_ns + self.seen.measured.get("reach_ns", 0)
        until_ns = full_ns + self.trial.values.get("hold_ns", 0)
        if (left_ns := until_ns - time.monotonic_ns()) > 0:
            self.setting.tell(f"held for {units.duration(left_ns, 2)} more")
        while time.monotonic_ns() < until_ns and self._crowd.alive("going"):
            self._look("the gates were to be shut for longer than a trial may take")

    def _release(self) -> None:
        """Open the gates, and wait until all that is left has crawled."""
        released_ns = time.monotonic_ns()
        self._crowd.tell_all({"do": "release"})
        while self._crowd.alive("going"):
            self._look("{held:,} of {planned:,} fetches were not answered in time")
        end_ns = time.monotonic_ns()
        self._hear_out()
        self.seen.measured |= {"drain_ns": end_ns - released_ns, "makespan_ns": end_ns - self._begin_ns}

    def _hear_out(self) -> None:
        """Wait for what strategy processes without a server have to say: their fetches fail, and they end soon."""
        until_s = time.monotonic() + HEARD_OUT_S
        while self._crowd.bereft and time.monotonic() < until_s:
            self._crowd.listen(LOOK_S)

    def _outcome(self) -> dict[str, Any]:
        """Add up what the shares did."""
        outcomes = [state.outcome for state in self.shares if state.outcome is not None]
        servers = [state.server for state in self.shares if state.server is not None]
        self.seen.server = {"requests": sum(server["requests"] for server in servers)}
        errors = sum((Counter(outcome["errors"]) for outcome in outcomes), Counter[str]())
        cpu_ns = sum(outcome["cpu_ns"] for outcome in outcomes)
        return {
            **{name: sum(outcome[name] for outcome in outcomes) for name in ("pages", "failed_pages", "tries")},
            "errors": dict(errors),
            "port_refusals": sum(count for text, count in errors.items() if "EADDRNOTAVAIL" in text),
            "client_cpu_ns": cpu_ns,
            "reporting_share": sum(outcome["reporting_cpu_ns"] for outcome in outcomes) / max(1, cpu_ns),
            "server_cpu_ns": sum(server["cpu_ns"] for server in servers),
        }

    def _counted_by_locust(self) -> dict[str, Any]:
        """Return what Locust's statistics have, once they have all that its nodes report; and what Locust computed."""
        crowd, requests, give_up_s = self._crowd, -1, 0.0
        crowd.tell_all({"do": "end"})
        fetched = sum(state.outcome["pages"] for state in self.shares if state.outcome is not None)
        while True:
            crowd.ask_statistics()
            self._wait(lambda: crowd.statistics is not None, "Locust's master did not answer in time")
            counted = crowd.statistics
            assert counted is not None
            if counted["requests"] > requests:
                requests, give_up_s = counted["requests"], time.monotonic() + COUNTED_S
            if requests >= fetched or time.monotonic() > give_up_s:
                break
            crowd.listen(LOOK_S)
        cpu_ns = counted["cpu_ns"] + sum(
            node.said["ended"]["cpu_ns"] for node in crowd.nodes.values() if "ended" in node.said
        )
        told = {name: counted[name] for name in ("requests", "failures")}
        return {"locust_cpu_ns": cpu_ns, "locust": {"version": crowd.locust_version, **told}}

    # Memory

    def _layers(self, stage: str) -> dict[str, Any]:
        """Return all layers of all processes and of all machines, under names that begin with the stage."""
        crowd = self._crowd
        crowd.forget("layers")
        crowd.tell_all({"do": "layers", "stage": stage})
        self._wait(lambda: crowd.said_by_all("layers") is not None, "memory could not be read in time")
        answers = crowd.said_by_all("layers") or []
        systems = {answer["host"]: answer["system"] for answer in answers}  # of each machine once
        sums: Counter[str] = Counter()
        for part in [*(answer["own"] for answer in answers), *systems.values()]:
            sums.update({name: size for name, size in part.items() if size is not None})
        return {f"{stage}_{name}": size for name, size in sums.items()}

    def _layers_since(self, base: dict[str, Any]) -> dict[str, Any]:
        """Return the layers once only this swarm has moved them; else marked, as in every trial at the gate."""
        give_up_s = time.monotonic() + held.REST_S
        while True:
            found = self._layers("held")
            if self._crowd.lost:  # what is left is not what base was read of
                return found | {"held_disturbed": "of this swarm: what was lost"}
            others = held.disturbance(base, found, "held")
            if others is None or time.monotonic() > give_up_s:
                return found | {"held_disturbed": others}

    # Waiting

    def _look(self, otherwise: str) -> None:
        """Take in what is said, and note how many are held and what memory is used. Raises when it is too much."""
        self._crowd.listen(LOOK_S)
        self._line.note(self._crowd.held)
        self._check(otherwise)

    def _wait(self, is_so: Callable[[], bool], otherwise: str) -> None:
        while not is_so():
            self._crowd.listen(LOOK_S)
            self._check(otherwise)

    def _check(self, otherwise: str) -> None:
        """Raise when the time or the memory is used up, or nobody is left."""
        self._guard.check()
        if time.monotonic() > self._deadline_s:
            raise process.WorkerTimeoutError(otherwise.format(held=self._crowd.held, planned=self.laid.in_flight))
        if not self._crowd.present:
            raise CrowdError(f"no Locust worker is left: {swarm_checks.told_loss(self._crowd.lost[0])}")


class Line:
    """What was seen over time: fetches held, and the memory that the whole machine has used since the beginning."""

    def __init__(self, begin_ns: int) -> None:
        self.values: dict[str, list[int]] = {"at_ns": [], "held": [], "used_bytes": []}
        self._begin_ns = self._next_ns = begin_ns
        self._every_ns = 0
        self._unused_bytes = memory.unused_bytes()

    def note(self, count: int) -> None:
        """Note that so many are held now."""
        now_ns, values = time.monotonic_ns(), self.values
        if now_ns < self._next_ns:
            return
        values["at_ns"].append(now_ns - self._begin_ns)
        values["held"].append(count)
        values["used_bytes"].append(self._unused_bytes - memory.unused_bytes())
        if len(values["at_ns"]) > MOST_LOOKS:
            for name in values:
                values[name][:] = values[name][::2]
            self._every_ns = 2 * (self._every_ns or round(LOOK_S * 1e9))
        self._next_ns = now_ns + self._every_ns


def _pairs(number: int) -> str:
    return "1 strategy process and its server" if number == 1 else f"{number} strategy processes and as many servers"


def _early(state: ShareState) -> str:
    """Say that a strategy came back before the gate had let go: it is at fault, or its connections were."""
    assert state.outcome is not None
    errors = ", ".join(f"{count:,} x {text}" for text, count in state.outcome["errors"].items())
    why = state.outcome["error"] or errors or "without its answers"
    return f"the strategy process of share {state.share.index} ended before the gate was opened: {why}"
