"""Run one swarm: start N fetches in many processes, read memory while the gates hold all of them, open the gates.

``run_swarm`` is the function of the kind swarm (``measure.run``). ``layout`` decides how many processes there are,
Locust starts the strategy processes and keeps the statistics, ``crowd`` tracks all processes; this module decides when
each stage begins. A *share* is what one strategy process fetches. A *node* is a Locust worker, which starts strategy
processes and reports for them. A share's *gate*, at its server, holds all responses until it is opened. As in every
trial, every outcome becomes a row.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import psutil

from inflight import strategies
from inflight.bench import units
from inflight.bench.measure import held, host, memory, process
from inflight.bench.measure.checks import judge
from inflight.bench.measure.server import ANSWER_SECONDS
from inflight.bench.measure.swarm import checks as swarm_checks
from inflight.bench.measure.swarm.crowd import CrowdError, ShareState, gathered
from inflight.bench.measure.swarm.layout import Layout, LayoutError, allowances, layout
from inflight.bench.measure.trial import Observation, Setting, conduct
from inflight.bench.plan.trial import Trial
from inflight.bench.rows.files import Row
from inflight.strategies.base import Job

LOOK_S = 0.1
"""Interval between two looks at the swarm."""
MAX_LOOKS = 400
"""Maximum number of points of a timeline. At this number every other point is dropped, and the interval doubles."""
AT_ONCE = 2
"""Maximum number of shares per client core that fill at the same time, where no rate is given."""
COUNTED_S = 10.0
"""Timeout for Locust's statistics, since they last grew. Nodes report every second."""
HEARD_OUT_S = 30.0
"""Timeout for a strategy process to end after it has lost its server."""
STILL_PART = 0.25
"""The time that a process may stand still, as a share of a trial's maximum time: a larger swarm keeps its machine busy
for longer. It is at least ANSWER_SECONDS."""
MAX_SETTLE_S = 5.0
"""Timeout for memory to settle before it is read. That for other programs to end meanwhile is ``held.REST_S``."""
SETTLE_S = 0.3
"""Interval between two readings of memory that must agree."""


def run_swarm(trial: Trial, setting: Setting) -> Row:
    """Run a swarm to its end, or to its deadline, and return its row: a skipped one if it does not fit this machine."""
    return conduct(trial, setting.run, partial(_observe, trial, setting))


def _observe(trial: Trial, setting: Setting, seen: Observation) -> None:
    """Lay the swarm out, run it, and judge its checks. Raises SkipError if this machine allows no layout."""
    described, workload = strategies.describe(trial.name), trial.workload
    allowed = allowances(described, setting.budget_bytes)
    try:
        laid = layout(workload.in_flight, allowed, strategy=described, processes=workload.processes)
    except LayoutError as error:
        raise process.SkipError(str(error), "limit") from error
    swarm = SwarmRun(trial, setting, laid, seen)
    swarm.run()
    # Locust patches the standard library with gevent. Strategy processes report whether that has reached them, too.
    seen.wanted = {"strategy": trial.name, "gevent": False}
    seen.outcome = {"shares": swarm.shares, "ports_each": laid.ports_each}
    seen.checks = judge(swarm_checks.CHECKS, trial, seen)
    seen.wrong = swarm_checks.wrong_answer(seen)


@dataclass
class SwarmRun:
    """One swarm. ``seen`` is filled stage by stage, so that a failure keeps what was measured before."""

    trial: Trial
    setting: Setting
    laid: Layout
    seen: Observation
    shares: list[ShareState] = field(default_factory=list)

    def run(self) -> None:
        """Gather, ramp, hold, release, count. Raises TrialError."""
        lifetime_s = self.setting.deadline_s(self.trial)
        self._deadline_s = time.monotonic() + lifetime_s
        self._guard = held.Guard(self.setting.budget_bytes)
        # Half of the cores are for all servers, and half for all strategy processes (``host.halves``).
        measured, halves, tell = self.seen.measured, self.setting.halves, self.setting.hosting.tell
        bound, pairs = self.laid.bound_by, len(self.laid.shares)
        measured |= {
            "planned_in_flight": self.laid.in_flight,
            "bound_by": None if bound is None else asdict(bound),
            "client_processes": pairs,
            "server_processes": pairs,
            "nodes": self.setting.hosting.nodes,
        }
        before = host.disturbances(halves)
        site, patience_s = self.trial.site, _patience_s(lifetime_s)
        tell(f"starting {pairs} strategy {'process' if pairs == 1 else 'processes'}, each with a server")
        with gathered(self.laid, site, halves, lifetime_s, patience_s, self.setting.hosting) as crowd:
            self._crowd, self.shares = crowd, crowd.shares
            measured |= {"lost": crowd.lost}  # the list itself, to which ``crowd`` appends each process that is lost
            self._start(lifetime_s)
            measured |= self._layers("base")
            tell(f"starting {self.laid.in_flight:,} fetches")
            crowd.begin_ns = self._begin_ns = time.monotonic_ns()
            self._line = Line(self._begin_ns)
            measured["timeline"] = self._line.values  # the lists themselves, which grow with each look
            self._ramp()
            reached = units.duration(measured.get("reach_ns", 0), 2)
            tell(f"{crowd.held:,} in flight, confirmed by the gates, after {reached}")
            measured |= self._held_layers(measured)
            self._hold()
            tell("opening the gates")
            self._release()
            measured |= self._outcome() | self._counted_by_locust()
        measured |= host.disturbances(halves).since(before)

    def _start(self, lifetime_s: float) -> None:
        """Start all strategy processes, ready to crawl."""
        cpus = self.setting.halves.client
        job = Job(
            roots=(),
            max_in_flight=self.laid.shares[0].count,  # the largest share; for smaller ones the number of pages decides
            connection=self.trial.workload.connection,
            timeout_ns=round(lifetime_s * 1e9),  # a fetch must not time out while the gate holds it
        )
        self._crowd.spawn(
            {
                "strategy": self.trial.name,
                "job": job.to_dict(),
                "cpus": None if cpus is None else sorted(cpus),
                "lifetime_s": lifetime_s,
            }
        )
        self._wait(lambda: not self._crowd.alive("waiting", "starting"), "the processes were not all started in time")
        ready = self._crowd.alive("ready")
        if not ready:
            raise CrowdError(f"no share could be started: {swarm_checks.describe_loss(self._crowd.lost[0])}")
        self.seen.knobs = swarm_checks.common_knobs([state.knobs for state in ready])

    def _ramp(self) -> None:
        """Start the shares, at the given rate or as fast as they fill, until the gates hold all that are left."""
        crowd = self._crowd
        while waiting := [state for state in crowd.alive("ready", "going") if not state.full]:
            for state in waiting:
                if state.stage == "ready" and self._is_due(state):
                    crowd.go(state)
            self._look("only {held:,} of {planned:,} fetches were in flight")
            for early in crowd.alive("crawled"):
                raise process.WorkerError(_early(early))
        if crowd.held:
            self.seen.measured |= {"held_in_flight": crowd.held, "reach_ns": time.monotonic_ns() - self._begin_ns}

    def _is_due(self, state: ShareState) -> bool:
        """Return whether a share may start: at a given rate when all of it is due, else when few others are filling.

        A share fills as fast as its strategy can. Starting when its last fetch is due keeps it from exceeding the rate.
        """
        rate: int | None = self.trial.workload.ramp_per_s
        if rate is not None:
            return state.share.first + state.share.count <= rate * (time.monotonic_ns() - self._begin_ns) / 1e9
        underway = [other for other in self._crowd.alive("going") if not other.full]
        return len(underway) < AT_ONCE * len(self.setting.halves.client or {0})

    def _hold(self) -> None:
        """Keep the gates shut for the time asked for, counted from when they held all."""
        full_ns = self._begin_ns + self.seen.measured.get("reach_ns", 0)
        until_ns = full_ns + (self.trial.workload.hold_ns or 0)
        if (left_ns := until_ns - time.monotonic_ns()) > 0:
            self.setting.hosting.tell(f"held for {units.duration(left_ns, 2)} more")
        while time.monotonic_ns() < until_ns and self._crowd.alive("going"):
            self._look("the gates were to stay shut for longer than a trial may take")

    def _release(self) -> None:
        """Open the gates, and wait until all shares that are left have finished.

        Then wait for the outcomes of strategy processes without a server: their fetches fail, so they end soon.
        """
        crowd, released_ns = self._crowd, time.monotonic_ns()
        crowd.release()
        while crowd.alive("going"):
            self._look("{held:,} of {planned:,} fetches were not answered in time")
        end_ns = time.monotonic_ns()
        until_s = time.monotonic() + HEARD_OUT_S
        while crowd.without_server and time.monotonic() < until_s:
            crowd.listen(LOOK_S)
        self.seen.measured |= {"drain_ns": end_ns - released_ns, "makespan_ns": end_ns - self._begin_ns}

    def _outcome(self) -> dict[str, Any]:
        """Return the sums over all shares."""
        outcomes = [state.outcome for state in self.shares if state.outcome is not None]
        self.seen.server = {"requests": sum(state.requests for state in self.shares)}
        errors = sum((Counter(outcome["errors"]) for outcome in outcomes), Counter[str]())
        cpu_ns = sum(outcome["cpu_ns"] for outcome in outcomes)
        return {
            **{name: sum(outcome[name] for outcome in outcomes) for name in ("pages", "failed_pages", "tries")},
            "errors": dict(errors),
            "port_refusals": sum(count for text, count in errors.items() if "EADDRNOTAVAIL" in text),
            "client_cpu_ns": cpu_ns,
            "reporting_share": sum(outcome["reporting_cpu_ns"] for outcome in outcomes) / max(1, cpu_ns),
        }

    def _counted_by_locust(self) -> dict[str, Any]:
        """Return Locust's statistics, once they include all reports of its nodes."""
        crowd, requests, give_up_s = self._crowd, -1, 0.0
        fetched = sum(state.outcome["pages"] for state in self.shares if state.outcome is not None)
        while True:
            crowd.ask_statistics()
            self._wait(lambda: bool(crowd.statistics), "Locust did not answer in time")
            if crowd.statistics["requests"] > requests:
                requests, give_up_s = crowd.statistics["requests"], time.monotonic() + COUNTED_S
            if requests >= fetched or time.monotonic() > give_up_s:
                break
            crowd.listen(LOOK_S)
        return {"locust": crowd.statistics}

    # Memory

    def _layers(self, stage: str) -> dict[str, Any]:
        """Return the layers of memory of all processes once they have settled, under names that begin with the stage.

        Names of servers begin with ``server_``. Locust's processes and the harness are not counted.
        """
        processes, system = memory.settled(self._read, time.monotonic() + MAX_SETTLE_S, time.sleep, SETTLE_S)
        return {f"{stage}_{name}": size for name, size in (processes | system).items() if size is not None}

    def _read(self) -> tuple[memory.Layers, memory.Layers]:
        """Return the layers of memory of all living processes together, and of the system."""
        sums: Counter[str] = Counter()
        for state in self._crowd.alive("ready", "going"):
            assert state.server is not None
            with suppress(psutil.Error):  # it has ended, which ``listen`` notices
                client, serving = memory.process_layers(state.pid), memory.process_layers(state.server.process.pid)
                counts = {
                    "threads": psutil.Process(state.pid).num_threads(),
                    "connections": self._crowd.connections(state),
                }
                sums.update({name: size or 0 for name, size in client.items()} | counts)
                sums.update({f"server_{name}": size or 0 for name, size in serving.items()})
        return dict(sums), memory.system_layers()

    def _held_layers(self, base: dict[str, Any]) -> dict[str, Any]:
        """Return the layers while all is held, once no other process disturbs them.

        ``base`` has the layers before the ramp, to see what others have changed since. After a timeout, the layers are
        marked as disturbed.
        """
        give_up_s = time.monotonic() + held.REST_S
        while True:
            self._look("memory could not be read in time")
            layers = self._layers("held")
            if self._crowd.lost:  # the base layers include processes that are gone
                return layers | {"held_disturbed": "lost processes of this swarm"}
            others = held.disturbance(base, layers, "held")
            if others is None or time.monotonic() > give_up_s:
                return layers | {"held_disturbed": others}

    # Waiting

    def _look(self, otherwise: str) -> None:
        """Process messages, and note the fetches held and the memory used. Raises as ``_check`` does."""
        self._crowd.listen(LOOK_S)
        self._line.note(self._crowd.held)
        self._check(otherwise)

    def _wait(self, is_so: Callable[[], bool], otherwise: str) -> None:
        """Process messages until something is so; raise TrialError with the words ``otherwise`` as ``_check`` does."""
        while not is_so():
            self._crowd.listen(LOOK_S)
            self._check(otherwise)

    def _check(self, otherwise: str) -> None:
        """Raise TrialError when the time or the memory is used up, or no Locust worker is left."""
        self._guard.check()
        if time.monotonic() > self._deadline_s:
            raise process.WorkerTimeoutError(otherwise.format(held=self._crowd.held, planned=self.laid.in_flight))
        if not self._crowd.nodes:
            raise CrowdError(f"no Locust worker is left: {swarm_checks.describe_loss(self._crowd.lost[0])}")


class Line:
    """A timeline of the fetches held, and of the memory that the whole machine has used since the start."""

    def __init__(self, begin_ns: int) -> None:
        self.values: dict[str, list[int]] = {"at_ns": [], "held": [], "used_bytes": []}
        self._begin_ns = self._next_ns = begin_ns
        self._every_ns = 0
        self._unused_bytes = memory.unused_bytes()

    def note(self, count: int) -> None:
        """Note that ``count`` fetches are held now."""
        now_ns, values = time.monotonic_ns(), self.values
        if now_ns < self._next_ns:
            return
        values["at_ns"].append(now_ns - self._begin_ns)
        values["held"].append(count)
        values["used_bytes"].append(self._unused_bytes - memory.unused_bytes())
        if len(values["at_ns"]) > MAX_LOOKS:
            for name in values:
                values[name][:] = values[name][::2]
            self._every_ns = 2 * (self._every_ns or round(LOOK_S * 1e9))
        self._next_ns = now_ns + self._every_ns


def _patience_s(lifetime_s: float) -> float:
    """Return how long a process may show no sign of life in a trial that may take ``lifetime_s``."""
    return max(ANSWER_SECONDS, STILL_PART * lifetime_s)


def _early(state: ShareState) -> str:
    """Return the error for a strategy that finished before the gates opened: it failed, or its connections did."""
    assert state.outcome is not None
    errors = ", ".join(f"{count:,} x {text}" for text, count in state.outcome["errors"].items())
    why = state.outcome["error"] or errors or "without its answers"
    return f"the strategy process of share {state.share.index} ended before the gate was opened: {why}"
