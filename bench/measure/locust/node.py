"""A Locust worker that runs shares of a swarm: for each, a fake server and a strategy process on this machine.

A share is a Locust user. It asks the harness for a share, starts its server and strategy process, and crawls when told
to. The node watches the gates of its servers, reads memory when asked, and reports lost processes.
Messages go through Locust's master, with the type ``inflight``::

    harness                                 node
                                            {"say": "hello", ...versions}
    {"do": "welcome"}
                                            {"say": "share?", "user"}
    {"do": "take", "user", "share": {...}}
                                            {"say": "ready", "share", "pids", "knobs"}
    {"do": "layers", "stage"}
                                            {"say": "layers", "stage", "own": {...}, "system": {...}}
    {"do": "go", "share"}
                                            {"say": "gate", "held": {share: in flight}}
                                            {"say": "failed", "user", "fetches"}
    {"do": "release"}
                                            {"say": "crawled", "share", ...}
    {"do": "end"}
                                            {"say": "ended", ...CPU times}
                                            {"say": "lost", "what", "share", "pid", "how"}      at any time

As a program it reads one line of JSON, ``{"host", "port", "cpus", "patience_s", "silence_s"}``, and prints its progress
as lines ``{"told"}``. It ends with its input, with its master, or when it has heard nothing of the master for
``silence_s`` (null: never).
"""

import json
import math
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import gevent
import psutil
from gevent.event import AsyncResult, Event
from gevent.lock import BoundedSemaphore
from gevent.os import tp_read
from locust import runners, task
from locust.env import Environment

from inflight.bench.measure import host, memory, process, server
from inflight.bench.measure.locust.hosting import address_text
from inflight.bench.measure.locust.identity import identity
from inflight.bench.measure.locust.strategy_user import ProcessUser, strategy_process
from inflight.bench.measure.process import without_subject
from inflight.bench.measure.server import Server, ServerError
from inflight.bench.measure.worker import take_over_stdout
from inflight.fake_server.site import SiteConfig
from inflight.strategies.base import Job

MESSAGE = "inflight"
LOOK_S = 0.1
"""Interval between two looks at the gates of shares that are filling."""
SELDOM = 20
"""Shares that are full are looked at in every 20th round only, as nothing should change there."""
DRAINING = 5
"""Gates that are open are looked at in every 5th round only, as their servers are busy."""
CONNECT_S = 30.0
"""Timeout of a connect, and of the master's first message."""
AGAIN_S = 0.2
"""Interval between two connects to a master that does not listen yet."""
REPORT_EVERY_S = 1.0
"""Interval of reports to the master. Locust's default of 3 s is as long as a small swarm."""
AT_ONCE_PER_CORE = 2
"""Maximum number of pairs of processes per core that start at the same time: more would only wait for each other."""
REST_S = 5.0
"""Timeout for memory to settle before it is read."""
SETTLE_S = 0.3
"""Interval between two readings that must agree."""
BREATH_S = 0.002
"""Pause between the readings of two processes."""
LEAVE_S = 0.2
"""Time for the last message to be sent before this process ends."""


@dataclass
class Running:
    """A share whose processes are running."""

    number: int
    count: int
    server: Server
    worker: process.Worker
    knobs: dict[str, Any]
    go: Event = field(default_factory=Event)
    control: BoundedSemaphore = field(default_factory=BoundedSemaphore)
    """Lock for the server, which answers one command at a time. It must be a lock of gevent: one of threading, imported
    before gevent patched it, would block all greenlets."""
    held: int = 0
    crawling: bool = False
    lost: bool = False
    server_cpu_ns: int = 0

    def tell(self, command: str, **values: Any) -> dict[str, Any]:
        """Send the server a command. Raises ServerError when it has ended."""
        with self.control:
            return self.server.tell(command, **values)


class ShareUser(ProcessUser):
    """A Locust user that is one share of a swarm."""

    @task
    def crawl(self) -> None:
        """Run a share to its end, then wait for the end of the test."""
        NODES[self.environment].take_part(self)
        Event().wait()

    def note_failed(self, fetches: int) -> None:
        """Report failed fetches to the harness: the gate will never hold them."""
        if fetches:
            NODES[self.environment].say("failed", user=id(self), fetches=fetches)


class Node:
    """The shares of one Locust worker, and its messages to and from the harness."""

    def __init__(self, environment: Environment, cpus: host.Cpus, tell: Callable[[str], None]) -> None:
        self._tell = tell
        assert environment.runner is not None
        self._runner = environment.runner
        self._cpus = cpus
        self._asked: dict[int, AsyncResult[dict[str, Any] | None]] = {}
        self._shares: dict[int, Running] = {}
        self._starting = BoundedSemaphore(AT_ONCE_PER_CORE * (os.cpu_count() or 1))
        self._finished: set[int] = set()
        self._released = False
        self.welcome = Event()
        self._runner.register_message(MESSAGE, self._on_message, concurrent=True)
        self.say("hello", **identity(), host=socket.gethostname(), pid=os.getpid())
        self._runner.greenlet.spawn(self._look)

    def say(self, event: str, **values: Any) -> None:
        """Send a message to the harness."""
        self._runner.send_message(MESSAGE, {"say": event, **values})

    # The life of a share, in the greenlet of its user

    def take_part(self, user: ShareUser) -> None:
        """Ask for a share, start its processes, crawl when told to, and report the outcome."""
        number = id(user)
        answer = self._asked[number] = AsyncResult()
        self.say("share?", user=number)
        share = answer.get()
        if share is None:  # Locust has started another user in place of one that was lost
            return
        with ExitStack() as stack:
            try:
                self._run(share, user, stack)
            except gevent.GreenletExit:
                if share["index"] not in self._finished:
                    self._say_lost(share["index"], "Locust user", "was stopped by Locust, or on its page")
                raise

    def _run(self, share: dict[str, Any], user: ShareUser, stack: ExitStack) -> None:
        try:
            with self._starting:
                running = _started(share, self._cpus, stack)
        except (ServerError, process.WorkerError, OSError) as error:
            what = "server" if isinstance(error, ServerError) else "strategy process"
            self._say_lost(share["index"], what, without_subject(error))
        else:
            self._shares[running.number] = running
            try:
                self._crawl(running, share, user)
            finally:
                del self._shares[running.number]

    def _say_lost(self, share: int, what: str, how: str) -> None:
        """Report a loss of a share that is not running."""
        self._tell(f"share {share}: lost, its {what} {how}")
        self.say("lost", share=share, what=what, pid=None, how=how, in_flight=0)

    def _crawl(self, running: Running, share: dict[str, Any], user: ShareUser) -> None:
        """Crawl a share, then keep its processes until Locust stops the user, as memory may be read until then."""
        pids = {"strategy process": running.worker.pid, "server": running.server.process.pid}
        self.say("ready", share=running.number, pids=pids, knobs=running.knobs)
        running.go.wait()
        self._tell(f"share {running.number}: starting {running.count:,} fetches")
        try:
            running.crawling = True
            outcome = user.crawl_once(running.worker, share["strategy"])
        except process.WorkerError as error:
            self._lose(running, "strategy process", running.worker.pid, error)
            user.note_failure(share["strategy"], str(error))
        else:
            self._finished.add(running.number)
            self.say("crawled", share=running.number, outcome=outcome, server=self._last_counts(running))
            self._tell(f"share {running.number}: finished")
        finally:
            running.crawling = False
        Event().wait()

    def _last_counts(self, running: Running) -> dict[str, Any] | None:
        """Return the counts of a share's server; None when it has ended."""
        try:
            stats: dict[str, Any] = running.tell("stats")["stats"]
        except ServerError as error:
            self._lose_server(running, error)
            return None
        return {"requests": stats["requests"], "cpu_ns": stats["cpu_ns"] - running.server_cpu_ns}

    def _lose_server(self, running: Running, error: ServerError) -> None:
        self._lose(running, "server", running.server.process.pid, error)

    def _lose(self, running: Running, what: str, pid: int, error: Exception) -> None:
        """Report a lost process, and ignore what its loss does to the other process of its pair."""
        if not running.lost:
            running.lost, how = True, without_subject(error)
            self._tell(f"share {running.number}: lost, its {what} {how}")
            self.say("lost", share=running.number, what=what, pid=pid, how=how, in_flight=running.held)

    def _look(self) -> None:
        """Report repeatedly the number of fetches of each gate that has changed, and lost processes."""
        for turn in count():
            due = [running for running in self._shares.values() if self._is_due(running, turn)]
            # All at the same time, so that a busy server does not delay the others.
            answers = [gevent.spawn(self._look_at, running) for running in due]
            gevent.joinall(answers)
            if changed := {
                str(running.number): running.held for running, one in zip(due, answers, strict=True) if one.value
            }:
                self.say("gate", held=changed)
            gevent.sleep(LOOK_S)

    def _look_at(self, running: Running) -> bool:
        """Ask a gate how many fetches it holds; return whether that has changed."""
        try:
            in_flight = running.tell("stats")["stats"]["in_flight"]
        except ServerError as error:
            self._lose_server(running, error)
            return False
        before, running.held = running.held, in_flight
        return bool(before != in_flight)

    def _is_due(self, running: Running, turn: int) -> bool:
        if running.lost or not running.crawling:
            return False
        every = DRAINING if self._released else SELDOM if running.held == running.count else 1
        return turn % every == 0

    # Orders of the harness

    def _on_message(self, msg: Any, **_: Any) -> None:
        order = dict(msg.data)
        ORDERS[order.pop("do")](self, **order)

    def _take(self, user: int, share: dict[str, Any] | None) -> None:
        self._asked.pop(user).set(share)

    def _go(self, share: int) -> None:
        if (running := self._shares.get(share)) is not None:
            running.go.set()

    def _release(self) -> None:
        self._released = True
        gevent.joinall([gevent.spawn(self._release_one, running) for running in self._shares.values()])

    def _release_one(self, running: Running) -> None:
        try:
            running.tell("release")
        except ServerError as error:
            self._lose_server(running, error)

    def _layers(self, stage: str) -> None:
        """Report all layers of memory once they have settled."""
        give_up_s = time.monotonic() + REST_S
        own, system = memory.settled(lambda: (self._own_layers(), _system_layers()), give_up_s, gevent.sleep, SETTLE_S)
        self.say("layers", stage=stage, own=own, system=system, host=socket.gethostname())

    def _own_layers(self) -> memory.Layers:
        """Return the sums over all processes of this node's shares; names of servers begin with ``server_``."""
        sums: Counter[str] = Counter()
        for running in list(self._shares.values()):
            with suppress(psutil.Error):  # it has ended, which is reported elsewhere
                sums.update(self._layers_of(running))
            gevent.sleep(BREATH_S)  # let other greenlets run: a hundred processes take a while
        return dict(sums)

    def _layers_of(self, running: Running) -> memory.Layers:
        client, serving = memory.of_process(running.worker.pid), memory.of_process(running.server.process.pid)
        threads = psutil.Process(running.worker.pid).num_threads()
        try:
            connections = running.tell("stats")["stats"]["connections"]
        except ServerError as error:
            self._lose_server(running, error)
            return {}
        of_server = {f"server_{name}": size or 0 for name, size in serving.items()}
        counts = {"threads": threads, "connections": connections}
        return {name: size or 0 for name, size in client.items()} | of_server | counts

    def _welcome(self) -> None:
        self.welcome.set()

    def _end(self) -> None:
        self.say("ended", cpu_ns=time.process_time_ns())

    def _note(self, text: str, *, end: bool) -> None:
        """Print a message for the user of this node; end with exit code 2 if ``end`` is set."""
        if end:
            print(text, file=sys.stderr, flush=True)
            os._exit(2)
        self._tell(text)


ORDERS: dict[str, Callable[..., None]] = {
    "welcome": Node._welcome,  # noqa: SLF001
    "take": Node._take,  # noqa: SLF001
    "go": Node._go,  # noqa: SLF001
    "release": Node._release,  # noqa: SLF001
    "layers": Node._layers,  # noqa: SLF001
    "end": Node._end,  # noqa: SLF001
    "note": Node._note,  # noqa: SLF001
}
NODES: dict[Environment, Node] = {}


def _system_layers() -> memory.Layers:
    return memory.of_system() | {"unused_bytes": memory.unused_bytes()}


def _started(share: dict[str, Any], cpus: host.Cpus, stack: ExitStack) -> Running:
    """Start the server of a share, with its gate shut, and its strategy process with its job."""
    serving = stack.enter_context(server.running(cpus.server, share["ports_each"], share["answer_s"]))
    serving.tell("configure", site=SiteConfig.from_dict(share["site"]).to_dict())
    serving.tell("hold")
    roots = {"bases": serving.bases, "first": share["first"], "count": share["count"]}
    job = Job.from_dict(share["job"] | {"roots": ()})
    worker = stack.enter_context(strategy_process(share["strategy"], job, roots, cpus.client, share["lifetime_s"]))
    knobs = worker.expect("ready", "knobs")["knobs"]
    return Running(share["index"], share["count"], serving, worker, knobs, server_cpu_ns=serving.stats()["cpu_ns"])


def _end_with_input() -> None:
    """End this process, and its children with it, when its standard input ends; tell the master before.

    Without this message, the master would notice only after the silence limit.
    """
    while tp_read(0, 4096):
        pass
    for environment in NODES:
        assert environment.runner is not None
        environment.runner.send_message("quit")
    gevent.sleep(LEAVE_S)
    os._exit(0)


def _refusal(master: str, port: int, patience_s: float) -> str | None:
    """Wait until the master listens, which may be started later; return None, or why it cannot be reached."""
    give_up_s = time.monotonic() + patience_s
    while True:
        try:
            socket.create_connection((master, port), CONNECT_S).close()
        except OSError as error:
            if not isinstance(error, ConnectionRefusedError) or time.monotonic() > give_up_s:
                return error.strerror or str(error)
            gevent.sleep(AGAIN_S)
        else:
            return None


def main() -> int:
    """Join a master and serve it until it ends; return 0, or 2 if it cannot be joined."""
    order, say = json.loads(sys.stdin.readline()), take_over_stdout()

    def tell(sentence: str) -> None:
        say({"told": sentence})

    gevent.spawn(_end_with_input)
    master = address_text(order["host"], order["port"])
    if (refusal := _refusal(order["host"], order["port"], order["patience_s"])) is not None:
        print(f"no Locust master listens at {master}: {refusal}", file=sys.stderr)
        return 2
    server, client = (None if (own := order["cpus"][side]) is None else set(own) for side in ("server", "client"))
    cpus = host.Cpus(server, client)
    runners.WORKER_REPORT_INTERVAL = REPORT_EVERY_S
    silence_s = math.inf if order["silence_s"] is None else order["silence_s"]
    runners.MASTER_HEARTBEAT_TIMEOUT = silence_s  # type: ignore[assignment]  # its type is inferred from the default
    environment = Environment(user_classes=[ShareUser])
    try:
        with gevent.Timeout(CONNECT_S):
            runner = environment.create_worker_runner(order["host"], order["port"])
    except gevent.Timeout:
        print(f"the server at {master} is not a Locust master", file=sys.stderr)
        return 2
    node = NODES[environment] = Node(environment, cpus, tell)
    if not node.welcome.wait(CONNECT_S):
        print(f"the Locust master at {master} was not started by `inflight swarm`", file=sys.stderr)
        return 2
    tell(f"joined {master}")
    runner.greenlet.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())
