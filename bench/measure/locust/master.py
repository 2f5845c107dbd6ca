"""Locust's master of a swarm: it connects the harness and the nodes, and keeps Locust's statistics and web page.

It decides nothing. It passes messages of nodes to the harness, and orders of the harness to nodes. It reads lines of
JSON from standard input and prints lines of JSON. The first line it reads is ``{"bind", "port", "web_port",
"silence_s"}``::

    harness                                 master
                                            {"event": "listening", "port"}
                                            {"event": "joined" | "stranger" | "left", "node"}
                                            {"event": "silent", "node", "seconds"}
                                            {"event": "said", "node", "message"}
    {"do": "tell", "node", "message"}
    {"do": "spawn", "users", "nodes"}
    {"do": "statistics"}
                                            {"event": "statistics", "requests", "failures", "cpu_ns"}
    {"do": "quit"}
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import gevent
from gevent.fileobject import FileObject
from locust import runners
from locust.dispatch import UsersDispatcher
from locust.env import Environment
from locust.rpc import Message
from locust.runners import MasterRunner, WorkerNode
from locust.stats import stats_history

from inflight.bench.measure.locust.node import MESSAGE, ShareUser
from inflight.bench.measure.worker import take_over_stdout

LOOK_S = 0.5
"""Interval between two looks at the nodes."""
NEVER = sys.maxsize
"""Number of missed heartbeats after which Locust would end a test. Here the harness decides which node is lost: it sees
the processes of its own machine, and heartbeats are late on a busy machine."""

Say = Callable[[dict[str, Any]], None]


class Settled(UsersDispatcher):
    """Assign users to nodes only once: a share that is held cannot move to another node."""

    def add_worker(self, worker_node: WorkerNode) -> None:
        """Assign no users to a node that joins late."""

    def remove_worker(self, worker_node: WorkerNode) -> None:
        """Do not move the users of a lost node: the harness counts and names them."""


class Master:
    """Obey the orders of the harness, and report events of Locust."""

    def __init__(self, environment: Environment, runner: MasterRunner, silence_s: float, say: Say) -> None:
        self._environment = environment
        self._runner = runner
        self._say = say
        self._silence_s = silence_s
        self._unheard_s: dict[str, float] = {}
        """Time without a message from each node, counted in looks: a process too busy to look did not listen either."""
        runner.register_message(MESSAGE, self._on_message)
        environment.events.worker_connect.add_listener(self._on_joined)  # type: ignore[no-untyped-call]
        environment.events.heartbeat_sent.add_listener(self._on_heartbeat)  # type: ignore[no-untyped-call]
        runner.greenlet.spawn(self._look)

    def obey(self) -> None:
        """Obey orders until standard input ends or an order says to quit."""
        for line in FileObject(0, "rb", close=False):
            order = json.loads(line)
            if order["do"] == "quit":
                return
            ORDERS[order.pop("do")](self, **order)

    def _tell(self, node: str, message: dict[str, Any]) -> None:
        self._runner.send_message(MESSAGE, message, client_id=node)

    def _spawn(self, users: int, nodes: list[str]) -> None:
        """Start users on these nodes only, and send other Locust workers away.

        This runs in a greenlet, because Locust waits until all nodes have reported their users.
        """
        for stranger in {node.id for node in self._runner.clients.all} - set(nodes):
            self._runner.server.send_to_client(Message("quit", None, stranger))  # type: ignore[no-untyped-call]
            del self._runner.clients[stranger]
            self._say({"event": "stranger", "node": stranger})
        self._runner.greenlet.spawn(self._runner.start, users, users)

    def _statistics(self) -> None:
        total = self._runner.stats.total
        counts = {"requests": total.num_requests, "failures": total.num_failures}
        self._say({"event": "statistics", **counts, "cpu_ns": time.process_time_ns()})

    def _on_joined(self, client_id: str, **_: Any) -> None:
        self._say({"event": "joined", "node": client_id})

    def _on_heartbeat(self, client_id: str, **_: Any) -> None:
        """Note a sign of life. Locust fires this event when it answers the heartbeat of a node."""
        self._unheard_s[client_id] = 0

    def _on_message(self, msg: Message, **_: Any) -> None:
        self._unheard_s[msg.node_id] = 0
        self._say({"event": "said", "node": msg.node_id, "message": msg.data})

    def _look(self) -> None:
        """Report nodes that have left, and nodes that have been silent for too long."""
        known: set[str] = set()
        while True:
            gevent.sleep(LOOK_S)
            present = {node.id for node in self._runner.clients.all}
            for node in known - present:
                self._say({"event": "left", "node": node})
            for node in present:
                self._unheard_s[node] = self._unheard_s.get(node, 0) + LOOK_S
                if self._unheard_s[node] >= self._silence_s:
                    self._say({"event": "silent", "node": node, "seconds": self._silence_s})
                    self._unheard_s[node] = 0
            known = present


ORDERS: dict[str, Callable[..., None]] = {
    "tell": Master._tell,  # noqa: SLF001
    "spawn": Master._spawn,  # noqa: SLF001
    "statistics": Master._statistics,  # noqa: SLF001
}


def main() -> int:
    """Run a master until it receives the order to quit, and return 0. Locust ends the process if it cannot listen."""
    order = json.loads(sys.stdin.readline())
    say = take_over_stdout()
    runners.HEARTBEAT_LIVENESS = NEVER
    environment = Environment(user_classes=[ShareUser], dispatcher_class=Settled)
    runner = environment.create_master_runner(order["bind"], order["port"])
    if order["web_port"] is not None:
        runner.greenlet.spawn(stats_history, runner)
        environment.create_web_ui("127.0.0.1", order["web_port"])
    master = Master(environment, runner, order["silence_s"], say)
    say({"event": "listening", "port": runner.server.port})
    master.obey()
    runner.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())
