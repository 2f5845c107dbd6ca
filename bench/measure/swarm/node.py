"""The Locust processes of a swarm, as ``python -m inflight.bench.measure.swarm.node master`` or ``worker``.

The master starts the users on the Locust workers, and keeps the statistics and the web page::

    harness                                 master
                                            {"event": "ready", "knobs": {..., "port"}}
    {"do": "spawn", "users"}
    {"do": "report"}
                                            {"event": "statistics", "requests", "failures"}

Each user of a worker (a node) is a share, and runs a strategy process. It asks the harness for a share, starts its
strategy process, and crawls when told to::

    harness                                 node
                                            {"event": "ready", "knobs"}          the master has accepted it
                                            {"event": "free", "user"}
    {"do": "take", "user", "share": {...}}                                       null: all shares are taken
                                            {"event": "started", "share", "pid", "knobs"}
    {"do": "go", "share"}
                                            {"event": "failed", "share", "fetches"}
                                            {"event": "crawled", "share", "outcome"}
                                            {"event": "lost", "what", "share", "pid", "how"}     at any time
"""

import locust  # noqa: F401  # isort: skip  (first of all: it patches what the others import)

import json
import math
import os
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, ClassVar

import gevent
from gevent.event import AsyncResult, Event
from gevent.fileobject import FileObject
from gevent.lock import BoundedSemaphore
from locust import runners, task
from locust.dispatch import UsersDispatcher
from locust.env import Environment
from locust.runners import WorkerNode
from locust.stats import stats_history

from inflight.bench.measure import process
from inflight.bench.measure.process import without_subject
from inflight.bench.measure.swarm.strategy_user import ProcessUser, strategy_process
from inflight.bench.measure.worker import Say, WorkerPart, serve

LOOPBACK = "127.0.0.1"
"""The address at which Locust's processes meet."""
REPORT_EVERY_S = 1.0
"""Interval of reports to the master. Locust's default of 3 s is as long as a small swarm."""
NEVER = sys.maxsize
"""Number of missed heartbeats after which Locust would end a test. Here the harness decides which node is lost: it sees
the processes, and heartbeats are late on a busy machine."""
AT_ONCE_PER_CORE = 2
"""Maximum number of processes per core that start at the same time: more would only wait for each other."""


class LocustPart(WorkerPart):
    """A Locust process that follows orders, and ends with its input: a share that is held cannot be stopped nicely."""

    def orders(self) -> Iterable[dict[str, Any]]:
        """Yield the orders of the harness without blocking Locust."""
        for line in FileObject(0, "rb", close=False):
            yield json.loads(line)

    def end(self) -> None:
        """End this process; its strategy processes end with their input."""
        os._exit(0)


class ShareUser(ProcessUser):
    """A Locust user that is one share of a swarm."""

    node: ClassVar["Node"]
    """The only node of this process."""
    index: int
    """Number of its share, from 0."""

    @task
    def crawl(self) -> None:
        """Run a share to its end, then wait for the end of the test: memory may be read until then."""
        answer = self.node.asked[id(self)] = AsyncResult()
        self.node.say({"event": "free", "user": id(self)})
        if (share := answer.get()) is not None:  # Locust has started another user in place of one that was lost
            self.index = share["index"]
            self._run(share)
        Event().wait()

    def _run(self, share: dict[str, Any]) -> None:
        """Start the strategy process of a share, wait for the order to go, crawl, and keep the process alive."""
        begin, pid, strategy = Event(), None, share["strategy"]
        self.node.begins[self.index] = begin
        roots = {name: share[name] for name in ("bases", "first", "count")}
        cpus = None if share["cpus"] is None else set(share["cpus"])
        try:
            with ExitStack() as stack:
                with self.node.starting:
                    program = strategy_process(strategy, share["job"], roots, cpus, share["lifetime_s"])
                    worker = stack.enter_context(program)
                    pid = worker.pid
                    knobs = worker.expect("ready", "knobs")["knobs"]
                self.node.say({"event": "started", "share": self.index, "pid": pid, "knobs": knobs})
                begin.wait()
                outcome = self.crawl_once(worker, strategy)
                self.node.say({"event": "crawled", "share": self.index, "outcome": outcome})
                Event().wait()  # keeps the strategy process alive until the end of the test
        except (process.WorkerError, OSError) as error:
            self._lose("strategy process", pid, without_subject(error))
            self.note_failure(strategy, str(error))
        except gevent.GreenletExit:
            self._lose("Locust user", None, "was stopped by Locust, or on its page")
            raise

    def _lose(self, what: str, pid: int | None, how: str) -> None:
        """Tell the harness which process of the share is lost, and how."""
        self.node.say({"event": "lost", "what": what, "share": self.index, "pid": pid, "how": how})

    def note_failed(self, fetches: int) -> None:
        """Report failed fetches to the harness: the gate will never hold them."""
        if fetches:
            self.node.say({"event": "failed", "share": self.index, "fetches": fetches})


class Node(LocustPart):
    """A Locust worker, and its messages to and from the harness."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        self.say = say
        self.asked: dict[int, AsyncResult[dict[str, Any] | None]] = {}
        """By the id of a user that is free: receives its share, or None."""
        self.begins: dict[int, Event] = {}
        """By the index of a share: set when its crawl may begin."""
        self.starting = BoundedSemaphore(AT_ONCE_PER_CORE * (os.cpu_count() or 1))
        runners.WORKER_REPORT_INTERVAL = REPORT_EVERY_S
        runners.MASTER_HEARTBEAT_TIMEOUT = math.inf  # type: ignore[assignment]  # it ends with its input
        ShareUser.node = self
        Environment(user_classes=[ShareUser]).create_worker_runner(LOOPBACK, order["port"])

    def take(self, user: int, share: dict[str, Any] | None) -> None:
        """Give a user its share."""
        self.asked.pop(user).set(share)

    def go(self, share: int) -> None:
        """Start the crawl of a share."""
        self.begins[share].set()


class Settled(UsersDispatcher):
    """Assign users to nodes only once: a share that is held cannot move to another node."""

    def add_worker(self, worker_node: WorkerNode) -> None:
        """Assign no users to a node that joins late."""

    def remove_worker(self, worker_node: WorkerNode) -> None:
        """Do not move the users of a lost node: the harness counts and names them."""


class Master(LocustPart):
    """Locust's master."""

    def __init__(self, order: dict[str, Any], say: Say) -> None:
        super().__init__(order, say)
        runners.HEARTBEAT_LIVENESS = NEVER
        environment = Environment(user_classes=[ShareUser], dispatcher_class=Settled)
        self._runner = environment.create_master_runner(LOOPBACK, 0)
        if order["web_port"] is not None:
            self._runner.greenlet.spawn(stats_history, self._runner)
            environment.create_web_ui(LOOPBACK, order["web_port"])

    def knobs(self) -> dict[str, Any]:
        """Return also the port on which it listens."""
        return super().knobs() | {"port": self._runner.server.port}

    def spawn(self, users: int) -> None:
        """Start users in a greenlet, because Locust waits until all nodes have reported their users."""
        self._runner.greenlet.spawn(self._runner.start, users, users)

    def report(self) -> dict[str, Any]:
        """Return the sums of Locust's statistics."""
        total = self._runner.stats.total
        return {"event": "statistics", "requests": total.num_requests, "failures": total.num_failures}


if __name__ == "__main__":
    serve({"master": Master, "worker": Node}[sys.argv[1]])
