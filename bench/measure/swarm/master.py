"""Locust's master of a swarm: it starts the users on the Locust workers, and keeps the statistics and the web page.

::

    harness                                 master
                                            {"event": "ready", "knobs": {..., "port"}}
    {"do": "spawn", "users"}
    {"do": "report"}
                                            {"event": "statistics", "requests", "failures"}
"""

import locust  # noqa: F401  # isort: skip  (first of all: it patches what the others import)

import sys
from typing import Any

from locust import runners
from locust.dispatch import UsersDispatcher
from locust.env import Environment
from locust.runners import WorkerNode
from locust.stats import stats_history

from inflight.bench.measure.swarm.node import LOOPBACK, LocustPart, ShareUser
from inflight.bench.measure.worker import Say, serve

NEVER = sys.maxsize
"""Number of missed heartbeats after which Locust would end a test. Here the harness decides which node is lost: it sees
the processes, and heartbeats are late on a busy machine."""


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
    serve(Master)
