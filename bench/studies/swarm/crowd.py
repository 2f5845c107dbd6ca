"""A swarm's processes as the harness sees them: Locust's master, its workers (nodes), and the shares that they keep.

The harness speaks with the master through a pipe, and through it with the nodes (``node`` has the words).
What is said is taken in by ``Crowd.listen``, which keeps what is known of each node and share up to date; nothing is
lost silently: a process, a server or a node that ends before its time is an entry in ``lost``, and one that comes too
late in ``late``.
"""

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import psutil

from inflight.bench.measure import host, process
from inflight.bench.measure.locust.hosting import Hosting, address_text
from inflight.bench.measure.locust.identity import difference, identity
from inflight.bench.studies.swarm.layout import Share
from inflight.bench.studies.swarm.pulse import Pulse

START_S = 120.0
"""A limit for what hangs. A Locust worker of this machine that ends before it has joined is noticed at once."""
PATIENCE_S = 15.0
GONE_S = 20.0
"""Processes of ours that still run so long after their end was ordered are killed."""
QUIT_S = 10.0
_MASTER, _NODE = ("inflight.bench.measure.locust.master",), ("inflight.bench.measure.locust.node",)

Stage = Literal["waiting", "starting", "ready", "going", "crawled", "lost"]


class CrowdError(process.TrialError):
    """A swarm that cannot come together or go on; the message says why."""


@dataclass
class Node:
    """A Locust worker that has introduced itself."""

    name: str
    host: str
    pid: int
    said: dict[str, Any] = field(default_factory=dict)
    """What it answered last, by the word it answered with."""
    present: bool = True


@dataclass
class ShareState:
    """What is known of a share: who keeps it, how far it is, how many fetches its gate holds."""

    share: Share
    stage: Stage = "waiting"
    node: str | None = None
    held: int = 0
    failed: int = 0
    """Fetches that failed already: the gate will never hold them."""
    user: int = 0
    """The number of its Locust user, on its node."""
    knobs: dict[str, Any] = field(default_factory=dict)
    outcome: dict[str, Any] | None = None
    server: dict[str, Any] | None = None

    @property
    def full(self) -> bool:
        """Whether its gate holds all that can be held."""
        return self.held + self.failed >= self.share.count


class Crowd:
    """The processes of one swarm. ``gathered()`` makes one."""

    def __init__(self, master: process.Worker, port: int, silence_s: float) -> None:
        self.port = port
        self.nodes: dict[str, Node] = {}
        self.shares: list[ShareState] = []
        self.lost: list[dict[str, Any]] = []
        self.late: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.statistics: dict[str, int] | None = None
        self.begin_ns: int | None = None
        """When the order to go was given, from which losses are dated."""
        self._master = master
        self._master_pulse = Pulse(master.pid)
        self._silence_s = silence_s
        self._locals: dict[int, tuple[process.Worker, Pulse]] = {}
        self._order: Mapping[str, Any] = {}
        self._ours = identity()
        self._children: list[psutil.Process] = []
        self._spawned = False
        self._joined_names: set[str] = set()

    # What the harness orders

    def add_local(self, node: process.Worker) -> None:
        """Note that a node runs on this machine."""
        self._locals[node.pid] = node, Pulse(node.pid)

    def spawn(self, shares: Sequence[Share], order: Mapping[str, Any]) -> None:
        """Let Locust start a user for each share; ``order`` is what all shares have in common."""
        self.shares += [ShareState(share) for share in shares]
        self._order, self._spawned = order, True
        self._master.send({"do": "spawn", "users": len(shares), "nodes": [node.name for node in self.present]})

    def go(self, state: ShareState) -> None:
        """Let a share crawl."""
        assert state.node is not None
        state.stage = "going"
        self._tell(state.node, {"do": "go", "share": state.share.index})

    def tell_all(self, message: dict[str, Any]) -> None:
        """Give all nodes that are present the same order."""
        for node in self.present:
            self._tell(node.name, message)

    def ask_statistics(self) -> None:
        """Ask for what Locust has counted; it comes with ``listen``."""
        self.statistics = None
        self._master.send({"do": "statistics"})

    # What is known

    @property
    def locust_version(self) -> str:
        """The version of Locust here, and so everywhere."""
        return self._ours["locust"]

    @property
    def present(self) -> list[Node]:
        """The nodes that are there."""
        return [node for node in self.nodes.values() if node.present]

    def alive(self, *stages: Stage) -> list[ShareState]:
        """Return the shares that are in one of these stages."""
        return [state for state in self.shares if state.stage in stages]

    @property
    def bereft(self) -> list[ShareState]:
        """Return the shares that lost their server, and whose strategy process has not said yet what came of it."""
        servers = {loss["share"] for loss in self.lost if loss["what"] == "server"}
        return [state for state in self.shares if state.share.index in servers and state.outcome is None]

    @property
    def held(self) -> int:
        """How many fetches the gates hold."""
        return sum(state.held for state in self.shares if state.stage != "lost")

    def said_by_all(self, word: str) -> list[dict[str, Any]] | None:
        """Return what all nodes that are present have answered with this word; None until they all have."""
        answers = [node.said.get(word) for node in self.present]
        return [answer for answer in answers if answer is not None] if all(answers) else None

    def forget(self, word: str) -> None:
        """Forget earlier answers, before asking again."""
        for node in self.nodes.values():
            node.said.pop(word, None)

    # What is said

    def listen(self, seconds: float) -> None:
        """Take in what is said within so many seconds. Raises CrowdError when Locust's master is gone or frozen."""
        until_s = time.monotonic() + seconds
        while True:
            self._look_after_master()
            self._look_after_locals()
            left_s = until_s - time.monotonic()
            if self._master.wait_for_word(max(0.0, left_s)):
                message = self._hear()
                _EVENTS[message.pop("event")](self, **message)
            elif left_s <= 0:
                return

    def _hear(self) -> dict[str, Any]:
        try:
            return self._master.hear("event")
        except process.WorkerTimeoutError:
            raise
        except process.WorkerError as error:
            raise CrowdError(f"Locust's master {str(error).removeprefix('the worker ')}") from error

    def _tell(self, node: str, message: dict[str, Any]) -> None:
        self._master.send({"do": "tell", "node": node, "message": message})

    def _look_after_master(self) -> None:
        if self._master_pulse.stands_still(self._silence_s):
            raise CrowdError(f"Locust's master {_stood_still(self._master_pulse)}")

    def _look_after_locals(self) -> None:
        """Give up a node of this machine when it has ended, or has shown no sign of life for too long."""
        for pid, (local, pulse) in list(self._locals.items()):
            if local.process.poll() is not None:
                self._lose_local(pid, local.obituary().removeprefix("the worker "))
            elif pulse.stands_still(self._silence_s):
                local.process.kill()
                self._lose_local(pid, f"{_stood_still(pulse)} and was killed")

    def _lose_local(self, pid: int, how: str) -> None:
        del self._locals[pid]
        node = next((node for node in self.present if node.pid == pid), None) or Node("", "", pid)
        self._lose_node(node, how)

    def _is_local(self, node: Node) -> bool:
        return node.pid in self._locals and node.host == socket.gethostname()

    def _left(self, node: str) -> None:
        self._lose_other(node, "left")

    def _silent(self, node: str, seconds: float) -> None:
        self._lose_other(node, f"was silent for {seconds:.0f} s")

    def _lose_other(self, name: str, how: str) -> None:
        """Give up a node of another machine. Of this machine's nodes the processes say whether they are there."""
        node = self.nodes.get(name)
        if node is not None and node.present and not self._is_local(node):
            self._lose_node(node, how)

    def _lose_node(self, node: Node, how: str) -> None:
        node.present = False
        with_it = [state for state in self.shares if state.node == node.name and state.stage not in {"crawled", "lost"}]
        in_flight = sum(state.held for state in with_it)
        self._note_loss("Locust worker", None, node.pid, f"{how}, with {_shares(len(with_it))}", in_flight)
        for state in with_it:
            state.stage = "lost"

    def _note_loss(self, what: str, share: int | None, pid: int | None, how: str, in_flight: int) -> None:
        loss = {"what": what, "share": share, "pid": pid, "how": how, "in_flight": in_flight, "at_ns": self._at_ns()}
        self.lost.append(loss)

    def _at_ns(self) -> int:
        """Return how long ago the order to go was given; 0 before it."""
        return 0 if self.begin_ns is None else time.monotonic_ns() - self.begin_ns

    def _stranger(self, node: str) -> None:
        """Name a Locust worker that is none of ours, and was sent away."""
        self.late.append({"what": "Locust worker that is none of ours", "name": node, "at_ns": self._at_ns()})

    def _joined(self, node: str) -> None:
        """Wait for it to introduce itself; one that never does is none of ours."""
        self._joined_names.add(node)

    @property
    def strangers(self) -> set[str]:
        """Those that have joined and not introduced themselves, or not yet."""
        return self._joined_names - set(self.nodes)

    def _said(self, node: str, message: dict[str, Any]) -> None:
        word = message.pop("say")
        if word == "hello":
            self._greet(node, message)
        elif node in self.nodes and word in _WORDS:
            _WORDS[word](self, self.nodes[node], **message)
        elif node in self.nodes:
            self.nodes[node].said[word] = message

    def _greet(self, name: str, hello: dict[str, Any]) -> None:
        pid, where = hello.pop("pid"), hello.pop("host")
        if unlike := difference(self._ours, hello):
            self.refused.append(f"a Locust worker on {where} was refused, because it is not the same: {unlike}")
            self._tell(name, {"do": "note", "text": f"refused by the master: {unlike}", "end": True})
            return
        if self._spawned:
            self.late.append({"what": "Locust worker", "name": name, "at_ns": self._at_ns()})
            self._tell(name, {"do": "note", "text": "joined late: all shares are taken already", "end": False})
            return
        self.nodes[name] = Node(name, where, pid)
        self._tell(name, {"do": "welcome"})

    def _give_share(self, node: Node, user: int) -> None:
        waiting = self.alive("waiting")
        if not waiting:
            self._tell(node.name, {"do": "take", "user": user, "share": None})
            return
        state = waiting[0]
        state.stage, state.node, state.user = "starting", node.name, user
        share = {"index": state.share.index, "first": state.share.first, "count": state.share.count}
        self._tell(node.name, {"do": "take", "user": user, "share": share | dict(self._order)})

    def _ready(self, node: Node, share: int, pids: dict[str, int], knobs: dict[str, Any]) -> None:
        state = self.shares[share]
        state.stage, state.knobs = "ready", knobs
        if self._is_local(node):
            with contextlib.suppress(psutil.NoSuchProcess):
                self._children += [psutil.Process(pid) for pid in pids.values()]

    def _gate(self, _node: Node, held: dict[str, int]) -> None:
        for number, count in held.items():
            self.shares[int(number)].held = count

    def _failed(self, node: Node, user: int, fetches: int) -> None:
        for state in self.shares:
            if (state.node, state.user) == (node.name, user):
                state.failed += fetches

    def _crawled(self, _node: Node, share: int, outcome: dict[str, Any], server: dict[str, Any] | None) -> None:
        state = self.shares[share]
        state.outcome, state.server, state.held = outcome, server, 0
        if state.stage != "lost":
            state.stage = "crawled"

    def _lost(self, _node: Node, share: int, what: str, pid: int | None, how: str, in_flight: int) -> None:
        state = self.shares[share]
        if state.stage not in {"lost", "crawled"}:
            state.stage = "lost"
            self._note_loss(what, share, pid, how, in_flight)

    def _statistics(self, **counts: int) -> None:
        self.statistics = counts

    def quit(self) -> None:
        """Let Locust end: its nodes stop their users, which end their processes."""
        with contextlib.suppress(process.WorkerError):
            self._master.send({"do": "quit"})
        for local, _ in self._locals.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                local.process.wait(QUIT_S)

    def bury(self) -> None:
        """Wait until the processes of our nodes are gone, which end with their nodes; kill those that are not."""
        _, running = psutil.wait_procs(self._children, timeout=GONE_S)
        for child in running:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(running, timeout=GONE_S)


_WORDS: dict[str, Callable[..., None]] = {
    "share?": Crowd._give_share,  # noqa: SLF001
    "ready": Crowd._ready,  # noqa: SLF001
    "gate": Crowd._gate,  # noqa: SLF001
    "failed": Crowd._failed,  # noqa: SLF001
    "crawled": Crowd._crawled,  # noqa: SLF001
    "lost": Crowd._lost,  # noqa: SLF001
}
_EVENTS: dict[str, Callable[..., None]] = {
    "joined": Crowd._joined,  # noqa: SLF001
    "stranger": Crowd._stranger,  # noqa: SLF001
    "left": Crowd._left,  # noqa: SLF001
    "silent": Crowd._silent,  # noqa: SLF001
    "said": Crowd._said,  # noqa: SLF001
    "statistics": Crowd._statistics,  # noqa: SLF001
}


@contextmanager
def gathered(hosting: Hosting, cpus: host.Cpus, lifetime_s: float) -> Iterator[Crowd]:
    """Start Locust's master and this machine's nodes, and wait for those that join; end them all, come what may.

    Raises CrowdError when the master cannot listen, or not all nodes come in time.
    """
    silence_s = hosting.patience_s(lifetime_s)
    with ExitStack() as stack:
        order = {"bind": hosting.bind, "port": hosting.port, "web_port": hosting.web_port, "silence_s": silence_s}
        master = stack.enter_context(process.running(_MASTER, order, cpus.server, lifetime_s))
        try:
            listening = master.expect("listening", "port")
        except process.WorkerError as error:
            raise CrowdError(f"Locust's master could not be started: {error}") from error
        crowd = Crowd(master, listening["port"], silence_s)
        stack.callback(crowd.bury)
        for _ in range(hosting.nodes):
            crowd.add_local(stack.enter_context(node_process(hosting.bind, crowd.port, cpus, lifetime_s)))
        _await_nodes(crowd, hosting)
        yield crowd
        crowd.quit()


@contextmanager
def node_process(
    master: str,
    port: int,
    cpus: host.Cpus,
    lifetime_s: float,
    patience_s: float = PATIENCE_S,
    silence_s: float | None = None,
) -> Iterator[process.Worker]:
    """Start a Locust worker that joins a master, for which it waits ``patience_s``; what it starts ends with it.

    It ends itself when it has not heard of the master for ``silence_s``. None, where the master is a process of this
    harness too: then its input ends with the harness.
    """
    divided = {"server": _listed(cpus.server), "client": _listed(cpus.client)}
    order = {"host": master, "port": port, "cpus": divided, "patience_s": patience_s, "silence_s": silence_s}
    with process.running(_NODE, order, cpus.server, lifetime_s) as node:
        yield node


def _listed(cpus: set[int] | None) -> list[int] | None:
    return None if cpus is None else sorted(cpus)


def _await_nodes(crowd: Crowd, hosting: Hosting) -> None:
    """Wait until all nodes have introduced themselves. Raises CrowdError."""
    wanted = hosting.workers
    give_up_s = time.monotonic() + (hosting.wait_s if hosting.expect else START_S)
    while len(crowd.present) < wanted:
        crowd.listen(0.1)
        if crowd.lost:
            raise CrowdError(f"a Locust worker of this machine {crowd.lost[0]['how']}")
        if time.monotonic() > give_up_s:
            refused = "".join(f"; {sentence}" for sentence in crowd.refused)
            raise CrowdError(
                f"only {len(crowd.present)} of {wanted} Locust workers joined the master at "
                f"{address_text(hosting.bind, crowd.port)} in time{refused}"
            )


def _stood_still(pulse: Pulse) -> str:
    return f"stood still for {pulse.still_s:.0f} s"


def _shares(number: int) -> str:
    return "1 share" if number == 1 else f"{number} shares"
