"""Track the processes of a swarm: Locust's master and workers (nodes), and a server and a strategy process per share.

``swarm.run`` gives the orders (``spawn``, ``go``, ``release``) and calls ``listen`` again and again: it processes the
messages of all processes, and updates the state of each share. A *share* is the part of the pages that one strategy
process fetches from one server, whose gate holds its responses. A process that ends early, or stands still, is added to
``lost``; the others go on. The nodes are in ``node``.
"""

import selectors
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import psutil

from inflight.bench.measure import host, process, server
from inflight.bench.measure.process import without_subject
from inflight.bench.measure.server import Server, ServerError
from inflight.bench.measure.swarm.layout import Layout, Share
from inflight.bench.measure.trial import Hosting
from inflight.bench.measure.worker import raise_descriptor_limit
from inflight.fake_server.site import SiteConfig

LOCUST = "inflight.bench.measure.swarm.node"
"""The program of a Locust process."""
AT_ONCE_PER_CORE = 2
"""Maximum number of servers per core that start at the same time: more would only wait for each other."""
SELDOM = 20
"""Shares that are full are looked at in every 20th round only, as nothing should change there."""
DRAINING = 5
"""Gates that are open are looked at in every 5th round only, as their servers are busy."""

LOOK_EVERY_S = 1.0
"""Interval between two looks at the signs of life of a Locust process."""
WAITING_ITS_TURN = frozenset({psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP})
"""It runs or waits for a core; it waits for the kernel (proc(5), stat: R and D)."""

Stage = Literal["waiting", "starting", "ready", "going", "crawled", "lost"]
"""What a share does: it waits for a user of Locust, its process is starting, is ready, crawls, has crawled, or is
lost."""


class CrowdError(process.TrialError):
    """A swarm that cannot be started or cannot go on; the message says why."""


@dataclass
class ShareState:
    """The state of a share: its processes, its stage, and the number of fetches that its gate holds."""

    share: Share
    closing: ExitStack = field(default_factory=ExitStack)
    """Ends its server."""
    server: Server | None = None
    asked_s: float | None = None
    """When the server was asked for its counts; None: it has answered."""
    node: process.Worker | None = None
    """The Locust worker that runs its strategy process."""
    pid: int = 0
    """The strategy process."""
    stage: Stage = "waiting"
    held: int = 0
    """Number of fetches that its gate holds."""
    failed: int = 0
    """Number of fetches that have failed, which the gate will never hold."""
    knobs: dict[str, Any] = field(default_factory=dict)
    """The settings that its strategy process has reported."""
    outcome: dict[str, Any] | None = None
    """The report of its strategy process; None: it has not finished."""
    requests: int = 0
    """Number of requests that its server has counted in the end."""

    @property
    def full(self) -> bool:
        """Whether its gate holds all fetches that have not failed."""
        return self.held + self.failed >= self.share.count

    def ask(self) -> None:
        """Ask the server for its counts, which it may answer later. Raises ServerError."""
        assert self.server is not None
        self.asked_s = time.monotonic()
        self.server.ask("stats")

    def answered(self) -> Server:
        """Return the server once it has answered. Raises ServerError."""
        assert self.server is not None
        if self.asked_s is not None:
            self.held = self.server.answer("stats")["stats"]["in_flight"]
            self.asked_s = None
        return self.server


class Pulse:
    """Measure how long a process has been frozen. Call ``stands_still`` at least every LOOK_EVERY_S.

    It reads counters of the kernel instead of heartbeats. A healthy process that waits for a core, for memory or for a
    disk cannot send a heartbeat. A process that is stopped or deadlocked gets no more context switches, even on an idle
    machine.
    """

    def __init__(self, pid: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._process = psutil.Process(pid)
        self._clock = clock
        self._looked_s = clock()
        self._switches = self._context_switches()
        self.still_s = 0.0
        """Seconds without a sign of life. However long the time between two looks, it counts as LOOK_EVERY_S."""

    def stands_still(self, limit_s: float) -> bool:
        """Return whether the process has shown no sign of life for ``limit_s``; False once it has ended."""
        passed_s = self._clock() - self._looked_s
        if passed_s < LOOK_EVERY_S:
            return False
        self._looked_s += passed_s
        before = self._switches
        try:
            self._switches = self._context_switches()
            alive = self._switches != before or self._process.status() in WAITING_ITS_TURN
        except psutil.NoSuchProcess:
            return False
        self.still_s = 0.0 if alive else self.still_s + LOOK_EVERY_S
        return self.still_s >= limit_s

    def _context_switches(self) -> int:
        """Return how often the process has been given a core so far."""
        return sum(self._process.num_ctx_switches())


class Crowd:
    """The processes of one swarm. Use ``gathered()`` to get one."""

    def __init__(self, laid: Layout, cpus: host.Cpus, patience_s: float) -> None:
        self.shares = [ShareState(share) for share in laid.shares]
        self.nodes: list[process.Worker] = []
        self.lost: list[dict[str, Any]] = []
        self.statistics: dict[str, int] = {}
        """What Locust's master has counted; empty until it answers."""
        self.begin_ns: int | None = None
        """The start of the fetches, from which the times of losses count."""
        self._cpus, self._patience_s = cpus, patience_s  # how long a process may show no sign of life
        self._selector = selectors.DefaultSelector()
        self._pulses: dict[int, Pulse] = {}
        self._order: Mapping[str, Any] = {}
        self._released = False
        self._turn = 0

    def start_locust(self, nodes: int, web_port: int | None, lifetime_s: float, stack: ExitStack) -> None:
        """Start Locust's master and ``nodes`` workers. Raises CrowdError when one of them does not start.

        The master serves its page at ``web_port``, None: no page. ``stack`` ends them all.
        """
        cpus = self._cpus.server
        self.master = stack.enter_context(process.running([LOCUST, "master"], {"web_port": web_port}, cpus, lifetime_s))
        port = self._knobs(self.master, "Locust's master")["port"]
        for _ in range(nodes):
            node = process.running([LOCUST, "worker"], {"port": port}, cpus, lifetime_s)
            self.nodes.append(stack.enter_context(node))
        for worker in self.nodes:
            self._knobs(worker, "a Locust worker")
        for program in (self.master, *self.nodes):
            self._pulses[program.pid] = Pulse(program.pid)
            self._selector.register(program.output, selectors.EVENT_READ, (self._hear, program))

    def _knobs(self, started: process.Worker, name: str) -> dict[str, Any]:
        """Return the settings of a Locust process once it is ready. Raises CrowdError with its ``name``."""
        try:
            knobs: dict[str, Any] = started.expect("ready", "knobs")["knobs"]
        except process.WorkerError as error:
            raise CrowdError(f"{name} could not be started: {without_subject(error)}") from error
        return knobs

    def start_servers(self, site: SiteConfig, ports_each: int) -> None:
        """Start the servers of all shares, with their gates shut; shares without a server are lost.

        ``ports_each`` is the number of ports of each server.
        """

        def start(state: ShareState) -> None:
            """Start the server of a share, and shut its gate."""
            serving = server.running(self._cpus.server, ports_each, self._patience_s)
            state.server = state.closing.enter_context(serving)
            state.server.tell("configure", site=site.to_dict())
            state.server.tell("hold")

        pool = ThreadPoolExecutor(AT_ONCE_PER_CORE * len(host.usable_cores()))
        try:
            started = [pool.submit(start, state) for state in self.shares]
            for state, fake_server in zip(self.shares, started, strict=True):
                try:
                    fake_server.result()
                except (ServerError, OSError) as error:
                    self._lose_server(state, error)
                else:
                    assert state.server is not None
                    self._selector.register(state.server.control, selectors.EVENT_READ, (self._hear_gate, state))
        finally:
            pool.shutdown(cancel_futures=True)

    def stop_servers(self) -> None:
        """End all servers, at the same time: each takes a while to close its connections."""
        with ThreadPoolExecutor(max(1, len(self.shares))) as pool:
            list(pool.map(lambda state: state.closing.close(), self.shares))

    # Orders of the harness

    def spawn(self, order: Mapping[str, Any]) -> None:
        """Let Locust start a user for each share; ``order`` has the values that all shares have in common."""
        self._order = order
        self.master.send({"do": "spawn", "users": len(self.shares)})

    def go(self, state: ShareState) -> None:
        """Start a share's crawl."""
        assert state.node is not None
        state.stage = "going"
        self._send(state.node, {"do": "go", "share": state.share.index})

    def release(self) -> None:
        """Open all gates."""
        self._released = True
        for state in self.alive("going"):  # all at the same time: opening takes a server a while
            with self._losing(state):
                state.answered().ask("release")
        for state in self.alive("going"):
            with self._losing(state):
                state.answered().answer("release")

    def ask_statistics(self) -> None:
        """Ask the master for its statistics, which ``listen`` receives."""
        self.statistics = {}
        self._send(self.master, {"do": "report"})

    # State

    def alive(self, *stages: Stage) -> list[ShareState]:
        """Return the shares that are in one of these stages."""
        return [state for state in self.shares if state.stage in stages]

    @property
    def without_server(self) -> list[ShareState]:
        """The shares that lost their server, and whose strategy process has not reported its outcome yet."""
        servers = {loss["share"] for loss in self.lost if loss["what"] == "server"}
        living = [state for state in self.shares if state.node in self.nodes and state.outcome is None]
        return [state for state in living if state.share.index in servers]

    @property
    def held(self) -> int:
        """Number of fetches that the gates hold."""
        return sum(state.held for state in self.shares if state.stage != "lost")

    # Messages

    def listen(self, seconds: float) -> None:
        """Process messages for this many seconds. Raises CrowdError when Locust's master has ended or is frozen."""
        until_s = time.monotonic() + seconds
        self._look_after_all()
        while True:  # at least once, also for 0 seconds
            left_s = max(0.0, until_s - time.monotonic())
            for key, _ in self._selector.select(left_s):
                hear, whom = key.data
                hear(whom)
            if left_s <= 0:
                return

    def _look_after_all(self) -> None:
        """Ask the gates that may have changed, and give up processes without a sign of life."""
        self._turn += 1
        now_s = time.monotonic()
        for state in self.alive("going"):
            assert state.server is not None
            if state.asked_s is not None:
                if now_s - state.asked_s > self._patience_s:
                    state.server.process.kill()
                    self._lose_server(state, "does not answer")
                continue
            turns = SELDOM if state.full else 1
            if self._turn % (DRAINING if self._released else turns) == 0:
                with self._losing(state):
                    state.ask()
        for program in (self.master, *self.nodes):
            pulse = self._pulses[program.pid]
            if pulse.stands_still(self._patience_s):
                program.process.kill()
                self._lose_locust(program, f"stood still for {pulse.still_s:.0f} s and was killed")

    def _hear(self, program: process.Worker) -> None:
        """Process the messages of master or node; the method ``_note_EVENT`` is called with the values of each."""
        try:
            while True:
                message = program.hear("event")
                getattr(self, f"_note_{message.pop('event')}")(program, **message)
                if b"\n" not in program.buffer:
                    return
        except process.WorkerTimeoutError:
            raise
        except process.WorkerError as error:
            self._lose_locust(program, without_subject(error))

    def _send(self, program: process.Worker, order: dict[str, Any]) -> None:
        """Send an order to a Locust process, which may turn out to be lost."""
        try:
            program.send(order)
        except process.WorkerError as error:
            self._lose_locust(program, without_subject(error))

    def _lose_locust(self, program: process.Worker, how: str) -> None:
        """Give up a node with its shares. Raises CrowdError for the master."""
        if program is self.master:
            raise CrowdError(f"Locust's master {how}")
        if program not in self.nodes:
            return
        self.nodes.remove(program)
        self._selector.unregister(program.output)
        with_it = [state for state in self.shares if state.node is program and state.stage not in {"crawled", "lost"}]
        shares = "1 share" if len(with_it) == 1 else f"{len(with_it)} shares"
        held = sum(state.held for state in with_it)
        self._add_loss("Locust worker", None, program.pid, f"{how}, with {shares}", held)
        for state in with_it:
            state.stage = "lost"

    def _add_loss(self, what: str, share: int | None, pid: int | None, how: str, in_flight: int) -> None:
        """Add a process to ``lost``, with the fetches that it had in flight, and the time since the start.

        ``share`` is the index of its share; None for a Locust worker, which has several.
        """
        at_ns = 0 if self.begin_ns is None else time.monotonic_ns() - self.begin_ns
        self.lost.append(
            {
                "what": what,
                "share": share,
                "pid": pid,
                "how": how,
                "in_flight": in_flight,
                "at_ns": at_ns,
            }
        )

    def _note_lost(self, _node: process.Worker, share: int, what: str, pid: int | None, how: str) -> None:
        """Note the loss of a process of a share, and ignore what it does to the other process."""
        state = self.shares[share]
        if state.stage not in {"lost", "crawled"}:
            state.stage = "lost"
            self._add_loss(what, share, pid, how, state.held)

    def _note_free(self, node: process.Worker, user: int) -> None:
        """Note that a user of a node is free, and give it the next share, or none."""
        share, state = None, next(iter(self.alive("waiting")), None)
        if state is not None:
            assert state.server is not None
            state.stage, state.node = "starting", node
            share = {**asdict(state.share), **self._order, "bases": state.server.bases}
        self._send(node, {"do": "take", "user": user, "share": share})

    def _note_started(self, _node: process.Worker, share: int, pid: int, knobs: dict[str, Any]) -> None:
        """Note that the strategy process of a share is ready."""
        state = self.shares[share]
        state.pid, state.knobs = pid, knobs
        if state.stage == "starting":
            state.stage = "ready"

    def _note_failed(self, _node: process.Worker, share: int, fetches: int) -> None:
        """Note that fetches of a share have failed."""
        self.shares[share].failed += fetches

    def _note_crawled(self, _node: process.Worker, share: int, outcome: dict[str, Any]) -> None:
        """Note the outcome of a share, and what its server has counted."""
        state = self.shares[share]
        state.outcome = outcome
        if state.stage != "lost":
            with self._losing(state):
                state.requests = state.answered().stats()["requests"]
                state.stage, state.held = "crawled", 0

    def _note_statistics(self, _master: process.Worker, **statistics: int) -> None:
        """Note what Locust's master has counted."""
        self.statistics = statistics

    # Servers

    @contextmanager
    def _losing(self, state: ShareState) -> Iterator[None]:
        """Give up a share whose server turns out to be lost in the block."""
        try:
            yield
        except ServerError as error:
            self._lose_server(state, error)

    def _hear_gate(self, state: ShareState) -> None:
        """Note how many fetches a gate holds. A server that speaks without a question has ended."""
        if state.asked_s is None:
            with self._losing(state):
                state.ask()
        with self._losing(state):
            state.answered()

    def _lose_server(self, state: ShareState, how: object) -> None:
        """Give up a share whose server is lost; ``how`` says why."""
        pid = None
        if state.server is not None:
            pid, state.asked_s = state.server.process.pid, None
            if state.server.control in self._selector.get_map():
                self._selector.unregister(state.server.control)
        self._note_lost(self.master, state.share.index, "server", pid, without_subject(how))

    def connections(self, state: ShareState) -> int:
        """Return the number of connections of a share's server; 0 when it is lost."""
        if state.stage != "lost":
            with self._losing(state):
                return int(state.answered().stats()["connections"])
        return 0


@contextmanager
def gathered(
    laid: Layout, site: SiteConfig, cpus: host.Cpus, lifetime_s: float, patience_s: float, hosting: Hosting
) -> Iterator[Crowd]:
    """Start Locust and the servers; end all processes on exit. Raises CrowdError when Locust cannot be started."""
    raise_descriptor_limit()  # the harness has a connection to each server
    crowd = Crowd(laid, cpus, patience_s)
    with ExitStack() as stack:
        stack.callback(crowd.stop_servers)
        crowd.start_locust(hosting.nodes, hosting.web_port, lifetime_s, stack)
        crowd.start_servers(site, laid.ports_each)
        yield crowd
