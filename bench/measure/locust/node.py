"""A Locust worker that keeps shares of a swarm: for each, a fake server and a strategy process, both on this machine.

A share is a Locust user. It asks the harness which share is its own, starts server and strategy process, and crawls
when told to. The node looks at the gates of its servers, reads memory when asked, and tells of what is lost.
Orders and answers go through Locust's master, as messages of the type ``inflight``::

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

As a program it takes one line of JSON, ``{"host", "port", "cpus", "patience_s", "silence_s"}``, prints what it does as
lines ``{"told"}``, and ends with its input, with its master, or when it has not heard of the master for ``silence_s``
(null: never).
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
from locust import runners, task
from locust.env import Environment

from inflight.bench.measure import host, memory, process, server
from inflight.bench.measure.locust.hosting import address_text
from inflight.bench.measure.locust.identity import identity
from inflight.bench.measure.locust.lifeline import end_with_input
from inflight.bench.measure.locust.strategy_user import ProcessUser, strategy_process
from inflight.bench.measure.server import Server, ServerError
from inflight.bench.measure.worker import take_over_stdout
from inflight.fake_server.site import SiteConfig
from inflight.strategies.base import Job

MESSAGE = "inflight"
LOOK_S = 0.1
"""So often the gates of shares that are on their way are looked at."""
SELDOM = 20
"""Shares that are full are looked at in every twentieth round only: nothing should happen there."""
DRAINING = 5
"""Gates that were opened are looked at in every fifth round: their servers have enough to do."""
CONNECT_S = 30.0
AGAIN_S = 0.2
REPORT_EVERY_S = 1.0
"""So often Locust's statistics go to the master; Locust's own three seconds are as long as a small swarm."""
AT_ONCE_PER_CORE = 2
"""So many pairs of processes are started at a time, for each core: more of them only wait for each other."""
REST_S = 5.0
SETTLE_S = 0.3
BREATH_S = 0.002
"""Between two processes that are read."""


@dataclass
class Running:
    """A share that has its processes."""

    number: int
    count: int
    server: Server
    worker: process.Worker
    knobs: dict[str, Any]
    go: Event = field(default_factory=Event)
    control: BoundedSemaphore = field(default_factory=BoundedSemaphore)
    """The server answers one command at a time. A lock of gevent's, for greenlets take turns with it: one of threading
    that was imported before gevent patched it would stop them all."""
    held: int = 0
    crawling: bool = False
    lost: bool = False
    server_cpu_ns: int = 0

    def tell(self, command: str, **values: Any) -> dict[str, Any]:
        """Send the server a command. Raises ServerError when it is gone."""
        with self.control:
            return self.server.tell(command, **values)


class ShareUser(ProcessUser):
    """A Locust user that is one share of a swarm."""

    @task
    def crawl(self) -> None:
        """Take a share and bring it to its end; then wait for the test's."""
        NODES[self.environment].take_part(self)
        Event().wait()

    def note_failed(self, fetches: int) -> None:
        """Tell the harness of fetches that failed: the gate will never hold them."""
        if fetches:
            NODES[self.environment].say("failed", user=id(self), fetches=fetches)


class Node:
    """What the shares of one Locust worker have in common."""

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
        """Tell the harness something."""
        self._runner.send_message(MESSAGE, {"say": event, **values})

    # The life of a share, in the greenlet of its user

    def take_part(self, user: ShareUser) -> None:
        """Ask for a share, start its processes, crawl when told to, and say what came of it."""
        number = id(user)
        answer = self._asked[number] = AsyncResult()
        self.say("share?", user=number)
        share = answer.get()
        if share is None:  # Locust has started one more user than there are shares, in place of one that was lost
            return
        with ExitStack() as stack:
            try:
                self._bring_to_its_end(share, user, stack)
            except gevent.GreenletExit:
                if share["index"] not in self._finished:
                    self._say_lost(share["index"], "Locust user", "was stopped by Locust, or on its page")
                raise

    def _bring_to_its_end(self, share: dict[str, Any], user: ShareUser, stack: ExitStack) -> None:
        try:
            with self._starting:
                running = _started(share, self._cpus, stack)
        except ServerError as error:
            self._say_lost(share["index"], "server", str(error).removeprefix("the fake server "))
        except (process.WorkerError, OSError) as error:
            self._say_lost(share["index"], "strategy process", str(error).removeprefix("the worker "))
        else:
            self._shares[running.number] = running
            try:
                self._crawl(running, share, user)
            finally:
                del self._shares[running.number]

    def _say_lost(self, share: int, what: str, how: str) -> None:
        """Say of a share that does not run that something of it was lost."""
        self._tell(f"share {share}: lost, its {what} {how}")
        self.say("lost", share=share, what=what, pid=None, how=how, in_flight=0)

    def _crawl(self, running: Running, share: dict[str, Any], user: ShareUser) -> None:
        """Let a share crawl; then keep its processes until Locust stops the user: memory may be read until then."""
        pids = {"strategy process": running.worker.pid, "server": running.server.process.pid}
        self.say("ready", share=running.number, pids=pids, knobs=running.knobs)
        running.go.wait()
        self._tell(f"share {running.number}: {running.count:,} fetches are let go")
        try:
            running.crawling = True
            outcome = user.crawl_once(running.worker, share["strategy"])
        except process.WorkerError as error:
            self._lose(running, "strategy process", running.worker.pid, str(error).removeprefix("the worker "))
            user.note_failure(share["strategy"], str(error))
        else:
            self._finished.add(running.number)
            self.say("crawled", share=running.number, outcome=outcome, server=self._last_counts(running))
            self._tell(f"share {running.number}: finished")
        finally:
            running.crawling = False
        Event().wait()

    def _last_counts(self, running: Running) -> dict[str, Any] | None:
        """Return what the server of a share counted; None when it is gone."""
        try:
            stats: dict[str, Any] = running.tell("stats")["stats"]
        except ServerError as error:
            self._lose_server(running, error)
            return None
        return {"requests": stats["requests"], "cpu_ns": stats["cpu_ns"] - running.server_cpu_ns}

    def _lose_server(self, running: Running, error: ServerError) -> None:
        self._lose(running, "server", running.server.process.pid, str(error).removeprefix("the fake server "))

    def _lose(self, running: Running, what: str, pid: int, how: str) -> None:
        """Say that a process is lost. What its loss does to the other one of its pair is no news."""
        if not running.lost:
            running.lost = True
            self._tell(f"share {running.number}: lost, its {what} {how}")
            self.say("lost", share=running.number, what=what, pid=pid, how=how, in_flight=running.held)

    def _look(self) -> None:
        """Say again and again how many fetches each gate holds, where that has changed, and what has been lost."""
        for turn in count():
            due = [running for running in self._shares.values() if self._is_due(running, turn)]
            # All at once: a server that answers ten thousand others first lets nobody else wait for it.
            answers = [gevent.spawn(self._look_at, running) for running in due]
            gevent.joinall(answers)
            if changed := {
                str(running.number): running.held for running, one in zip(due, answers, strict=True) if one.value
            }:
                self.say("gate", held=changed)
            gevent.sleep(LOOK_S)

    def _look_at(self, running: Running) -> bool:
        """Ask a gate how many it holds; tell whether that is news."""
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

    # What the harness orders

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
        """Read all layers of memory as soon as they are at rest, and say what they are."""
        give_up_s = time.monotonic() + REST_S
        own, system = memory.settled(lambda: (self._own_layers(), _system_layers()), give_up_s, gevent.sleep, SETTLE_S)
        self.say("layers", stage=stage, own=own, system=system, host=socket.gethostname())

    def _own_layers(self) -> memory.Layers:
        """Return the sums over all processes of this node's shares, those of the servers under names of their own."""
        sums: Counter[str] = Counter()
        for running in list(self._shares.values()):
            with suppress(psutil.Error):  # it is lost, and that is said elsewhere
                sums.update(self._layers_of(running))
            gevent.sleep(BREATH_S)  # a hundred processes take a while: other greenlets go on meanwhile
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
        """Tell whoever has started this node something; end, if there is nothing to do here."""
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
    """Start server and strategy process of a share: the one with its gate shut, the other with its job."""
    serving = stack.enter_context(server.running(cpus.server, share["ports_each"], share["answer_s"]))
    serving.tell("configure", site=SiteConfig.from_dict(share["site"]).to_dict())
    serving.tell("hold")
    roots = {"bases": serving.bases, "first": share["first"], "count": share["count"]}
    job = Job.from_dict(share["job"] | {"roots": ()})
    worker = stack.enter_context(strategy_process(share["strategy"], job, roots, cpus.client, share["lifetime_s"]))
    knobs = worker.expect("ready", "knobs")["knobs"]
    return Running(share["index"], share["count"], serving, worker, knobs, server_cpu_ns=serving.stats()["cpu_ns"])


def _take_leave() -> None:
    """Tell the master that this node ends, which would miss it only after a long silence."""
    for environment in NODES:
        assert environment.runner is not None
        environment.runner.send_message("quit")


def _refusal(master: str, port: int, patience_s: float) -> str | None:
    """Wait until somebody listens where the master should, which may be started later; return why nobody does."""
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
    """Join a master and serve it until it ends; return 0, or 2 when there is none."""
    order, say = json.loads(sys.stdin.readline()), take_over_stdout()

    def tell(sentence: str) -> None:
        say({"told": sentence})

    end_with_input(_take_leave)
    if (refusal := _refusal(order["host"], order["port"], order["patience_s"])) is not None:
        print(f"nobody listens at {order['host']}:{order['port']}: {refusal}", file=sys.stderr)
        return 2
    server, client = (None if (own := order["cpus"][side]) is None else set(own) for side in ("server", "client"))
    cpus = host.Cpus(server, client)
    runners.WORKER_REPORT_INTERVAL = REPORT_EVERY_S
    silence_s = math.inf if order["silence_s"] is None else order["silence_s"]
    runners.MASTER_HEARTBEAT_TIMEOUT = silence_s  # type: ignore[assignment]  # Locust infers int from its default
    environment = Environment(user_classes=[ShareUser])
    try:
        with gevent.Timeout(CONNECT_S):
            runner = environment.create_worker_runner(order["host"], order["port"])
    except gevent.Timeout:
        print(f"what listens at {order['host']}:{order['port']} is no Locust master", file=sys.stderr)
        return 2
    node = NODES[environment] = Node(environment, cpus, tell)
    if not node.welcome.wait(CONNECT_S):
        print(f"the Locust master at {order['host']}:{order['port']} is not one of `inflight swarm`", file=sys.stderr)
        return 2
    tell(f"joined {address_text(order['host'], order['port'])}")
    runner.greenlet.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())
